//! `cargo +nightly fuzz run mail seeds/mail`; on a stable compiler `cargo xtask fuzz mail`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    flydocs_pages::entries::enter("mail", bytes);
});
