//! The files of contacts and calendars: one file, or a directory or archive of them.

use std::fs::File;
use std::io::{self, BufRead};
use std::path::Path;

use brain_convert_base::{ConvertError, Output, Sample, Tree};

use crate::content_line::Components;
use crate::wide_text::{utf_8_head, utf_8_reader};

/// How many files of a directory are looked at to recognise the format.
const MAX_LOOKS: usize = 50;
/// How much of a file is looked at, in bytes.
const MAX_HEAD: usize = 256;
/// Names of files that programs keep beside: colours and names of collections, states, caches.
const SIDE_NAMES: [&str; 5] = ["color", "displayname", "description", "order", "khal.db"];

/// Returns whether a file begins with this line, in any case.
pub(crate) fn begins_with(head: &[u8], line: &str) -> bool {
    let head = utf_8_head(head.get(..MAX_HEAD).unwrap_or(head));
    let head = head.trim_ascii_start();
    head.get(..line.len()).is_some_and(|it| it.eq_ignore_ascii_case(line.as_bytes()))
        && head.get(line.len()).is_none_or(u8::is_ascii_whitespace)
}

/// Returns whether a directory or archive has files with these endings that begin with this line,
/// and no others.
pub(crate) fn has_only(sample: &Sample, extensions: &[&str], line: &str) -> bool {
    let Some(tree) = sample.tree() else { return false };
    let step = tree.entries().len() / MAX_LOOKS + 1;
    let mut has_any = false;
    for entry in tree.entries().iter().step_by(step) {
        if is_side(entry.name()) {
            continue;
        }
        let head = tree.head(entry, MAX_HEAD).unwrap_or_default();
        if !extensions.contains(&entry.extension().as_str()) || !begins_with(&head, line) {
            return false;
        }
        has_any = true;
    }
    has_any && !tree.has_markdown()
}

fn is_side(name: &str) -> bool {
    name.starts_with('.') || SIDE_NAMES.contains(&name)
}

/// A file that is read.
pub(crate) struct SourceFile {
    /// Its name, or its path below the directory.
    pub(crate) name: String,
    /// The folder below the directory; for a single file empty.
    folder: String,
}

impl SourceFile {
    /// Returns the folders of its pages.
    pub(crate) fn folders(&self, root: &'static str) -> impl Iterator<Item = &str> {
        std::iter::once(root).chain(self.folder.split('/').filter(|name| !name.is_empty()))
    }

    /// Returns the error of reading it.
    pub(crate) fn error(&self, source: io::Error) -> ConvertError {
        ConvertError::Read { path: self.name.clone(), source }
    }

    /// Reports what is not in the components of the file.
    ///
    /// # Errors
    /// [`ConvertError::Malformed`] if the file ended within a component.
    pub(crate) fn end<R: BufRead>(
        &self,
        components: &Components<R>,
        kind: &str,
        out: &mut Output<'_>,
    ) -> Result<(), ConvertError> {
        if components.bad_lines > 0 {
            let count = components.bad_lines;
            let reason = format!("lines that belong to no {kind} or have no name: {count}");
            out.lost(&self.name, &reason)?;
        }
        if components.is_cut {
            let reason = format!("the file ends within a {kind}");
            return Err(ConvertError::Malformed { from: self.name.clone(), reason });
        }
        Ok(())
    }
}

/// What the conversion of a file returns.
type Converted = Result<(), ConvertError>;

/// Calls `read` for each file with its reader. Reports files of another kind. A malformed file is
/// reported, and the next one is read; a single malformed file is an error.
///
/// # Errors
/// If a file cannot be read, or from `read`.
pub(crate) fn for_each_file(
    path: &Path,
    extensions: &[&str],
    line: &str,
    out: &mut Output<'_>,
    mut read: impl FnMut(&SourceFile, &mut dyn BufRead, &mut Output<'_>) -> Converted,
) -> Result<(), ConvertError> {
    let Some(tree) = Tree::open(path).map_err(ConvertError::read(path))? else {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = File::open(path).map_err(ConvertError::read(path))?;
        let source = SourceFile { name, folder: String::new() };
        return read(&source, &mut utf_8_reader(file), out);
    };
    tree.report_problems(out)?;
    for entry in tree.entries().iter().filter(|entry| !is_side(entry.name())) {
        let head = tree.head(entry, MAX_HEAD).map_err(ConvertError::read(path))?;
        let is_known = extensions.contains(&entry.extension().as_str());
        if !is_known || !begins_with(&head, line) {
            out.lost(&entry.path, "it is another kind of file")?;
            continue;
        }
        let source = SourceFile { name: entry.path.clone(), folder: entry.folder().to_owned() };
        let result =
            tree.with_reader(entry, |reader| read(&source, &mut utf_8_reader(reader), out));
        match result.map_err(ConvertError::read(path))? {
            Err(ConvertError::Malformed { from, reason }) => out.lost(&from, &reason)?,
            result => result?,
        }
    }
    Ok(())
}
