//! Verifies the rows by tag and type, and the page counts by tag.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use redb::{ReadableTable, TableDefinition};

use super::super::record::PageRecord;
use super::super::{StoreError, tables as t};
use super::Verifier;

/// Expected contents of the tables.
#[derive(Default)]
pub(super) struct LabelRows {
    tags: RowSum,
    types: RowSum,
    /// Number of pages by source and tag.
    counts: BTreeMap<(String, String), u64>,
}

/// Rows in any order: their number, and the sum of their hashes.
#[derive(Default, PartialEq, Eq)]
struct RowSum {
    number: u64,
    sum: u64,
}

impl RowSum {
    fn add<N: Hash>(&mut self, row: &(&str, &str, N)) {
        let mut hasher = DefaultHasher::new();
        row.hash(&mut hasher);
        self.number += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

impl LabelRows {
    /// Adds the rows of an active page in a store of this schema.
    pub(super) fn expect(&mut self, schema: u64, source: &str, page: &PageRecord) {
        let add = |rows: &mut RowSum, label: &str| match schema {
            ..87 => rows.add(&(source, label, page.seq)),
            _ => rows.add(&(source, label, (page.updated_at, page.id))),
        };
        add(&mut self.types, &page.page_type);
        let tags = if schema < 87 { page.distinct_tags() } else { page.labels() };
        for tag in tags {
            add(&mut self.tags, tag);
            *self.counts.entry((source.to_owned(), tag.to_owned())).or_default() += 1;
        }
    }
}

impl Verifier<'_> {
    /// Checks that the tables have the expected rows and no others.
    pub(super) fn labels(
        &self,
        expected: &LabelRows,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (tags, types) = if self.schema < 87 {
            let add = |rows: &mut RowSum, row: (&str, &str, u64)| rows.add(&row);
            (self.rows(t::TAGS_86, add, step)?, self.rows(t::TYPES_86, add, step)?)
        } else {
            let add = |rows: &mut RowSum, (source, label, at, id): (&str, &str, i64, u64)| {
                rows.add(&(source, label, (at, id)));
            };
            (self.rows(t::TAGS, add, step)?, self.rows(t::TYPES, add, step)?)
        };
        for (found, expected, label) in
            [(tags, &expected.tags, "tags"), (types, &expected.types, "types")]
        {
            if found != *expected {
                let message = format!("the rows by {label} do not match the pages");
                return Err(StoreError::damaged(message));
            }
        }
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

    /// Adds up the rows of a table.
    fn rows<K: redb::Key + 'static>(
        &self,
        table: TableDefinition<'static, K, ()>,
        add: impl for<'a> Fn(&mut RowSum, K::SelfType<'a>),
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<RowSum, StoreError> {
        let mut rows = RowSum::default();
        for row in self.required_table(table)?.iter()? {
            step()?;
            add(&mut rows, row?.0.value());
        }
        Ok(rows)
    }
}
