//! The cost limit of one task. No I/O.

use brain_protocol::{Spending, usd};
use parking_lot::{Mutex, MutexGuard};

use super::CostError;

/// The cost limit of one task and its spending so far. Shared by the threads of the task.
#[derive(Debug)]
pub struct Budget {
    /// Millionths of a US dollar.
    limit: u64,
    spent: Mutex<Spending>,
}

impl Budget {
    /// Creates a budget of `limit` millionths of a US dollar.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit, spent: Mutex::default() }
    }

    /// Creates a budget for an interrupted task that has spent `spent` already.
    #[must_use]
    pub fn resumed(limit: u64, spent: Spending) -> Self {
        Self { limit, spent: Mutex::new(spent) }
    }

    /// Returns the spending so far. Unsettled calls count at their maximum. `estimated` is the sum
    /// of the maximum costs of all calls.
    #[must_use]
    pub fn spent(&self) -> Spending {
        *self.lock()
    }

    /// Reserves the maximum cost of a call. A free call never exceeds the budget.
    ///
    /// # Errors
    /// [`CostError::OverBudget`] when the maximum exceeds what is left; nothing is reserved then.
    pub(super) fn reserve(&self, maximum: Spending) -> Result<(), CostError> {
        let mut spent = self.lock();
        let left = self.limit.saturating_sub(spent.actual);
        if maximum.actual > left {
            return Err(CostError::OverBudget {
                needed_usd: usd(maximum.actual),
                left_usd: usd(left),
                limit_usd: usd(self.limit),
            });
        }
        add(&mut spent, maximum);
        Ok(())
    }

    /// Replaces the reservation `maximum` with the real cost of the call.
    pub(super) fn settle(&self, maximum: Spending, real: Spending) {
        let mut spent = self.lock();
        spent.actual = spent.actual.saturating_sub(maximum.actual).saturating_add(real.actual);
        spent.tokens_in =
            spent.tokens_in.saturating_sub(maximum.tokens_in).saturating_add(real.tokens_in);
        spent.tokens_out =
            spent.tokens_out.saturating_sub(maximum.tokens_out).saturating_add(real.tokens_out);
    }

    /// Releases the reservation of a call that was not made.
    pub(super) fn release(&self, maximum: Spending) {
        self.settle(maximum, Spending::default());
        let mut spent = self.lock();
        spent.estimated = spent.estimated.saturating_sub(maximum.estimated);
        spent.calls = spent.calls.saturating_sub(maximum.calls);
    }

    fn lock(&self) -> MutexGuard<'_, Spending> {
        self.spent.lock()
    }
}

/// Adds `more` to `sum`, saturating.
pub(super) fn add(sum: &mut Spending, more: Spending) {
    sum.estimated = sum.estimated.saturating_add(more.estimated);
    sum.actual = sum.actual.saturating_add(more.actual);
    sum.tokens_in = sum.tokens_in.saturating_add(more.tokens_in);
    sum.tokens_out = sum.tokens_out.saturating_add(more.tokens_out);
    sum.calls = sum.calls.saturating_add(more.calls);
}
