//! `cargo +nightly fuzz run sniff seeds/sniff`; on a stable compiler `cargo xtask fuzz sniff`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    flydocs_pages::entries::enter("sniff", bytes);
});
