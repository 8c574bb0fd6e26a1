//! Reads wikis of DokuWiki: their directory, or the directory `data` of it, or a ZIP archive.
//!
//! Pages are text files below `data/pages`, files lie below `data/media`, and the changes of a page
//! below `data/meta`. The rules are those of DokuWiki 2022-07-31.

mod blocks;
mod heading;
mod inline;
mod wiki;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Page, Sample, Value};
use jiff::Timestamp;

use crate::files::{Files, PageFiles};
use crate::source::Source;
use inline::Scope;
use wiki::{Entry, Folders, Wiki};

pub(crate) const FORMAT: Format = Format {
    name: "dokuwiki",
    title: "a wiki of DokuWiki",
    is_by_others: false,
    recognise,
    convert,
};

/// Maximum number of pages in which a heading is looked for.
const MAX_HEADS: usize = 20;
/// How much of such a page is read, in bytes.
const HEAD: usize = 4096;

fn recognise(sample: &Sample) -> bool {
    let Some(tree) = sample.tree() else { return false };
    let paths = || tree.entries().iter().map(|entry| entry.path.as_str());
    let pages = Folders::of(&paths()).pages;
    let Some(data) = pages.strip_suffix("pages/").filter(|_| !pages.is_empty()) else {
        return false;
    };
    let is_below = |path: &str, name: &str| {
        path.strip_prefix(data).and_then(|path| path.strip_prefix(name)).is_some()
    };
    let is_page = |path: &str| is_below(path, "pages/") && path.ends_with(".txt");
    let has_pages = paths().any(is_page);
    // Other programs have folders of these names, too.
    let has_changes = paths().any(|path| is_below(path, "meta/") && path.ends_with(".changes"));
    let has_old = paths().any(|path| is_below(path, "attic/") && path.ends_with(".txt.gz"));
    let has_program = paths().any(|path| path.ends_with("conf/local.php") || path == "doku.php");
    let has_index = paths().any(|path| is_below(path, "media_meta/"));
    // A copy of the pages alone has none of these, but headings.
    let has_heading = || {
        let mut some = tree.entries().iter().filter(|entry| is_page(&entry.path)).take(MAX_HEADS);
        some.any(|entry| {
            let head = tree.head(entry, HEAD).unwrap_or_default();
            heading::has_title(&String::from_utf8_lossy(&head))
        })
    };
    // What lies beside the folder of a wiki would be left out.
    let root = data.strip_suffix("data/").unwrap_or(data);
    let is_whole = root.is_empty() || tree.is_mostly(|entry| entry.path.starts_with(root));
    let has_mark = has_changes || has_old || has_program || has_index;
    has_pages && is_whole && (has_mark || has_heading())
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let source = Source::open(path)?;
    let wiki = Wiki::read(&source);
    let mut files = Files::default();
    for entry in &wiki.entries {
        match source.text(&entry.file) {
            Ok(text) => write((&source, &wiki), entry, &text, &mut files, out)?,
            Err(reason) => out.lost(&entry.file, &reason)?,
        }
    }
    report(&source, &wiki, &files, out)?;
    Ok(())
}

/// Reports the files of the wiki that no page has, and how many files of the program are not read.
fn report(
    source: &Source,
    wiki: &Wiki,
    files: &Files,
    out: &mut Output<'_>,
) -> std::io::Result<()> {
    let mut others: BTreeMap<&str, usize> = BTreeMap::new();
    for path in source.files() {
        let is_read = wiki.folders.page_id(path).is_some()
            || files.is_used(path)
            || wiki.folders.is_meta(path);
        if is_read {
            continue;
        }
        if wiki.is_media(path) {
            out.lost(path, "no page has this file")?;
        } else {
            *others.entry(wiki.folders.part(path)).or_default() += 1;
        }
    }
    for (part, count) in others {
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        out.lost(part, &format!("it has no pages, and is not read: {files}"))?;
    }
    source.report_problems(out)
}

/// Writes a page.
fn write(
    (source, wiki): (&Source, &Wiki),
    entry: &Entry,
    text: &str,
    files: &mut Files,
    out: &mut Output<'_>,
) -> std::io::Result<()> {
    let mut page = Page::default();
    page.from.clone_from(&entry.file);
    page.path.clone_from(&entry.path);
    page.title = match entry.title.as_str() {
        "" => entry.id.rsplit(':').next().unwrap_or_default().to_owned(),
        title => title.to_owned(),
    };
    let changes = wiki.folders.changes(&entry.file).filter(|path| source.has(path));
    if let Some(Ok(changes)) = changes.map(|path| source.text(&path)) {
        add_changes(&changes, &mut page);
    }
    let files_of_page = PageFiles::default();
    let mut scope = Scope {
        source,
        wiki,
        entry,
        page,
        files: files_of_page,
        footnotes: Vec::new(),
        has_plugins: false,
    };
    let body = blocks::blocks(text, &entry.title, &mut scope);
    let Scope { mut page, files: attached, has_plugins, .. } = scope;
    page.body = body;
    files.write(source, &page, attached, out)?;
    if has_plugins {
        out.lost(&page.from, "it has pieces that only DokuWiki or a plugin shows; they are code")?;
    }
    Ok(())
}

/// Takes the dates and the first author from the changes of a page. Each line has a time in
/// seconds, an address, the kind, the page, the user, and more, between tabs.
fn add_changes(changes: &str, page: &mut Page) {
    let mut times = Vec::new();
    for line in changes.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let time = fields.first().and_then(|time| time.parse().ok());
        let Some(time) = time.and_then(|time| Timestamp::from_second(time).ok()) else { continue };
        let user = fields.get(4).copied().unwrap_or_default();
        times.push((time, user));
    }
    let Some((created, user)) = times.iter().min_by_key(|(time, _)| *time) else { return };
    page.created = Some(*created);
    page.updated = times.iter().map(|(time, _)| *time).max();
    if !user.is_empty() {
        page.fields.push(("author".to_owned(), Value::Text((*user).to_owned())));
    }
}
