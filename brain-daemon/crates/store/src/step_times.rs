//! The times of steps that were recorded in the future.
//!
//! A step never counts as earlier than the one before it. So if the clock stood in the future once
//! and was put right, all later steps have that future time. A step that was made cannot be later
//! than now. For those that are, what the clock said counts again, in the order of the changes:
//! each is as early as the earliest of the clock's times of it and of later ones, but not before
//! the last step whose time is not in the future.

use super::StoreError;
use super::record::StepRecord;

/// When steps were made, as far as their records say another time.
#[derive(Default)]
pub(super) struct StepTimes {
    /// Numbers of steps, with their times in Unix milliseconds. Both ascend.
    corrected: Vec<(u64, i64)>,
}

impl StepTimes {
    /// Reads steps, newest first, as long as they are later than `now`, Unix milliseconds. On
    /// several machines the server's clock dates the steps, so all stay.
    pub(super) fn of_newest(
        steps: impl Iterator<Item = Result<(u64, StepRecord), StoreError>>,
        now: i64,
    ) -> Result<Self, StoreError> {
        let (mut corrected, mut earliest, mut first) = (Vec::new(), now, i64::MIN);
        for step in steps {
            let (number, step) = step?;
            if step.at <= now || step.machine.is_some() {
                first = step.at.min(now);
                break;
            }
            earliest = earliest.min(step.clock);
            corrected.push((number, earliest));
        }
        corrected.reverse();
        for (_, at) in &mut corrected {
            *at = (*at).max(first);
        }
        Ok(Self { corrected })
    }

    /// Returns when the step `number` was made. `at` is its recorded time.
    pub(super) fn of(&self, number: u64, at: i64) -> i64 {
        let found = self.corrected.binary_search_by_key(&number, |it| it.0);
        found.ok().and_then(|index| self.corrected.get(index)).map_or(at, |it| it.1)
    }
}
