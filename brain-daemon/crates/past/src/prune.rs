//! Pruning: removes former versions that `[history] keep` does not keep.
//!
//! A version stays if it was the current one at any time within the window. Of older versions stay:
//! the last one of each day of the 31 days before the window, of each month of the year before it,
//! and of each year; those that another page was made from, such as a saved answer that cites them;
//! and those that an AI client was given, as long as that is recorded. Steps stay, so `why` tells
//! the whole life. A state of the past names the pages whose text is not there any more.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use brain_base::caller::Visibility;
use brain_base::clock::local_date;
use brain_protocol::Fault;
use brain_service::health::{Finding, Health, HealthCheck, ok};
use brain_store::{Origin, Reader, StoreError};

use crate::PastService;

/// A day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How long before the window the last version of each day stays.
const DAILY_MS: i64 = 31 * DAY_MS;
/// How long before the window the last version of each month stays.
const MONTHLY_MS: i64 = 366 * DAY_MS;
/// Number of pages whose versions one commit removes.
const BATCH: usize = 500;

impl Health for PastService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("history", &self, Self::check_history)]
    }
}

impl PastService {
    /// Removes the former versions that are not kept, and returns their number. Does nothing if all
    /// are kept. A timer calls this method.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn prune(&self) -> Result<u64, Fault> {
        let Some(window) = self.keep else { return Ok(0) };
        let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
        let begin = self.clock.now().saturating_sub(window);
        let (mut removed, mut due) = (0, Vec::new());
        let mut pages = Vec::new();
        let reader = self.read(Visibility::All)?.leaving_out_damage();
        let given = given_versions(&reader)?;
        reader.each_page(|(_, _, record)| {
            pages.push((record.id, record.seq));
            Ok(())
        })?;
        for (id, last) in pages {
            if self.stop.is_cancelled() {
                break;
            }
            let mut versions = unkept_versions(&reader, (id, last), begin)?;
            if !versions.is_empty() {
                let origins = origin_versions(&reader, id)?;
                versions.retain(|version| {
                    !origins.contains(version) && !given.contains(&(id, *version))
                });
            }
            due.extend(versions.into_iter().map(|version| (id, version)));
            if due.len() >= BATCH {
                removed += self.remove(&mut due)?;
            }
        }
        removed += self.remove(&mut due)?;
        Ok(removed)
    }

    fn remove(&self, due: &mut Vec<(u64, u32)>) -> Result<u64, StoreError> {
        let due = std::mem::take(due);
        if due.is_empty() {
            return Ok(0);
        }
        self.store.write(move |transaction| transaction.remove_versions(&due))
    }

    /// Tells how large the history is.
    fn check_history(&self) -> Finding {
        let size = self.store.read_through(Reader::history_size)?;
        let kept = match self.keep {
            None => "all are kept".to_owned(),
            Some(window) => format!("kept for {} days, then fewer", window.as_secs() / 86_400),
        };
        ok(format!(
            "former versions: {} with about {} MB, {kept}; steps: {} with about {} MB",
            size.versions,
            size.version_bytes / 1_000_000,
            size.steps,
            size.step_bytes / 1_000_000
        ))
    }
}

/// Returns the former versions of a page that ended before `begin` and are the last ones of no day,
/// month or year that counts.
fn unkept_versions(
    reader: &Reader,
    (id, last): (u64, u64),
    begin: i64,
) -> Result<Vec<u32>, StoreError> {
    let former = reader.versions(id)?;
    if former.is_empty() {
        return Ok(Vec::new());
    }
    let mut ends: HashMap<u32, i64> = HashMap::new();
    // Newest first: each step ends the version of the step before it.
    let steps = reader.steps_back(last)?;
    for pair in steps.windows(2) {
        let [(_, newer), (_, older)] = pair else { continue };
        if newer.version != older.version {
            ends.entry(older.version).or_insert(newer.at);
        }
    }
    let mut seen = HashSet::new();
    let mut unkept = Vec::new();
    // Newest first, so the first one of a period is its last version.
    for version in former {
        // A text that was kept beside the page was never current.
        let end = ends.get(&version.version).copied().unwrap_or(version.written_at);
        if end >= begin {
            continue;
        }
        let day = local_date(version.written_at);
        let is_last = |seen: &mut HashSet<_>, is_counted: bool, period: (i16, i8, i8)| {
            is_counted && seen.insert(period)
        };
        let age = begin - end;
        let year = is_last(&mut seen, true, (day.year(), 0, 0));
        let month = is_last(&mut seen, age < MONTHLY_MS, (day.year(), day.month(), 0));
        let of_day = is_last(&mut seen, age < DAILY_MS, (day.year(), day.month(), day.day()));
        if !(year || month || of_day) {
            unkept.push(version.version);
        }
    }
    Ok(unkept)
}

/// Returns the pages, with their versions, from which answers to AI clients are made again.
fn given_versions(reader: &Reader) -> Result<HashSet<(u64, u32)>, StoreError> {
    let mut found = HashSet::new();
    reader.seen_since(0, |_, call| {
        found.extend(call.given_versions());
        true
    })?;
    Ok(found)
}

/// Returns the versions of a page that texts of other pages were made from.
fn origin_versions(reader: &Reader, page: u64) -> Result<HashSet<u32>, StoreError> {
    let mut found = HashSet::new();
    for id in reader.made_from(page)? {
        let Some((_, _, record)) = reader.by_id_including_deleted(id)? else { continue };
        for (_, step) in reader.steps_back(record.seq)? {
            for origin in &step.made_from {
                match origin {
                    Origin::Page { id, version } if *id == page => _ = found.insert(*version),
                    Origin::Page { .. } | Origin::Address(_) => {}
                }
            }
        }
    }
    Ok(found)
}
