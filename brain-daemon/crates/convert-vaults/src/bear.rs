//! Reads notes of Bear: a backup (`.bear2bk`, `.bearbk`), or a directory of TextBundles.
//!
//! A TextBundle is a folder with `info.json`, `text.md` and `assets/`. Facts are from backups of Bear
//! 2 (2023 and 2026) that people published. Bundles of other programs are read in the same way.

mod info;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use brain_convert_base::{ConvertError, Entry, Format, Output, Page, Paths, Sample, Tree, Value};
use brain_page::percent_decode;

use crate::rewrite::{Link, NewLink, Rewrite, rewrite};
use crate::vault::{Attached, Vault, is_external, key, own_name, report};
use info::Info;

pub(crate) const FORMAT: Format = Format {
    name: "bear",
    title: "notes of Bear (TextBundle)",
    is_by_others: false,
    recognise,
    convert,
};

/// The names of the text in a bundle.
const TEXTS: [&str; 3] = ["text.md", "text.markdown", "text.txt"];
const INFO: &str = "info.json";
/// The end of a bundle's name.
const BUNDLE: &str = ".textbundle";
/// Maximum size of `info.json`, in bytes. Of an encrypted note it has the text.
const MAX_INFO: usize = 8_000_000;
/// The beginning of addresses of notes.
const NOTE_ADDRESS: &str = "bear://x-callback-url/open-note?";

fn recognise(sample: &Sample) -> bool {
    let Some(tree) = sample.tree() else { return false };
    let bundles = tree.entries().iter().filter(|entry| {
        let is_info = entry.name() == INFO;
        is_info && text_of(tree, entry.folder()).is_some()
    });
    let bundles: Vec<&Entry> = bundles.collect();
    let has_mark = bundles.first().is_some_and(|entry| {
        let info = tree.read(entry, MAX_INFO).ok().flatten().unwrap_or_default();
        String::from_utf8_lossy(&info).contains("net.daringfireball.markdown")
            || entry.folder().ends_with(BUNDLE)
            || entry.folder().is_empty() && sample.path().to_string_lossy().ends_with(BUNDLE)
    });
    let folders: HashSet<&str> = bundles.iter().map(|entry| entry.folder()).collect();
    // The files of a bundle lie in its folder, or in folders of that.
    let is_in_bundle = |entry: &Entry| {
        let ends = entry.path.match_indices('/').filter_map(|(end, _)| entry.path.get(..end));
        folders.contains("") || ends.into_iter().any(|folder| folders.contains(folder))
    };
    has_mark && tree.is_mostly(is_in_bundle)
}

/// Returns the number of the text of a bundle.
fn text_of(tree: &Tree, folder: &str) -> Option<usize> {
    let path =
        |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    TEXTS.iter().find_map(|name| {
        let path = path(name);
        tree.entries().binary_search_by(|entry| entry.path.as_str().cmp(&path)).ok()
    })
}

/// A note.
struct Note {
    info: Info,
    /// The number of the file with its text.
    text: usize,
    path: String,
    title: String,
}

/// The notes by their titles and ids.
#[derive(Default)]
struct Names {
    titles: HashMap<String, String>,
    ids: HashMap<String, String>,
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let tree = Tree::open(path).map_err(ConvertError::read(path))?;
    let Some(tree) = tree else {
        return Err(ConvertError::Malformed {
            from: path.display().to_string(),
            reason: "it is neither a directory nor a ZIP archive".to_owned(),
        });
    };
    tree.report_problems(out)?;
    let mut vault = Vault::new(&tree);
    let mut names = Names::default();
    let notes = notes(&tree, &mut vault, &mut names, out)?;
    for note in notes {
        write_note(&mut vault, &names, &note, out)?;
    }
    vault.report_unused(out, |_| None)?;
    Ok(())
}

/// Finds all notes, and reports those that are not imported.
fn notes(
    tree: &Tree,
    vault: &mut Vault<'_>,
    names: &mut Names,
    out: &mut Output<'_>,
) -> io::Result<Vec<Note>> {
    let mut found = Vec::new();
    for (number, entry) in tree.entries().iter().enumerate() {
        if matches!(entry.name(), "tags.json" | "backup.json") {
            vault.mark_used(number);
        }
        let Some(text) = text_of(tree, entry.folder()).filter(|_| entry.name() == INFO) else {
            continue;
        };
        vault.mark_used(number);
        let info = tree.read(entry, MAX_INFO).ok().flatten().unwrap_or_default();
        let info = match Info::parse(&info) {
            Ok(info) => info,
            Err(error) => {
                out.lost(
                    &entry.path,
                    &format!("it cannot be read, so dates are missing: {error}"),
                )?;
                Info::default()
            }
        };
        let reason = match (info.is_trashed, info.is_encrypted) {
            (true, _) => Some("it is in the trash of Bear"),
            (_, true) => Some("it is encrypted"),
            _ => None,
        };
        if let Some(reason) = reason {
            out.lost(entry.folder(), reason)?;
            for (other, file) in tree.entries().iter().enumerate() {
                if file.path.strip_prefix(entry.folder()).is_some_and(|it| it.starts_with('/')) {
                    vault.mark_used(other);
                }
            }
            continue;
        }
        let title = title(tree, text).unwrap_or_else(|| bundle_name(entry).to_owned());
        found.push((info, bundle_name(entry), text, title));
    }
    // By age, so that a new note does not change the paths of older ones with its title.
    found.sort_by_key(|(info, name, ..)| (info.created, *name));
    let mut paths = Paths::default();
    let mut lines = Vec::new();
    let notes = found.into_iter().map(|(info, _, text, title)| {
        let path = paths.add([], &title);
        lines.extend(first_line(tree, text).map(|line| (key(&line), path.clone())));
        names.titles.entry(key(&title)).or_insert_with(|| path.clone());
        names.ids.insert(info.id.to_lowercase(), path.clone());
        vault.add_page(text, path.clone());
        Note { info, text, path, title }
    });
    let notes = notes.collect();
    // Without a heading, Bear's title is the first line; the name of the bundle can differ from it.
    for (line, path) in lines {
        names.titles.entry(line).or_insert(path);
    }
    Ok(notes)
}

