//! Reads exports of Evernote: ENEX, one XML file for each notebook.
//!
//! A file is read three times, and never as a whole: for the titles, by which notes link to each
//! other; for the notes; and, right after each note with files, for the data of its files.

mod enml;
mod entities;
mod files;
mod input;
mod note;
mod reasons;
mod tasks;
mod time;
mod titles;
mod write;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Sample};
use titles::Titles;

pub(crate) const FORMAT: Format = Format {
    name: "evernote",
    title: "an export of Evernote (ENEX)",
    is_by_others: false,
    recognise,
    convert,
};

/// The mark in the beginning of a file.
const MARK: &str = "<en-export";

fn recognise(sample: &Sample) -> bool {
    if sample.text().contains(MARK) {
        return sample.text().trim_start().starts_with('<');
    }
    let mut names = sample.names().iter().filter(|name| !name.starts_with('.')).peekable();
    let mut has_export = false;
    let is_ours = names.all(|name| {
        let is_export = files::is_export(Path::new(name));
        has_export |= is_export && sample.text_of(name).contains(MARK);
        // evernote-backup 1.14 writes a directory for each stack of notebooks.
        is_export || sample.inside(name).is_some()
    });
    // A folder in the directory can have anything.
    let is_export = |entry: &brain_convert_base::Entry| files::is_export(Path::new(&entry.path));
    is_ours && has_export && sample.tree().is_some_and(|tree| tree.is_mostly(is_export))
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let files = files::find(path, out)?;
    let titles = Titles::read(&files);
    let mut error = None;
    for (number, file) in files.iter().enumerate() {
        write::file(file, number, &titles, out)?;
        match titles.error(number) {
            Some(reason) if error.is_none() => {
                let (from, reason) = (file.shown.clone(), reason.to_owned());
                error = Some(ConvertError::Malformed { from, reason });
            }
            Some(reason) => out.lost(&file.shown, reason)?,
            None => {}
        }
    }
    error.map_or(Ok(()), Err)
}
