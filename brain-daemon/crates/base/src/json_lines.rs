//! Appends to files of JSON lines.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::durable::flush_dir_of;

/// Appends what `lines` returns for its byte offset in the file: lines, each with its line end. If
/// a crash or a full disk cut the last line of the file, that line is ended first. A new file is
/// for the owner only.
///
/// With `durable`, the lines are on the disk when this returns, and so is the name of a file that
/// it creates. Only one writer at a time may append to a file.
///
/// # Errors
/// When the file cannot be written or flushed.
pub fn append(path: &Path, durable: bool, lines: impl FnOnce(u64) -> String) -> io::Result<()> {
    let mut file = File::options().read(true).append(true).create(true).mode(0o600).open(path)?;
    let length = file.metadata()?.len();
    let mut last_byte = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last_byte)?;
    }
    let (line_end, offset) = if last_byte == [b'\n'] { ("", length) } else { ("\n", length + 1) };
    file.write_all(format!("{line_end}{}", lines(offset)).as_bytes())?;
    if durable {
        file.sync_data()?;
        if length == 0 {
            flush_dir_of(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_line_after_a_cut_line_is_intact() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        append(&path, true, |offset| format!("one {offset}\n")).unwrap();
        append(&path, false, |offset| format!("two {offset}\n")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one 0\ntwo 6\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "one\ntw").unwrap();
        append(&path, true, |offset| format!("three {offset}\n")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntw\nthree 7\n");
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        symlink("/dev/full", &path).unwrap();
        let error = append(&path, true, |_| "one\n".into()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(append(&dir.path().join("none/lines"), false, |_| "one\n".into()).is_err());
    }
}
