//! The titles of all notes of an export, and the paths of their pages.

use std::collections::HashMap;

use jiff::Timestamp;

use super::files::Enex;
use super::input::Part;
use super::note::{Wanted, read_note};
use brain_convert_base::Paths;

/// The paths of all notes.
#[derive(Default)]
pub(super) struct Titles {
    /// For each file, the paths of its notes.
    paths: Vec<Vec<String>>,
    /// For each file, the reason why it was not read to its end.
    errors: Vec<Option<String>>,
    /// The note with a title: its file and number; `None` if several have it.
    by_title: HashMap<String, Option<(usize, usize)>>,
    /// The note with an id.
    by_guid: HashMap<String, (usize, usize)>,
}

/// A note for the order in which paths are made.
struct Entry {
    created: Option<Timestamp>,
    title: String,
    /// Its file and its number in the file, from 0.
    place: (usize, usize),
}

impl Titles {
    /// Reads the titles of all complete notes.
    pub(super) fn read(files: &[Enex]) -> Self {
        let mut titles = Self::default();
        let mut entries = Vec::new();
        for (number, file) in files.iter().enumerate() {
            let before = entries.len();
            let error = titles.read_file(file, number, &mut entries).err();
            titles.errors.push(error);
            titles.paths.push(vec![String::new(); entries.len() - before]);
        }
        // In the order of time. So a new note does not change the paths of older ones.
        entries.sort_by(|a, b| (a.created, &a.title, a.place).cmp(&(b.created, &b.title, b.place)));
        let mut paths = Paths::default();
        for Entry { title, place: (file, note), .. } in entries {
            let folders = files.get(file).map(|file| file.folders.as_slice()).unwrap_or_default();
            let path = paths.add(folders.iter().map(String::as_str), &title);
            if let Some(known) = titles.paths.get_mut(file).and_then(|paths| paths.get_mut(note)) {
                *known = path;
            }
        }
        titles
    }

    fn read_file(
        &mut self,
        file: &Enex,
        number: usize,
        entries: &mut Vec<Entry>,
    ) -> Result<(), String> {
        let mut input = file.open(0)?;
        let mut count = 0;
        let mut is_export = false;
        loop {
            match input.next()? {
                Part::Start(name) if name == "note" => {
                    let note = read_note(&mut input, Wanted::Fields, &mut |_, _| Ok(()))
                        .map_err(|reason: String| format!("note {}: {reason}", count + 1))?;
                    let place = (number, count);
                    let title = self.by_title.entry(note.title.clone());
                    title.and_modify(|known| *known = None).or_insert(Some(place));
                    if !note.guid.is_empty() {
                        self.by_guid.insert(note.guid, place);
                    }
                    entries.push(Entry { created: note.created, title: note.title, place });
                    count += 1;
                }
                Part::Start(name) => is_export |= name == "en-export",
                Part::Eof if !is_export => return Err("it is not an ENEX file".to_owned()),
                Part::Eof => return Ok(()),
                _ => {}
            }
        }
    }

    /// Returns the path of a note, or `None` if the file was not read so far.
    pub(super) fn path(&self, file: usize, note: usize) -> Option<&str> {
        self.paths.get(file)?.get(note).map(String::as_str)
    }

    /// Returns the reason why a file was not read to its end.
    pub(super) fn error(&self, file: usize) -> Option<&str> {
        self.errors.get(file)?.as_deref()
    }

    /// Returns the path of the note that a link names: by the id in its address, if the export has
    /// ids, else by its text, if exactly one note has this title. An address of the web can be the
    /// one of any note, so its text says nothing.
    pub(super) fn find(&self, address: &str, text: &str) -> Option<&str> {
        let parts = address.split(['/', '?', '#']);
        let place = if !self.by_guid.is_empty() {
            parts.rev().find_map(|part| self.by_guid.get(part))
        } else if address.starts_with("evernote:") {
            self.by_title.get(text)?.as_ref()
        } else {
            None
        };
        let (file, note) = place?;
        self.path(*file, *note)
    }
}
