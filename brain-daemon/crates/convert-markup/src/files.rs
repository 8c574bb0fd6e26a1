//! The files that pages refer to.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;

use brain_convert_base::{Output, Page};
use brain_protocol::MAX_ATTACHMENT;

use crate::source::{Source, name};

/// The files of an import, and which of them a page has.
#[derive(Default)]
pub(crate) struct Files {
    used: HashSet<String>,
}

/// The files of one page.
#[derive(Default)]
pub(crate) struct PageFiles {
    names: HashMap<String, String>,
    order: Vec<(String, String)>,
    /// What the page refers to and the import does not have.
    missing: BTreeSet<String>,
}

impl PageFiles {
    /// Attaches a file to the page. Returns its name in the page, or `None` if the import does not
    /// have it.
    pub(crate) fn attach(
        &mut self,
        source: &Source,
        page: &mut Page,
        path: &str,
    ) -> Option<String> {
        if let Some(known) = self.names.get(path) {
            return Some(known.clone());
        }
        if !source.has(path) {
            return None;
        }
        let attached = page.attach(name(path));
        self.names.insert(path.to_owned(), attached.clone());
        self.order.push((path.to_owned(), attached.clone()));
        Some(attached)
    }

    /// Returns whether the page has a file.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.names.contains_key(path)
    }

    /// Notes that a file of the page is not in the import.
    pub(crate) fn miss(&mut self, target: &str) {
        self.missing.insert(brain_page::single_line(target));
    }
}

impl Files {
    /// Writes a page, and its files.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub(crate) fn write(
        &mut self,
        source: &Source,
        page: &Page,
        files: PageFiles,
        out: &mut Output<'_>,
    ) -> io::Result<()> {
        out.page(page)?;
        for (path, name) in files.order {
            let from = format!("{}, {path}", page.from);
            match source.read(&path, MAX_ATTACHMENT) {
                Ok(Some(bytes)) => out.file(page, &name, &bytes)?,
                Ok(None) => out.lost(
                    &from,
                    &format!("it has more than {MAX_ATTACHMENT} bytes, the limit for a file"),
                )?,
                Err(error) => out.lost(&from, &format!("it cannot be read: {error}"))?,
            }
            self.used.insert(path);
        }
        for target in files.missing {
            out.lost(&page.from, &format!("its file {target} is not in the import"))?;
        }
        Ok(())
    }

    /// Returns whether a page has this file.
    pub(crate) fn is_used(&self, path: &str) -> bool {
        self.used.contains(path)
    }
}

/// Returns a reference to a file of the page: it shows a picture, and links another file. The name
/// of a file is no text for a picture.
pub(crate) fn reference(name: &str, label: &str) -> String {
    match brain_page::is_picture(name) {
        true if brain_page::is_picture(label) => format!("![[{name}]]"),
        true => format!("!{}", brain_convert_base::link(name, label)),
        false => brain_convert_base::link(name, label),
    }
}
