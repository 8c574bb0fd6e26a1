//! Verifies the rows by tag and type, and the page counts by tag.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use redb::{ReadableTable, TableDefinition};

use super::super::record::PageRecord;
use super::super::{StoreError, tables as t};
use super::Verifier;

/// Expected contents of the tables.
#[derive(Default)]
pub(super) struct LabelRows {
    tags: Rows,
    types: Rows,
    /// Number of pages by source and tag.
    counts: BTreeMap<(String, String), u64>,
}

/// Rows in any order: their number, and the sum of their hashes.
#[derive(Default, PartialEq, Eq)]
struct Rows {
    number: u64,
    sum: u64,
}

impl Rows {
    fn add(&mut self, row: (&str, &str, u64)) {
        let mut hasher = DefaultHasher::new();
        row.hash(&mut hasher);
        self.number += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

impl LabelRows {
    /// Adds the rows of an active page.
    pub(super) fn expect(&mut self, source: &str, page: &PageRecord) {
        self.types.add((source, &page.page_type, page.seq));
        for tag in page.distinct_tags() {
            self.tags.add((source, tag, page.seq));
            *self.counts.entry((source.to_owned(), tag.to_owned())).or_default() += 1;
        }
    }
}

impl Verifier<'_> {
    /// Checks that the tables have the expected rows and no others.
    pub(super) fn marks(
        &self,
        expected: LabelRows,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut same = |rows: Rows,
                        table: TableDefinition<'static, (&'static str, &'static str, u64), ()>,
                        label: &str| {
            let mut found = Rows::default();
            for row in self.required_table(table)?.iter()? {
                step()?;
                found.add(row?.0.value());
            }
            match found == rows {
                true => Ok(()),
                false => {
                    Err(StoreError::damaged(format!("the rows by {label} do not match the pages")))
                }
            }
        };
        same(expected.tags, t::TAGS, "tags")?;
        same(expected.types, t::TYPES, "types")?;
        let mut counts = BTreeMap::new();
        for row in self.required_table(t::TAG_COUNTS)?.iter()? {
            let (key, pages) = row?;
            let (source, tag) = key.value();
            counts.insert((source.to_owned(), tag.to_owned()), pages.value());
        }
        match counts == expected.counts {
            true => Ok(()),
            false => Err(StoreError::damaged("the page counts by tag do not match the pages")),
        }
    }
}
