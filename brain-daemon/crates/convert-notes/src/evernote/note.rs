//! Reads a note of an ENEX file.

use std::io::BufRead;

use brain_protocol::MAX_ATTACHMENT;
use jiff::Timestamp;

use super::input::{Data, Decoder, Input, Part};
use super::reasons::Reasons;
use super::tasks::Task;
use super::time::time;

/// Maximum number of elements in each other. ENEX has four.
const MAX_DEPTH: usize = 16;
/// Maximum length of the text of an element, which can have several pieces, in bytes.
const MAX_TEXT: usize = 32 * 1024 * 1024;
/// Maximum length of all texts of a note without its content, in bytes.
const MAX_TEXTS: usize = 8 * 1024 * 1024;

/// What of a note is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The fields, not the files.
    Fields,
    /// All but the data of its files.
    Note,
    /// The data of its files.
    Files,
}

/// A note.
#[derive(Debug, Default)]
pub(super) struct Note {
    pub(super) title: String,
    /// Its id, which only some programs write.
    pub(super) guid: String,
    pub(super) created: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    pub(super) tags: Vec<String>,
    /// Elements of `note-attributes` with their texts.
    pub(super) attributes: Vec<(String, String)>,
    /// ENML.
    pub(super) content: String,
    pub(super) resources: Vec<Resource>,
    pub(super) tasks: Vec<Task>,
    /// What is not in the fields above: reasons for the report.
    pub(super) lost: Reasons,
    /// The length of all texts without the content.
    texts: usize,
}

/// A file of a note, without its data.
#[derive(Debug, Default)]
pub(super) struct Resource {
    /// MD5 of the data.
    pub(super) hash: String,
    pub(super) mime: String,
    /// Its name; empty if it has none.
    pub(super) name: String,
    /// What else the program knows about it: names and texts.
    pub(super) facts: Vec<(String, String)>,
}

/// Elements of a file's attributes that say how Evernote shows it, or are in its data.
const UNUSED: [&str; 3] = ["attachment", "client-will-index", "reco-type"];

/// Reads a note whose start has just been read. `on_data` gets the number of each file and its
/// data, if [`Wanted::Files`].
///
/// # Errors
/// The reason why the note is not well-formed or cannot be read, or the error of `on_data`.
pub(super) fn read_note<R: BufRead, E: From<String>>(
    input: &mut Input<R>,
    wanted: Wanted,
    on_data: &mut dyn FnMut(usize, &Data) -> Result<(), E>,
) -> Result<Note, E> {
    let max = match wanted {
        Wanted::Fields => None,
        Wanted::Note => Some(0),
        Wanted::Files => Some(MAX_ATTACHMENT),
    };
    let mut note = Note::default();
    // The open elements with their texts so far.
    let mut open: Vec<(String, String)> = Vec::new();
    let mut decoder = None;
    loop {
        match input.next()? {
            Part::Start(name) if open.len() >= MAX_DEPTH => {
                return Err(format!("the element {name} is nested too deeply").into());
            }
            Part::Start(name) => {
                if name == "data" || name == "alternate-data" {
                    let mut new = Decoder::new(max.filter(|_| name == "data"));
                    input.data(&mut new)?;
                    decoder = Some(new);
                } else {
                    note.open(&open, &name);
                }
                open.push((name, String::new()));
            }
            Part::Text(piece) => match (&mut decoder, open.last_mut()) {
                (Some(decoder), _) => decoder.push(piece.as_bytes()),
                (None, Some((name, text))) if text.len() > MAX_TEXT => {
                    return Err(format!("the text of {name} has more than {MAX_TEXT} bytes").into());
                }
                (None, Some((_, text))) => text.push_str(&piece),
                (None, None) => {}
            },
            Part::Unknown(name) => {
                open.iter_mut().last().into_iter().for_each(|(_, text)| {
                    text.push_str(&format!("&{name};"));
                });
                note.lost.push_name(&name);
            }
            Part::End => {
                let Some((name, text)) = open.pop() else { return Ok(note) };
                match decoder.take().map(Decoder::finish) {
                    Some(data) if name == "data" => {
                        if wanted == Wanted::Files {
                            on_data(note.resources.len().saturating_sub(1), &data)?;
                        }
                        note.data(data);
                    }
                    Some(_) => {}
                    None => note.close(&mut open, &name, &text)?,
                }
            }
            Part::Eof => return Err("the file ends within a note".to_owned().into()),
        }
    }
}