fn first_line(tree: &Tree, text: usize) -> Option<String> {
    let head = tree.head(tree.entries().get(text)?, 4096).ok()?;
    let head = String::from_utf8_lossy(&head);
    Some(head.trim_start_matches('\u{feff}').lines().next()?.trim().to_owned())
}

/// Returns the heading in the first line of a note: its title.
fn title(tree: &Tree, text: usize) -> Option<String> {
    let line = first_line(tree, text)?;
    let title = line.trim_start_matches('#').trim();
    (line.starts_with('#') && line.contains("# ") && !title.is_empty()).then(|| title.to_owned())
}

fn bundle_name(info: &Entry) -> &str {
    let folder = info.folder().rsplit('/').next().unwrap_or_default();
    folder.strip_suffix(".textbundle").unwrap_or(folder)
}

fn write_note(
    vault: &mut Vault<'_>,
    names: &Names,
    note: &Note,
    out: &mut Output<'_>,
) -> io::Result<()> {
    let Some(entry) = vault.entry(note.text) else { return Ok(()) };
    let Some(text) = vault.text(entry, out)? else { return Ok(()) };
    let mut page = Page::new(&entry.path, &note.path, &note.title);
    (page.created, page.updated) = (note.info.created, note.info.updated);
    let yes = || Value::Text("true".to_owned());
    for (name, is_set) in [("archived", note.info.is_archived), ("pinned", note.info.is_pinned)] {
        if is_set {
            page.fields.push((name.to_owned(), yes()));
        }
    }
    let (attached, lost) = (Attached::new(), Vec::new());
    let mut rules = NoteRules { vault, names, folder: entry.folder(), page, attached, lost };
    let body = rewrite(&text, &mut rules);
    let NoteRules { mut page, attached, lost, .. } = rules;
    page.body = body;
    report(&entry.path, lost, out)?;
    out.page(&page)?;
    vault.write_files(&page, &attached, out)
}

struct NoteRules<'v, 'a> {
    vault: &'v mut Vault<'a>,
    names: &'v Names,
    folder: &'a str,
    page: Page,
    attached: Attached,
    lost: Vec<String>,
}

impl NoteRules<'_, '_> {
    /// Returns the path for a title, or for a title with a heading: `Title/Heading`.
    fn find(&self, name: &str) -> Option<String> {
        let page = |title: &str| self.names.titles.get(&key(title.trim()));
        if let Some(path) = page(name) {
            return Some(path.clone());
        }
        let parts = name.match_indices('/').map(|(at, _)| name.split_at(at));
        parts.into_iter().find_map(|(title, heading)| {
            let heading = heading.trim_start_matches('/');
            Some(format!("{}#{heading}", page(title)?))
        })
    }
}

impl Rewrite for NoteRules<'_, '_> {
    fn link(&mut self, link: &Link<'_>) -> NewLink {
        let label = link.label.to_owned();
        if link.is_wiki {
            let path = self.find(link.target);
            return path.map_or(NewLink::Keep, |path| NewLink::Page { path, label });
        }
        if let Some(query) = link.target.strip_prefix(NOTE_ADDRESS) {
            let value = |name: &str| {
                let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
                pairs.find(|(known, _)| *known == name).map(|(_, value)| percent_decode(value))
            };
            let by_id = value("id").and_then(|id| self.names.ids.get(&id.to_lowercase()).cloned());
            let path = by_id.or_else(|| self.find(&value("title")?));
            return path.map_or(NewLink::Keep, |path| NewLink::Page { path, label });
        }
        if is_external(link.target) || link.target.starts_with('#') {
            return NewLink::Keep;
        }
        match self.vault.find_from(self.folder, link.target) {
            Some(number) if self.vault.page(number).is_none() => {
                let attached = &mut self.attached;
                NewLink::File(self.vault.attach(&mut self.page, attached, number, own_name))
            }
            _ => {
                self.lost.push(format!("its link to {} leads to no file of the note", link.target));
                NewLink::Keep
            }
        }
    }

    /// Makes tags of the page of tags with blanks, which a text cannot have: `#two words#`.
    fn text(&mut self, text: &str) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('#') {
            let (before, tag) = rest.split_at(at);
            out.push_str(before);
            let is_start =
                before.is_empty() && out.is_empty() || out.ends_with(|c: char| c.is_whitespace());
            match words_tag(tag.get(1..).unwrap_or_default()).filter(|_| is_start) {
                Some(name) => {
                    if !self.page.tags.iter().any(|known| known == name) {
                        self.page.tags.push(name.to_owned());
                    }
                    out.push_str(&format!("\\#{name}"));
                    rest = tag.get(name.len() + 2..).unwrap_or_default();
                }
                None => {
                    out.push('#');
                    rest = tag.get(1..).unwrap_or_default();
                }
            }
        }
        out.push_str(rest);
        (out != text).then_some(out)
    }
}

/// Returns the tag with blanks before the next `#`.
fn words_tag(rest: &str) -> Option<&str> {
    let (name, after) = rest.split_once('#')?;
    let is_name = name.contains(' ')
        && !name.contains('\n')
        && !name.starts_with(char::is_whitespace)
        && !name.ends_with(char::is_whitespace);
    let is_end = !after.starts_with(|c: char| c.is_alphanumeric() || c == '#');
    (is_name && is_end).then_some(name)
}
