//! Writes and reads the ledger: one line before each model call, and one after it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_protocol::{CostsReply, Spending};
use parking_lot::{Mutex, MutexGuard};

use super::line::{CallStep, LedgerLine, bounded_name, plausible_tokens};
use super::summary::{CallPeriod, summarize};
use super::{Budget, CostError, Price};
use brain_base::clock::{Clock, rfc3339};
use brain_base::json_lines;

/// The ledger. Only the daemon that serves the home writes it.
///
/// Lines are only appended. The file is opened for each line, so that it can be moved away by hand.
pub struct Ledger {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    /// Held while a line is written.
    writing: Mutex<()>,
}

impl Ledger {
    /// Returns the ledger at `path`. The file is created with the first call.
    #[must_use]
    pub fn new(path: &Path, clock: Arc<dyn Clock>) -> Self {
        Self { path: path.to_owned(), clock, writing: Mutex::default() }
    }

    /// Enters a model call before it is made. `tokens_in` and `tokens_out` are its maximum token
    /// counts.
    ///
    /// [`OpenCall::settle`] records the result. An entry that is dropped counts as failed, at its
    /// maximum cost, because the service may have processed the call.
    ///
    /// With a price, the line is on the disk when this returns. A free call is entered for its
    /// token counts only: the disk is not awaited, and a write error is only logged.
    ///
    /// # Errors
    /// [`CostError::OverBudget`] when the call may cost more than is left of the budget, and
    /// [`CostError::Ledger`] when the line of a paid call cannot be written.
    pub fn enter<'a>(
        &'a self,
        purpose: &'static str,
        model: &str,
        price: Price,
        budget: Option<&'a Budget>,
        tokens_in: u64,
        tokens_out: u64,
    ) -> Result<OpenCall<'a>, CostError> {
        let cost = price.cost(tokens_in, tokens_out);
        let maximum = Spending { estimated: cost, actual: cost, tokens_in, tokens_out, calls: 1 };
        if let Some(budget) = budget {
            budget.reserve(maximum)?;
        }
        let mut line = LedgerLine {
            step: CallStep::Enter,
            call: 0,
            at: rfc3339(self.clock.now()),
            purpose: purpose.into(),
            model: bounded_name(model),
            tokens_in,
            tokens_out,
            micro_usd: cost,
            implausible: false,
        };
        let written = self.append(!price.is_free(), |offset| {
            line.call = offset;
            line.to_json_line()
        });
        if let Err(error) = written {
            if !price.is_free() {
                if let Some(budget) = budget {
                    budget.release(maximum);
                }
                return Err(self.error(error));
            }
            tracing::warn!(
                path = %self.path.display(),
                %error,
                "cannot write a free call to the ledger"
            );
        }
        Ok(OpenCall { ledger: self, price, budget, maximum, line, is_closed: false })
    }

    /// Returns the spending from `since` to `until` (Unix milliseconds, inclusive), with the newest
    /// `limit` calls. Reads the whole file in bounded memory.
    ///
    /// # Errors
    /// [`CostError::Ledger`] when the file exists and cannot be read.
    pub fn read(
        &self,
        since: Option<i64>,
        until: Option<i64>,
        limit: usize,
    ) -> Result<CostsReply, CostError> {
        let file = {
            // The length is taken between two writes, so it ends at a whole line.
            let _writing = self.lock();
            File::open(&self.path).and_then(|file| Ok((file.metadata()?.len(), file)))
        };
        match file {
            Ok((length, file)) => summarize(file.take(length), &CallPeriod { since, until, limit })
                .map_err(|error| self.error(error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(CostsReply::default()),
            Err(error) => Err(self.error(error)),
        }
    }

    /// Checks that the ledger can be opened for writing, if it exists. Writes nothing.
    ///
    /// # Errors
    /// [`CostError::Ledger`] when it exists and cannot be opened.
    pub fn check(&self) -> Result<(), CostError> {
        match File::options().append(true).open(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.error(error)),
            _ => Ok(()),
        }
    }

    /// Appends a line: `line` gets the line's byte offset and returns its text.
    fn append(&self, durable: bool, line: impl FnOnce(u64) -> String) -> io::Result<()> {
        let _writing = self.lock();
        json_lines::append(&self.path, durable, line)
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.writing.lock()
    }

    fn error(&self, error: io::Error) -> CostError {
        CostError::Ledger { path: self.path.display().to_string(), error }
    }
}

/// A call that is entered and not settled yet.
#[must_use = "a dropped entry counts at its maximum cost"]
pub struct OpenCall<'a> {
    ledger: &'a Ledger,
    price: Price,
    budget: Option<&'a Budget>,
    maximum: Spending,
    line: LedgerLine,
    is_closed: bool,
}

impl OpenCall<'_> {
    /// Settles an answered call with the token counts of the service.
    ///
    /// For a count of 0, which means that it was not reported, and for one far above the maximum,
    /// the ledger gets the maximum. Returns the counts of the ledger, but 0 for one that was not
    /// reported.
    pub fn settle(mut self, tokens_in: u64, tokens_out: u64) -> (u64, u64) {
        let (counted_in, over_in) = plausible_tokens(tokens_in, self.maximum.tokens_in);
        let (counted_out, over_out) = plausible_tokens(tokens_out, self.maximum.tokens_out);
        if over_in || over_out {
            self.line.implausible = true;
            tracing::warn!(
                model = self.line.model,
                tokens_in,
                tokens_out,
                "implausible token count from the service; using the maximum"
            );
        }
        self.close(CallStep::Done, counted_in, counted_out);
        (tokens_in.min(counted_in), tokens_out.min(counted_out))
    }

    /// Settles a failed call that costs nothing: it was not sent, or the service rejected it.
    pub fn cancel(mut self) {
        self.close(CallStep::Failed, 0, 0);
    }

    fn close(&mut self, step: CallStep, tokens_in: u64, tokens_out: u64) {
        self.is_closed = true;
        let cost = self.price.cost(tokens_in, tokens_out);
        if let Some(budget) = self.budget {
            budget.settle(
                self.maximum,
                Spending { actual: cost, tokens_in, tokens_out, ..Spending::default() },
            );
        }
        let line = LedgerLine { step, tokens_in, tokens_out, micro_usd: cost, ..self.line.clone() };
        // Not flushed: a lost line makes the call count at its maximum.
        if let Err(error) = self.ledger.append(false, |_| line.to_json_line()) {
            tracing::warn!(
                path = %self.ledger.path.display(),
                %error,
                "cannot settle a call in the ledger; it counts at its maximum"
            );
        }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if !self.is_closed {
            let Spending { tokens_in, tokens_out, .. } = self.maximum;
            self.close(CallStep::Failed, tokens_in, tokens_out);
        }
    }
}
