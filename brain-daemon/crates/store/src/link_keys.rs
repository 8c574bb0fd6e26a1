//! Keys of the rows that find the pages with a link to a page.

use std::collections::BTreeSet;

use super::record::{DerivedRows, LinkRecord};
use super::tables::link_source;
use brain_page as page;

impl DerivedRows {
    /// Returns the first parts of the keys of this page's rows in
    /// [`LINKS_IN`](super::tables::LINKS_IN). A link by path gets
    /// no row if the page has a row for the same name: each row in a large table can make a commit
    /// write one more leaf.
    pub(super) fn link_rows(&self, own_source: &str) -> BTreeSet<(String, String)> {
        // Names belong to the page's own source.
        let names = self.links.iter().flat_map(LinkRecord::names);
        let mut rows: BTreeSet<_> = names.map(|name| (own_source.to_owned(), name)).collect();
        for link in &self.links {
            let source = link_source(link.source.as_deref().unwrap_or(own_source), own_source);
            for slug in &link.slugs {
                let [path, name] = slug_keys(slug);
                let by_name = (source.clone(), name);
                if !rows.contains(&by_name) {
                    rows.insert((by_name.0, path));
                }
            }
        }
        rows
    }
}

impl LinkRecord {
    /// Returns the names that the link may mean, best first.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let file = self.name.as_deref().and_then(page::file_name_key);
        self.name.clone().into_iter().chain(file)
    }
}

/// Returns the two keys under which links to this slug are stored. Links by name are stored under
/// the second key, too; the link record says which kind a link is.
pub(super) fn slug_keys(slug: &str) -> [String; 2] {
    [format!("/{slug}"), page::normalize_name(slug)]
}

/// Returns the keys of all links whose path can mean this slug: the keys of the slug, and those of
/// each suffix of its path, because `[[folder/name]]` can mean `a/folder/name`.
pub(super) fn link_keys(slug: &str) -> impl Iterator<Item = String> {
    let starts = slug.match_indices('/').map(|(at, _)| &slug[at + 1..]);
    let ends = starts.filter(|end| end.contains('/'));
    std::iter::once(slug).chain(ends).flat_map(slug_keys)
}
