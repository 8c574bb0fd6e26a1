//! The ledger is written: a line before a call, a line after it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brain_protocol::{CostsReply, Spent};

use super::line::{Line, Step, believed, name};
use super::read::{Wanted, add_up};
use super::{Budget, CostFault, Price};
use brain_base::clock::{Clock, rfc3339};

/// The ledger. One process writes it: the one that serves the home. The file is only appended to, and opened anew for each line, so that it may be put away by hand.
pub struct Ledger {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    /// Held while a line is written.
    writing: Mutex<()>,
}

impl Ledger {
    /// The ledger at `path`. Nothing is made before the first call is entered.
    #[must_use]
    pub fn new(path: &Path, clock: Arc<dyn Clock>) -> Self {
        Self { path: path.to_owned(), clock, writing: Mutex::default() }
    }

    /// Enters a call before it is made: at its worst it has `tokens_in` and `tokens_out`. The entry is settled by [`Entry::settle`]; one that is dropped counts as failed, at its worst: the
    /// service may have worked, which only `settle` and `free` can deny.
    ///
    /// With a price, the line is on the disk when this returns. A call that costs nothing is entered too, for its tokens, but nobody waits for the disk, and a ledger that
    /// cannot be written does not keep it from being made.
    ///
    /// # Errors
    /// Why it must not be made.
    pub fn enter<'a>(
        &'a self,
        purpose: &'static str,
        model: &str,
        price: Price,
        budget: Option<&'a Budget>,
        tokens_in: u64,
        tokens_out: u64,
    ) -> Result<Entry<'a>, CostFault> {
        let cost = price.of(tokens_in, tokens_out);
        let worst = Spent { estimated: cost, actual: cost, tokens_in, tokens_out, calls: 1 };
        if let Some(budget) = budget {
            budget.take(worst)?;
        }
        let mut line = Line {
            step: Step::Enter,
            call: 0,
            at: rfc3339(self.clock.now()),
            purpose: purpose.into(),
            model: name(model),
            tokens_in,
            tokens_out,
            micro_usd: cost,
            implausible: false,
        };
        let written = self.append(!price.is_free(), |place| {
            line.call = place;
            line.written()
        });
        if let Err(error) = written {
            if !price.is_free() {
                if let Some(budget) = budget {
                    budget.give_back(worst);
                }
                return Err(self.fault(error));
            }
            tracing::warn!(path = %self.path.display(), %error, "a call that costs nothing is not in the ledger");
        }
        Ok(Entry { ledger: self, price, budget, worst, line, is_closed: false })
    }

    /// What was spent between two moments (Unix milliseconds, both included), with the newest `limit` calls. Reads the whole file, holding a bounded part of it.
    ///
    /// # Errors
    /// [`CostFault::Ledger`] when there is one and it cannot be read.
    pub fn read(
        &self,
        since: Option<i64>,
        until: Option<i64>,
        limit: usize,
    ) -> Result<CostsReply, CostFault> {
        let file = {
            // Whole lines only: what is written from here on is left out.
            let _writing = self.lock();
            File::open(&self.path).and_then(|file| Ok((file.metadata()?.len(), file)))
        };
        match file {
            Ok((length, file)) => add_up(file.take(length), &Wanted { since, until, limit })
                .map_err(|error| self.fault(error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(CostsReply::default()),
            Err(error) => Err(self.fault(error)),
        }
    }

    /// Whether lines can be written, without writing one.
    ///
    /// # Errors
    /// [`CostFault::Ledger`].
    pub fn check(&self) -> Result<(), CostFault> {
        match File::options().append(true).open(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.fault(error)),
            _ => Ok(()),
        }
    }

    /// Appends the line that `line` makes of the place where it begins. A line that a crash or a full disk left unfinished is ended first.
    fn append(&self, to_disk: bool, line: impl FnOnce(u64) -> String) -> io::Result<()> {
        let _writing = self.lock();
        let mut file =
            File::options().read(true).append(true).create(true).mode(0o600).open(&self.path)?;
        let length = file.metadata()?.len();
        let mut last = [b'\n'];
        if length > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        let (start, place) = if last == [b'\n'] { ("", length) } else { ("\n", length + 1) };
        file.write_all(format!("{start}{}", line(place)).as_bytes())?;
        if to_disk {
            file.sync_data()?;
            if length == 0
                && let Some(directory) = self.path.parent()
            {
                File::open(directory)?.sync_all()?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fault(&self, error: io::Error) -> CostFault {
        CostFault::Ledger { path: self.path.display().to_string(), error }
    }
}

/// A call that is entered and not settled yet.
#[must_use = "what is dropped counts at its worst"]
pub struct Entry<'a> {
    ledger: &'a Ledger,
    price: Price,
    budget: Option<&'a Budget>,
    worst: Spent,
    line: Line,
    is_closed: bool,
}

impl Entry<'_> {
    /// It was answered, with so many tokens by the service's own count. Where it does not say (0), the worst counts: there is no question without a token, and an answer that is
    /// paid for has one. The worst counts, too, where it says more than the call can have had.
    /// Gives the tokens that are believed; of those that it does not say, 0.
    pub fn settle(mut self, tokens_in: u64, tokens_out: u64) -> (u64, u64) {
        let (believed_in, over_in) = believed(tokens_in, self.worst.tokens_in);
        let (believed_out, over_out) = believed(tokens_out, self.worst.tokens_out);
        if over_in || over_out {
            self.line.implausible = true;
            tracing::warn!(
                model = self.line.model,
                tokens_in,
                tokens_out,
                "the service counts more tokens than the call can have had; it counts at its worst"
            );
        }
        self.close(Step::Done, believed_in, believed_out);
        (tokens_in.min(believed_in), tokens_out.min(believed_out))
    }

    /// It failed in a way that costs nothing: nothing was sent, or the service refused.
    pub fn free(mut self) {
        self.close(Step::Failed, 0, 0);
    }

    fn close(&mut self, step: Step, tokens_in: u64, tokens_out: u64) {
        self.is_closed = true;
        let cost = self.price.of(tokens_in, tokens_out);
        if let Some(budget) = self.budget {
            budget.correct(
                self.worst,
                Spent { actual: cost, tokens_in, tokens_out, ..Spent::default() },
            );
        }
        let line = Line { step, tokens_in, tokens_out, micro_usd: cost, ..self.line.clone() };
        // Nobody waits for the disk: what is lost counts at its worst.
        if let Err(error) = self.ledger.append(false, |_| line.written()) {
            tracing::warn!(path = %self.ledger.path.display(), %error, "a call is not settled in the ledger, and counts at its worst");
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if !self.is_closed {
            let Spent { tokens_in, tokens_out, .. } = self.worst;
            self.close(Step::Failed, tokens_in, tokens_out);
        }
    }
}
