//! Reads the notes of Google Keep from Google Takeout: the ZIP archive, its directory, or one note.
//!
//! Each note is a JSON file with an HTML file of the same name beside it. Files of notes lie in the
//! same folder. Times are microseconds since 1970. Keep writes plain text.

mod note;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use brain_protocol::MAX_ATTACHMENT;

use brain_convert_base::{ConvertError, Entry, Format, Output, Paths, Sample, Tree};
use note::Note;

pub(crate) const FORMAT: Format = Format {
    name: "keep",
    title: "notes of Google Keep from Google Takeout",
    is_by_others: false,
    recognise,
    convert,
};

/// Maximum length of a note's JSON, in bytes.
const MAX_NOTE: usize = 8 * 1024 * 1024;
/// How many JSON files of a folder are looked at to find the notes, and how much of each, in bytes.
const MAX_LOOKS: usize = 20;
const MAX_HEAD: usize = 64 * 1024;
/// Name of the folder with the notes, unless it is in the folder of Takeout. There, the program's
/// language decides.
const KEEP: &str = "Keep";
const TAKEOUT: &str = "Takeout";

fn recognise(sample: &Sample) -> bool {
    let Some(tree) = sample.tree() else {
        return sample.head().trim_ascii_start().starts_with(b"{") && is_note_head(sample.head());
    };
    let Some(folder) = folder(tree) else { return false };
    // Keep writes each note as JSON and as HTML.
    let is_note = |entry: &Entry| {
        entry.folder() == folder && matches!(entry.extension().as_str(), "json" | "html")
    };
    folder.starts_with(TAKEOUT) || tree.is_mostly(is_note)
}

/// Returns the path of the folder with the notes.
fn folder(tree: &Tree) -> Option<&str> {
    let mut looks: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in tree.entries() {
        let folder = entry.folder();
        let in_takeout = folder.strip_prefix(TAKEOUT).and_then(|it| it.strip_prefix('/'));
        let is_place = folder.is_empty()
            || folder == KEEP
            || in_takeout.is_some_and(|name| !name.contains('/'));
        if !is_place || entry.extension() != "json" {
            continue;
        }
        let looks = looks.entry(folder).or_default();
        *looks += 1;
        if *looks <= MAX_LOOKS && tree.head(entry, MAX_HEAD).is_ok_and(|it| is_note_head(&it)) {
            return Some(folder);
        }
    }
    None
}

/// Returns whether the beginning of a file is that of a note.
fn is_note_head(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.contains("\"userEditedTimestampUsec\"")
        || ["\"isTrashed\"", "\"isPinned\"", "\"isArchived\""].iter().all(|it| text.contains(it))
}

/// The files of Keep.
struct Files<'a> {
    tree: &'a Tree,
    /// The files by their names in the folder of the notes.
    by_name: BTreeMap<&'a str, &'a Entry>,
    /// The names of the files that are in notes.
    used: HashSet<&'a str>,
}

/// A note whose path is known.
struct NotePath {
    name: String,
    path: String,
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let tree = Tree::open(path).and_then(|tree| tree.map_or_else(|| Tree::of_file(path), Ok));
    let tree = tree.map_err(ConvertError::read(path))?;
    let Some(folder) = folder(&tree) else {
        let from = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        return Err(ConvertError::Malformed { from, reason: "it has no notes of Keep".to_owned() });
    };
    tree.report_problems(out)?;
    let by_name = files(&tree, folder, out)?;
    let mut files = Files { tree: &tree, by_name, used: HashSet::new() };
    for entry in entries(&mut files, out)? {
        if let Ok(note) = files.note(&entry.name) {
            write_note(&mut files, &entry, &note, out)?;
        }
    }
    for name in files.by_name.keys() {
        let twin = name.strip_suffix(".html").map(|stem| format!("{stem}.json"));
        let is_twin = twin.is_some_and(|twin| files.by_name.contains_key(twin.as_str()));
        let is_note = name.ends_with(".json") && !name.contains('/');
        if !is_twin && *name != "Labels.txt" && !is_note && !files.used.contains(name) {
            out.lost(name, "no note of Keep has this file")?;
        }
    }
    Ok(())
}

