//! Lists what an export holds: notes and their paths, notebooks, tags, attachments.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;

use jiff::Timestamp;

use super::html::{html, is_html};
use super::item::{self, Item, NOTE, NOTE_TAG, NOTEBOOK, RESOURCE, TAG};
use super::store::Store;
use brain_convert_base::Output;
use brain_convert_base::Paths;

/// Maximum depth of notebooks. The notebooks around them are left out of the paths.
const MAX_DEPTH: usize = 50;
/// Maximum length of the title that a note without one gets, in characters. As in Joplin.
const MAX_TITLE: usize = 80;

/// A note to write.
pub(super) struct Note {
    pub(super) id: u128,
    /// Empty if it has none.
    pub(super) title: String,
    pub(super) path: String,
    /// Its first line, if it has no title.
    first_line: String,
    notebook: Option<u128>,
    created: Option<Timestamp>,
}

struct Notebook {
    title: String,
    parent: Option<u128>,
}

/// An attachment.
pub(super) struct Attachment {
    pub(super) name: String,
    /// The title in Joplin, which is the usual text of a link to it.
    pub(super) title: String,
    pub(super) is_encrypted: bool,
}

/// What an export holds.
#[derive(Default)]
pub(super) struct Catalog {
    /// All notes to write, by the time of their creation.
    pub(super) notes: Vec<Note>,
    pub(super) attachments: BTreeMap<u128, Attachment>,
    /// The index of each note in `notes`.
    by_id: HashMap<u128, usize>,
    notebooks: BTreeMap<u128, Notebook>,
    tags: BTreeMap<u128, String>,
    /// The tags of each note.
    note_tags: BTreeMap<u128, Vec<u128>>,
    /// Items that are not imported, with the reason.
    left_out: HashMap<u128, &'static str>,
    /// Numbers of items by kind that are not read.
    other_kinds: BTreeMap<u32, u64>,
}

impl Catalog {
    /// Reads all items and keeps what links and paths need. Reports what is not imported.
    pub(super) fn read(store: &Store, out: &mut Output<'_>) -> io::Result<Self> {
        let mut catalog = Self::default();
        for (&id, entry) in &store.items {
            let from = store.item_name(id);
            match store.item(entry) {
                Err(reason) => out.lost(&from, &reason)?,
                Ok((text, is_utf8)) => {
                    if !is_utf8 {
                        out.lost(&from, "bytes that are not UTF-8 were replaced")?;
                    }
                    match item::parse(&text) {
                        Some(item) => catalog.add(id, &item, &from, out)?,
                        None => out.lost(&from, "it does not end as an item of Joplin")?,
                    }
                }
            }
        }
        out.report_cut(&catalog.assign_paths())?;
        catalog.report_unused(store, out)?;
        Ok(catalog)
    }

    fn add(&mut self, id: u128, item: &Item, from: &str, out: &mut Output<'_>) -> io::Result<()> {
        let reason = if item.is_set("encryption_applied") {
            Some("it is encrypted; decrypt it in Joplin and export again")
        } else if item.is_set("deleted_time") {
            Some("it is in the trash of Joplin")
        } else {
            None
        };
        if let Some(reason) = reason {
            self.left_out.insert(id, reason);
            let kind = kind_name(item.kind).unwrap_or("item");
            return out.lost(&named(kind, item.title, from), reason);
        }
        match item.kind {
            NOTE => return self.add_note(id, item, from, out),
            NOTEBOOK => {
                let (title, parent) = (item.title.to_owned(), item.id("parent_id"));
                self.notebooks.insert(id, Notebook { title, parent });
            }
            RESOURCE => _ = self.attachments.insert(id, attachment(id, item)),
            TAG => _ = self.tags.insert(id, item.title.to_owned()),
            NOTE_TAG => match (item.id("note_id"), item.id("tag_id")) {
                (Some(note), Some(tag)) => self.note_tags.entry(note).or_default().push(tag),
                _ => return out.lost(from, "it ties a tag to a note, and names only one of them"),
            },
            kind => *self.other_kinds.entry(kind).or_default() += 1,
        }
        Ok(())
    }

