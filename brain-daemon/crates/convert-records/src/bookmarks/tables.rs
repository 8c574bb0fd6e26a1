//! Reads bookmarks in comma-separated values: of Pocket and of Raindrop.

use brain_convert_base::{ConvertError, Output};

use super::collection::{Bookmark, Collection, Item};
use crate::csv::Table;
use crate::time::{from_any_unit, from_text};

/// The columns that show that a table is one of Pocket, and one of Raindrop.
const POCKET: [&str; 4] = ["title", "url", "time_added", "tags"];
const RAINDROP: [&str; 6] = ["title", "note", "url", "folder", "tags", "created"];

/// Returns whether a line is the header of a table of bookmarks.
pub(super) fn is_header(line: &str) -> bool {
    let table = Table::read(line);
    table.has(&POCKET) || table.has(&RAINDROP)
}

/// Reads a table.
pub(super) fn read(
    bytes: &[u8],
    from: &str,
    collection: &mut Collection,
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let table = Table::read(&String::from_utf8_lossy(bytes));
    let is_pocket = table.has(&POCKET);
    let malformed =
        |reason: &str| ConvertError::Malformed { from: from.to_owned(), reason: reason.to_owned() };
    if !is_pocket && !table.has(&RAINDROP) {
        return Err(malformed("it has no table of bookmarks"));
    }
    // A row that is cut off is not whole.
    let rows = table.rows();
    let rows = rows.get(..rows.len() - usize::from(table.is_cut && !rows.is_empty()));
    for (number, row) in rows.unwrap_or_default().iter().enumerate() {
        let folder = folder(&table, row, is_pocket, collection);
        let bookmark = bookmark(&table, row, is_pocket);
        if bookmark.address.is_empty() {
            out.lost(&format!("{from}, row {}", number + 1), "it has no address")?;
            continue;
        }
        collection.add(folder, Item::Bookmark(bookmark));
    }
    if table.is_cut { Err(malformed("it ends in the middle of a row")) } else { Ok(()) }
}

/// Returns the folder of a row. Pocket has lists, as in its HTML.
fn folder(table: &Table, row: &[String], is_pocket: bool, collection: &mut Collection) -> usize {
    if is_pocket {
        let name = match table.field(row, "status") {
            "archive" => "Read Archive",
            "unread" | "" => "Unread",
            other => other,
        };
        return collection.folder(Collection::ROOT, name);
    }
    // A slash without blanks belongs to a name.
    let names = table.field(row, "folder").split(" / ").filter(|it| !it.trim().is_empty());
    names.fold(Collection::ROOT, |parent, name| collection.folder(parent, name))
}

fn bookmark(table: &Table, row: &[String], is_pocket: bool) -> Bookmark {
    let field = |column| table.field(row, column);
    let tags = field("tags").split(if is_pocket { '|' } else { ',' }).map(brain_page::single_line);
    let texts = ["excerpt", "note", "highlights"].map(field);
    let texts: Vec<&str> = texts.into_iter().filter(|it| !it.is_empty()).collect();
    let added =
        if is_pocket { from_any_unit(field("time_added")) } else { from_text(field("created")) };
    let title = brain_page::single_line(field("title"));
    let mut details = Vec::new();
    if field("favorite") == "true" {
        details.push("favourite".to_owned());
    }
    Bookmark {
        // Pocket writes the address as the title of what has none.
        title: if title == field("url") { String::new() } else { title },
        address: field("url").to_owned(),
        added,
        tags: tags.filter(|it| !it.is_empty()).collect(),
        description: texts.join("\n\n"),
        details,
    }
}
