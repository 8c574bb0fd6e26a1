//! Rate limits of the platform's endpoints, with a reserve that is never used. No I/O.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The number of requests that are left unused in each rate limit window.
pub const RESERVE: u64 = 2;
/// Maximum length of a rate limit window: 15 minutes, and one second for the platform's clock.
pub const WINDOW_SECONDS: i64 = 901;

/// An endpoint with its own rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endpoint {
    /// `GET /2/users/me`.
    Me,
    /// `GET /2/users/by/username/:username`.
    ByUsername,
    /// `GET /2/users/:id/tweets`.
    Timeline,
    /// `GET /2/users/:id/mentions`.
    Mentions,
    /// `GET /2/tweets/search/recent`.
    Search,
    /// `GET /2/tweets/:id`.
    Lookup,
    /// `GET /2/tweets/search/stream/rules`.
    Rules,
    /// `POST /2/tweets/search/stream/rules`.
    ChangeRules,
    /// `GET /2/tweets/search/stream`.
    Connect,
}

impl Endpoint {
    /// Returns the name in `state.json`: the path with `:id` for variables, with `POST` in front
    /// where needed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Me => "/2/users/me",
            Self::ByUsername => "/2/users/by/username/:username",
            Self::Timeline => "/2/users/:id/tweets",
            Self::Mentions => "/2/users/:id/mentions",
            Self::Search => "/2/tweets/search/recent",
            Self::Lookup => "/2/tweets/:id",
            Self::Rules => "/2/tweets/search/stream/rules",
            Self::ChangeRules => "POST /2/tweets/search/stream/rules",
            Self::Connect => "/2/tweets/search/stream",
        }
    }
}

/// The last known rate limit of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLimit {
    /// Remaining requests (`x-rate-limit-remaining`).
    pub remaining: u64,
    /// The reset time, in Unix seconds (`x-rate-limit-reset`).
    pub reset: i64,
}

/// The rate limits of all endpoints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rates(BTreeMap<String, KnownLimit>);

impl Rates {
    /// Checks that `endpoint` may be used at `now` (Unix seconds). Limits expire at their reset; a
    /// reset further away than one window counts as one window.
    ///
    /// # Errors
    /// The Unix second of the reset.
    pub fn check(&self, endpoint: Endpoint, now: i64) -> Result<(), i64> {
        match self.0.get(endpoint.as_str()) {
            Some(allowance) if allowance.remaining <= RESERVE && now < allowance.reset => {
                Err(allowance.reset.min(now.saturating_add(WINDOW_SECONDS)))
            }
            _ => Ok(()),
        }
    }

    /// Records the headers of an answer. Missing or invalid headers change nothing.
    pub fn record(&mut self, endpoint: Endpoint, remaining: Option<&str>, reset: Option<&str>) {
        let remaining = remaining.and_then(|text| text.trim().parse().ok());
        let reset = reset.and_then(|text| text.trim().parse().ok());
        if let (Some(remaining), Some(reset)) = (remaining, reset) {
            self.0.insert(endpoint.as_str().to_owned(), KnownLimit { remaining, reset });
        }
    }

    /// Limits every reset to one window after `now` (Unix seconds), so that a wrong clock does not
    /// block an endpoint for long.
    pub fn clamp_resets(&mut self, now: i64) {
        for allowance in self.0.values_mut() {
            allowance.reset = allowance.reset.min(now.saturating_add(WINDOW_SECONDS));
        }
    }

    /// Records a 429: blocks the endpoint until the known reset, or for one window if that is
    /// unknown or past. Returns the end of the block, in Unix seconds.
    pub fn record_exhausted(&mut self, endpoint: Endpoint, now: i64) -> i64 {
        let window = now.saturating_add(WINDOW_SECONDS);
        let known_reset = self
            .0
            .get(endpoint.as_str())
            .map(|allowance| allowance.reset)
            .filter(|reset| *reset > now);
        let reset = known_reset.unwrap_or(window).min(window);
        self.0.insert(endpoint.as_str().to_owned(), KnownLimit { remaining: 0, reset });
        reset
    }