    fn add_note(
        &mut self,
        id: u128,
        item: &Item,
        from: &str,
        out: &mut Output<'_>,
    ) -> io::Result<()> {
        let mut title = item.title.to_owned();
        let first_line = match title.as_str() {
            "" if is_html(item) => first_line(&html(item.body).unwrap_or_default().0),
            "" => first_line(item.body),
            _ => String::new(),
        };
        if item.is_set("is_conflict") {
            let name = if title.is_empty() { first_line.clone() } else { title };
            title = format!("{name} (conflict)").trim().to_owned();
            let reason = "Joplin kept it after a conflict; it was imported as a page of its own";
            out.lost(&named("note", &name, from), reason)?;
        }
        self.notes.push(Note {
            id,
            title,
            path: String::new(),
            first_line,
            notebook: item.id("parent_id"),
            created: item.time(["user_created_time", "created_time"]),
        });
        Ok(())
    }

    /// Assigns paths in the order of creation, so that a later note does not change earlier paths.
    fn assign_paths(&mut self) -> Paths {
        let mut notes = std::mem::take(&mut self.notes);
        notes.sort_by_key(|note| (note.created.is_none(), note.created, note.id));
        let mut paths = Paths::default();
        for (index, note) in notes.iter_mut().enumerate() {
            let name = if note.title.is_empty() { &note.first_line } else { &note.title };
            let folders = self.notebooks_of(note.notebook);
            let folders = folders.iter().filter_map(|id| self.notebooks.get(id));
            note.path = paths.add(folders.map(|it| it.title.as_str()), name);
            self.by_id.insert(note.id, index);
        }
        self.notes = notes;
        paths
    }

    /// Returns the ids of a notebook and those around it, the outermost first.
    fn notebooks_of(&self, notebook: Option<u128>) -> Vec<u128> {
        let mut ids = Vec::new();
        let mut next = notebook;
        while let Some(id) = next
            && let Some(notebook) = self.notebooks.get(&id)
            && ids.len() < MAX_DEPTH
            && !ids.contains(&id)
        {
            ids.push(id);
            next = notebook.parent;
        }
        ids.reverse();
        ids
    }

    /// Returns whether a notebook is in one that is not among `ids`.
    fn has_outer(&self, id: u128, ids: &[u128]) -> bool {
        let parent = self.notebooks.get(&id).and_then(|notebook| notebook.parent);
        parent.is_some_and(|it| self.notebooks.contains_key(&it) && !ids.contains(&it))
    }

    /// Reports notebooks and tags without notes, and kinds of items that are not read.
    fn report_unused(&self, store: &Store, out: &mut Output<'_>) -> io::Result<()> {
        let parents: HashSet<Option<u128>> = self.notes.iter().map(|note| note.notebook).collect();
        let (mut used, mut cut) = (HashSet::new(), BTreeSet::new());
        for notebook in parents {
            let ids = self.notebooks_of(notebook);
            let outermost = ids.first().filter(|_| ids.len() == MAX_DEPTH);
            cut.extend(outermost.filter(|id| self.has_outer(**id, &ids)));
            used.extend(ids);
        }
        for id in cut {
            let title = self.notebooks.get(&id).map_or("", |notebook| &notebook.title);
            let reason = "it is nested too deeply; paths of notes deep in it begin with it";
            out.lost(&named("notebook", title, &store.item_name(id)), reason)?;
        }
        for (id, notebook) in self.notebooks.iter().filter(|(id, _)| !used.contains(id)) {
            let from = named("notebook", &notebook.title, &store.item_name(*id));
            out.lost(&from, "it has no notes that were imported")?;
        }
        let mut tags: HashSet<u128> = HashSet::new();
        for (note, of_note) in &self.note_tags {
            if self.by_id.contains_key(note) {
                tags.extend(of_note);
            }
        }
        for (id, tag) in self.tags.iter().filter(|(id, _)| !tags.contains(id)) {
            let from = named("tag", tag, &store.item_name(*id));
            out.lost(&from, "no note that was imported has it")?;
        }
        for (kind, count) in &self.other_kinds {
            let items = if *count == 1 { "item" } else { "items" };
            let from = format!("{}, {count} {items} of kind {kind}", store.name);
            match kind_name(*kind) {
                Some(name) => out.lost(&from, &format!("{name}: not read"))?,
                None => out.lost(&from, "this kind is not known")?,
            }
        }
        Ok(())
    }

