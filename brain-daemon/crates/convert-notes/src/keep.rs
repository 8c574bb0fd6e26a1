//! Reads the notes of Google Keep from a directory of Google Takeout.
//!
//! Each note is a JSON file with an HTML file of the same name beside it. Files of notes lie in the
//! same directory. Times are microseconds since 1970. Keep writes plain text.

mod note;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use brain_protocol::MAX_ATTACHMENT;

use brain_convert_base::Paths;
use brain_convert_base::{ConvertError, Format, Output, Sample};
use note::Note;

pub(crate) const FORMAT: Format = Format {
    name: "keep",
    title: "notes of Google Keep from Google Takeout",
    is_by_others: false,
    recognise,
    convert,
};

/// Maximum length of a note's JSON, in bytes.
const MAX_NOTE: u64 = 8 * 1024 * 1024;
/// How many JSON files are looked at to recognise the format.
const MAX_LOOKS: usize = 20;
/// Name of the directory with the notes, and of its parent.
const KEEP: &str = "Keep";
const TAKEOUT: &str = "Takeout";

fn recognise(sample: &Sample) -> bool {
    let inner = |sample: &Sample| sample.inside(KEEP).is_some_and(|keep| has_notes(&keep));
    has_notes(sample) || inner(sample) || sample.inside(TAKEOUT).is_some_and(|it| inner(&it))
}

/// Returns whether a directory has notes.
fn has_notes(sample: &Sample) -> bool {
    let names = sample.names().iter().filter(|name| name.ends_with(".json"));
    names.take(MAX_LOOKS).any(|name| {
        let text = sample.text_of(name);
        text.contains("\"userEditedTimestampUsec\"")
            || ["\"isTrashed\"", "\"isPinned\"", "\"isArchived\""]
                .iter()
                .all(|it| text.contains(it))
    })
}

/// A note whose path is known.
struct Entry {
    name: String,
    path: String,
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let directory = keep_directory(path, out)?;
    let files = regular_files(&directory, out)?;
    let mut used = HashSet::new();
    let entries = entries(&directory, &files, &mut used, out)?;
    for entry in &entries {
        if let Ok(note) = read_note(&directory, &entry.name)? {
            write_note(&directory, &files, entry, &note, &mut used, out)?;
        }
    }
    for name in &files {
        let twin = name.strip_suffix(".html").map(|stem| format!("{stem}.json"));
        let is_twin = twin.is_some_and(|twin| files.contains(&twin));
        if !is_twin && name != "Labels.txt" && !name.ends_with(".json") && !used.contains(name) {
            out.lost(name, "no note of Keep has this file")?;
        }
    }
    Ok(())
}

/// Returns the directory with the notes: the given one, or one in it. Reports what is beside it.
fn keep_directory(path: &Path, out: &mut Output<'_>) -> Result<PathBuf, ConvertError> {
    let mut directory = path.to_owned();
    for name in [TAKEOUT, KEEP] {
        let inner = directory.join(name);
        if !fs::symlink_metadata(&inner).is_ok_and(|metadata| metadata.is_dir()) {
            continue;
        }
        let read = ConvertError::read(&directory);
        for other in names(&directory).map_err(read)? {
            if other != name {
                out.lost(&other.to_string_lossy(), "it does not belong to Keep")?;
            }
        }
        directory = inner;
    }
    Ok(directory)
}

/// Returns the names in a directory, sorted.
fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.push(entry?.file_name());
    }
    names.sort_unstable();
    Ok(names)
}

/// Returns the names of the regular files in a directory. Reports all others.
fn regular_files(directory: &Path, out: &mut Output<'_>) -> Result<BTreeSet<String>, ConvertError> {
    let mut files = BTreeSet::new();
    for name in names(directory).map_err(ConvertError::read(directory))? {
        let shown = name.to_string_lossy().into_owned();
        let metadata = fs::symlink_metadata(directory.join(&name));
        match (metadata.is_ok_and(|it| it.is_file()), name.into_string()) {
            (true, Ok(name)) => _ = files.insert(name),
            (true, Err(_)) => out.lost(&shown, "its name is not UTF-8")?,
            (false, _) => out.lost(&shown, "it is not a regular file")?,
        }
    }
    Ok(files)
}

