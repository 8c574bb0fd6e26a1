//! Reads contacts: files of vCards in the versions 2.1, 3.0 and 4.0, or a directory of them, such
//! as that of khard or vdirsyncer.

mod birthday;
mod card;
mod facts;
mod files;
mod people;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Paths, Sample};

use crate::content_line::{Component, Components};
use crate::sources::{begins_with, for_each_file, has_only};
use card::{Card, is_group};
use people::People;

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
    let mut pages = Pages::default();
    let mut groups = Vec::new();
    for_each_file(path, &EXTENSIONS, BEGIN, out, |file, reader, out| {
        let mut components = Components::new(reader);
        let mut number = 0;
        while let Some(component) = components.next().map_err(|error| file.error(error))? {
            number += 1;
            let from = format!("{}, contact {number}", file.name);
            let folders: Vec<String> = file.folders(FOLDER).map(str::to_owned).collect();
            match component.name.as_str() {
                "VCARD" if is_group(&component) => groups.push((component, from, folders)),
                "VCARD" => pages.write(&component, from, &folders, out)?,
                name => out.lost(&from, &format!("{name} is no contact"))?,
            }
        }
        file.end(&components, "contact", out)
    })?;
    // A group names its members by their ids, wherever they are.
    for (group, from, folders) in groups {
        pages.write(&group, from, &folders, out)?;
    }
    Ok(())
}

/// The pages that were written.
#[derive(Default)]
struct Pages {
    paths: Paths,
    people: People,
}

impl Pages {
    fn write(
        &mut self,
        component: &Component,
        from: String,
        folders: &[String],
        out: &mut Output<'_>,
    ) -> Result<(), ConvertError> {
        let card = Card::of(component, &self.people);
        if card.is_empty() {
            return Ok(out.lost(&from, "the contact is empty")?);
        }
        let path = self.paths.add(folders.iter().map(String::as_str), &card.name());
        self.people.add(&component.text("UID"), &path, &card.name());
        let (page, files) = card.into_page(from, path);
        out.page(&page)?;
        for (name, bytes) in files {
            out.file(&page, &name, &bytes)?;
        }
        Ok(())
    }
}
