//! Daily quotas of pages and bytes that a client may write.
//!
//! A day is a day of UTC. Usage is kept in memory, so a restart of the daemon resets it.

use std::collections::HashMap;

use axum::http::{HeaderValue, StatusCode, header};
use parking_lot::{Mutex, MutexGuard};

use super::HttpError;

/// A day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The quota of each client, and its usage.
pub(crate) struct Quota {
    /// Pages a day; `None` for no limit.
    pages: Option<u64>,
    /// Bytes a day; `None` for no limit.
    bytes: Option<u64>,
    usage: Mutex<DailyUsage>,
}

/// The usage of one day.
#[derive(Default)]
struct DailyUsage {
    /// Days since 1970.
    day: i64,
    /// Pages and bytes of each authenticated client.
    clients: HashMap<String, (u64, u64)>,
}

impl Quota {
    /// Creates a quota of pages and bytes a day.
    pub(crate) fn new(pages: Option<u64>, bytes: Option<u64>) -> Self {
        Self { pages, bytes, usage: Mutex::default() }
    }

    /// Checks whether the client may write another page today; `now` is in Unix milliseconds.
    ///
    /// # Errors
    /// 429 with the seconds until midnight, if the quota is used up.
    pub(crate) fn check(&self, client: &str, now: i64) -> Result<(), HttpError> {
        let (pages, bytes) = self.today(now).clients.get(client).copied().unwrap_or_default();
        self.check_totals(pages + 1, bytes + 1, now)
    }

    /// Counts a page of `size` bytes.
    ///
    /// # Errors
    /// As for [`Quota::check`]. After an error, nothing is counted.
    pub(crate) fn charge(&self, client: &str, size: usize, now: i64) -> Result<(), HttpError> {
        let mut usage = self.today(now);
        let (pages, bytes) = usage.clients.entry(client.to_owned()).or_default();
        let (new_pages, new_bytes) = (*pages + 1, bytes.saturating_add(size as u64));
        self.check_totals(new_pages, new_bytes, now)?;
        (*pages, *bytes) = (new_pages, new_bytes);
        Ok(())
    }

    /// Undoes the charge for a page that was not written.
    pub(crate) fn refund(&self, client: &str, size: usize, now: i64) {
        if let Some((pages, bytes)) = self.today(now).clients.get_mut(client) {
            (*pages, *bytes) = (pages.saturating_sub(1), bytes.saturating_sub(size as u64));
        }
    }

    fn check_totals(&self, pages: u64, bytes: u64, now: i64) -> Result<(), HttpError> {
        let (limit, key, unit) = match (self.pages, self.bytes) {
            (Some(max), _) if pages > max => (max, "ingest.daily_pages", "pages"),
            (_, Some(max)) if bytes > max => (max, "ingest.daily_bytes", "bytes"),
            _ => return Ok(()),
        };
        let seconds = ((DAY_MS - now.rem_euclid(DAY_MS)) / 1000).max(1);
        let message = format!(
            "this client has used its quota of {limit} {unit} a day; try again after midnight UTC, \
             in {seconds} seconds, or ask the owner of this brain to raise {key}"
        );
        Err(HttpError::new(StatusCode::TOO_MANY_REQUESTS, "quota_exceeded", message)
            .with_header(header::RETRY_AFTER, HeaderValue::from(seconds)))
    }

    /// Returns the usage of the current day. Resets it if a new day has begun.
    fn today(&self, now: i64) -> MutexGuard<'_, DailyUsage> {
        let mut usage = self.usage.lock();
        let day = now.div_euclid(DAY_MS);
        if usage.day != day {
            *usage = DailyUsage { day, ..DailyUsage::default() };
        }
        usage
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_its_own_quota_until_midnight() {
        let quota = Quota::new(Some(2), Some(100));
        assert!(quota.charge("ann", 10, 0).is_ok() && quota.charge("ann", 10, 0).is_ok());
        let error = quota.charge("ann", 10, DAY_MS - 5000).unwrap_err();
        assert_eq!(error.code(), "quota_exceeded");
        let text = error.message();
        assert!(text.contains("2 pages a day") && text.contains("ingest.daily_pages"), "{text}");
        assert!(text.contains("in 5 seconds"), "{text}");
        assert!(quota.check("ann", 0).is_err() && quota.check("bob", 0).is_ok());
        assert!(quota.charge("ann", 10, DAY_MS).is_ok(), "the next day");
    }

    #[test]
    fn bytes_count_and_refunds_reduce_usage() {
        let quota = Quota::new(None, Some(100));
        assert!(quota.charge("ann", 90, 0).is_ok());
        let error = quota.charge("ann", 11, 0).unwrap_err();
        assert!(error.message().contains("ingest.daily_bytes"), "{}", error.message());
        quota.refund("ann", 90, 0);
        assert!(quota.charge("ann", 100, 0).is_ok());
        assert!(quota.check("ann", 0).is_err());
        assert!(Quota::new(None, None).charge("ann", usize::MAX, 0).is_ok());
    }
}
