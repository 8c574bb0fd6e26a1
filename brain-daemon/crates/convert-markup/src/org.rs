//! Reads notes of Org: a file, a directory or a ZIP archive of them, also of org-roam.
//!
//! A file is a note, and so is a heading with an ID, as in org-roam. The files are read twice:
//! first for their titles and IDs, then for their texts. The rules are those of Org 9.5.

mod blocks;
mod document;
mod entities;
mod index;
mod inline;
mod list;
mod note;
mod scope;
mod task;
mod title;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Page, Paths, Sample};

use crate::files::Files;
use crate::rest::{is_hidden, report_rest};
use crate::source::{Source, folder, name};
use document::Document;
use index::{Index, is_org, org_files};
use scope::Import;

pub(crate) const FORMAT: Format =
    Format { name: "org", title: "notes of Org (Emacs)", is_by_others: false, recognise, convert };

/// How many files are looked at to recognise the format.
const MAX_LOOKS: usize = 20;
/// How much of a file is looked at.
const MAX_HEAD: usize = 64 * 1024;

fn recognise(sample: &Sample) -> bool {
    let Some(tree) = sample.tree() else {
        return is_org(&sample.path().to_string_lossy()) && has_content(&sample.text());
    };
    let entries = tree.entries().iter().filter(|entry| !is_hidden(&entry.path));
    let mut org = entries.filter(|entry| is_org(&entry.path)).take(MAX_LOOKS);
    tree.is_mostly_beside(|entry| is_org(&entry.path), |entry| is_readme(&entry.path))
        && org.any(|entry| {
            let head = tree.head(entry, MAX_HEAD).unwrap_or_default();
            has_content(&String::from_utf8_lossy(&head))
        })
}

/// Returns whether a text has a heading, a keyword or properties of Org.
fn has_content(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').lines().any(|line| {
        let stars = line.trim_start_matches('*');
        stars.len() < line.len() && stars.starts_with(' ') && !stars.trim().is_empty()
            || document::keyword(line).is_some() && line.starts_with("#+")
            || line.trim().eq_ignore_ascii_case(":properties:")
    })
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let source = Source::open(path)?;
    let mut index = Index::default();
    let mut paths = Paths::default();
    for file in org_files(&source) {
        match source.text(file) {
            Ok(text) => index.add(file, &Document::parse(&text), &mut paths),
            Err(reason) => out.lost(file, &reason)?,
        }
    }
    let attached = attached(&source);
    let import = Import { source: &source, index: &index, attached: &attached };
    let mut files = Files::default();
    for notes in index.notes.chunk_by(|a, b| a.file == b.file) {
        let Some(file) = notes.first().map(|note| &note.file) else { continue };
        let Ok(text) = source.text(file) else { continue };
        let document = Document::parse(&text);
        for note in notes {
            note::write(import, &document, note, &mut files, out)?;
        }
    }
    let is_shown_readme = |path: &str| is_readme(path) && !is_hidden(path);
    for file in source.files().iter().filter(|file| is_shown_readme(file)) {
        write_readme(&source, file, &mut paths, out)?;
    }
    report_rest(&source, out, |path| {
        let is_note = (is_org(path) || is_readme(path)) && !is_hidden(path);
        let is_read = is_note || files.is_used(path);
        (!is_read).then(|| match () {
            () if path.ends_with(".org.gpg") || path.ends_with(".org.age") => {
                "it is encrypted".to_owned()
            }
            () => "no note refers to it".to_owned(),
        })
    })?;
    Ok(())
}

/// Returns whether a file of markdown is about its directory. All other markdown is a note of
/// another program.
fn is_readme(path: &str) -> bool {
    const NAMES: [&str; 4] = ["readme", "license", "changelog", "contributing"];
    let name = name(path).to_lowercase();
    name.strip_suffix(".md").is_some_and(|stem| NAMES.contains(&stem))
}

/// Writes a file of markdown as it is.
fn write_readme(
    source: &Source,
    file: &str,
    paths: &mut Paths,
    out: &mut Output<'_>,
) -> std::io::Result<()> {
    let text = match source.text(file) {
        Ok(text) => text,
        Err(reason) => return out.lost(file, &reason),
    };
    let stem = name(file).rsplit_once('.').map_or(file, |(stem, _)| stem);
    let folders = folder(file).split('/').filter(|folder| !folder.is_empty());
    let mut page = Page::new(file, &paths.add(folders, stem), "");
    match brain_page::Document::parse(&text) {
        Ok(document) => {
            page.body = document.body.to_string();
            page.original = Some(document.frontmatter);
        }
        // The lines at its beginning are no frontmatter then.
        Err(_) => page.body = brain_convert_base::fenced("markdown", &text),
    }
    out.page(&page)
}

/// Returns the files below a folder of `org-attach`, by the end `ab/cdef/name` of their path.
fn attached(source: &Source) -> HashMap<String, String> {
    let mut attached = HashMap::new();
    for path in source.files().iter().filter(|path| !is_org(path)) {
        let mut slashes = path.rmatch_indices('/').map(|(at, _)| at);
        let start = slashes.nth(2).map_or(0, |at| at + 1);
        let key = path.get(start..).unwrap_or(path).to_owned();
        attached.entry(key).or_insert_with(|| path.clone());
    }
    attached
}
