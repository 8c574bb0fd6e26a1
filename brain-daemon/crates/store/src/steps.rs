//! Steps: a row for each change of a page. The page's record names its last step, and each step
//! the one before, so that a page's life is read without a second table.
//!
//! Times are not sorted: each machine's never go back, but machines differ. So a past state is
//! found by walking a page's steps from the newest, never by cutting the table at a time.

use redb::{ReadableTable, ReadableTableMetadata};

use super::record::{
    Actor, Origin, PageRecord, StepHead, StepKind, StepRecord, VersionRecord, from_bytes,
    head_of_step, purged_name, to_bytes,
};
use super::step_times::StepTimes;
use super::{Reader, StoreError, Transaction, tables as t};

/// The size of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistorySize {
    /// Number of former versions of all pages.
    pub versions: u64,
    /// About how many bytes they have.
    pub version_bytes: u64,
    /// Number of steps.
    pub steps: u64,
    /// About how many bytes they have.
    pub step_bytes: u64,
}

/// What became of the page that had a slug last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastHolder {
    /// It has another slug, or is deleted; its id.
    Page(u64),
    /// It was purged; when, in Unix milliseconds.
    Purged(i64),
}

/// The slug, source and former step of the page whose step is added.
pub(super) struct StepPlace<'a> {
    pub(super) source: &'a str,
    pub(super) slug: &'a str,
    pub(super) previous: u64,
    pub(super) kind: StepKind,
}

/// Number of rows whose bytes stand for those of all rows of a table.
const SAMPLED_ROWS: u64 = 1000;

/// Returns the number of which `part` of [`SAMPLED_ROWS`] parts are below.
fn part_of(last: u64, part: u64) -> u64 {
    (u128::from(last) * u128::from(part) / u128::from(SAMPLED_ROWS)) as u64
}

/// Returns about how many bytes `rows` rows have. `row_at` returns the bytes of a row at a part of
/// the table, from 0 to [`SAMPLED_ROWS`].
fn about_bytes(
    rows: u64,
    row_at: impl Fn(u64) -> Result<usize, StoreError>,
) -> Result<u64, StoreError> {
    let mut sampled = 0;
    for part in 0..SAMPLED_ROWS {
        sampled += row_at(part)? as u64;
    }
    Ok((u128::from(sampled) * u128::from(rows) / u128::from(SAMPLED_ROWS)) as u64)
}

