//! `cargo +nightly fuzz run archives seeds/archives`; on a stable compiler `cargo xtask fuzz archives`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    flydocs_pages::entries::enter("archives", bytes);
});
