//! Reads contacts: files of vCards in the versions 2.1, 3.0 and 4.0, or a directory of them, such
//! as that of khard or vdirsyncer.

mod birthday;
mod card;
mod facts;
mod files;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Paths, Sample};

use crate::content_line::{Component, Components};
use crate::sources::{begins_with, for_each_file, has_only};
use card::Card;

pub(crate) const FORMAT: Format =
    Format { name: "vcard", title: "contacts (vCard)", is_by_others: false, recognise, convert };

/// How a file begins.
const BEGIN: &str = "BEGIN:VCARD";
/// Endings of the files in a directory.
const EXTENSIONS: [&str; 2] = ["vcf", "vcard"];
/// The folder of all pages. It keeps them apart from pages of people that exist already.
const FOLDER: &str = "contacts";

fn recognise(sample: &Sample) -> bool {
    begins_with(sample.head(), BEGIN) || has_only(sample, &EXTENSIONS, BEGIN)
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let mut paths = Paths::default();
    for_each_file(path, &EXTENSIONS, BEGIN, out, |file, reader, out| {
        let mut components = Components::new(reader);
        let mut number = 0;
        while let Some(component) = components.next().map_err(|error| file.error(error))? {
            number += 1;
            let from = format!("{}, contact {number}", file.name);
            match component.name.as_str() {
                "VCARD" => write(&component, &from, file.folders(FOLDER), &mut paths, out)?,
                name => out.lost(&from, &format!("{name} is no contact"))?,
            }
        }
        file.end(&components, "contact", out)
    })
}

fn write<'a>(
    component: &Component,
    from: &str,
    folders: impl Iterator<Item = &'a str>,
    paths: &mut Paths,
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let card = Card::of(component);
    if card.is_empty() {
        return Ok(out.lost(from, "the contact is empty")?);
    }
    let path = paths.add(folders, &card.name());
    let (page, files) = card.into_page(from.to_owned(), path);
    out.page(&page)?;
    for (name, bytes) in files {
        out.file(&page, &name, &bytes)?;
    }
    Ok(())
}
