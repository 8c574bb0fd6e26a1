//! Writes the pages of an ENEX file.

use std::collections::HashMap;

use brain_protocol::MAX_ATTACHMENT;

use super::enml::{self, Targets};
use super::files::Enex;
use super::input::{Data, Part};
use super::note::{Note, Resource, Wanted, read_note};
use super::time::time;
use super::titles::Titles;
use brain_convert_base::{ConvertError, Output};
use brain_convert_base::{Page, Value};

/// Elements of `note-attributes` and the names of their fields. Others keep their own name.
const FIELDS: [(&str, &str); 8] = [
    ("source-url", "url"),
    ("source", "evernote_source"),
    ("source-application", "evernote_application"),
    ("place-name", "place"),
    ("reminder-time", "reminder"),
    ("reminder-done-time", "reminder_done"),
    ("subject-date", "subject_date"),
    ("content-class", "evernote_content_class"),
];

/// Why a note is not written: an error of the output, or of the file.
enum Stop {
    Output(ConvertError),
    File(String),
}

impl From<String> for Stop {
    fn from(reason: String) -> Self {
        Self::File(reason)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error.into())
    }
}

/// Writes all complete notes of a file. [`Titles`] has the error at which it ends.
pub(super) fn file(
    file: &Enex,
    number: usize,
    titles: &Titles,
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    match notes(file, number, titles, out) {
        Ok(()) => Ok(()),
        Err(Stop::Output(error)) => Err(error),
        // It was read before: somebody has changed it meanwhile.
        Err(Stop::File(reason)) => {
            Err(ConvertError::Malformed { from: file.shown.clone(), reason })
        }
    }
}

fn notes(file: &Enex, number: usize, titles: &Titles, out: &mut Output<'_>) -> Result<(), Stop> {
    let mut count = 0;
    if titles.path(number, 0).is_none() {
        return Ok(());
    }
    let mut input = file.open(0)?;
    while let Some(path) = titles.path(number, count) {
        let position = input.position();
        match input.next()? {
            Part::Start(name) if name == "note" => {
                count += 1;
                let note: Note =
                    read_note::<_, String>(&mut input, Wanted::Note, &mut |_, _| Ok(()))?;
                let from = format!("{}, note {count} ({})", file.shown, note.title);
                let files = write_note(&note, from, path, titles, out)?;
                if !files.names.is_empty() {
                    write_files(file, position, &files, out)?;
                }
            }
            Part::Eof => return Err("the file became shorter".to_owned().into()),
            _ => {}
        }
    }
    Ok(())
}

/// A written page, and its files.
struct Files {
    page: Page,
    /// The name of each file by its number in the note; `None` for a second copy.
    names: Vec<Option<String>>,
}

/// Writes the page of a note.
fn write_note(
    note: &Note,
    from: String,
    path: &str,
    titles: &Titles,
    out: &mut Output<'_>,
) -> Result<Files, Stop> {
    let mut page = Page::default();
    page.from = from;
    path.clone_into(&mut page.path);
    page.title.clone_from(&note.title);
    page.created = note.created;
    page.updated = note.updated;
    page.tags.clone_from(&note.tags);
    page.fields = fields(note);
    let mut by_hash = HashMap::new();
    let mut names = Vec::new();
    for (n, resource) in note.resources.iter().enumerate() {
        let is_new = !by_hash.contains_key(resource.hash.as_str());
        by_hash.entry(resource.hash.as_str()).or_insert(n);
        names.push(is_new.then(|| page.attach(&wish(resource, n + 1))));
    }
    let used = vec![false; names.len()];
    let mut targets = NoteTargets { titles, by_hash, names: &names, used };
    let converted = enml::convert(&note.content, &note.tasks, &mut targets);
    page.body = converted.markdown.trim_end().to_owned();
    for (name, is_used) in names.iter().zip(targets.used) {
        if let Some(name) = name.as_ref().filter(|_| !is_used) {
            page.body.push_str(&format!("\n\n{}", embed(name)));
        }
    }
    page.body = page.body.trim_start_matches('\n').to_owned();
    for reason in note.lost.all().into_iter().chain(converted.lost.all()) {
        out.lost(&page.from, &reason)?;
    }
    out.page(&page)?;
    Ok(Files { page, names })
}