impl Transaction<'_> {
    /// Sets who makes the changes that follow in this task.
    pub fn set_actor(&mut self, actor: Actor) {
        self.task.act.actor = actor;
        self.task.first_step = None;
    }

    /// Sets what the texts that follow in this task are made from.
    pub fn set_origins(&mut self, origins: Vec<Origin>) {
        self.task.act.made_from = origins;
    }

    /// Adds the step with which the page got the state of `record`.
    pub(super) fn add_step(
        &mut self,
        record: &PageRecord,
        place: &StepPlace<'_>,
        now: Option<i64>,
    ) -> Result<(), StoreError> {
        let act = &self.task.act;
        let made_from = match place.kind {
            StepKind::Created | StepKind::Written => act.made_from.clone(),
            _ => Vec::new(),
        };
        let actor = act.actor.clone();
        let former_at = self.last_step_at();
        let write = *self.task.first_step.get_or_insert(record.seq);
        let clock = now.or(act.at).unwrap_or(former_at);
        let at = (clock - self.clock_ahead).max(former_at).max(self.step_time(place.previous)?);
        for origin in &made_from {
            if let Origin::Page { id, .. } = origin {
                self.made_from.insert((*id, record.id), record.seq)?;
            }
        }
        self.put_step(
            record.seq,
            &StepRecord {
                page: record.id,
                previous: place.previous,
                at,
                kind: place.kind,
                version: record.version,
                clock,
                source: place.source.to_owned(),
                slug: place.slug.to_owned(),
                actor,
                machine: self.machine,
                made_from,
                write,
                path: StepRecord::path_of(record, place.slug),
            },
        )
    }

    fn put_step(&mut self, seq: u64, step: &StepRecord) -> Result<(), StoreError> {
        self.steps.insert(seq, to_bytes(step)?.as_slice())?;
        self.counters.step_at = u64::try_from(step.at).unwrap_or_default();
        Ok(())
    }

    /// The time of this machine's last step, Unix milliseconds; 0 if there is none.
    fn last_step_at(&self) -> i64 {
        i64::try_from(self.counters.step_at).unwrap_or_default()
    }

    /// The time of a step, Unix milliseconds; 0 if there is none. A step of a page is not earlier
    /// than the one before it, also if another machine made that one.
    fn step_time(&self, number: u64) -> Result<i64, StoreError> {
        let row = self.steps.get(number)?;
        Ok(row.map(|row| head_of_step(row.value())).transpose()?.map_or(0, |head| head.at))
    }

    /// Replaces all steps of a page by the one that says it was purged, with the number `seq`.
    pub(super) fn purge_steps(
        &mut self,
        (source, slug): (&str, &str),
        record: &PageRecord,
        seq: u64,
    ) -> Result<(), StoreError> {
        let mut number = record.seq;
        let last_of_page = self.step_time(number)?;
        while let Some(step) = self.step(number)? {
            self.steps.remove(number)?;
            self.undone.remove(number)?;
            for origin in &step.made_from {
                if let Origin::Page { id, .. } = origin {
                    self.made_from.remove((*id, record.id))?;
                }
            }
            number = step.previous;
        }
        self.made_from.remove_range((record.id, 0)..=(record.id, u64::MAX))?;
        let former_at = self.last_step_at();
        let clock = self.task.act.at.unwrap_or(former_at);
        let at = (clock - self.clock_ahead).max(former_at).max(last_of_page);
        self.put_step(
            seq,
            &StepRecord {
                page: record.id,
                previous: 0,
                at,
                kind: StepKind::Purged,
                version: record.version,
                clock,
                source: source.to_owned(),
                slug: purged_name(source, slug),
                actor: Actor { run: None, ..self.task.act.actor.clone() },
                machine: self.machine,
                made_from: Vec::new(),
                write: seq,
                path: None,
            },
        )
    }

    /// Returns a step.
    pub fn step(&self, seq: u64) -> Result<Option<StepRecord>, StoreError> {
        self.steps.get(seq)?.map(|guard| from_bytes(guard.value())).transpose()
    }
}

impl Reader {
    /// Lets steps that were recorded later than `now`, Unix milliseconds, have the times at which
    /// they were made.
    pub fn with_step_times(mut self, now: i64) -> Result<Self, StoreError> {
        self.step_times = self.with_file_damage(|_| {
            let table = self.table(t::STEPS)?;
            let steps = table.iter()?.rev().map(|row| {
                let (number, value) = row?;
                Ok((number.value(), from_bytes(value.value())?))
            });
            StepTimes::of_newest(steps, now)
        })?;
        Ok(self)
    }

    /// Returns a step of a page that the caller can see.
    pub fn step(&self, seq: u64) -> Result<Option<StepRecord>, StoreError> {
        let found: Option<StepRecord> = self.with_file_damage(|_| {
            self.table(t::STEPS)?
                .get(seq)?
                .map(|guard| self.dated_step(seq, guard.value()))
                .transpose()
        })?;
        Ok(found.filter(|step| self.view.shows(&step.source)))
    }

    /// Reads a step, with the time at which it was made.
    fn dated_step(&self, seq: u64, bytes: &[u8]) -> Result<StepRecord, StoreError> {
        let step: StepRecord = from_bytes(bytes)?;
        Ok(StepRecord { at: self.step_times.of(seq, step.at), ..step })
    }

    /// As [`Self::dated_step`], without the rest of the step.
    fn dated_head(&self, seq: u64, bytes: &[u8]) -> Result<StepHead, StoreError> {
        let head = head_of_step(bytes)?;
        Ok(StepHead { at: self.step_times.of(seq, head.at), ..head })
    }

    /// Returns the steps of the page whose last one has the number `last`, newest first.
    pub fn steps_back(&self, last: u64) -> Result<Vec<(u64, StepRecord)>, StoreError> {
        let (mut out, mut number) = (Vec::new(), last);
        while let Some(step) = self.step(number)? {
            let previous = step.previous;
            out.push((number, step));
            // A step names an older one; anything else is damage, and must not loop.
            if previous >= number {
                break;
            }
            number = previous;
        }
        Ok(out)
    }

