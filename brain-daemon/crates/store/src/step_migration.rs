//! 90 → 91: the versions that a store has become steps.
//!
//! Former slugs, deletions that were undone and callers are not known: these steps have the page's
//! present slug and no actor.

use std::collections::BTreeMap;

use redb::{ReadableTable, WriteTransaction};

use super::record::{Actor, PageRecord, StepKind, StepRecord, VersionRecord, from_bytes, to_bytes};
use super::{StoreError, tables as t};

/// A state of a page: its id, version, time, and whether it is deleted.
struct State {
    page: u64,
    version: u32,
    at: i64,
    is_deleted: bool,
    path: Option<String>,
}

impl State {
    fn of(record: &PageRecord) -> Self {
        let at = record.deleted_at.unwrap_or(record.written_at);
        let (page, version) = (record.id, record.version);
        let path = Some(record.source_path.clone());
        Self { page, version, at, is_deleted: record.deleted_at.is_some(), path }
    }
}

/// Adds the steps.
pub(super) fn make_steps(txn: &WriteTransaction) -> Result<(), StoreError> {
    let mut names: BTreeMap<u64, (String, String)> = BTreeMap::new();
    let mut states: BTreeMap<u64, State> = BTreeMap::new();
    for row in txn.open_table(t::PAGES)?.iter()? {
        let (key, value) = row?;
        let (source, slug) = key.value();
        let record: PageRecord = from_bytes(value.value())?;
        names.insert(record.id, (source.to_owned(), slug.to_owned()));
        states.insert(record.seq, State::of(&record));
    }
    for row in txn.open_table(t::VERSIONS)?.iter()? {
        let VersionRecord { record, .. } = from_bytes(row?.1.value())?;
        // A text that was kept beside the page has the number of the page's own change.
        states.entry(record.seq).or_insert_with(|| State::of(&record));
    }
    let mut steps = txn.open_table(t::STEPS)?;
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let mut former_at = 0;
    for (seq, state) in states {
        let Some((source, slug)) = names.get(&state.page) else { continue };
        let previous = last.insert(state.page, seq).unwrap_or_default();
        former_at = state.at.max(former_at);
        let kind = match (state.is_deleted, previous) {
            (true, _) => StepKind::Deleted,
            (false, 0) => StepKind::Created,
            (false, _) => StepKind::Written,
        };
        let step = StepRecord {
            page: state.page,
            previous,
            at: former_at,
            kind,
            version: state.version,
            clock: state.at,
            source: source.clone(),
            slug: slug.clone(),
            actor: Actor::default(),
            machine: None,
            made_from: Vec::new(),
            write: seq,
            path: state.path.filter(|path| path.strip_suffix(".md") != Some(slug)),
        };
        steps.insert(seq, to_bytes(&step)?.as_slice())?;
    }
    txn.open_table(t::MADE_FROM)?;
    txn.open_table(t::UNDONE)?;
    txn.open_table(t::CITATIONS)?;
    txn.open_table(t::RECALL)?;
    txn.open_table(t::SETTLED)?;
    if let Ok(at) = u64::try_from(former_at) {
        txn.open_table(t::META)?.insert(t::META_STEP_AT, at)?;
    }
    Ok(())
}
