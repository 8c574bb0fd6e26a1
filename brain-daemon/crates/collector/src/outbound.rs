//! Watches own posts during their first minute: growth and alerts. No I/O.

use brain_protocol::{AlertKind, Metrics};
use serde_json::{Value, json};

use super::PostId;
use brain_base::clock::rfc3339;

/// The kind under which the result is stored beside the post.
pub const KIND: &str = "outbound";
/// Times of the checks, in milliseconds after the post.
const CHECK_TIMES_MS: [i64; 4] = [15_000, 30_000, 45_000, 60_000];
/// Minimum replies or quotes for a meaningful ratio.
const MIN_COUNT: u64 = 5;

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MetricsCheck {
    at: i64,
    /// `None` if the platform reported none.
    metrics: Option<Metrics>,
}

/// An alert about an own post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostAlert {
    /// `ReplyRatio` or `QuoteRatio`.
    pub kind: AlertKind,
    /// A sentence.
    pub message: String,
}

/// A watched post. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// The post.
    pub id: PostId,
    /// Mentioned accounts, by handle.
    pub mentions: Vec<String>,
    /// The time at which the post was written or, if unknown, arrived.
    start: i64,
    checks: Vec<MetricsCheck>,
    reported_alerts: Vec<PostAlert>,
}

impl Watch {
    /// Starts watching a post.
    #[must_use]
    pub fn new(id: PostId, mentions: Vec<String>, start: i64) -> Self {
        Self { id, mentions, start, checks: Vec::new(), reported_alerts: Vec::new() }
    }

    /// Returns whether a check is due. A late check replaces all missed ones.
    #[must_use]
    pub fn is_due(&self, now: i64) -> bool {
        let last = self.checks.last().map_or(self.start, |check| check.at);
        CHECK_TIMES_MS.iter().any(|after| (last + 1..=now).contains(&(self.start + after)))
    }

    /// Returns whether all checks are done.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.checks
            .last()
            .is_some_and(|check| check.at >= self.start + CHECK_TIMES_MS[CHECK_TIMES_MS.len() - 1])
    }

    /// Records a check. Returns its alerts of kinds that no earlier check had.
    pub fn record_check(&mut self, now: i64, metrics: Option<Metrics>) -> Vec<PostAlert> {
        self.checks.push(MetricsCheck { at: now, metrics });
        let mut new = metrics.map(|metrics| alerts(&metrics)).unwrap_or_default();
        new.retain(|alert| self.reported_alerts.iter().all(|other| other.kind != alert.kind));
        self.reported_alerts.extend(new.iter().cloned());
        new
    }

    /// Returns the result for storage: the checks, growth per minute, alerts, and the given pages
    /// of mentioned accounts.
    #[must_use]
    pub fn result(&self, accounts: &Value) -> Value {
        let checks: Vec<Value> = self
            .checks
            .iter()
            .map(|check| json!({"at": rfc3339(check.at), "metrics": check.metrics}))
            .collect();
        let alerts: Vec<Value> = self
            .reported_alerts
            .iter()
            .map(|alert| json!({"alert": alert.kind, "message": alert.message}))
            .collect();
        json!({
            "id": self.id.as_str(),
            "came_at": rfc3339(self.start),
            "looks": checks,
            "per_minute": self.per_minute(),
            "alerts": alerts,
            "mentioned": accounts,
        })
    }

    /// Returns the growth of likes, replies and quotes per minute from the start to the last check
    /// with metrics, rounded to one decimal. `null` without such a check.
    fn per_minute(&self) -> Value {
        let last = self.checks.iter().rev().find_map(|check| Some((check.at, check.metrics?)));
        let Some((at, metrics)) = last.filter(|(at, _)| *at > self.start) else {
            return Value::Null;
        };
        #[allow(clippy::cast_precision_loss)]
        let rate =
            |count: u64| (count as f64 * 600_000.0 / (at - self.start) as f64).round() / 10.0;
        json!({
            "likes": rate(metrics.like_count),
            "replies": rate(metrics.reply_count),
            "quotes": rate(metrics.quote_count),
        })
    }
}