/// Writes the data of a note's files, from the position of the note.
fn write_files(
    file: &Enex,
    position: u64,
    files: &Files,
    out: &mut Output<'_>,
) -> Result<(), Stop> {
    let mut input = file.open(position)?;
    loop {
        match input.next()? {
            Part::Start(name) if name == "note" => break,
            Part::Eof => return Err("the file became shorter".to_owned().into()),
            _ => {}
        }
    }
    read_note(&mut input, Wanted::Files, &mut |number, data: &Data| -> Result<(), Stop> {
        let Some(Some(name)) = files.names.get(number) else { return Ok(()) };
        let from = format!("{}, {name}", files.page.from);
        if data.is_damaged {
            return Ok(out.lost(&from, "its base64 is damaged")?);
        }
        if data.size > MAX_ATTACHMENT {
            let size = data.size;
            let limit = format!("{MAX_ATTACHMENT}, the limit for a file of a page");
            return Ok(out.lost(&from, &format!("it has {size} bytes, more than {limit}"))?);
        }
        Ok(out.file(&files.page, name, &data.bytes)?)
    })?;
    Ok(())
}

/// Returns the name of a file: its own, or one by its number and media type.
fn wish(resource: &Resource, number: usize) -> String {
    let extension = match resource.mime.as_str() {
        "image/jpeg" | "image/jpg" => "jpg",
        "image/svg+xml" => "svg",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/x-m4a" | "audio/mp4" => "m4a",
        "text/plain" => "txt",
        "application/vnd.evernote.ink" => "ink",
        mime => mime.split_once('/').map_or("", |(_, kind)| kind),
    };
    let is_plain =
        extension.len() <= 8 && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let extension = if is_plain && !extension.is_empty() { extension } else { "bin" };
    match resource.name.trim() {
        "" => format!("file {number}.{extension}"),
        name if name.contains('.') => name.to_owned(),
        name => format!("{name}.{extension}"),
    }
}

/// Returns the markdown of a file.
fn embed(name: &str) -> String {
    let mark = if brain_page::is_picture(name) { "!" } else { "" };
    format!("{mark}[[{name}]]")
}

/// Returns a text of ENEX for people: a time in its usual form.
fn shown(text: &str) -> String {
    time(text).map_or_else(|| text.to_owned(), |time| time.to_string())
}

/// Returns the fields of a note.
fn fields(note: &Note) -> Vec<(String, Value)> {
    let mut fields = Vec::new();
    let has_time = note.attributes.iter().any(|(name, _)| name == "reminder-time");
    for (name, text) in &note.attributes {
        // Its place in a list of reminders: that there is one is all it says.
        if name == "reminder-order" {
            if !has_time && text != "0" {
                fields.push(("reminder".to_owned(), Value::Text("without a time".to_owned())));
            }
            continue;
        }
        let known = FIELDS.iter().find(|(known, _)| known == name).map(|(_, field)| *field);
        let field = known.map_or_else(|| name.replace('-', "_"), str::to_owned);
        fields.push((field, Value::Text(shown(text))));
    }
    let mut facts = Vec::new();
    for (n, resource) in note.resources.iter().enumerate() {
        let name = wish(resource, n + 1);
        let fact = |(key, text): &(String, String)| format!("{name}: {key} {}", shown(text));
        facts.extend(resource.facts.iter().map(fact));
    }
    if !facts.is_empty() {
        fields.push(("evernote_files".to_owned(), Value::List(facts)));
    }
    if !note.guid.is_empty() {
        fields.push(("evernote_id".to_owned(), Value::Text(note.guid.clone())));
    }
    fields
}

/// What the content of a note refers to.
struct NoteTargets<'a> {
    titles: &'a Titles,
    /// The number of each file by its hash.
    by_hash: HashMap<&'a str, usize>,
    names: &'a [Option<String>],
    used: Vec<bool>,
}

impl Targets for NoteTargets<'_> {
    fn note(&self, address: &str, text: &str) -> Option<String> {
        self.titles.find(address, text).map(str::to_owned)
    }

    fn file(&mut self, hash: &str) -> Option<String> {
        let at = *self.by_hash.get(hash)?;
        *self.used.get_mut(at)? = true;
        self.names.get(at)?.as_deref().map(embed)
    }
}
