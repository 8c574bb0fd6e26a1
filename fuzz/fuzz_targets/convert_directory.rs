//! A directory with files of any bytes, read as an export of each program, gives lines that the
//! daemon takes. The first byte selects the format. The bytes 0xFF 0xFE separate files, and the
//! first byte of each selects its name.
#![no_main]

use std::fs;

use brain_convert::formats;
use brain_convert_base::{convert, recognise};
use brain_fuzz::check_lines;
use libfuzzer_sys::fuzz_target;

/// The names of files that programs write.
const NAMES: [&str; 16] = [
    "Takeout/Keep/a.json",
    "Takeout/Keep/a.png",
    "a.json",
    "00000000000000000000000000000001.md",
    "00000000000000000000000000000002.md",
    "00000000000000000000000000000003.md",
    "resources/00000000000000000000000000000002.png",
    "tiddlywiki.info",
    "a.tid",
    "tiddlers/b.tid",
    "tiddlers/c.txt",
    "tiddlers/c.txt.meta",
    "a.enex",
    "stack/b.enex",
    "notes.md",
    "notes.txt",
];

fuzz_target!(|data: &[u8]| {
    let Some((number, bytes)) = data.split_first() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let mut rest = Some(bytes);
    while let Some(bytes) = rest.take() {
        let end = bytes.windows(2).position(|it| it == [0xFF, 0xFE]);
        let file = &bytes[..end.unwrap_or(bytes.len())];
        rest = end.map(|end| &bytes[end + 2..]);
        let Some((name, content)) = file.split_first() else { continue };
        let path = dir.path().join(NAMES[usize::from(*name) % NAMES.len()]);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, content).expect("a file");
    }
    let count = formats().count();
    let format = formats().nth(usize::from(*number) % count).expect("a format");
    let mut out = Vec::new();
    let result = convert(format, dir.path(), &mut out);
    check_lines(&out, result.is_ok());
    let _ = recognise(formats(), dir.path());
});