/// Reads all notes and returns those to write, by time of creation. So a new note does not change
/// the paths of older ones. Marks the files of notes in the trash as used.
fn entries(
    directory: &Path,
    files: &BTreeSet<String>,
    used: &mut HashSet<String>,
    out: &mut Output<'_>,
) -> Result<Vec<Entry>, ConvertError> {
    let mut found = Vec::new();
    for name in files.iter().filter(|name| name.ends_with(".json")) {
        match read_note(directory, name)? {
            Err(reason) => out.lost(name, &reason)?,
            Ok(note) if note.is_trashed => {
                out.lost(name, "in the trash of Keep")?;
                let attached = note.attachments.iter();
                used.extend(attached.filter_map(|it| stored_name(files, it)).map(str::to_owned));
            }
            Ok(note) => found.push((note.created.or(note.updated), name.clone(), note.name())),
        }
    }
    found.sort_unstable();
    let mut paths = Paths::default();
    let entry = |(_, name, title): (_, String, String)| Entry { path: paths.add([], &title), name };
    Ok(found.into_iter().map(entry).collect())
}

/// Reads a note. The inner error is a reason why the file is none.
fn read_note(directory: &Path, name: &str) -> Result<Result<Note, String>, ConvertError> {
    let path = directory.join(name);
    let bytes = read_limited(&path, MAX_NOTE).map_err(ConvertError::read(&path))?;
    Ok(match bytes {
        Some(bytes) => Note::parse(&bytes),
        None => Err(format!("it has more than {MAX_NOTE} bytes, the limit for a note")),
    })
}

/// Returns the bytes of a file, or `None` if it has more than `max`.
fn read_limited(path: &Path, max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
    Ok(u64::try_from(bytes.len()).is_ok_and(|len| len <= max).then_some(bytes))
}

/// Returns the name of an attachment's file. Takeout writes `.jpg` files that the JSON calls
/// `.jpeg`, and the reverse.
fn stored_name<'a>(files: &'a BTreeSet<String>, name: &str) -> Option<&'a str> {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let other = match extension.to_ascii_lowercase().as_str() {
        "jpeg" => Some(format!("{stem}.jpg")),
        "jpg" => Some(format!("{stem}.jpeg")),
        _ => None,
    };
    let found = files.get(name).or_else(|| other.and_then(|other| files.get(&other)));
    found.map(String::as_str)
}

fn write_note(
    directory: &Path,
    files: &BTreeSet<String>,
    entry: &Entry,
    note: &Note,
    used: &mut HashSet<String>,
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let mut page = note.page(entry.name.clone(), entry.path.clone());
    let mut attached = Vec::new();
    for wish in &note.attachments {
        let Some(stored) = stored_name(files, wish) else {
            out.lost(&format!("{}, {wish}", entry.name), "the file is not in the directory")?;
            continue;
        };
        used.insert(stored.to_owned());
        let name = page.attach(stored);
        let mark = if brain_page::is_picture(&name) { "!" } else { "" };
        page.body.push_str(&format!("\n\n{mark}[[{name}]]"));
        attached.push((stored, name));
    }
    page.body = page.body.trim_start_matches('\n').to_owned();
    for key in &note.unread {
        out.lost(&entry.name, &format!("its field \"{key}\" is not read"))?;
    }
    out.page(&page)?;
    for (stored, name) in attached {
        let path = directory.join(stored);
        let max = u64::try_from(MAX_ATTACHMENT).unwrap_or(u64::MAX);
        match read_limited(&path, max).map_err(ConvertError::read(&path))? {
            Some(bytes) => out.file(&page, &name, &bytes)?,
            None => out.lost(
                &format!("{}, {stored}", entry.name),
                &format!("it has more than {MAX_ATTACHMENT} bytes, the limit for a file of a page"),
            )?,
        }
    }
    Ok(())
}
