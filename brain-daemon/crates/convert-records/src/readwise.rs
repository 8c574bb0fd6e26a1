//! Reads the highlights that Readwise exports as comma-separated values. A book becomes a page.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Page, Paths, Sample, Value, literal_line};
use jiff::Timestamp;

use crate::csv::Table;
use crate::highlight_file::HighlightFile;
use crate::highlights::{quotation, remark};
use crate::long_page::{LongPage, Target};
use crate::time::{from_text, shown};

pub(crate) const FORMAT: Format = Format {
    name: "readwise",
    title: "highlights of Readwise (CSV)",
    is_by_others: true,
    recognise,
    convert,
};

/// The folder of the pages.
const FOLDER: &str = "Readwise";
/// Maximum number of highlights at one place that are compared.
const MAX_COMPARED: usize = 20;
/// The columns that every export has.
const COLUMNS: [&str; 5] = ["highlight", "book title", "book author", "note", "highlighted at"];

fn recognise(sample: &Sample) -> bool {
    let text = sample.text();
    Table::read(text.lines().next().unwrap_or_default()).has(&COLUMNS)
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let HighlightFile { name, text } = HighlightFile::read(path)?;
    let malformed =
        |reason: &str| ConvertError::Malformed { from: name.clone(), reason: reason.to_owned() };
    let table = Table::read(&text);
    if !table.has(&COLUMNS) {
        return Err(malformed("it has not the columns of Readwise"));
    }
    let mut paths = Paths::default();
    for book in books(&table) {
        write_book(&table, &book, &name, &mut paths, out)?;
    }
    if table.is_cut { Err(malformed("it ends in the middle of a row")) } else { Ok(()) }
}

/// Returns the rows of each book, by title. A row that is cut off is not whole.
fn books(table: &Table) -> Vec<Vec<&[String]>> {
    let mut books: Vec<Vec<&[String]>> = Vec::new();
    let mut known: HashMap<(String, &str), usize> = HashMap::new();
    let count = table.rows().len().saturating_sub(usize::from(table.is_cut));
    for row in table.rows().iter().take(count) {
        let next = books.len();
        let key = (title(table, row), table.field(row, "book author"));
        match books.get_mut(*known.entry(key).or_insert(next)) {
            Some(book) => book.push(row),
            None => books.push(vec![row]),
        }
    }
    // Readwise writes the newest first, so the order of the file changes.
    let first = |book: &Vec<&[String]>| {
        let times = book.iter().filter_map(|row| time(table, row)).min();
        (times, book.first().map(|row| title(table, row)))
    };
    books.sort_by_cached_key(first);
    books
}

/// Returns the title of a row's book without invisible characters, with which some begin.
fn title(table: &Table, row: &[String]) -> String {
    brain_page::single_line(table.field(row, "book title"))
}

fn time(table: &Table, row: &[String]) -> Option<Timestamp> {
    from_text(table.field(row, "highlighted at"))
}

fn write_book(
    table: &Table,
    rows: &[&[String]],
    file: &str,
    paths: &mut Paths,
    out: &mut Output<'_>,
) -> io::Result<()> {
    let first = |column: &str| rows.first().map_or("", |row| table.field(row, column));
    let title = rows.first().map(|row| title(table, row)).unwrap_or_default();
    let mut page = Page::default();
    page.path = paths.add([FOLDER], &title);
    page.from = format!("{file}, {title}");
    page.title = title;
    page.created = rows.iter().filter_map(|row| time(table, row)).min();
    page.updated = rows.iter().filter_map(|row| time(table, row)).max();
    for (key, column) in [("author", "book author"), ("asin", "amazon book id")] {
        let value = brain_page::single_line(first(column));
        if !value.is_empty() {
            page.fields.push((key.to_owned(), Value::Text(value)));
        }
    }
    let tags = rows.iter().flat_map(|row| tags(table.field(row, "document tags")));
    page.tags = tags.collect::<BTreeSet<_>>().into_iter().collect();
    let (mut rows, replaced) = without_replaced(table, rows);
    for row in replaced {
        let name = format!("{}, {}", page.from, caption(table, row));
        out.lost(&name, "a later highlight of the same place replaces it")?;
    }
    let mut page = LongPage::new(page);
    let mut target = Target { paths, tree: None, out };
    rows.sort_by_key(|row| (table.field(row, "location").parse::<u64>().ok(), time(table, row)));
    for row in rows {
        let (text, note) = (table.field(row, "highlight"), table.field(row, "note"));
        let mut shown = Vec::new();
        if !text.is_empty() {
            shown.push(quotation(text, &caption(table, row)));
        }
        if !note.is_empty() {
            shown.push(remark(note, ""));
        }
        let shown = shown.join("\n\n");
        page.make_room(shown.len(), &mut target)?;
        page.add(&shown);
    }
    page.end(&mut target)
}

/// Returns the rows that count, and those that a later row replaces: if the ends of a highlight are
/// changed on a Kindle, Readwise has both. Of equal rows, one counts. A row with a note of its own
/// always counts.
fn without_replaced<'r>(
    table: &Table,
    rows: &[&'r [String]],
) -> (Vec<&'r [String]>, Vec<&'r [String]>) {
    let mut by_time = rows.to_vec();
    by_time.sort_by_key(|row| time(table, row));
    let mut is_kept = vec![true; by_time.len()];
    let mut replaced = Vec::new();
    let mut at: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (number, row) in by_time.iter().enumerate() {
        let field = |column| table.field(row, column);
        let others = at.entry((field("location type"), field("location"))).or_default();
        for other in others.iter().rev().take(MAX_COMPARED).copied() {
            let (Some(former), Some(kept)) = (by_time.get(other), is_kept.get_mut(other)) else {
                continue;
            };
            let former_field = |column| table.field(former, column);
            let (text, former_text) = (field("highlight"), former_field("highlight"));
            let is_equal = text == former_text;
            let is_changed = !field("location").is_empty()
                && !former_text.is_empty()
                && !text.is_empty()
                && (text.contains(former_text) || former_text.contains(text));
            let note = former_field("note");
            let has_own_note = !note.is_empty() && note != field("note");
            if *kept && (is_equal || is_changed) && !has_own_note {
                *kept = false;
                replaced.extend((!is_equal).then_some(*former));
            }
        }
        others.push(number);
    }
    let kept = by_time.into_iter().zip(is_kept).filter_map(|(row, is_kept)| is_kept.then_some(row));
    (kept.collect(), replaced)
}

fn tags(field: &str) -> impl Iterator<Item = String> + '_ {
    field.split(',').map(brain_page::single_line).filter(|it| !it.is_empty())
}

/// Returns a line about the place, time, colour and tags of a highlight.
fn caption(table: &Table, row: &[String]) -> String {
    let field = |column| table.field(row, column);
    let mut parts = Vec::new();
    if !field("location").is_empty() {
        let kind =
            if field("location type").is_empty() { "location" } else { field("location type") };
        parts.push(literal_line(&format!("{kind} {}", field("location"))));
    }
    match time(table, row) {
        Some(time) => parts.push(shown(time)),
        None if field("highlighted at").is_empty() => {}
        None => parts.push(literal_line(field("highlighted at"))),
    }
    if !field("color").is_empty() {
        parts.push(literal_line(field("color")));
    }
    for tag in tags(field("tags")) {
        parts.push(format!("tag: {}", literal_line(&tag)));
    }
    parts.join(", ")
}
