//! A format that can be converted, and why a conversion fails.

use std::io::{self, Write};
use std::path::Path;

use crate::{Output, Sample};

/// A format that can be converted.
pub struct Format {
    /// Its name for `--as`.
    pub name: &'static str,
    /// What it is, for people: "an export of Joplin".
    pub title: &'static str,
    /// Returns whether the content shows this format beyond doubt.
    pub recognise: fn(&Sample) -> bool,
    /// Writes all pages of the file or directory.
    pub convert: fn(&Path, &mut Output<'_>) -> Result<(), ConvertError>,
}

/// Why a conversion ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// A file or directory cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The path, as given or below it.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The output cannot be written: its reader is gone.
    #[error("cannot write the pages: {0}")]
    Write(#[from] io::Error),
    /// The file is not what its format demands. What was written before that stays.
    #[error("{from}: {reason}")]
    Malformed {
        /// The file, and the place in it.
        from: String,
        /// What is wrong, as the predicate of a sentence or a sentence.
        reason: String,
    },
}

impl ConvertError {
    /// The error of reading this path.
    pub fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Read { path: path.display().to_string(), source }
    }
}

/// Returns the format of a file or directory by its content, or `None` if it has none of these.
///
/// # Errors
/// [`ConvertError::Read`] if it cannot be read.
pub fn recognise(
    formats: impl IntoIterator<Item = &'static Format>,
    path: &Path,
) -> Result<Option<&'static Format>, ConvertError> {
    let sample = Sample::of(path).map_err(ConvertError::read(path))?;
    Ok(formats.into_iter().find(|format| (format.recognise)(&sample)))
}

/// Writes all pages of a file or directory as lines.
///
/// # Errors
/// See [`ConvertError`]. The lines before the error are whole, and the last one is missing.
pub fn convert(format: &Format, path: &Path, out: &mut dyn Write) -> Result<(), ConvertError> {
    let mut output = Output::new(out);
    (format.convert)(path, &mut output)?;
    Ok(output.end()?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const WHOLE: Format = Format {
        name: "whole",
        title: "a file that begins with a",
        recognise: |sample| sample.head().starts_with(b"a"),
        convert: |_, _| Ok(()),
    };
    const CUT: Format = Format {
        name: "cut",
        title: "any file",
        recognise: |_| true,
        convert: |path, _| {
            let from = path.display().to_string();
            Err(ConvertError::Malformed { from, reason: "it ends too early".to_owned() })
        },
    };
    static FORMATS: [Format; 2] = [WHOLE, CUT];

    #[test]
    fn first_format_that_knows_the_content_is_recognised() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, name) in [("a", "whole"), ("b", "cut")] {
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(recognise(&FORMATS, file.path()).unwrap().unwrap().name, name);
        }
        assert!(recognise(&FORMATS[..1], file.path()).unwrap().is_none());
        let missing = recognise(&FORMATS, Path::new("/none/file")).err().unwrap();
        assert!(missing.to_string().starts_with("cannot read /none/file: "), "{missing}");
    }

    #[test]
    fn failed_conversion_has_no_last_line() {
        let mut out = Vec::new();
        convert(&WHOLE, Path::new("x"), &mut out).unwrap();
        assert_eq!(out, b"{\"type\":\"end\",\"pages\":0}\n");
        out.clear();
        let error = convert(&CUT, Path::new("x"), &mut out).unwrap_err();
        assert_eq!((error.to_string().as_str(), out), ("x: it ends too early", Vec::new()));
    }
}
