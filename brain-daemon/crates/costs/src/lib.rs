//! What paid services cost: prices, budgets, and the ledger, a file of JSON lines that every paid call enters, flushed to the disk, before it is made, and is settled in after.
//! Knows neither models nor pages. All money is in whole millionths of a US dollar.
//!
//! What is not known counts at its worst: a call that nobody settled, because its answer never came whole or the daemon was killed, costs what it might have cost.
//!
//! `budget` is how much one piece of work may cost, `ledger` writes, `line` is a line of the file, `read` adds up.

mod budget;
mod ledger;
mod line;
mod read;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::Arc;

pub use budget::Budget;
pub use ledger::{Entry, Ledger};

/// What a model costs, in millionths of a US dollar a million tokens: a price of "3 USD a million" is 3,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Price {
    /// Tokens in.
    pub input: u64,
    /// Tokens out.
    pub output: u64,
}

impl Price {
    /// What so many tokens cost, rounded up.
    #[must_use]
    pub fn of(self, tokens_in: u64, tokens_out: u64) -> u64 {
        let part = |price: u64, tokens: u64| u128::from(price) * u128::from(tokens);
        let all = part(self.input, tokens_in).saturating_add(part(self.output, tokens_out));
        u64::try_from(all.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// Whether nothing is paid: a model of one's own.
    #[must_use]
    pub fn is_free(self) -> bool {
        self == Self::default()
    }
}

/// Where a model's calls are paid: the ledger that they enter, and their price.
#[derive(Clone)]
pub struct Till {
    /// The ledger.
    pub ledger: Arc<Ledger>,
    /// The price.
    pub price: Price,
}

/// Why a call must not be made.
#[derive(Debug, thiserror::Error)]
pub enum CostFault {
    /// It might cost more than is left.
    #[error(
        "the next call may cost {needed_usd} USD, and {left_usd} USD are left of {most_usd} USD"
    )]
    OverBudget {
        /// What it may cost at worst.
        needed_usd: String,
        /// What is left.
        left_usd: String,
        /// The budget.
        most_usd: String,
    },
    /// The ledger cannot be written: what is not entered is not paid.
    #[error("{path} cannot be used: {error}")]
    Ledger {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
}
