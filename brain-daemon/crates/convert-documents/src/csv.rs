//! Reads tables of plain text (CSV): the first row is the header.

mod records;
mod table;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Sample, decode_text};
use brain_protocol::MAX_CONTENT;

use crate::decode::is_text;
use crate::draft::{Draft, MAX_BODY};
use crate::facts::file_time;
use crate::locked;
use crate::model::Block;
use records::{Records, separator};
use table::Table;

pub(crate) const FORMAT: Format = Format {
    name: "csv",
    title: "a table of plain text (CSV)",
    is_by_others: false,
    recognise,
    convert,
};

/// How much of a file is read, in bytes, so that the rows without space in the page are counted.
const MAX_READ: u64 = 64 * 1024 * 1024;

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
    let text = decode_text(&bytes);
    drop(bytes);
    let (separator, rest) = separator(&text);
    let table = Table::of(|| Records::of(rest, separator), MAX_BODY);
    let (kept, omitted) = (table.rows, table.omitted);
    if !is_whole {
        draft.lost(format!(
            "only its first {kept} rows are in the page, which can have {MAX_CONTENT} bytes; the \
             file has more than {MAX_READ} bytes"
        ));
    } else if omitted > 0 {
        draft.lost(format!(
            "the last {omitted} of {} rows are not in the page, which can have {MAX_CONTENT} bytes",
            kept + omitted
        ));
    }
    draft.write(path, None, &[Block::Markdown(table.markdown)], out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
