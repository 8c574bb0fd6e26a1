//! Reads a workspace of Dendron: directories of notes whose names have dots, such as
//! `people.ann.md`.
//!
//! Facts are from notes that `dendron` 0.122.0 wrote. Dots are the tree. The label of a link comes
//! first: `[[Bed|people.ann#beds]]`. Times are milliseconds since 1970, which a page keeps.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use brain_convert_base::{ConvertError, Entry, Format, Output, Page, Paths, Sample, Tree};
use brain_page::Frontmatter;

use crate::frontmatter::split;
use crate::rewrite::{Link, NewLink, Rewrite, rewrite};
use crate::vault::{Attached, Vault, is_external, key, own_name, report, split_anchor};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub(crate) const FORMAT: Format = Format {
    name: "dendron",
    title: "a workspace of Dendron",
    is_by_others: false,
    recognise,
    convert,
};

/// The file that marks a workspace.
const SETTINGS: &str = "dendron.yml";
/// How many notes are looked at if there is no such file.
const MAX_LOOKED_AT: usize = 20;
/// How much of a note is looked at, in bytes.
const MAX_HEAD: usize = 4096;

fn recognise(sample: &Sample) -> bool {
    let Some(tree) = sample.tree() else { return false };
    if tree.entries().iter().any(|it| it.name() == SETTINGS && it.path.matches('/').count() <= 1) {
        return true;
    }
    let notes = tree.entries().iter().filter(|entry| entry.extension() == "md");
    let mut notes = notes.take(MAX_LOOKED_AT).peekable();
    notes.peek().is_some() && notes.all(|entry| has_frontmatter(tree, entry))
}

/// Returns whether a note begins with the frontmatter that Dendron writes.
fn has_frontmatter(tree: &Tree, entry: &Entry) -> bool {
    let head = tree.head(entry, MAX_HEAD).unwrap_or_default();
    let head = String::from_utf8_lossy(&head);
    let lines = head.lines().skip(1).take_while(|line| !line.starts_with("---"));
    let mut found: HashSet<&str> = HashSet::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let is_time = value.trim().len() == 13 && value.trim().bytes().all(|b| b.is_ascii_digit());
        if is_time || !matches!(name, "updated" | "created") {
            found.insert(name);
        }
    }
    let all = ["id", "title", "desc", "updated", "created"];
    head.starts_with("---") && all.iter().all(|name| found.contains(name))
}

/// The notes of a workspace.
struct Workspace<'a> {
    vault: Vault<'a>,
    /// Paths of pages by the names of their notes: those of each directory, then those of all.
    names: HashMap<(Option<String>, String), String>,
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
    let mut workspace = Workspace { vault: Vault::new(&tree), names: HashMap::new() };
    let notes = name_notes(&tree, &mut workspace);
    for number in notes {
        write_note(&mut workspace, number, out)?;
    }
    workspace.vault.report_unused(out, |entry| Some(reason(entry)?.to_owned()))?;
    Ok(())
}

/// Returns why a file is in no page.
fn reason(entry: &Entry) -> Option<&'static str> {
    let name = entry.name();
    if name.ends_with(".schema.yml") {
        return Some("it is a schema, and no note");
    }
    let is_hidden = entry.path.split('/').any(|part| part.starts_with('.'));
    let is_setting = is_hidden || [SETTINGS, "dendron.code-workspace"].contains(&name);
    is_setting.then_some("it has settings, and no notes")
}