/// Detects more replies than likes, or more quotes than reposts. Ignores counts below 5.
#[must_use]
pub fn alerts(metrics: &Metrics) -> Vec<PostAlert> {
    let mut alerts = Vec::new();
    let (replies, likes) = (metrics.reply_count, metrics.like_count);
    if replies >= MIN_COUNT && replies > likes {
        let message = format!("{replies} replies and {likes} likes within the first minute");
        alerts.push(PostAlert { kind: AlertKind::ReplyRatio, message });
    }
    let (quotes, reposts) = (metrics.quote_count, metrics.retweet_count);
    if quotes >= MIN_COUNT && quotes > reposts {
        let message = format!("{quotes} quotes and {reposts} reposts within the first minute");
        alerts.push(PostAlert { kind: AlertKind::QuoteRatio, message });
    }
    alerts
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const START: i64 = 1_795_255_200_000;

    fn watch() -> Watch {
        Watch::new(PostId::parse("17").unwrap(), vec!["ann".into()], START)
    }

    fn metrics(likes: u64, reposts: u64, replies: u64, quotes: u64) -> Metrics {
        Metrics {
            like_count: likes,
            retweet_count: reposts,
            reply_count: replies,
            quote_count: quotes,
        }
    }

    #[test]
    fn alert_bounds_are_exact() {
        let kinds =
            |metrics| alerts(&metrics).into_iter().map(|alert| alert.kind).collect::<Vec<_>>();
        for (metrics, expected) in [
            (metrics(0, 0, 4, 4), vec![]),
            (metrics(0, 9, 5, 5), vec![AlertKind::ReplyRatio]),
            (metrics(4, 9, 5, 0), vec![AlertKind::ReplyRatio]),
            (metrics(5, 9, 5, 0), vec![]),
            (metrics(9, 0, 0, 5), vec![AlertKind::QuoteRatio]),
            (metrics(9, 4, 0, 5), vec![AlertKind::QuoteRatio]),
            (metrics(9, 5, 0, 5), vec![]),
            (metrics(0, 0, 5, 5), vec![AlertKind::ReplyRatio, AlertKind::QuoteRatio]),
        ] {
            assert_eq!(kinds(metrics), expected, "{metrics:?}");
        }
    }

    #[test]
    fn a_post_is_checked_four_times_in_its_first_minute() {
        let mut watch = watch();
        let mut checked = Vec::new();
        for now in (START..START + 120_000).step_by(1000) {
            if watch.is_due(now) {
                checked.push((now - START) / 1000);
                assert!(watch.record_check(now, Some(metrics(1, 0, 0, 0))).is_empty());
                assert_eq!(watch.is_over(), checked.len() == 4);
            }
        }
        assert_eq!(checked, [15, 30, 45, 60]);
    }

    #[test]
    fn a_late_check_replaces_missed_ones() {
        let mut watch = watch();
        assert!(watch.is_due(START + 50_000));
        watch.record_check(START + 50_000, None);
        assert!(!watch.is_due(START + 59_999) && watch.is_due(START + 60_000));
        watch.record_check(START + 75_000, None);
        assert!(watch.is_over() && !watch.is_due(START + 80_000));
    }

    #[test]
    fn an_alert_is_reported_once_and_stored() {
        let mut watch = watch();
        assert_eq!(
            watch.record_check(START + 15_000, Some(metrics(1, 0, 6, 0)))[0].kind,
            AlertKind::ReplyRatio
        );
        assert!(watch.record_check(START + 30_000, Some(metrics(2, 0, 9, 0))).is_empty());
        assert!(watch.record_check(START + 45_000, None).is_empty());
        let result = watch.result(&json!({"ann": ["people/ann"]}));
        assert_eq!(result["per_minute"], json!({"likes": 4.0, "replies": 18.0, "quotes": 0.0}));
        assert_eq!(result["alerts"][0]["message"], "6 replies and 1 likes within the first minute");
        assert_eq!(result["looks"][2]["metrics"], Value::Null);
        assert_eq!(result["mentioned"]["ann"][0], "people/ann");
    }

    #[test]
    fn without_checks_there_is_no_growth() {
        assert_eq!(watch().result(&Value::Null)["per_minute"], Value::Null);
    }
}
