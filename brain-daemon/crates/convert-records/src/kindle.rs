//! Reads `My Clippings.txt` of a Kindle: highlights, notes and bookmarks of all books.
//!
//! A record is the title with the author, a line about kind, place and time in the language of the
//! device, a blank line and the text. The Kindle only appends: a changed highlight is a further
//! record. Times are local and have no zone.

mod kind;
mod record;
mod replaced;
mod words;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Page, Paths, Sample, Value, literal_line};

use jiff::civil::DateTime;

use crate::highlight_file::HighlightFile;
use crate::highlights::{quotation, remark};
use crate::long_page::{LongPage, Target};
use kind::Kind;
use record::{Record, records};
use replaced::without_replaced;

pub(crate) const FORMAT: Format = Format {
    name: "kindle",
    title: "clippings of a Kindle",
    is_by_others: true,
    recognise,
    convert,
};

/// The folder of the pages.
const FOLDER: &str = "Kindle";
/// The line between records.
const SEPARATOR: &str = "==========";

fn recognise(sample: &Sample) -> bool {
    let text = sample.text();
    let mut lines = text.lines();
    let has_title = lines.next().is_some_and(|line| !line.trim().is_empty());
    let has_place = lines.next().is_some_and(|line| {
        line.starts_with("- ") && line.contains('|') && line.contains(|c: char| c.is_ascii_digit())
    });
    let is_third_blank = lines.next().is_some_and(|line| line.trim().is_empty());
    has_title && has_place && is_third_blank && lines.any(|line| line.trim() == SEPARATOR)
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let HighlightFile { name, text } = HighlightFile::read(path)?;
    let malformed =
        |reason: &str| ConvertError::Malformed { from: name.clone(), reason: reason.to_owned() };
    let (records, is_cut) = records(&text, SEPARATOR);
    let mut paths = Paths::default();
    for book in books(records) {
        write_book(&book, &name, &mut paths, out)?;
    }
    if is_cut { Err(malformed("it ends in the middle of a record")) } else { Ok(()) }
}

/// Returns the records of each book, in the order in which the books are first marked.
fn books(records: Vec<Record>) -> Vec<Vec<Record>> {
    let mut books: Vec<Vec<Record>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for record in records {
        let next = books.len();
        let number = *known.entry(record.book.clone()).or_insert(next);
        match books.get_mut(number) {
            Some(book) => book.push(record),
            None => books.push(vec![record]),
        }
    }
    books
}

fn write_book(
    records: &[Record],
    file: &str,
    paths: &mut Paths,
    out: &mut Output<'_>,
) -> io::Result<()> {
    let Some(first) = records.first() else { return Ok(()) };
    let from = format!("{file}, {}", first.book);
    let (title, author) = title_and_author(&first.book);
    let mut page = Page::default();
    page.path = paths.add([FOLDER], title);
    title.clone_into(&mut page.title);
    page.from.clone_from(&from);
    if !author.is_empty() {
        page.fields.push(("author".to_owned(), Value::Text(author.to_owned())));
    }
    let days = || records.iter().filter_map(|it| it.time).map(DateTime::date);
    for (key, day) in [("created", days().min()), ("updated", days().max())] {
        // The time has no zone, so only the day is stated.
        page.fields.extend(day.map(|day| (key.to_owned(), Value::Text(day.to_string()))));
    }
    let (mut kept, replaced) = without_replaced(records);
    for record in replaced {
        let name = format!("{from}, {}", record.caption());
        let kind = if record.kind == Kind::Note { "note" } else { "highlight" };
        out.lost(&name, &format!("a later {kind} of the same place replaces it"))?;
    }
    kept.sort_by_key(|record| record.position());
    let mut page = LongPage::new(page);
    let mut target = Target { paths, tree: None, out };
    for record in kept {
        let shown = show(record);
        page.make_room(shown.len(), &mut target)?;
        page.add(&shown);
        if record.is_over_limit() {
            let name = format!("{from}, {}", record.caption());
            target.out.lost(&name, "the Kindle did not store its text")?;
        }
    }
    page.end(&mut target)
}

/// Returns the markdown of a record.
fn show(record: &Record) -> String {
    let caption = literal_line(&record.caption());
    match record.kind {
        _ if record.text.is_empty() => format!("Bookmark: {caption}"),
        Kind::Note => remark(&record.text, &caption),
        _ => quotation(&record.text, &caption),
    }
}

/// Returns title and author of a line `The Weir (Ole Strand)`. The author is in the last
/// parentheses, which can have parentheses in them.
fn title_and_author(book: &str) -> (&str, &str) {
    let Some(inner) = book.strip_suffix(')') else { return (book, "") };
    let mut depth = 1;
    for (at, c) in inner.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let (title, author) = inner.split_at(at);
            let author = author.trim_start_matches('(').trim();
            let title = title.trim();
            return if title.is_empty() { (book, "") } else { (title, author) };
        }
    }
    (book, "")
}