    /// Returns the path of a note.
    pub(super) fn path(&self, id: u128) -> Option<&str> {
        self.notes.get(*self.by_id.get(&id)?).map(|note| note.path.as_str())
    }

    /// Returns the tags of a note, sorted, and the ids of tags that are not in the export.
    pub(super) fn tags(&self, note: u128) -> (Vec<String>, Vec<u128>) {
        let (mut tags, mut missing) = (Vec::new(), Vec::new());
        for id in self.note_tags.get(&note).into_iter().flatten() {
            match self.tags.get(id) {
                Some(tag) => tags.push(tag.clone()),
                None => missing.push(*id),
            }
        }
        tags.sort_unstable();
        tags.dedup();
        (tags, missing)
    }

    /// Returns what the target of a link is, if it is neither a note nor an attachment to write.
    pub(super) fn absence(&self, id: u128) -> &'static str {
        if self.notebooks.contains_key(&id) {
            return "is a notebook";
        }
        match self.left_out.get(&id) {
            Some(_) => "was not imported",
            None => "is not in the export",
        }
    }
}

/// Returns a name for people: `note "Title" (file)`.
pub(super) fn named(kind: &str, title: &str, file: &str) -> String {
    match brain_page::single_line(title).as_str() {
        "" => format!("{kind} ({file})"),
        title => format!("{kind} \"{title}\" ({file})"),
    }
}

/// Returns what items of a kind are (`BaseModel.ts`, `ModelType`).
fn kind_name(kind: u32) -> Option<&'static str> {
    Some(match kind {
        NOTE => "note",
        NOTEBOOK => "notebook",
        3 => "settings",
        RESOURCE => "attachment",
        TAG => "tag",
        NOTE_TAG => "tie of a note and a tag",
        7 => "saved searches",
        8 => "alarms",
        9 => "encryption keys",
        10 => "records of changes",
        13 => "earlier versions of notes",
        14 => "records of migrations",
        15 => "filters",
        16 => "commands",
        _ => return None,
    })
}

/// Returns the first line of a text that has a word, without the marks of markdown before it.
fn first_line(body: &str) -> String {
    let line = |line: &str| {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || "#>*-+=`~_".contains(c));
        line.chars().take(MAX_TITLE).collect::<String>().trim().to_owned()
    };
    body.lines().map(line).find(|line| line.contains(char::is_alphanumeric)).unwrap_or_default()
}

/// Returns the facts about an attachment. Its name is `filename`, else the title, else the id.
fn attachment(id: u128, item: &Item) -> Attachment {
    let (filename, title) = (item.text("filename"), item.title.to_owned());
    let mut name = [filename, title.clone()]
        .into_iter()
        .find(|name| !name.trim().is_empty())
        .unwrap_or_else(|| format!("{id:032x}"));
    let extension: String =
        item.raw("file_extension").chars().filter(|c| c.is_alphanumeric()).take(20).collect();
    let suffix = format!(".{}", extension.to_lowercase());
    if suffix.len() > 1 && !name.to_lowercase().ends_with(&suffix) {
        name.push_str(&format!(".{extension}"));
    }
    if brain_page::is_markdown(std::path::Path::new(&name)) {
        // A page cannot have a markdown file as an attachment.
        name.push_str(".txt");
    }
    Attachment { name, title, is_encrypted: item.is_set("encryption_blob_encrypted") }
}
