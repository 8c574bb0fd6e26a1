//! Finds the targets of the links of a page.

use brain_convert_base::Page;
use brain_page::percent_decode;

use super::catalog::Catalog;
use super::names::{Stem, id_in_address};
use crate::rewrite::{Link, NewLink, Rewrite};
use crate::vault::{Attached, Vault, is_external, split_anchor};

/// The target of an address.
pub(super) enum Target {
    /// The path of a page.
    Page(String),
    /// The number of a file.
    File(usize),
    /// Another place.
    Elsewhere,
    /// A file that is not in the export.
    Missing,
}

/// Returns to what an address in a document of this folder leads.
pub(super) fn target(catalog: &Catalog, vault: &Vault<'_>, folder: &str, address: &str) -> Target {
    let page = |id: u128| {
        let document = catalog.ids.get(&id).and_then(|number| catalog.documents.get(*number));
        document.map(|document| document.path.clone())
    };
    if is_external(address) {
        let id = id_in_address(address);
        return id.and_then(page).map_or(Target::Elsewhere, Target::Page);
    }
    let (path, _) = split_anchor(address);
    if path.is_empty() {
        return Target::Elsewhere;
    }
    if let Some(number) = vault.find_from(folder, path) {
        let path = vault.page(number).map(str::to_owned);
        return path.map_or(Target::File(number), Target::Page);
    }
    // A database can have lost its CSV file, and still be a page.
    let decoded = percent_decode(path);
    let name = decoded.rsplit('/').next().unwrap_or(&decoded);
    Stem::of(name).id.and_then(page).map_or(Target::Missing, Target::Page)
}

/// Rewrites the links of one page.
pub(super) struct PageLinks<'e, 'a> {
    pub(super) catalog: &'e Catalog,
    pub(super) vault: &'e mut Vault<'a>,
    pub(super) page: &'e mut Page,
    pub(super) attached: &'e mut Attached,
    /// The folder of the document.
    pub(super) folder: &'e str,
    /// Addresses that lead to nothing.
    pub(super) missing: &'e mut Vec<String>,
}

impl Rewrite for PageLinks<'_, '_> {
    fn link(&mut self, link: &Link<'_>) -> NewLink {
        if link.is_wiki {
            return NewLink::Keep;
        }
        // It leads to a block, which has no name in a page.
        if is_block(link.target) {
            return NewLink::Text(link.label.to_owned());
        }
        match target(self.catalog, self.vault, self.folder, link.target) {
            Target::Page(path) => NewLink::Page { path, label: link.label.to_owned() },
            Target::File(number) => NewLink::File(self.attach(number)),
            Target::Elsewhere => NewLink::Keep,
            Target::Missing => {
                self.missing.push(link.target.to_owned());
                NewLink::Keep
            }
        }
    }
}

impl PageLinks<'_, '_> {
    /// Attaches a file. Notion encodes some names.
    fn attach(&mut self, number: usize) -> String {
        self.vault.attach(self.page, self.attached, number, percent_decode)
    }

    /// Returns the links to the files that a value lists, or `None` if it lists none.
    pub(super) fn files(&mut self, value: &str) -> Option<Vec<String>> {
        let mut numbers = Vec::new();
        for address in value.split(", ") {
            match target(self.catalog, self.vault, self.folder, address.trim()) {
                Target::File(number) => numbers.push(number),
                _ => return None,
            }
        }
        let link = |number| format!("[[{}]]", self.attach(number));
        Some(numbers.into_iter().map(link).collect())
    }
}

/// Returns whether an address is the id of a block of the same page.
fn is_block(address: &str) -> bool {
    let id = address.strip_prefix('#').unwrap_or_default();
    id.len() >= 32 && id.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}
