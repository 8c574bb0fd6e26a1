//! Reads notes of Gnote and Tomboy: a directory or a ZIP archive of `.note` files, or one file.

mod content;
mod note;
mod titles;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Page, Paths, Sample, Value};

use crate::rest::{is_hidden, report_rest};
use crate::source::{Source, folder, name};
use content::Content;
use note::{Note, read};
use titles::Titles;

pub(crate) const FORMAT: Format = Format {
    name: "gnote",
    title: "notes of Gnote or Tomboy",
    is_by_others: false,
    recognise,
    convert,
};

/// How many files are looked at to recognise the format.
const MAX_LOOKS: usize = 20;

fn recognise(sample: &Sample) -> bool {
    let Some(tree) = sample.tree() else { return is_note(&sample.text()) };
    let mut notes = tree.entries().iter().filter(|entry| is_named(entry)).take(MAX_LOOKS);
    notes
        .any(|entry| is_note(&String::from_utf8_lossy(&tree.head(entry, 1024).unwrap_or_default())))
        && tree.is_mostly(is_named)
}

fn is_named(entry: &brain_convert_base::Entry) -> bool {
    entry.path.ends_with(".note")
}

fn is_note(text: &str) -> bool {
    text.contains("<note ") && text.contains("http://beatniksoftware.com/tomboy")
}

/// A note whose path is known.
struct Entry {
    file: String,
    path: String,
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let source = Source::open(path)?;
    let (entries, titles) = entries(&source, out)?;
    let mut failed = None;
    for entry in &entries {
        let Ok(text) = source.text(&entry.file) else { continue };
        if let Err(reason) = write(&text, entry, &titles, out)? {
            let from = entry.file.clone();
            out.lost(&from, &format!("it is read only up to an error: {reason}"))?;
            failed = Some(ConvertError::Malformed { from, reason });
        }
    }
    report_rest(&source, out, |path| {
        let is_settings = name(path) == "manifest.xml" || path.ends_with(".ini");
        let is_read = is_file(&source, path) && !is_deleted(path) || is_settings;
        (!is_read).then(|| match is_deleted(path) && path.ends_with(".note") {
            true => "it is in Backup: the note was deleted".to_owned(),
            false => "it is no note".to_owned(),
        })
    })?;
    failed.map_or(Ok(()), Err)
}

fn is_file(source: &Source, path: &str) -> bool {
    (path.ends_with(".note") || source.files().len() == 1) && !is_hidden(path)
}

fn is_deleted(path: &str) -> bool {
    name(folder(path)) == "Backup"
}

/// Reads all notes and gives them paths, the oldest first. So a new note does not change the paths
/// of older ones.
fn entries(source: &Source, out: &mut Output<'_>) -> Result<(Vec<Entry>, Titles), ConvertError> {
    // A directory for synchronisation has a note once for each change, in numbered folders.
    let mut newest: HashMap<&str, &String> = HashMap::new();
    let files = source.files().iter().filter(|file| is_file(source, file) && !is_deleted(file));
    let number = |file: &str| name(folder(file)).parse::<u64>().unwrap_or(0);
    for file in files.clone() {
        let known = newest.entry(name(file)).or_insert(file);
        if number(file) > number(known) {
            *known = file;
        }
    }
    let mut found = Vec::new();
    for file in files {
        if newest.get(name(file)).is_some_and(|known| *known != file) {
            out.lost(file, "there is a newer version of the note")?;
            continue;
        }
        let mut note = Note::default();
        match source.text(file).map(|text| read(&text, &mut note, None)) {
            Err(reason) => out.lost(file, &reason)?,
            Ok(Err(reason)) if note.title.is_empty() => out.lost(file, &reason)?,
            Ok(_) if note.title.is_empty() && note.created.is_none() => {
                out.lost(file, "it is no note")?;
            }
            Ok(_) if note.is_template() => {
                out.lost(file, "it is the template of a notebook")?;
            }
            Ok(_) => found.push((note.created, file.clone(), note)),
        }
    }
    found.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    let (mut paths, mut titles, mut entries) = (Paths::default(), Titles::default(), Vec::new());
    for (_, file, note) in found {
        let path = paths.add(note.notebook(), &note.title);
        titles.add(&note.title, &path);
        entries.push(Entry { file, path });
    }
    Ok((entries, titles))
}

/// Writes a note as a page. The inner error is why its end is missing.
fn write(
    text: &str,
    entry: &Entry,
    titles: &Titles,
    out: &mut Output<'_>,
) -> std::io::Result<Result<(), String>> {
    let mut note = Note::default();
    _ = read(text, &mut note, None);
    let title = note.title.clone();
    let mut content = Content::new(&title, titles);
    let mut note = Note::default();
    let result = read(text, &mut note, Some(&mut content));
    let mut page = Page::default();
    page.from.clone_from(&entry.file);
    page.path.clone_from(&entry.path);
    page.title = brain_page::single_line(&note.title);
    page.created = note.created;
    page.updated = note.updated;
    page.tags = note.tags.iter().filter(|tag| !tag.starts_with("system:")).cloned().collect();
    if note.tags.iter().any(|tag| tag == "system:pinned") {
        page.fields.push(("pinned".to_owned(), Value::Text("true".to_owned())));
    }
    page.body = content.finish();
    out.page(&page)?;
    note.unknown.sort_unstable();
    note.unknown.dedup();
    for name in &note.unknown {
        out.lost(&page.from, &format!("the name &{name}; is unknown, and stays as it is"))?;
    }
    Ok(result)
}
