#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| airtoll_fuzz::agent(data));
