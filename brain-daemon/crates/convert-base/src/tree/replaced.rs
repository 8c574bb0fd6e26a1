//! The files of a ZIP archive that have the name of another one. The library keeps only the last
//! file of each name.

use std::collections::HashSet;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use zip::ZipArchive;

use super::part::Part;

/// How the entry of a file in the directory of an archive begins, and its length without the name
/// and what follows it (APPNOTE.TXT 4.3.12).
const MAGIC: &[u8] = b"PK\x01\x02";
const LENGTH: u64 = 46;
/// Where the lengths of the name, of the extra field and of the comment are.
const LENGTHS: [usize; 3] = [28, 30, 32];

/// Returns the names of the files that another file with the same name replaces.
pub(super) fn replaced(
    part: &Part,
    archive: &ZipArchive<BufReader<Part>>,
) -> io::Result<Vec<Vec<u8>>> {
    let mut replaced = Vec::new();
    if !archive.has_duplicate_names() {
        return Ok(replaced);
    }
    let mut reader = BufReader::new(part.clone());
    reader.seek(SeekFrom::Start(archive.central_directory_start()))?;
    let mut known = HashSet::new();
    loop {
        let mut head = Vec::new();
        reader.by_ref().take(LENGTH).read_to_end(&mut head)?;
        if head.len() as u64 != LENGTH || !head.starts_with(MAGIC) {
            return Ok(replaced);
        }
        let length = |at: usize| match head.get(at..at + 2) {
            Some(&[low, high]) => u64::from(u16::from_le_bytes([low, high])),
            _ => 0,
        };
        let [name, extra, comment] = LENGTHS.map(length);
        let mut bytes = Vec::new();
        reader.by_ref().take(name).read_to_end(&mut bytes)?;
        io::copy(&mut reader.by_ref().take(extra + comment), &mut io::sink())?;
        if !known.insert(bytes.clone()) {
            replaced.push(bytes);
        }
        if reader.fill_buf()?.is_empty() {
            return Ok(replaced);
        }
    }
}
