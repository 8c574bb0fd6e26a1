//! Changes of a transaction that can break or repair links.

use std::collections::{BTreeMap, BTreeSet};

use brain_page as page;
use brain_protocol::{Slug, SourceId};

/// Changes of a transaction that affect the targets of links.
#[derive(Default)]
pub(super) struct LinkChanges {
    /// Pages whose links must be resolved.
    pub(super) pages: BTreeSet<u64>,
    /// Change in the number of pages with a name or slug: by source, key as in the table
    /// `LINKS_IN`, and kind of the key.
    pub(super) name_counts: BTreeMap<(String, String, KeyKind), i64>,
    /// Amounts to add to the table `BROKEN_SUMS`.
    pub(super) sums: BTreeMap<(String, String), i64>,
}

/// How a page has a key: as a name (file name or alias), as its file name, or as its slug. File
/// names are counted separately, because a link to a file name leads to that file even if other
/// pages have the name as an alias.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyKind {
    Name,
    FileName,
    Slug,
}

impl LinkChanges {
    /// Records that a page, with its names, appeared (`delta` 1) or disappeared (-1).
    pub(super) fn add_page(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        id: u64,
        names: &[String],
        delta: i64,
    ) {
        self.pages.insert(id);
        let names = names.iter().map(|name| (name.clone(), KeyKind::Name));
        let path = [
            (page::normalize_name(slug.name()), KeyKind::FileName),
            (format!("/{slug}"), KeyKind::Slug),
        ];
        for (key, kind) in names.chain(path) {
            *self.name_counts.entry((source.to_string(), key, kind)).or_default() += delta;
        }
    }
}