    /// Copies the limits of `endpoints` from `other`.
    pub fn merge(&mut self, endpoints: &[Endpoint], other: &Self) {
        for endpoint in endpoints {
            if let Some(allowance) = other.0.get(endpoint.as_str()) {
                self.0.insert(endpoint.as_str().to_owned(), *allowance);
            }
        }
    }

    /// Returns all limits by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, KnownLimit)> {
        self.0.iter().map(|(name, allowance)| (name.as_str(), *allowance))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_257_000;

    fn rates_with(remaining: &str, reset: i64) -> Rates {
        let mut rates = Rates::default();
        rates.record(Endpoint::Timeline, Some(remaining), Some(&reset.to_string()));
        rates
    }

    #[test]
    fn requests_stop_at_the_reserve_until_the_reset() {
        for (remaining, reset, expected) in [
            ("3", NOW + 60, Ok(())),
            ("2", NOW + 60, Err(NOW + 60)),
            ("0", NOW + 60, Err(NOW + 60)),
            ("2", NOW + 1, Err(NOW + 1)),
            ("2", NOW, Ok(())),
            ("0", NOW - 1, Ok(())),
            ("0", NOW + WINDOW_SECONDS, Err(NOW + WINDOW_SECONDS)),
            ("0", NOW + 86_400, Err(NOW + WINDOW_SECONDS)),
            ("0", i64::MAX, Err(NOW + WINDOW_SECONDS)),
        ] {
            let rates = rates_with(remaining, reset);
            assert_eq!(rates.check(Endpoint::Timeline, NOW), expected, "{remaining} until {reset}");
            assert_eq!(rates.check(Endpoint::Mentions, NOW), Ok(()), "another endpoint");
        }
    }

    #[test]
    fn invalid_headers_change_nothing() {
        let known = rates_with("17", NOW + 60);
        for (remaining, reset) in [
            (None, None),
            (Some("3"), None),
            (None, Some("9")),
            (Some("-1"), Some("9")),
            (Some("1"), Some("soon")),
        ] {
            let mut rates = known.clone();
            rates.record(Endpoint::Timeline, remaining, reset);
            assert_eq!(rates, known, "{remaining:?} {reset:?}");
        }
    }

    #[test]
    fn a_429_blocks_the_endpoint_whatever_remains() {
        let mut rates = rates_with("39999", NOW + 60);
        assert_eq!(rates.record_exhausted(Endpoint::Timeline, NOW), NOW + 60);
        assert_eq!(rates.check(Endpoint::Timeline, NOW + 59), Err(NOW + 60));
        assert_eq!(rates.check(Endpoint::Timeline, NOW + 60), Ok(()));
        for mut rates in [Rates::default(), rates_with("5", NOW), rates_with("5", NOW + 86_400)] {
            assert_eq!(rates.record_exhausted(Endpoint::Timeline, NOW), NOW + WINDOW_SECONDS);
            assert_eq!(rates.check(Endpoint::Timeline, NOW), Err(NOW + WINDOW_SECONDS));
        }
    }

    #[test]
    fn a_wrong_clock_blocks_an_endpoint_for_one_window() {
        let mut rates = rates_with("0", NOW + 365 * 86_400);
        rates.clamp_resets(NOW);
        assert_eq!(
            rates.check(Endpoint::Timeline, NOW + WINDOW_SECONDS - 1),
            Err(NOW + WINDOW_SECONDS)
        );
        assert_eq!(rates.check(Endpoint::Timeline, NOW + WINDOW_SECONDS), Ok(()));
    }

    #[test]
    fn limits_are_stored_by_path() {
        let rates = rates_with("2", NOW);
        let json = serde_json::to_value(&rates).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"/2/users/:id/tweets": {"remaining": 2, "reset": NOW}})
        );
        assert_eq!(serde_json::from_value::<Rates>(json).unwrap(), rates);
    }
}
