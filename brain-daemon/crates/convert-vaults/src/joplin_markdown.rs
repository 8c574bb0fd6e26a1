//! Reads Joplin's export "MD - Markdown + Front Matter".
//!
//! Facts are from an export of Joplin 3.5.1. The frontmatter is YAML whose values are all texts:
//! `title: null` is the title "null". Links are relative paths that encode blanks and parentheses
//! only. Notes in HTML are `.html` with frontmatter.

mod fields;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::borrow::Cow;
use std::io;
use std::path::Path;

use brain_convert_base::{
    ConvertError, Entry, Format, Output, Page, Paths, Sample, Tree, hidden_text,
};
use brain_page::{MediaType, PayloadError, payload};

use crate::rewrite::{Link, NewLink, Rewrite, rewrite};
use crate::vault::{Attached, Vault, is_external, own_name, report, split_anchor};
use fields::Fields;

pub(crate) const FORMAT: Format = Format {
    name: "joplin-markdown",
    title: "an export of Joplin (Markdown + Front Matter)",
    is_by_others: false,
    recognise,
    convert,
};

/// How many notes are looked at.
const MAX_LOOKED_AT: usize = 20;
/// How much of a note is looked at, in bytes.
const MAX_HEAD: usize = 4096;
/// The folder with the attachments.
const RESOURCES: &str = "_resources/";

/// All notes begin with the same lines: title, time of the last change, time of creation.
fn recognise(sample: &Sample) -> bool {
    let Some(tree) = sample.tree() else { return false };
    let notes = tree.entries().iter().filter(|entry| is_note(entry));
    let mut notes = notes.take(MAX_LOOKED_AT).peekable();
    notes.peek().is_some()
        && notes.all(|entry| {
            let head = tree.head(entry, MAX_HEAD).unwrap_or_default();
            is_export(&String::from_utf8_lossy(&head))
        })
}

fn stem(entry: &Entry) -> &str {
    entry.name().rsplit_once('.').map_or(entry.name(), |(stem, _)| stem)
}

fn is_note(entry: &Entry) -> bool {
    let is_resource = entry.path.split('/').any(|part| format!("{part}/") == RESOURCES);
    !is_resource && matches!(entry.extension().as_str(), "md" | "html")
}

fn is_export(head: &str) -> bool {
    let is_time = |line: Option<&str>, name: &str| {
        let time = line.and_then(|line| line.strip_prefix(name)).unwrap_or_default();
        time.len() == "2026-11-30 08:57:29Z".len()
            && time.ends_with('Z')
            && time.starts_with(|c: char| c.is_ascii_digit())
    };
    let Some(rest) = head.strip_prefix("---\ntitle: ") else { return false };
    // A long title goes on in further lines.
    let mut lines =
        rest.lines().skip(1).skip_while(|line| line.starts_with(' ') || line.is_empty());
    is_time(lines.next(), "updated: ") && is_time(lines.next(), "created: ")
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
    let mut paths = Paths::default();
    let notes = tree.entries().iter().enumerate().filter(|(_, entry)| is_note(entry));
    let mut notes: Vec<(usize, &Entry)> = notes.collect();
    // `Same.md` was there before `Same-1.md`.
    notes.sort_by_key(|(_, entry)| (entry.folder(), stem(entry)));
    for (number, entry) in &notes {
        let head = tree.head(entry, MAX_HEAD).unwrap_or_default();
        let title = Fields::split(&String::from_utf8_lossy(&head)).0.title;
        let folders = entry.folder().split('/').filter(|part| !part.is_empty());
        let path = paths.add(folders, if title.is_empty() { stem(entry) } else { &title });
        vault.add_page(*number, path);
    }
    for (number, _) in notes {
        write_note(&mut vault, number, out)?;
    }
    vault.report_unused(out, |_| None)?;
    Ok(())
}

fn write_note(vault: &mut Vault<'_>, number: usize, out: &mut Output<'_>) -> io::Result<()> {
    let Some(entry) = vault.entry(number) else { return Ok(()) };
    let Some(text) = vault.text(entry, out)? else { return Ok(()) };
    let path = vault.page(number).unwrap_or_default().to_owned();
    let (fields, body) = Fields::split(&text);
    let mut page = Page::new(&entry.path, &path, &fields.title);
    let name = path.rsplit('/').next().unwrap_or(&path);
    let task = fields.task(name);
    fields.write(&mut page);
    let body = match entry.extension().as_str() {
        "html" => html(body, &entry.path, out)?,
        _ => body.to_owned(),
    };
    let (attached, lost) = (Attached::new(), Vec::new());
    let mut rules = NoteRules { vault, folder: entry.folder(), page, attached, lost };
    let body = rewrite(&body, &mut rules);
    let NoteRules { mut page, attached, lost, .. } = rules;
    page.body = format!("{task}{body}");
    report(&entry.path, lost, out)?;
    out.page(&page)?;
    vault.write_files(&page, &attached, out)
}

/// Converts the HTML of a note.
fn html(body: &str, from: &str, out: &mut Output<'_>) -> io::Result<String> {
    match payload(MediaType::Html, body.as_bytes()) {
        Ok(payload) => {
            if let Some(reason) = hidden_text(payload.hidden_words) {
                out.lost(from, &reason)?;
            }
            Ok(payload.document.body.to_string())
        }
        Err(PayloadError::Empty) => Ok(String::new()),
        Err(error) => {
            out.lost(from, &format!("its HTML was not converted, and is kept as code: {error}"))?;
            Ok(format!("~~~~~~~~html\n{body}\n~~~~~~~~\n"))
        }
    }
}

struct NoteRules<'v, 'a> {
    vault: &'v mut Vault<'a>,
    folder: &'a str,
    page: Page,
    attached: Attached,
    lost: Vec<String>,
}

impl Rewrite for NoteRules<'_, '_> {
    fn link(&mut self, link: &Link<'_>) -> NewLink {
        if link.is_wiki || is_external(link.target) || link.target.starts_with('#') {
            return NewLink::Keep;
        }
        let (path, anchor) = split_anchor(link.target);
        // The path of a note can contain `#`, too.
        let whole = decoded(link.target);
        let found =
            self.vault.find_from(self.folder, &decoded(path)).map(|number| (number, anchor));
        let found =
            found.or_else(|| self.vault.find_from(self.folder, &whole).map(|number| (number, "")));
        let Some((number, anchor)) = found else {
            self.lost.push(format!("its link to {} leads to no file of the export", link.target));
            return NewLink::Keep;
        };
        match self.vault.page(number) {
            Some(path) => {
                let mark = if anchor.is_empty() { "" } else { "#" };
                let path = format!("{path}{mark}{anchor}");
                NewLink::Page { path, label: link.label.to_owned() }
            }
            None => {
                let attached = &mut self.attached;
                NewLink::File(self.vault.attach(&mut self.page, attached, number, own_name))
            }
        }
    }
}

/// Resolves what Joplin encodes in a path. Any other `%` is part of a name.
fn decoded(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    Cow::Owned(path.replace("%20", " ").replace("%28", "(").replace("%29", ")"))
}
