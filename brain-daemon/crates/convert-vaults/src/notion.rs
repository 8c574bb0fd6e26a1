//! Reads what Notion exports: "Markdown & CSV" and "HTML", as a ZIP archive or unpacked.
//!
//! A page is a file `Title <32 hex digits>.md`. What belongs to it lies in a folder with its name,
//! in newer exports without the digits. A database is up to two CSV files: `_all.csv` has
//! everything, the other one what its view shows. Its entries that have a text are pages in its
//! folder. Facts are from two exports of Notion (2024, 2026), and from files of exports that people
//! published.

mod catalog;
mod csv;
mod database;
mod entries;
mod html;
mod links;
mod markdown;
mod names;
mod values;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Sample, Tree};

use catalog::{Catalog, Kind};
use entries::{Export, write_database, write_document};
use names::Stem;

pub(crate) const FORMAT: Format = Format {
    name: "notion",
    title: "an export of Notion",
    is_by_others: false,
    recognise,
    convert,
};

/// How many pages of an export are looked at.
const MAX_LOOKED_AT: usize = 200;

/// Most pages of an export have an id in their names. Of those of another vault, only a few that
/// were brought along have one.
fn recognise(sample: &Sample) -> bool {
    let Some(tree) = sample.tree() else { return false };
    let documents = tree.entries().iter().filter(|entry| {
        matches!(entry.extension().as_str(), "md" | "html" | "csv") && entry.name() != "index.html"
    });
    let (mut with_id, mut all) = (0_usize, 0_usize);
    for entry in documents.take(MAX_LOOKED_AT) {
        all += 1;
        with_id += usize::from(Stem::of(entry.name()).id.is_some());
    }
    with_id > 0 && with_id * 2 > all
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let tree = Tree::open(path).map_err(ConvertError::read(path))?;
    let Some(tree) = tree else {
        let from = path.display().to_string();
        return Err(ConvertError::Malformed {
            from,
            reason: "it is neither a directory nor a ZIP archive".to_owned(),
        });
    };
    tree.report_problems(out)?;
    let catalog = Catalog::read(&tree, out)?;
    let mut export = Export::new(&tree, catalog)?;
    for number in 0..export.catalog.documents.len() {
        let document = &export.catalog.documents[number];
        match document.kind {
            _ if export.catalog.is_entry(number) => {}
            Kind::Database => write_database(&mut export, number, out)?,
            Kind::Markdown | Kind::Html => write_document(&mut export, number, &[], out)?,
        }
    }
    export.vault.report_unused(out, |_| None)?;
    Ok(())
}
