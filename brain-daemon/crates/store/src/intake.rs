//! Taking items in: a transaction that stays open as long as nothing but items comes, and the spool for what was answered.

use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use brain_protocol::{Fault, FaultCode};

use super::open::Shared;
use super::spool::{self, LeftOver, Spool};
use super::writer::{Batch, Blame, Gather, Refusals, Spoiled, answer, or_defect, run};
use super::{Draft, StoreError};

/// How long a transaction takes items in. Whoever reads the queue or writes something else ends it at once. Tests end it so.
const OPEN: Duration =
    if cfg!(test) { Duration::from_secs(60) } else { Duration::from_millis(250) };

/// How much the spool holds until the transaction is committed, in bytes: what a start reads after a crash, and what the
/// transaction holds in memory.
const MAX_SPOOL: u64 = 8 << 20;

/// The writer's way with items.
pub(super) struct Intake<'s> {
    shared: &'s Shared,
    spool: Option<Spool>,
    /// Items may be in the spool that the store does not have: nothing may be written before it has them.
    left: bool,
    /// The log has been told that items go without a spool.
    told: bool,
}

/// What became of a batch in the open transaction.
enum Put {
    /// It is in the spool, but for what was refused.
    Spooled(Refusals),
    /// The spool has no room: it is in the transaction only.
    Unspooled(Refusals),
    /// The transaction may not be committed: a job spoiled it, or wrote something besides items.
    Spoiled,
}

impl<'s> Intake<'s> {
    pub(super) fn new(shared: &'s Shared) -> Self {
        // Those of an earlier end, if the disk did not let them in when the store was opened.
        Self { shared, spool: None, left: true, told: false }
    }

    /// The store is opened anew for writing: what it had in memory only is gone, and the spool is read again.
    pub(super) fn begin_anew(&mut self) {
        self.spool = None;
        self.left = true;
    }

    /// Makes sure that the store has every item that was answered.
    ///
    /// # Errors
    /// When the disk refuses. Nothing may be written then, and nobody told what is in the queue.
    pub(super) fn ready(&mut self) -> Result<(), StoreError> {
        if self.left {
            bring_in(self.shared)?;
            self.spool = None;
            self.left = false;
        }
        Ok(())
    }

    /// Takes in a batch of items, and those that come after it. Gives back what has to go through a commit of its own, once
    /// the writer is [ready](Self::ready) again: the first batch with something else in it, or one that met with trouble; the
    /// commit meets with it again and says so.
    pub(super) fn take(&mut self, batch: Batch, gather: &mut Gather<'_>) -> Option<Batch> {
        let mut at_hand = Some(batch);
        if let Err(error) = or_defect(|| self.take_many(&mut at_hand, gather)) {
            tracing::error!(%error, "a commit of items failed; those that were answered are in the spool");
            self.left = true;
            self.shared.waiting_jobs.forget();
            self.shared.recover();
        }
        at_hand
    }

    /// Leaves in `at_hand` what was not answered.
    fn take_many(
        &mut self,
        at_hand: &mut Option<Batch>,
        gather: &mut Gather<'_>,
    ) -> Result<(), StoreError> {
        if self.shared.is_read_only() {
            return Ok(());
        }
        let Self { shared, spool, left, told } = self;
        let mut without = |error: &std::io::Error| {
            if !std::mem::replace(told, true) {
                tracing::warn!(%error, "the spool cannot be written; items are answered after a commit");
            }
        };
        if spool.as_ref().is_none_or(|spool| !spool.is_there()) {
            match Spool::create(&shared.path, shared.store_id) {
                Ok(made) => *spool = Some(made),
                // Somebody has put it there, or another one in the place of ours: it is taken in like one from a crash.
                Err(error)
                    if error.kind() == ErrorKind::AlreadyExists
                        && spool::is_readable(&shared.path) =>
                {
                    *left = true;
                    return Ok(());
                }
                Err(error) => {
                    without(&error);
                    return Ok(());
                }
            }
        }
        let Some(spool) = spool else { return Ok(()) };
        let txn = shared.begin_write()?;
        let mut draft = Draft::open(&txn, &shared.waiting_jobs)?;
        let until = Instant::now() + OPEN;
        let mut unspooled = None;
        while let Some(batch) =
            at_hand.as_mut().filter(|batch| batch.iter().all(|job| job.is_light()))
        {
            match put(shared, &mut draft, spool, batch, &mut without)? {
                Put::Spooled(refusals) => {
                    if spool.len() > 0 {
                        *left = true;
                        shared.promised.fetch_max(draft.next_job, Ordering::AcqRel);
                    }
                    answer(at_hand.take().unwrap_or_default(), refusals);
                }
                Put::Unspooled(refusals) => {
                    unspooled = Some(refusals);
                    break;
                }
                Put::Spoiled => {
                    drop(draft);
                    shared.waiting_jobs.forget();
                    return Ok(());
                }
            }
            let patience = until.saturating_duration_since(Instant::now());
            if patience.is_zero() || spool.len() > MAX_SPOOL {
                break;
            }
            *at_hand = gather.batch(Some(patience));
        }
        if draft.dirty > 0 {
            let finished = draft.finish()?;
            shared.commit(txn, finished)?;
        }
        spool.restart();
        *left = false;
        match unspooled {
            Some(refusals) => answer(at_hand.take().unwrap_or_default(), refusals),
            None => *told = false,
        }
        Ok(())
    }

