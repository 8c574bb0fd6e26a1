//! A file of highlights. It is read into memory.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use brain_convert_base::ConvertError;

/// Maximum size of the file, in bytes.
const MAX_FILE: u64 = 32 * 1024 * 1024;

/// A file of highlights.
pub(crate) struct HighlightFile {
    /// The name of the file.
    pub(crate) name: String,
    /// Its text. Bytes that are not UTF-8 are replaced.
    pub(crate) text: String,
}

impl HighlightFile {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or has 32 MiB or more.
    pub(crate) fn read(path: &Path) -> Result<Self, ConvertError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(ConvertError::read(path))?;
        file.take(MAX_FILE).read_to_end(&mut bytes).map_err(ConvertError::read(path))?;
        if bytes.len() as u64 == MAX_FILE {
            let reason = "it has more than 32 MiB".to_owned();
            return Err(ConvertError::Malformed { from: name, reason });
        }
        Ok(Self { name, text: String::from_utf8_lossy(&bytes).into_owned() })
    }
}