impl Note {
    /// Begins an element of the note.
    fn open(&mut self, parents: &[(String, String)], name: &str) {
        match (parents, name) {
            ([], "resource") => self.resources.push(Resource::default()),
            ([], "task") => self.tasks.push(Task::default()),
            ([(parent, _)], "reminder") if parent == "task" => {
                if let Some(task) = self.tasks.last_mut() {
                    task.reminders.push(String::new());
                }
            }
            _ => {}
        }
    }

    /// Keeps the hash of a file's data.
    fn data(&mut self, data: Data) {
        if let Some(resource) = self.resources.last_mut() {
            resource.hash = data.hash;
        }
    }

    /// Ends an element of the note.
    fn close(
        &mut self,
        open: &mut [(String, String)],
        name: &str,
        text: &str,
    ) -> Result<(), String> {
        if let Some((parent, outer)) = open.last_mut()
            && ["title", "tag", "content"].contains(&parent.as_str())
        {
            self.lost.push(format!("its <{parent}> has an element <{name}>, whose text is kept"));
            outer.push_str(text);
            return Ok(());
        }
        let parents: Vec<&str> = open.iter().map(|(name, _)| name.as_str()).collect();
        if (parents.as_slice(), name) == (&[], "content") {
            text.trim().clone_into(&mut self.content);
            return Ok(());
        }
        self.texts = self.texts.saturating_add(text.len());
        if self.texts > MAX_TEXTS {
            return Err(format!("the fields of a note have more than {MAX_TEXTS} bytes"));
        }
        let text = text.trim().to_owned();
        let is_container = matches!(name, "note-attributes" | "resource" | "task");
        match (parents.as_slice(), name) {
            ([], "title") => self.title = brain_page::single_line(&text),
            ([], "created") => self.created = self.time(name, &text),
            ([], "updated") => self.updated = self.time(name, &text),
            ([], "tag") if !text.is_empty() => self.tags.push(text),
            ([], "guid") | (["note-custom-metadata"], "guid") => self.guid = text,
            // evernote-backup repeats the name of the file and the tags here.
            ([], "note-custom-metadata") | (["note-custom-metadata"], _) => {}
            (["note-attributes"], _) if !text.is_empty() => {
                self.attributes.push((name.to_owned(), text));
            }
            (["resource", ..], _) => self.resource_text(&parents, name, text),
            (["task", ..], _) => {
                let task = self.tasks.last_mut();
                if task.is_some_and(|task| !task.text(parents.len() > 1, name, text)) {
                    self.lost.push(format!("the element <{name}> of its tasks is not read"));
                }
            }
            ([], name) if !is_container && !text.is_empty() => {
                self.lost.push(format!("its element <{name}> is not read"));
            }
            _ => {}
        }
        Ok(())
    }

    fn resource_text(&mut self, parents: &[&str], name: &str, text: String) {
        let Some(resource) = self.resources.last_mut() else { return };
        match (parents, name) {
            ([_], "mime") => resource.mime = text,
            ([_, "resource-attributes"], "file-name") => resource.name = text,
            ([_, "resource-attributes"], _) if !text.is_empty() && !UNUSED.contains(&name) => {
                resource.facts.push((name.to_owned(), text));
            }
            _ => {}
        }
    }

    fn time(&mut self, name: &str, text: &str) -> Option<Timestamp> {
        let time = time(text);
        if time.is_none() && !text.is_empty() {
            self.lost.push(format!("its time \"{name}\" is not a time: {text}"));
        }
        time
    }
}
