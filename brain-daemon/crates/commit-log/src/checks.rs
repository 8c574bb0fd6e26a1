//! Checks that all engines make: schemas, sizes, the order of batches, and deletions.

use std::cmp::Ordering;

use crate::{
    Batches, Error, Head, MAX_NAME, MAX_PAYLOAD, NewBatch, Position, Snapshot, SnapshotId,
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
pub(crate) fn check_order(after: &Position, found: &Batches) -> Result<(), Error> {
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

/// Refuses to delete the last complete snapshot that contains the batches that compaction deleted.
pub(crate) fn check_deletion(
    snapshots: &[Snapshot],
    id: SnapshotId,
    compacted: u64,
) -> Result<(), Error> {
    let has_deleted_batches = |snapshot: &Snapshot| {
        snapshot.complete && compacted > 0 && snapshot.contains.number >= compacted
    };
    let is_needed =
        snapshots.iter().any(|snapshot| snapshot.id == id && has_deleted_batches(snapshot))
            && !snapshots.iter().any(|snapshot| snapshot.id != id && has_deleted_batches(snapshot));
    if is_needed { Err(Error::SnapshotNeeded) } else { Ok(()) }
}

/// Checks the sizes of a batch.
pub(crate) fn check_batch(batch: &NewBatch) -> Result<(), Error> {
    check_name(&batch.machine)?;
    check_size("the change", batch.payload.len(), MAX_PAYLOAD)
}

/// Checks the length of a name.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    check_size("the name", name.len(), MAX_NAME)
}

/// Checks a size against a limit, both in bytes.
pub(crate) fn check_size(subject: &'static str, size: usize, max: usize) -> Result<(), Error> {
    if size <= max {
        return Ok(());
    }
    Err(Error::TooLarge { subject, size: size as u64, max: max as u64 })
}