    /// Nobody comes any more.
    pub(super) fn end(mut self) {
        if self.ready().is_ok()
            && let Some(spool) = self.spool
        {
            spool.remove();
        }
    }
}

/// Puts a batch into the draft, and its items into the spool. `without` hears why the spool refused them.
///
/// # Errors
/// When the store's file fails.
fn put(
    shared: &Shared,
    draft: &mut Draft<'_>,
    spool: &mut Spool,
    batch: &mut Batch,
    without: &mut impl FnMut(&std::io::Error),
) -> Result<Put, StoreError> {
    let (first, before) = (draft.next_job, draft.dirty);
    draft.accepted = Some(Vec::new());
    let refusals = match run(shared, draft, batch, &Ok(())) {
        Ok(refusals) => refusals,
        Err(Spoiled { by: Blame::Disk, error }) => return Err(error),
        Err(_) => return Ok(Put::Spoiled),
    };
    let items = draft.accepted.take().unwrap_or_default();
    if draft.dirty - before != items.len() as u64 {
        return Ok(Put::Spoiled);
    }
    if items.iter().map(|item| item.len() as u64).sum::<u64>() > MAX_SPOOL {
        return Ok(Put::Unspooled(refusals));
    }
    if !items.is_empty()
        && let Err(error) = spool.append(first, &items)
    {
        without(&error);
        return Ok(Put::Unspooled(refusals));
    }
    Ok(Put::Spooled(refusals))
}

/// Brings what is left in the spool to the store, and leaves a file that can be read.
///
/// # Errors
/// As [`take_over`].
pub(super) fn bring_in(shared: &Shared) -> Result<(), StoreError> {
    let taken = or_defect(|| take_over(shared));
    match &taken {
        Err(error) if error.is_the_disk() => shared.recover(),
        _ => return taken,
    }
    // redb refuses everything once its file has failed, even when the disk is well again.
    match taken {
        Err(StoreError::Io(_)) => or_defect(|| take_over(shared)).inspect_err(|_| shared.recover()),
        taken => taken,
    }
}

/// Brings what an earlier end left in the spool to the store.
///
/// # Errors
/// When one of them cannot be read or written. The spool is as it was.
fn take_over(shared: &Shared) -> Result<(), StoreError> {
    let store = shared.begin_read()?;
    let LeftOver { first, items, others } = spool::left_over(&shared.path, &store)?;
    drop(store);
    let place = spool::place(&shared.path).display().to_string();
    let next = first + items.len() as u64;
    let promised = shared.promised.fetch_max(next, Ordering::AcqRel);
    if next < promised {
        let lost = format!(
            "{place} was changed by another program: it lacks jobs {next} to {}",
            promised - 1
        );
        return Err(Fault::new(FaultCode::StoreDamaged, lost)
            .hint("put it back as it was; or `brain stop`, and the next start goes on without them")
            .into());
    }
    if !items.is_empty() {
        let txn = shared.begin_write()?;
        let mut draft = Draft::open(&txn, &shared.waiting_jobs)?;
        for item in &items {
            draft.add_job(item)?;
        }
        let finished = draft.finish()?;
        shared.commit(txn, finished)?;
        tracing::info!(items = items.len(), "items were taken over from the spool");
    }
    if !others {
        spool::remove(&shared.path);
        return Ok(());
    }
    let aside = spool::put_aside(&shared.path).map_err(|e| StoreError::from_io(&e, &place))?;
    tracing::warn!(
        spool = %aside.display(),
        "it holds items that another store accepted, or this one at another time, and that this one does not have; it was put aside"
    );
    Ok(())
}
