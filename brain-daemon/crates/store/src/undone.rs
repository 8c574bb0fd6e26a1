//! What was taken back: rows beside the steps. They have numbers and names of clients, no text.

use redb::ReadableTable;

use super::record::{StepRecord, UndoAct, UndoneRecord, from_bytes, read, to_bytes};
use super::replica::read_id;
use super::{Reader, StoreError, Transaction, tables as t};

/// Keys from here on are those of undos and redos. Those below are numbers of steps.
const FIRST_ACT: u64 = 1 << 63;

impl Transaction<'_> {
    /// Returns the number that [`Self::record_act`] gives to the next undo or redo.
    pub fn next_act(&self) -> Result<u64, StoreError> {
        let last = self.undone.range(FIRST_ACT..)?.next_back().transpose()?;
        Ok(last.map_or(1, |(key, _)| key.value() - FIRST_ACT + 1))
    }

    /// Returns the number of the last change.
    #[must_use]
    pub fn last_change(&self) -> u64 {
        self.counters.seq
    }

    /// Records an undo or a redo as the number `act`. A redo lets the steps stand again that its
    /// undo took back. The machine is this one.
    pub fn record_act(&mut self, number: u64, act: UndoAct) -> Result<(), StoreError> {
        self.write_count += 1;
        for step in &act.taken_back {
            self.put_undone(*step, &UndoneRecord::Step { by: number })?;
        }
        for undo in &act.redo_of {
            let Some(UndoneRecord::Act(mut undone)) = self.undone(FIRST_ACT + undo)? else {
                continue;
            };
            for step in &undone.taken_back {
                self.undone.remove(*step)?;
            }
            undone.is_redone = true;
            self.put_undone(FIRST_ACT + undo, &UndoneRecord::Act(undone))?;
        }
        let act = UndoAct { machine: self.machine, ..act };
        self.put_undone(FIRST_ACT + number, &UndoneRecord::Act(act))
    }

    fn put_undone(&mut self, key: u64, row: &UndoneRecord) -> Result<(), StoreError> {
        self.undone.insert(key, to_bytes(row)?.as_slice())?;
        Ok(())
    }

    fn undone(&self, key: u64) -> Result<Option<UndoneRecord>, StoreError> {
        read(self.undone.get(key)?.as_ref().map(redb::AccessGuard::value))
    }
}

impl Reader {
    /// Returns whether the step was taken back.
    pub fn is_taken_back(&self, step: u64) -> Result<bool, StoreError> {
        Ok(self.table(t::UNDONE)?.get(step)?.is_some())
    }

    /// Calls `each` with the undos and redos, newest first. Ends when `each` returns `false`.
    pub fn each_act_back(
        &self,
        mut each: impl FnMut(u64, UndoAct) -> bool,
    ) -> Result<(), StoreError> {
        for row in self.table(t::UNDONE)?.range(FIRST_ACT..)?.rev() {
            let (key, value) = row?;
            if let UndoneRecord::Act(act) = from_bytes(value.value())?
                && !each(key.value() - FIRST_ACT, act)
            {
                break;
            }
        }
        Ok(())
    }

    /// Returns the steps of one write, in order, of pages that the caller can see. `first` is
    /// [`StepRecord::write`].
    pub fn steps_of_write(&self, first: u64) -> Result<Vec<(u64, StepRecord)>, StoreError> {
        let mut found = Vec::new();
        for row in self.table(t::STEPS)?.range(first..)? {
            let (seq, value) = row?;
            let step: StepRecord = from_bytes(value.value())?;
            // The first step may be gone with its page, and so may others between.
            match step.write.cmp(&first) {
                std::cmp::Ordering::Equal if self.view.shows(&step.source) => {
                    found.push((seq.value(), step));
                }
                std::cmp::Ordering::Greater => break,
                _ => {}
            }
        }
        Ok(found)
    }

    /// Returns the id of this machine, if the store is or was shared.
    pub fn machine(&self) -> Result<Option<u128>, StoreError> {
        read_id(&self.table(t::META)?, t::META_MACHINE)
    }
}
