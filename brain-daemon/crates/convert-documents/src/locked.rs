//! Recognises documents that are locked or damaged, to refuse them by name.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use brain_convert_base::Sample;

/// How a compound file begins (MS-CFB 2.2): a locked DOCX, or an old DOC.
const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/// How a ZIP archive begins.
const ZIP: &[u8] = b"PK\x03\x04";
/// Size of a compound file's header, and where it tells the first sector of the directory.
const HEADER: usize = 512;
const DIRECTORY: usize = 48;
/// How many bytes of the directory are read.
const MAX_DIRECTORY: u64 = 64 * 1024;

/// Returns whether a path has one of these extensions, in any case.
pub(crate) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().unwrap_or_default();
    extensions.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// Returns whether a file begins as a ZIP archive.
pub(crate) fn is_zip(sample: &Sample) -> bool {
    sample.head().starts_with(ZIP)
}

/// Returns whether a file begins as a compound file.
pub(crate) fn is_compound(sample: &Sample) -> bool {
    sample.head().starts_with(COMPOUND)
}

/// Returns why a compound file is not read; `None` for another file.
pub(crate) fn compound_reason(path: &Path) -> io::Result<Option<String>> {
    let mut file = File::open(path)?;
    let mut header = Vec::new();
    file.by_ref().take(HEADER as u64).read_to_end(&mut header)?;
    if !header.starts_with(COMPOUND) {
        return Ok(None);
    }
    let number = header.get(DIRECTORY..DIRECTORY + 4).and_then(|it| it.try_into().ok());
    let number = u64::from(u32::from_le_bytes(number.unwrap_or_default()));
    // Version 4 has sectors of 4,096 bytes (MS-CFB 2.2).
    let sector = if header.get(26) == Some(&4) { 4096 } else { 512 };
    file.seek(SeekFrom::Start((number + 1) * sector))?;
    let mut directory = Vec::new();
    file.take(MAX_DIRECTORY).read_to_end(&mut directory)?;
    let wide = |name: &str| name.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let has = |name: &str| {
        let name = wide(name);
        directory.windows(name.len()).any(|it| it == name)
    };
    Ok(Some(match has("EncryptedPackage") {
        true => "it is locked by a password; save it without one".to_owned(),
        false => "it is an old DOC, not a DOCX; save it as DOCX".to_owned(),
    }))
}
