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
    /// Whether others than the owner write such texts: mail, documents, answers of models.
    pub is_by_others: bool,
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
/// See [`ConvertError`]. The lines before the error are whole, and the last one is missing. An input
/// of another format that gives no page is [`ConvertError::Malformed`].
pub fn convert(format: &Format, path: &Path, out: &mut dyn Write) -> Result<(), ConvertError> {
    convert_with(format, path, None, out)
}

/// Does what [`convert`] does. `other_text` is the text of the input that another program read: the
/// format cannot start one, as the process has no right to do that any more.
///
/// # Errors
/// See [`convert`].
pub fn convert_with(
    format: &Format,
    path: &Path,
    other_text: Option<String>,
    out: &mut dyn Write,
) -> Result<(), ConvertError> {
    let mut output = Output::new(out, format.is_by_others);
    output.other_text = other_text;
    let result = (format.convert)(path, &mut output);
    let other = match &result {
        Ok(()) => Some(String::new()),
        Err(ConvertError::Malformed { reason, .. }) => Some(format!(": {reason}")),
        Err(ConvertError::Read { source, .. }) if !is_refused(source) => {
            Some(format!(": {source}"))
        }
        Err(_) => None,
    };
    if let Some(detail) = other.filter(|_| output.pages() == 0)
        && !(format.recognise)(&Sample::of(path).map_err(ConvertError::read(path))?)
    {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let reason = format!("it does not look like {}{detail}", format.title);
        return Err(ConvertError::Malformed { from: name.into_owned(), reason });
    }
    result?;
    Ok(output.end()?)
}

/// Returns whether an error says nothing about the content.
fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn converted(
        path: &Path,
        convert: fn(&Path, &mut Output<'_>) -> Result<(), ConvertError>,
    ) -> String {
        let recognise = |sample: &Sample| sample.text().starts_with("ours");
        let title = "an export of X";
        let format = Format { name: "x", title, is_by_others: false, recognise, convert };
        let mut out = Vec::new();
        super::convert(&format, path, &mut out)
            .map_or_else(|it| it.to_string(), |()| "ok".to_owned())
    }

    #[test]
    fn an_input_of_another_format_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let (ours, other) = (dir.path().join("ours"), dir.path().join("other"));
        std::fs::write(&ours, "ours, and empty").unwrap();
        std::fs::write(&other, "x").unwrap();
        assert_eq!(converted(&ours, |_, _| Ok(())), "ok");
        let message = "other: it does not look like an export of X";
        assert_eq!(converted(&other, |_, _| Ok(())), message);
        let malformed = |_: &Path, _: &mut Output<'_>| {
            Err(ConvertError::Malformed { from: "a".to_owned(), reason: "it is bad".to_owned() })
        };
        assert_eq!(converted(&other, malformed), format!("{message}: it is bad"));
        assert_eq!(converted(&ours, malformed), "a: it is bad");
        let list = |path: &Path, _: &mut Output<'_>| {
            std::fs::read_dir(path).map(drop).map_err(ConvertError::read(path))
        };
        assert!(converted(&other, list).starts_with(message));
        let page = |_: &Path, out: &mut Output<'_>| Ok(out.page(&crate::Page::default())?);
        assert_eq!(converted(&other, page), "ok");
    }

    const WHOLE: Format = Format {
        name: "whole",
        title: "a file that begins with a",
        is_by_others: false,
        recognise: |sample| sample.head().starts_with(b"a"),
        convert: |_, _| Ok(()),
    };
    const CUT: Format = Format {
        name: "cut",
        title: "any file",
        is_by_others: false,
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
}
