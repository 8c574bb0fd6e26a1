//! How much one piece of work may cost. Pure.

use std::sync::{Mutex, MutexGuard, PoisonError};

use brain_protocol::{Spent, usd};

use super::CostFault;

/// How much one piece of work may cost, and what it has. Shared by the threads that work on it.
#[derive(Debug)]
pub struct Budget {
    most: u64,
    spent: Mutex<Spent>,
}

impl Budget {
    /// One of at most `most`.
    #[must_use]
    pub fn new(most: u64) -> Self {
        Self { most, spent: Mutex::default() }
    }

    /// One of which something was spent before: by the same work, before it was interrupted.
    #[must_use]
    pub fn resumed(most: u64, spent: Spent) -> Self {
        Self { most, spent: Mutex::new(spent) }
    }

    /// What was spent, also on calls that are not answered yet, at their worst. `estimated` is the sum of what the calls might have cost at worst.
    #[must_use]
    pub fn spent(&self) -> Spent {
        *self.held()
    }

    /// Takes what a call may cost at worst. A call that costs nothing is let through whatever is left.
    ///
    /// # Errors
    /// [`CostFault::OverBudget`]; nothing is taken then.
    pub(super) fn take(&self, worst: Spent) -> Result<(), CostFault> {
        let mut spent = self.held();
        let left = self.most.saturating_sub(spent.actual);
        if worst.actual > left {
            return Err(CostFault::OverBudget {
                needed_usd: usd(worst.actual),
                left_usd: usd(left),
                most_usd: usd(self.most),
            });
        }
        add(&mut spent, worst);
        Ok(())
    }

    /// Says what a call that was taken at its `worst` did cost.
    pub(super) fn correct(&self, worst: Spent, real: Spent) {
        let mut spent = self.held();
        spent.actual = spent.actual.saturating_sub(worst.actual).saturating_add(real.actual);
        spent.tokens_in =
            spent.tokens_in.saturating_sub(worst.tokens_in).saturating_add(real.tokens_in);
        spent.tokens_out =
            spent.tokens_out.saturating_sub(worst.tokens_out).saturating_add(real.tokens_out);
    }

    /// Takes back a call that was not made after all.
    pub(super) fn give_back(&self, worst: Spent) {
        self.correct(worst, Spent::default());
        let mut spent = self.held();
        spent.estimated = spent.estimated.saturating_sub(worst.estimated);
        spent.calls = spent.calls.saturating_sub(worst.calls);
    }

    fn held(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds `more` to `sum`.
pub(super) fn add(sum: &mut Spent, more: Spent) {
    sum.estimated = sum.estimated.saturating_add(more.estimated);
    sum.actual = sum.actual.saturating_add(more.actual);
    sum.tokens_in = sum.tokens_in.saturating_add(more.tokens_in);
    sum.tokens_out = sum.tokens_out.saturating_add(more.tokens_out);
    sum.calls = sum.calls.saturating_add(more.calls);
}
