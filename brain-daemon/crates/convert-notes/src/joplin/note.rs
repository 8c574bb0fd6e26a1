//! Writes the notes as pages.

use std::collections::{HashMap, HashSet};
use std::io;

use brain_protocol::MAX_ATTACHMENT;

use super::catalog::{Catalog, Note, named};
use super::html::{html_body, is_html};
use super::item::{self, Item};
use super::links::{Target, Targets, rewrite};
use super::store::Store;
use brain_convert_base::Output;
use brain_convert_base::{Page, Value};

/// Fields of a note that become fields of the page: the name in Joplin, and that of the page.
const TEXT_FIELDS: [(&str, &str); 3] =
    [("source_url", "url"), ("author", "author"), ("source_application", "joplin_source")];
/// How the name of Joplin itself begins in `source_application`.
const JOPLIN: &str = "net.cozic.joplin";
const PLACE_FIELDS: [&str; 3] = ["latitude", "longitude", "altitude"];

/// Writes all notes, and reports the attachments that no note has.
pub(super) fn write_all(store: &Store, catalog: &Catalog, out: &mut Output<'_>) -> io::Result<()> {
    let mut used = HashSet::new();
    for note in &catalog.notes {
        let Some(entry) = store.items.get(&note.id) else { continue };
        let from = named("note", &note.title, &store.item_name(note.id));
        let text = match store.item(entry) {
            Ok((text, _)) => text,
            Err(reason) => {
                out.lost(&from, &reason)?;
                continue;
            }
        };
        if let Some(item) = item::parse(&text) {
            write_note(note, &item, &from, (store, catalog, &mut used), out)?;
        }
    }
    for (id, attachment) in &catalog.attachments {
        if !used.contains(id) {
            let from = named("attachment", &attachment.name, &store.item_name(*id));
            out.lost(&from, "no note that was imported refers to it")?;
        }
    }
    let mut unknown: Vec<&u128> =
        store.files.keys().filter(|id| !catalog.attachments.contains_key(id)).collect();
    unknown.sort_unstable();
    for id in unknown {
        let from = format!("attachment ({}, {id:032x})", store.name);
        out.lost(&from, "the export has no facts about it, such as its name")?;
    }
    Ok(())
}

fn write_note(
    note: &Note,
    item: &Item,
    from: &str,
    (store, catalog, used): (&Store, &Catalog, &mut HashSet<u128>),
    out: &mut Output<'_>,
) -> io::Result<()> {
    let mut page = Page::default();
    page.from = store.item_name(note.id);
    page.path.clone_from(&note.path);
    page.title.clone_from(&note.title);
    page.created = note_time(item, "created");
    page.updated = note_time(item, "updated");
    page.fields = fields(note, item);
    let missing_tags;
    (page.tags, missing_tags) = catalog.tags(note.id);
    let body = if is_html(item) { html_body(item.body, from, out)? } else { item.body.to_owned() };
    let mut links = NoteLinks {
        store,
        catalog,
        page: &mut page,
        found: HashMap::new(),
        files: Vec::new(),
        missing: Vec::new(),
    };
    let body = rewrite(&body, &mut links);
    let NoteLinks { files, mut missing, .. } = links;
    page.body = task_line(&page, item) + &body;
    for id in missing_tags {
        missing.push(format!("one of its tags, {id:032x}, is not in the export"));
    }
    for reason in missing.into_iter().chain(item.bad_times()) {
        out.lost(from, &reason)?;
    }
    used.extend(files.iter().map(|(id, _)| *id));
    out.page(&page)?;
    for (id, name) in files {
        if let Some(place) = store.files.get(&id) {
            out.file_from(&page, &name, || store.bytes(place, MAX_ATTACHMENT))?;
        }
    }
    Ok(())
}

fn note_time(item: &Item, name: &str) -> Option<jiff::Timestamp> {
    item.time([&format!("user_{name}_time"), &format!("{name}_time")])
}

fn fields(note: &Note, item: &Item) -> Vec<(String, Value)> {
    let mut fields = Vec::new();
    let mut add = |key: &str, value: String| fields.push((key.to_owned(), Value::Text(value)));
    for (key, name) in TEXT_FIELDS {
        let value = item.text(key);
        if !value.trim().is_empty() && !value.starts_with(JOPLIN) {
            add(name, value);
        }
    }
    let is_zero = |key: &&str| item.raw(key).parse::<f64>().is_ok_and(|it| it == 0.0);
    if !PLACE_FIELDS.iter().take(2).all(|key| item.raw(key).is_empty() || is_zero(key)) {
        for key in PLACE_FIELDS {
            if key != "altitude" || !is_zero(&key) {
                add(key, item.raw(key).to_owned());
            }
        }
    }
    for (key, name) in [("todo_due", "due"), ("todo_completed", "completed")] {
        if let Some(time) = item.milliseconds(key) {
            add(name, time.to_string());
        }
    }
    add("joplin_id", format!("{:032x}", note.id));
    fields.retain(|(_, value)| !matches!(value, Value::Text(text) if text.is_empty()));
    fields
}

/// Returns the task that a to-do is, as a line and an empty line; empty for another note.
fn task_line(page: &Page, item: &Item) -> String {
    if !item.is_set("is_todo") {
        return String::new();
    }
    let name = page.path.rsplit('/').next().unwrap_or_default();
    let text = if page.title.is_empty() { name } else { &page.title };
    let text = brain_page::escape_inline(&brain_page::single_line(text));
    let mark = if item.is_set("todo_completed") { 'x' } else { ' ' };
    format!("- [{mark}] {text}\n\n")
}

/// Finds the targets of the links of one note, and attaches files to its page.
struct NoteLinks<'a> {
    store: &'a Store,
    catalog: &'a Catalog,
    page: &'a mut Page,
    found: HashMap<u128, Option<Target>>,
    /// The attached files: ids and names.
    files: Vec<(u128, String)>,
    /// Reasons why links are kept as they are.
    missing: Vec<String>,
}

impl NoteLinks<'_> {
    fn look_up(&mut self, id: u128) -> Option<Target> {
        if let Some(path) = self.catalog.path(id) {
            return Some(Target::Page(path.to_owned()));
        }
        let reason = match self.catalog.attachments.get(&id) {
            Some(attachment) if attachment.is_encrypted => {
                format!("the file {} is encrypted; its link is kept as it is", attachment.name)
            }
            Some(attachment) if !self.store.files.contains_key(&id) => {
                let name = &attachment.name;
                format!("the file {name} is not in the export; its link is kept as it is")
            }
            Some(attachment) => {
                let name = self.page.attach(&attachment.name);
                self.files.push((id, name.clone()));
                return Some(Target::File { name, title: attachment.title.clone() });
            }
            None => {
                let absence = self.catalog.absence(id);
                format!("the target of its link :/{id:032x} {absence}; the link is kept as it is")
            }
        };
        self.missing.push(reason);
        None
    }
}

impl Targets for NoteLinks<'_> {
    fn find(&mut self, id: u128) -> Option<Target> {
        if let Some(target) = self.found.get(&id) {
            return target.clone();
        }
        let target = self.look_up(id);
        self.found.insert(id, target.clone());
        target
    }
}
