//! Reads documents of LibreOffice and OpenOffice (ODT, ISO 26300).

mod body;
mod controls;
mod list_place;
mod lists;
mod objects;
mod properties;
mod styles;
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
use styles::Styles;

pub(crate) const FORMAT: Format = Format {
    name: "odt",
    title: "a document of LibreOffice (ODT)",
    is_by_others: true,
    recognise,
    convert,
};

/// How the part `mimetype` begins.
const MEDIA_TYPE: &str = "application/vnd.oasis.opendocument.text";
/// Extensions of documents in this format.
const EXTENSIONS: [&str; 3] = ["odt", "ott", "odm"];
const CONTENT: &str = "content.xml";

fn recognise(sample: &Sample) -> bool {
    match sample.tree() {
        Some(tree) if !tree.is_archive() => false,
        Some(tree) => {
            let media_type = tree.entry("mimetype").and_then(|it| tree.head(it, 256).ok());
            match media_type {
                Some(found) => found.starts_with(MEDIA_TYPE.as_bytes()),
                None => {
                    locked::has_extension(sample.path(), &EXTENSIONS)
                        && tree.entry(CONTENT).is_some()
                }
            }
        }
        None => locked::has_extension(sample.path(), &EXTENSIONS) && locked::is_zip(sample),
    }
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let mut draft = Draft::new(path);
    let from = draft.page.from.clone();
    let malformed = |reason: String| ConvertError::Malformed { from: from.clone(), reason };
    let container = Container::open(path)?;
    let manifest = container.optional_xml("META-INF/manifest.xml");
    if manifest.find("manifest:encryption-data").is_some() {
        return Err(malformed("it is locked by a password; save it without one".to_owned()));
    }
    let content = container.xml(CONTENT).map_err(malformed)?;
    let styles = container.optional_xml("styles.xml");
    draft.keep_original();
    properties::read(&container, path, &mut draft);
    let mut reader = Reader::new(&container, Styles::of([&styles, &content]), &mut draft);
    let blocks = reader.document(&content);
    properties::report_headers(&styles, &mut draft);
    draft.report_xml(&content);
    draft.write(path, Some(&container), &blocks, out)?;
    match content.error {
        Some(reason) => Err(malformed(format!("{CONTENT}: {reason}"))),
        None => Ok(()),
    }
}
