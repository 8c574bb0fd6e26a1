//! Reads documents of Word (DOCX, ISO 29500).

mod body;
mod drawing;
mod fields;
mod notes;
mod numbering;
mod package;
mod properties;
mod runs;
mod styles;
mod symbols;
mod table;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Sample};

use crate::container::Container;
use crate::draft::Draft;
use crate::locked;
use body::Reader;
use package::Package;

pub(crate) const FORMAT: Format = Format {
    name: "docx",
    title: "a document of Word (DOCX)",
    is_by_others: true,
    recognise,
    convert,
};

/// Extensions of documents in this format.
const EXTENSIONS: [&str; 4] = ["docx", "docm", "dotx", "dotm"];

fn recognise(sample: &Sample) -> bool {
    let has_extension = locked::has_extension(sample.path(), &EXTENSIONS);
    match sample.tree() {
        Some(tree) if !tree.is_archive() => false,
        Some(tree) => {
            let has = |path: &str| tree.entry(path).is_some();
            has("[Content_Types].xml")
                && (has("word/document.xml")
                    || (has_extension && !has("xl/workbook.xml") && !has("ppt/presentation.xml")))
        }
        // A damaged or locked one is refused by name.
        None => has_extension && (locked::is_zip(sample) || locked::is_compound(sample)),
    }
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let mut draft = Draft::new(path);
    let from = draft.page.from.clone();
    let malformed = |reason: String| ConvertError::Malformed { from: from.clone(), reason };
    if let Some(reason) = locked::compound_reason(path).map_err(ConvertError::read(path))? {
        return Err(malformed(reason));
    }
    let container = Container::open(path)?;
    let package = Package::of(&container);
    let document = container.xml(&package.document).map_err(malformed)?;
    draft.keep_original();
    properties::read(&package, path, &mut draft);
    let mut reader = Reader::new(&package, &mut draft);
    let mut blocks = reader.document(&document);
    blocks.extend(reader.unplaced_comments());
    reader.report_headers();
    draft.report_xml(&document);
    draft.write(path, Some(&container), &blocks, out)?;
    match document.error {
        Some(reason) => Err(malformed(format!("{}: {reason}", package.document))),
        None => Ok(()),
    }
}
