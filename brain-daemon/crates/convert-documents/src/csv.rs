//! Reads tables of plain text (CSV): the first row is the header.

mod records;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Sample};
use brain_protocol::MAX_CONTENT;

use crate::decode::{is_text, plain_text};
use crate::draft::Draft;
use crate::facts::file_time;
use crate::locked;
use crate::model::{Block, Inline, Text};
use records::{Records, separator};

pub(crate) const FORMAT: Format = Format {
    name: "csv",
    title: "a table of plain text (CSV)",
    is_by_others: false,
    recognise,
    convert,
};

/// How much of a file is read, in bytes. A page has less, so the rest could not be in it.
const MAX_READ: u64 = 4 * MAX_CONTENT as u64;

fn recognise(sample: &Sample) -> bool {
    sample.path().is_file()
        && locked::has_extension(sample.path(), &["csv", "tsv", "tab"])
        && is_text(sample.head())
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let mut draft = Draft::new(path);
    draft.keep_original();
    draft.facts.created = file_time(path);
    draft.facts.updated = draft.facts.created;
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(ConvertError::read(path))?;
    file.take(MAX_READ + 1).read_to_end(&mut bytes).map_err(ConvertError::read(path))?;
    let is_whole = bytes.len() as u64 <= MAX_READ;
    let text = plain_text(&bytes);
    let (separator, rest) = separator(&text);
    let mut rows: Vec<_> = Records::of(rest, separator).collect();
    if !is_whole {
        // The last one is cut.
        rows.pop();
        draft.lost(format!("only its first {MAX_READ} bytes are read"));
    }
    let cells = |row: Vec<String>| row.iter().map(|text| cell(text)).collect();
    let rows = rows.into_iter().map(cells).collect();
    draft.write(path, None, &[Block::Table(rows)], out)
}

/// Makes a cell of several lines.
fn cell(text: &str) -> Vec<Block> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut content = Vec::new();
    for (n, line) in text.lines().enumerate() {
        if n > 0 {
            content.push(Inline::Break);
        }
        content.push(Inline::Text(Text { text: line.to_owned(), ..Text::default() }));
    }
    vec![Block::Paragraph(content)]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