/// Names the pages of all notes. Returns the numbers of their files.
fn name_notes(tree: &Tree, workspace: &mut Workspace<'_>) -> Vec<usize> {
    let is_note = |entry: &Entry| {
        entry.extension() == "md" && !entry.path.split('/').any(|part| part.starts_with('.'))
    };
    let notes = tree.entries().iter().enumerate().filter(|(_, entry)| is_note(entry));
    let notes: Vec<(usize, &Entry)> = notes.collect();
    let directories: HashSet<&str> = notes.iter().map(|(_, entry)| entry.folder()).collect();
    // With one vault, its name says nothing.
    let vaults =
        directories.iter().filter(|directory| tree.entry(&join(directory, "root.md")).is_some());
    let is_one_vault = vaults.count() <= 1;
    let mut paths = Paths::default();
    for (number, entry) in &notes {
        let stem = stem(entry);
        let is_vault =
            directories.len() == 1 || tree.entry(&join(entry.folder(), "root.md")).is_some();
        let mut folders: Vec<&str> = Vec::new();
        if !(is_one_vault && is_vault) {
            folders.extend(entry.folder().split('/').filter(|part| !part.is_empty()));
        }
        if is_vault {
            folders.extend(stem.split('.').filter(|part| !part.is_empty()));
        } else {
            folders.push(stem);
        }
        let name = folders.pop().unwrap_or_default();
        let path = paths.add(folders, name);
        let own = (Some(entry.folder().to_owned()), key(stem));
        workspace.names.insert(own, path.clone());
        workspace.names.entry((None, key(stem))).or_insert_with(|| path.clone());
        workspace.vault.add_page(*number, path);
    }
    notes.into_iter().map(|(number, _)| number).collect()
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn stem(entry: &Entry) -> &str {
    entry.name().rsplit_once('.').map_or(entry.name(), |(stem, _)| stem)
}

fn write_note(
    workspace: &mut Workspace<'_>,
    number: usize,
    out: &mut Output<'_>,
) -> io::Result<()> {
    let Some(entry) = workspace.vault.entry(number) else { return Ok(()) };
    let Some(text) = workspace.vault.text(entry, out)? else { return Ok(()) };
    let (frontmatter, body) = split(&text, &entry.path, out)?;
    let path = workspace.vault.page(number).unwrap_or_default().to_owned();
    let mut page = Page::new(&entry.path, &path, "");
    page.original = Some(with_tags(frontmatter));
    let (attached, lost) = (Attached::new(), Vec::new());
    let mut rules = NoteRules { workspace, folder: entry.folder(), page, attached, lost };
    let body = rewrite(&body, &mut rules);
    let NoteRules { mut page, attached, lost, .. } = rules;
    page.body = body;
    report(&entry.path, lost, out)?;
    out.page(&page)?;
    workspace.vault.write_files(&page, &attached, out)
}

/// Returns frontmatter whose tags have `/` between their parts, not dots.
fn with_tags(mut frontmatter: Frontmatter) -> Frontmatter {
    let tags = frontmatter.list("tags");
    if tags.iter().any(|tag| tag.contains('.')) {
        let tags: Vec<String> = tags.iter().map(|tag| tag.replace('.', "/")).collect();
        frontmatter.set_list("tags", &tags);
    }
    frontmatter
}

struct NoteRules<'w, 'a> {
    workspace: &'w mut Workspace<'a>,
    folder: &'a str,
    page: Page,
    attached: Attached,
    lost: Vec<String>,
}

impl NoteRules<'_, '_> {
    /// Returns the path of the page of a note, as a link names it.
    fn find(&self, name: &str) -> Option<&str> {
        let (vault, name) = match name.strip_prefix("dendron://") {
            Some(rest) => rest.split_once('/').map(|(vault, name)| (Some(vault), name))?,
            None => (None, name),
        };
        let name = key(name.trim());
        let names = &self.workspace.names;
        let in_vault = vault.and_then(|vault| {
            let mut keys = names.keys().filter(|(folder, known)| {
                *known == name
                    && folder.as_ref().is_some_and(|it| it.rsplit('/').next() == Some(vault))
            });
            keys.next().and_then(|key| names.get(key))
        });
        let own = || names.get(&(Some(self.folder.to_owned()), name.clone()));
        let any = || names.get(&(None, name.clone()));
        in_vault.or_else(own).or_else(any).map(String::as_str)
    }

    fn wiki_link(&self, link: &Link<'_>) -> NewLink {
        // The label comes first.
        let (label, target) =
            if link.label.is_empty() { ("", link.target) } else { (link.target, link.label) };
        let (name, anchor) = split_anchor(target.trim());
        if name.is_empty() {
            return NewLink::Keep;
        }
        // A reference can have a range, `#beds:#end`, and name a block, `#^id`.
        let heading = anchor.split([':', ',']).next().unwrap_or_default();
        let is_heading = !heading.is_empty() && !heading.starts_with(['^', '*']);
        let anchor = if is_heading { format!("#{heading}") } else { String::new() };
        let path = match self.find(name) {
            Some(path) => path.to_owned(),
            // A note that does not exist yet.
            None if !is_external(name) => name.replace('.', "/"),
            None => return NewLink::Keep,
        };
        NewLink::Page { path: format!("{path}{anchor}"), label: label.trim().to_owned() }
    }
}

impl Rewrite for NoteRules<'_, '_> {
    fn link(&mut self, link: &Link<'_>) -> NewLink {
        if link.is_wiki {
            return self.wiki_link(link);
        }
        if is_external(link.target) || link.target.starts_with('#') {
            return NewLink::Keep;
        }
        let (path, _) = split_anchor(link.target);
        // A path from the root of the vault can begin with a slash.
        let path = path.trim_start_matches('/');
        match self.workspace.vault.find_from(self.folder, path) {
            Some(number) => match self.workspace.vault.page(number) {
                Some(path) => NewLink::Page { path: path.to_owned(), label: link.label.to_owned() },
                None => {
                    let (vault, attached) = (&mut self.workspace.vault, &mut self.attached);
                    NewLink::File(vault.attach(&mut self.page, attached, number, own_name))
                }
            },
            None => {
                self.lost.push(format!("its link to {} leads to no file", link.target));
                NewLink::Keep
            }
        }
    }

    /// Writes `#crop.bean` as `#crop/bean`, and `@ann` as a link to the note `user.ann`.
    fn text(&mut self, text: &str) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        let mut is_changed = false;
        for (number, word) in text.split(' ').enumerate() {
            if number > 0 {
                out.push(' ');
            }
            let bare = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
            let rest = word.get(bare.len()..).unwrap_or_default();
            let is_name = |name: &str| {
                let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
                !name.is_empty() && name.chars().all(is_part)
            };
            let user = bare.strip_prefix('@').filter(|name| is_name(name));
            let user = user.and_then(|name| self.find(&format!("user.{name}")));
            let tag = bare.strip_prefix('#').filter(|name| is_name(name) && name.contains('.'));
            match (user, tag) {
                (Some(path), _) => out.push_str(&format!("[[{path}|{bare}]]{rest}")),
                (_, Some(tag)) => out.push_str(&format!("#{}{rest}", tag.replace('.', "/"))),
                _ => {
                    out.push_str(word);
                    continue;
                }
            }
            is_changed = true;
        }
        is_changed.then_some(out)
    }
}
