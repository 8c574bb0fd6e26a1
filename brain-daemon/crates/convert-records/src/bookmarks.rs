//! Reads bookmarks of browsers and of services that keep them.
//!
//! A folder becomes a page with a list of links, because thousands of pages of one line would
//! crowd the store, and because that is how browsers show them. The page of a folder changes if a
//! bookmark does, and keeps its path.

mod collection;
mod json;
mod netscape;
mod tables;
mod write;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Sample, Tree};

use collection::Collection;

pub(crate) const FORMAT: Format = Format {
    name: "bookmarks",
    title: "bookmarks (HTML, Chromium, Firefox, Pocket, Raindrop)",
    is_by_others: false,
    recognise,
    convert,
};

/// Maximum size of a file other than HTML, in bytes. It is read into memory.
const MAX_FILE: u64 = 24 * 1024 * 1024;

/// How the bookmarks of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// HTML of a browser or of Pocket.
    Html,
    /// The file `Bookmarks` of Chromium.
    Chromium,
    /// A backup of Firefox, and a compressed one.
    Firefox,
    FirefoxCompressed,
    /// Comma-separated values of Pocket or Raindrop.
    Table,
}

/// Returns the kind of a file by its beginning.
fn kind_of(head: &[u8]) -> Option<Kind> {
    if head.starts_with(json::COMPRESSED) {
        return Some(Kind::FirefoxCompressed);
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let start: String = text.chars().take(400).collect::<String>().to_ascii_lowercase();
    let is_html = start.starts_with("<!doctype netscape-bookmark-file")
        || (start.starts_with("<!doctype html") && start.contains("<title>pocket export"));
    if is_html {
        return Some(Kind::Html);
    }
    if text.starts_with('{') {
        let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
        return if has(&["\"roots\"", "\"bookmark_bar\""]) {
            Some(Kind::Chromium)
        } else if has(&["\"placesRoot\"", "text/x-moz-place"]) {
            Some(Kind::Firefox)
        } else {
            None
        };
    }
    tables::is_header(text.lines().next().unwrap_or_default()).then_some(Kind::Table)
}

fn recognise(sample: &Sample) -> bool {
    match sample.tree() {
        None => kind_of(sample.head()).is_some(),
        // Pocket exports a ZIP archive with its tables, and Safari one with HTML.
        Some(tree) => tree.is_mostly(|entry| kind_in(tree, entry).is_some()),
    }
}

/// Returns the kind of a file of a directory or archive, if it has bookmarks. HTML counts in an
/// archive only: a directory can have other pages.
fn kind_in(tree: &Tree, entry: &brain_convert_base::Entry) -> Option<Kind> {
    const MAX_LINE: usize = 512;
    let kind = match entry.extension().as_str() {
        "csv" => Kind::Table,
        "html" if tree.is_archive() => Kind::Html,
        _ => return None,
    };
    kind_of(&tree.head(entry, MAX_LINE).unwrap_or_default()).filter(|found| *found == kind)
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let name = path.file_name().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
    let Some(tree) = Tree::open(path).map_err(ConvertError::read(path))? else {
        let mut collection = Collection::default();
        let read = read_file(path, &name, &mut collection, out);
        write::write(&collection, &name, out)?;
        return read;
    };
    let mut collection = Collection::default();
    let mut end = Ok(());
    for entry in tree.entries() {
        let Some(kind) = kind_in(&tree, entry) else {
            out.lost(&entry.path, "this file of the export is not read")?;
            continue;
        };
        if kind == Kind::Html {
            let read = |reader: &mut dyn std::io::Read| {
                netscape::read(reader, &entry.path, &mut collection)
            };
            end = end.and(tree.with_reader(entry, read).map_err(ConvertError::read(path))?);
            continue;
        }
        let bytes = tree.read(entry, usize::try_from(MAX_FILE).unwrap_or(usize::MAX));
        match bytes.map_err(ConvertError::read(path))? {
            Some(bytes) => end = end.and(tables::read(&bytes, &entry.path, &mut collection, out)),
            None => out.lost(&entry.path, "it is too large")?,
        }
    }
    tree.report_problems(out)?;
    write::write(&collection, &name, out)?;
    end
}

/// Reads the bookmarks of a file.
fn read_file(
    path: &Path,
    name: &str,
    collection: &mut Collection,
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let mut file = File::open(path).map_err(ConvertError::read(path))?;
    let mut head = Vec::new();
    let read = file.by_ref().take(64 * 1024).read_to_end(&mut head);
    read.map_err(ConvertError::read(path))?;
    let malformed =
        |reason: &str| ConvertError::Malformed { from: name.to_owned(), reason: reason.to_owned() };
    let kind = kind_of(&head).ok_or_else(|| malformed("it has no bookmarks"))?;
    if kind == Kind::Html {
        return netscape::read(head.chain(file), name, collection);
    }
    let mut bytes = head;
    let rest = file.take(MAX_FILE).read_to_end(&mut bytes).map_err(ConvertError::read(path))?;
    if rest as u64 == MAX_FILE {
        return Err(malformed("it has more than 24 MiB"));
    }
    match kind {
        Kind::Table => tables::read(&bytes, name, collection, out),
        Kind::Chromium => json::read_chromium(&bytes, name, collection),
        Kind::FirefoxCompressed => {
            let bytes = json::decompress(&bytes).ok_or_else(|| {
                malformed("it is a compressed backup of Firefox, and damaged or too large")
            })?;
            json::read_firefox(&bytes, name, collection)
        }
        Kind::Firefox | Kind::Html => json::read_firefox(&bytes, name, collection),
    }
}
