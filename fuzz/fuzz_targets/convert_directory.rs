//! A directory or ZIP archive with files of any bytes, read as an export of a program, gives lines
//! that the daemon takes. The first byte selects the format, from 128 on as an archive. The bytes
//! 0xFF 0xFE separate files, and the first line of each is its path.
#![no_main]

use std::fs;
use std::io::Write as _;
use std::path::Path;

use brain_convert::formats;
use brain_convert_base::{convert, recognise};
use brain_fuzz::{check_lines, format};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((number, bytes)) = data.split_first() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let input = dir.path().join("notes");
    match *number < 128 {
        true => write_directory(&input, bytes),
        false => write_archive(&input, bytes),
    }
    let mut out = Vec::new();
    let result = convert(format(*number % 128), &input, &mut out);
    check_lines(&out, result.is_ok());
    let _ = recognise(formats(), &input);
});

/// Returns the path and content of each file.
fn files(mut bytes: &[u8]) -> Vec<(String, &[u8])> {
    let mut files = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.windows(2).position(|it| it == [0xFF, 0xFE]);
        let file = &bytes[..end.unwrap_or(bytes.len())];
        bytes = end.map_or(&[][..], |end| &bytes[end + 2..]);
        let Some(name_end) = file.iter().position(|byte| *byte == b'\n') else { continue };
        files.push((String::from_utf8_lossy(&file[..name_end]).into_owned(), &file[name_end + 1..]));
    }
    files
}

/// Writes the files below the directory. A file whose path is not possible is left out.
fn write_directory(directory: &Path, bytes: &[u8]) {
    fs::create_dir(directory).expect("a directory");
    for (name, content) in files(bytes) {
        if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
            continue;
        }
        let path = directory.join(name);
        let _ = fs::create_dir_all(path.parent().expect("a parent"));
        let _ = fs::write(path, content);
    }
}

/// Writes the files into an archive, with any names.
fn write_archive(path: &Path, bytes: &[u8]) {
    let mut archive = zip::ZipWriter::new(fs::File::create(path).expect("a file"));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored);
    for (name, content) in files(bytes) {
        if archive.start_file(name, options).is_ok() {
            archive.write_all(content).expect("written");
        }
    }
    archive.finish().expect("written");
}
