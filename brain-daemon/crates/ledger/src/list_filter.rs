//! The period, the part and the order of a list.

use brain_base::clock::{end_instant_argument, instant_argument};
use brain_protocol::Fault;

/// Maximum number of rows in one reply.
const MAX_LIMIT: u32 = 1000;

/// A part of a list, newest first.
pub(crate) struct ListPart<T> {
    since: i64,
    until: i64,
    to_skip: u32,
    limit: usize,
    rows: Vec<T>,
}

impl<T> ListPart<T> {
    /// Creates an empty part. `limit` and `to_skip` count rows that match.
    ///
    /// # Errors
    /// `invalid_request` if `since` or `until` is not a time.
    pub(crate) fn new(
        (since, until): (Option<&str>, Option<&str>),
        limit: u32,
        to_skip: u32,
    ) -> Result<Self, Fault> {
        Ok(Self {
            since: instant_argument(since)?.unwrap_or(i64::MIN),
            until: end_instant_argument(until)?.unwrap_or(i64::MAX),
            to_skip,
            limit: limit.clamp(1, MAX_LIMIT) as usize,
            rows: Vec::new(),
        })
    }

    /// Returns the earliest time of a row, Unix milliseconds.
    pub(crate) fn since(&self) -> i64 {
        self.since
    }

    /// Returns whether a row of this time can be in the part.
    pub(crate) fn has_time(&self, at: i64) -> bool {
        (self.since..=self.until).contains(&at)
    }

    /// Adds a row that matches. Returns whether further rows are needed.
    pub(crate) fn add(&mut self, row: T) -> bool {
        match self.to_skip {
            0 => self.rows.push(row),
            _ => self.to_skip -= 1,
        }
        self.rows.len() <= self.limit
    }

    /// Returns the rows, and whether there are more.
    pub(crate) fn end(mut self) -> (Vec<T>, bool) {
        let truncated = self.rows.len() > self.limit;
        self.rows.truncate(self.limit);
        (self.rows, truncated)
    }
}