/// Returns the files in a folder by their names. Reports what is beside the folder.
fn files<'a>(
    tree: &'a Tree,
    folder: &str,
    out: &mut Output<'_>,
) -> Result<BTreeMap<&'a str, &'a Entry>, ConvertError> {
    let mut files = BTreeMap::new();
    let mut others = BTreeSet::new();
    for entry in tree.entries() {
        let path = entry.path.as_str();
        match path.strip_prefix(folder).map(|rest| rest.strip_prefix('/').unwrap_or(rest)) {
            Some(name) if folder.is_empty() || name.len() + folder.len() < path.len() => {
                files.insert(name, entry);
            }
            _ => {
                let in_takeout = path.strip_prefix(TAKEOUT).and_then(|it| it.strip_prefix('/'));
                let name = in_takeout.unwrap_or(path);
                others.insert(name.split_once('/').map_or(name, |(first, _)| first));
            }
        }
    }
    for name in others {
        out.lost(name, "it does not belong to Keep")?;
    }
    Ok(files)
}

impl<'a> Files<'a> {
    /// Reads a note.
    ///
    /// # Errors
    /// The reason why the file is none.
    fn note(&self, name: &str) -> Result<Note, String> {
        let entry = self.by_name.get(name).ok_or("it is gone")?;
        match self.tree.read(entry, MAX_NOTE) {
            Ok(Some(bytes)) => Note::parse(&bytes),
            Ok(None) => Err(format!("it has more than {MAX_NOTE} bytes, the limit for a note")),
            Err(error) => Err(format!("it cannot be read: {error}")),
        }
    }

    /// Returns the name of an attachment's file, and marks it as used. Takeout writes `.jpg` files
    /// that the JSON calls `.jpeg`, and the reverse.
    fn use_stored(&mut self, name: &str) -> Option<&'a str> {
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let other = match extension.to_ascii_lowercase().as_str() {
            "jpeg" => Some(format!("{stem}.jpg")),
            "jpg" => Some(format!("{stem}.jpeg")),
            _ => None,
        };
        let names = [Some(name), other.as_deref()];
        let found = names.into_iter().flatten().find_map(|it| self.by_name.get_key_value(it));
        let stored = *found?.0;
        self.used.insert(stored);
        Some(stored)
    }
}

/// Reads all notes and returns those to write, by time of creation. So a new note does not change
/// the paths of older ones. Marks the files of notes in the trash as used.
fn entries(files: &mut Files<'_>, out: &mut Output<'_>) -> Result<Vec<NotePath>, ConvertError> {
    let mut found = Vec::new();
    let is_note = |name: &&str| name.ends_with(".json") && !name.contains('/');
    let names: Vec<&str> = files.by_name.keys().copied().filter(is_note).collect();
    for name in names {
        match files.note(name) {
            Err(reason) => out.lost(name, &reason)?,
            Ok(note) if note.is_trashed => {
                out.lost(name, "in the trash of Keep")?;
                for attached in &note.attachments {
                    files.use_stored(attached);
                }
            }
            Ok(note) => found.push((note.created.or(note.updated), name.to_owned(), note.name())),
        }
    }
    found.sort_unstable();
    let mut paths = Paths::default();
    let entry = |(_, name, title): (_, String, String)| {
        let path = paths.add([], &title);
        NotePath { name, path }
    };
    Ok(found.into_iter().map(entry).collect())
}

fn write_note(
    files: &mut Files<'_>,
    entry: &NotePath,
    note: &Note,
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let mut page = note.page(entry.name.clone(), entry.path.clone());
    let mut attached = Vec::new();
    for wish in &note.attachments {
        let Some(stored) = files.use_stored(wish) else {
            out.lost(&format!("{}, {wish}", entry.name), "the file is not in the export")?;
            continue;
        };
        let name = page.attach(stored);
        let mark = if brain_page::is_picture(&name) { "!" } else { "" };
        page.body.push_str(&format!("\n\n{mark}[[{name}]]"));
        attached.push((stored, name));
    }
    page.body = page.body.trim_start_matches('\n').to_owned();
    for reason in &note.lost {
        out.lost(&entry.name, reason)?;
    }
    out.page(&page)?;
    for (stored, name) in attached {
        if let Some(file) = files.by_name.get(stored) {
            out.file_from(&page, &name, || files.tree.read(file, MAX_ATTACHMENT))?;
        }
    }
    Ok(())
}
