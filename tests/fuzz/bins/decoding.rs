//! `cargo fuzz run --fuzz-dir tests/fuzz decoding`; what is asserted stands in `targets.rs`.

#![no_main]

#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::decoding(bytes));
