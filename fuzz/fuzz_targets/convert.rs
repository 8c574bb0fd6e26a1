//! A file of any bytes, read as an export of a program, gives lines that the daemon takes. The first
//! byte selects the format and the name; `BRAIN_FUZZ_FORMAT=pdf` tries only this format.
#![no_main]

use std::fs;

use brain_convert::formats;
use brain_convert_base::{convert, recognise};
use brain_fuzz::{check_lines, format};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((number, bytes)) = data.split_first() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join(if *number < 128 { "notes" } else { "notes.tid" });
    fs::write(&path, bytes).expect("a file");
    let mut out = Vec::new();
    let result = convert(format(*number % 128), &path, &mut out);
    check_lines(&out, result.is_ok());
    let _ = recognise(formats(), &path);
});
