//! Costs of paid services: prices, budgets, and the ledger of paid calls.
//!
//! The ledger is a file of JSON lines. A paid call is entered and flushed to the disk before it is
//! made, and settled after it. A call whose cost is unknown (an incomplete response, a killed
//! daemon) counts at its estimated maximum. All amounts are whole millionths of a US dollar.
//!
//! The crate knows neither models nor pages. `budget` limits the cost of a task, `ledger` writes
//! and reads the file, `line` is one line of the file, and `summary` adds lines up.

mod budget;
mod ledger;
mod line;
mod summary;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::Arc;

pub use budget::Budget;
pub use ledger::{Ledger, OpenCall};

/// The price of a model, in millionths of a US dollar per million tokens.
///
/// "3 USD per million" is 3,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Price {
    /// Price of input tokens.
    pub input: u64,
    /// Price of output tokens.
    pub output: u64,
}

impl Price {
    /// Returns the cost of these tokens, rounded up.
    #[must_use]
    pub fn cost(self, tokens_in: u64, tokens_out: u64) -> u64 {
        let part = |price: u64, tokens: u64| u128::from(price) * u128::from(tokens);
        let all = part(self.input, tokens_in).saturating_add(part(self.output, tokens_out));
        u64::try_from(all.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// Returns whether calls cost nothing, as with a local model.
    #[must_use]
    pub fn is_free(self) -> bool {
        self == Self::default()
    }
}

/// The ledger for a model's calls, and the price of the model.
#[derive(Clone)]
pub struct CostMeter {
    /// The ledger.
    pub ledger: Arc<Ledger>,
    /// The price.
    pub price: Price,
}

/// Why a paid call must not be made.
#[derive(Debug, thiserror::Error)]
pub enum CostError {
    /// The call might cost more than is left of the budget.
    #[error(
        "the next call may cost {needed_usd} USD, and {left_usd} USD are left of {limit_usd} USD"
    )]
    OverBudget {
        /// The maximum cost of the call.
        needed_usd: String,
        /// The remaining budget.
        left_usd: String,
        /// The whole budget.
        limit_usd: String,
    },
    /// The ledger cannot be read or written. Calls that cannot be entered must not be made.
    #[error("{path} cannot be used: {error}")]
    Ledger {
        /// The path of the ledger.
        path: String,
        /// The cause.
        #[source]
        error: std::io::Error,
    },
}