    /// Calls `each` with the heads of all steps after the number `after`, in order, whatever the
    /// caller can see. Ends when `each` returns `false`.
    pub fn each_step_head(
        &self,
        after: u64,
        mut each: impl FnMut(u64, StepHead) -> bool,
    ) -> Result<(), StoreError> {
        self.with_file_damage(|_| {
            for row in self.table(t::STEPS)?.range(after + 1..)? {
                let (seq, value) = row?;
                if !each(seq.value(), self.dated_head(seq.value(), value.value())?) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Calls `each` with the steps of pages that the caller can see, newest first, from the number
    /// `last` on. Ends when `each` returns `false`.
    pub fn each_step_back(
        &self,
        last: u64,
        mut each: impl FnMut(u64, StepRecord) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        for row in self.table(t::STEPS)?.range(..=last)?.rev() {
            let (seq, value) = row?;
            let step = self.dated_step(seq.value(), value.value())?;
            if self.view.shows(&step.source) && !each(seq.value(), step)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns the step after which the page with the last step `last` had the state of the time
    /// `at` (Unix milliseconds), with its number. `None` if there was no such page yet.
    pub fn step_at(&self, last: u64, at: i64) -> Result<Option<(u64, StepRecord)>, StoreError> {
        let found: Option<(u64, StepRecord)> = self.with_file_damage(|_| {
            let (steps, mut number) = (self.table(t::STEPS)?, last);
            while let Some(row) = steps.get(number)? {
                let head = self.dated_head(number, row.value())?;
                if head.at <= at {
                    return Ok(Some((number, self.dated_step(number, row.value())?)));
                }
                if head.previous >= number {
                    break;
                }
                number = head.previous;
            }
            Ok(None)
        })?;
        Ok(found.filter(|(_, step)| self.view.shows(&step.source)))
    }

    /// Returns a version of a page with its text: a former one or the current one. `None` if it
    /// was pruned.
    pub fn any_version(&self, id: u64, number: u32) -> Result<Option<VersionRecord>, StoreError> {
        match self.by_id_including_deleted(id)? {
            None => Ok(None),
            Some((_, _, record)) if record.version == number => {
                let content = self.content(&record)?;
                Ok(Some(VersionRecord { record, content }))
            }
            Some(_) => self.version(id, number),
        }
    }

    /// Returns how large the history is. Reads at most a thousand rows of each table: their bytes
    /// are about those of all.
    pub fn history_size(&self) -> Result<HistorySize, StoreError> {
        self.with_file_damage(|_| {
            let (versions, steps) = (self.table(t::VERSIONS)?, self.table(t::STEPS)?);
            let last_page = versions.last()?.map_or(0, |(key, _)| key.value().0);
            let last_step = steps.last()?.map_or(0, |(key, _)| key.value());
            let version_bytes = about_bytes(versions.len()?, |part| {
                let row = versions.range((part_of(last_page, part), 0)..)?.next().transpose()?;
                Ok(row.map_or(0, |(_, value)| value.value().len()))
            })?;
            let step_bytes = about_bytes(steps.len()?, |part| {
                let row = steps.range(part_of(last_step, part)..)?.next().transpose()?;
                Ok(row.map_or(0, |(_, value)| value.value().len()))
            })?;
            Ok(HistorySize {
                versions: versions.len()?,
                version_bytes,
                steps: steps.len()?,
                step_bytes,
            })
        })
    }

    /// Returns the ids of pages with a version that was made from the page `id`.
    pub fn made_from(&self, id: u64) -> Result<Vec<u64>, StoreError> {
        self.table(t::MADE_FROM)?
            .range((id, 0)..=(id, u64::MAX))?
            .map(|row| Ok(row?.0.value().1))
            .collect()
    }

    /// Returns what became of the page that had this slug last. Reads all steps if there was none.
    pub fn last_holder(&self, source: &str, slug: &str) -> Result<Option<LastHolder>, StoreError> {
        let (purged_name, mut found) = (purged_name(source, slug), None);
        self.each_step_back(u64::MAX, |_, step| {
            if step.source == source {
                found = match step.kind {
                    StepKind::Purged => {
                        (step.slug == purged_name).then_some(LastHolder::Purged(step.at))
                    }
                    _ => (step.slug == slug).then_some(LastHolder::Page(step.page)),
                };
            }
            Ok(found.is_none())
        })?;
        Ok(found)
    }
}
