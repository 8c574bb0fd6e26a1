//! Makes ZIP archives for tests.
#![allow(clippy::unwrap_used)]

use std::io::Write as _;

use tempfile::NamedTempFile;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Makes a ZIP archive of these files.
pub(crate) fn archive(files: &[(&str, &[u8])]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let mut zip = ZipWriter::new(file.reopen().unwrap());
    for (name, content) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap();
    file
}
