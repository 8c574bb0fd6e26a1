//! Rules that all engines apply: schemas, sizes, the order of batches, deletions, and compaction.

use std::cmp::Ordering;
use std::time::Duration;

use crate::{
    Batches, BrainSnapshot, Error, Head, MAX_NAME, MAX_PAYLOAD, Machine, NewBatch, Position,
    SnapshotId,
};

impl Head {
    /// Checks that a program with this schema can read the log.
    ///
    /// # Errors
    /// [`Error::TooNew`].
    pub fn check_reader(&self, schema: u32) -> Result<(), Error> {
        if self.min_reader > schema { Err(self.too_new(schema)) } else { Ok(()) }
    }

    /// Checks that a program with this schema can write to the log.
    ///
    /// # Errors
    /// [`Error::TooNew`].
    pub fn check_writer(&self, schema: u32) -> Result<(), Error> {
        if self.schema > schema { Err(self.too_new(schema)) } else { self.check_reader(schema) }
    }

    fn too_new(&self, supported: u32) -> Error {
        Error::TooNew { schema: self.schema, min_reader: self.min_reader, supported }
    }
}

/// Checks batches that an engine read after a position: no gap, and each names its predecessor.
///
/// # Errors
/// - [`Error::Compacted`] if the batches after the position were deleted
/// - [`Error::Diverged`] if the position is not in the log's history
/// - [`Error::Corrupt`] if a later batch does not follow its predecessor
pub fn check_order(after: &Position, found: &Batches) -> Result<(), Error> {
    let head = &found.head;
    let diverged = |predecessor| Error::Diverged { replica: *after, log: predecessor };
    let Some(first) = found.batches.first() else {
        return match head.position.number.cmp(&after.number) {
            Ordering::Less => Err(diverged(head.position)),
            Ordering::Equal if head.position.id != after.id => Err(diverged(head.position)),
            Ordering::Greater if head.compacted > after.number => {
                Err(Error::Compacted { replica: after.number, compacted: head.compacted })
            }
            _ => Ok(()),
        };
    };
    if first.position.number != after.number + 1 {
        return Err(if head.compacted > after.number {
            Error::Compacted { replica: after.number, compacted: head.compacted }
        } else {
            Error::Corrupt(format!(
                "change {} is missing, and compaction did not delete it",
                after.number + 1
            ))
        });
    }
    if first.predecessor != after.id {
        return Err(diverged(Position { number: after.number, id: first.predecessor }));
    }
    for pair in found.batches.windows(2) {
        let [one, next] = pair else { continue };
        if next.position.number != one.position.number + 1 || next.predecessor != one.position.id {
            return Err(Error::Corrupt(format!(
                "change {} does not follow change {}",
                next.position.number, one.position.number
            )));
        }
    }
    Ok(())
}

/// Refuses to delete the last complete snapshot that contains the batches up to `compacted`, which
/// compaction deleted.
///
/// # Errors
/// [`Error::SnapshotNeeded`].
pub fn check_deletion(
    snapshots: &[BrainSnapshot],
    id: SnapshotId,
    compacted: u64,
) -> Result<(), Error> {
    let has_deleted_batches = |snapshot: &BrainSnapshot| {
        snapshot.complete && compacted > 0 && snapshot.contains.number >= compacted
    };
    let is_needed =
        snapshots.iter().any(|snapshot| snapshot.id == id && has_deleted_batches(snapshot))
            && !snapshots.iter().any(|snapshot| snapshot.id != id && has_deleted_batches(snapshot));
    if is_needed { Err(Error::SnapshotNeeded) } else { Ok(()) }
}

/// Checks the sizes of a batch's payload and of its machine's name.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn check_batch(batch: &NewBatch) -> Result<(), Error> {
    check_name(&batch.machine)?;
    check_size("the change", batch.payload.len(), MAX_PAYLOAD)
}

/// Checks the length of the name of a machine or a lease.
///
/// # Errors
/// [`Error::TooLarge`] above [`MAX_NAME`].
pub fn check_name(name: &str) -> Result<(), Error> {
    check_size("the name", name.len(), MAX_NAME)
}

/// Checks a size against a limit, both in bytes. `subject` names the value in the message.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn check_size(subject: &'static str, size: usize, max: usize) -> Result<(), Error> {
    if size <= max {
        return Ok(());
    }
    Err(Error::TooLarge { subject, size: size as u64, max: max as u64 })
}

/// Returns the number of the last batch that compaction may delete: the snapshot contains it, and
/// so does each machine that reported within `max_silence` before `clock_ms`.
#[must_use]
pub fn compactable(
    snapshot: &BrainSnapshot,
    machines: &[Machine],
    clock_ms: i64,
    max_silence: Duration,
) -> u64 {
    let silence = i64::try_from(max_silence.as_millis()).unwrap_or(i64::MAX);
    let seen_since = clock_ms.saturating_sub(silence);
    let recent_machines = machines.iter().filter(|machine| machine.seen_ms >= seen_since);
    recent_machines
        .map(|machine| machine.position.number)
        .min()
        .map_or(snapshot.contains.number, |slowest| slowest.min(snapshot.contains.number))
}
