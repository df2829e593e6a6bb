//! `cargo +nightly fuzz run pdf seeds/pdf`; on a stable compiler `cargo xtask fuzz pdf`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    flydocs_pages::entries::enter("pdf", bytes);
});
