//! Own posts in their first minute: when they are looked at, how fast their numbers grow, and what in them somebody should know. Pure.

use brain_protocol::Metrics;
use serde_json::{Value, json};

use super::PostId;
use brain_base::clock::rfc3339;

/// The kind under which the result is kept beside the post.
pub const KIND: &str = "outbound";
/// When a post is looked at, in milliseconds after it came.
const LOOKS: [i64; 4] = [15_000, 30_000, 45_000, 60_000];
/// From how many replies or quotes on their share says something.
const ENOUGH: u64 = 5;

/// One look.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Look {
    at: i64,
    /// `None` when the platform did not say.
    metrics: Option<Metrics>,
}

/// An alert of an own post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// `reply_ratio` or `quote_ratio`.
    pub name: &'static str,
    /// A sentence.
    pub message: String,
}

/// An own post that is watched. Instants are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// The post.
    pub id: PostId,
    /// Accounts that it mentions, by handle.
    pub mentions: Vec<String>,
    /// When it was written, or came where that is not known.
    came: i64,
    looks: Vec<Look>,
    told: Vec<Alert>,
}

impl Watch {
    /// A post that came at `came`.
    #[must_use]
    pub fn new(id: PostId, mentions: Vec<String>, came: i64) -> Self {
        Self { id, mentions, came, looks: Vec::new(), told: Vec::new() }
    }

    /// Whether it is to be looked at. A look that comes late is one look, and those that it was late for are not made up.
    #[must_use]
    pub fn is_due(&self, now: i64) -> bool {
        let last = self.looks.last().map_or(self.came, |look| look.at);
        LOOKS.iter().any(|after| (last + 1..=now).contains(&(self.came + after)))
    }

    /// Whether all looks are through.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.looks.last().is_some_and(|look| look.at >= self.came + LOOKS[LOOKS.len() - 1])
    }

    /// Notes what a look saw; the alerts that are new with it, each of a kind once.
    pub fn saw(&mut self, now: i64, metrics: Option<Metrics>) -> Vec<Alert> {
        self.looks.push(Look { at: now, metrics });
        let mut new = metrics.map(|metrics| alerts(&metrics)).unwrap_or_default();
        new.retain(|alert| self.told.iter().all(|told| told.name != alert.name));
        self.told.extend(new.iter().cloned());
        new
    }

    /// What is kept beside the post: each look, growth per minute between the first and the last that saw numbers, alerts, and the
    /// pages of mentioned accounts that are given.
    #[must_use]
    pub fn result(&self, accounts: &Value) -> Value {
        let looks: Vec<Value> = self
            .looks
            .iter()
            .map(|look| json!({"at": rfc3339(look.at), "metrics": look.metrics}))
            .collect();
        let alerts: Vec<Value> = self
            .told
            .iter()
            .map(|alert| json!({"alert": alert.name, "message": alert.message}))
            .collect();
        json!({
            "id": self.id.as_str(),
            "came_at": rfc3339(self.came),
            "looks": looks,
            "per_minute": self.per_minute(),
            "alerts": alerts,
            "mentioned": accounts,
        })
    }

    /// Growth of likes, replies and quotes per minute since the post came, when it had none.
    fn per_minute(&self) -> Value {
        let last = self.looks.iter().rev().find_map(|look| Some((look.at, look.metrics?)));
        let Some((at, metrics)) = last.filter(|(at, _)| *at > self.came) else {
            return Value::Null;
        };
        #[allow(clippy::cast_precision_loss)]
        let rate = |count: u64| (count as f64 * 600_000.0 / (at - self.came) as f64).round() / 10.0;
        json!({
            "likes": rate(metrics.like_count),
            "replies": rate(metrics.reply_count),
            "quotes": rate(metrics.quote_count),
        })
    }
}

/// More replies than likes, or more quotes than reposts: people answer rather than agree. Below 5 it is chance.
#[must_use]
pub fn alerts(metrics: &Metrics) -> Vec<Alert> {
    let mut alerts = Vec::new();
    let (replies, likes) = (metrics.reply_count, metrics.like_count);
    if replies >= ENOUGH && replies > likes {
        let message = format!("{replies} replies and {likes} likes within the first minute");
        alerts.push(Alert { name: "reply_ratio", message });
    }
    let (quotes, reposts) = (metrics.quote_count, metrics.retweet_count);
    if quotes >= ENOUGH && quotes > reposts {
        let message = format!("{quotes} quotes and {reposts} reposts within the first minute");
        alerts.push(Alert { name: "quote_ratio", message });
    }
    alerts
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const CAME: i64 = 1_795_255_200_000;

    fn watch() -> Watch {
        Watch::new(PostId::parse("17").unwrap(), vec!["ann".into()], CAME)
    }

    fn numbers(likes: u64, reposts: u64, replies: u64, quotes: u64) -> Metrics {
        Metrics {
            like_count: likes,
            retweet_count: reposts,
            reply_count: replies,
            quote_count: quotes,
        }
    }

    #[test]
    fn each_boundary_on_both_sides() {
        let names =
            |metrics| alerts(&metrics).into_iter().map(|alert| alert.name).collect::<Vec<_>>();
        for (metrics, expected) in [
            (numbers(0, 0, 4, 4), vec![]),
            (numbers(0, 9, 5, 5), vec!["reply_ratio"]),
            (numbers(4, 9, 5, 0), vec!["reply_ratio"]),
            (numbers(5, 9, 5, 0), vec![]),
            (numbers(9, 0, 0, 5), vec!["quote_ratio"]),
            (numbers(9, 4, 0, 5), vec!["quote_ratio"]),
            (numbers(9, 5, 0, 5), vec![]),
            (numbers(0, 0, 5, 5), vec!["reply_ratio", "quote_ratio"]),
        ] {
            assert_eq!(names(metrics), expected, "{metrics:?}");
        }
    }

    #[test]
    fn it_is_looked_at_four_times_within_a_minute() {
        let mut watch = watch();
        let mut looked = Vec::new();
        for now in (CAME..CAME + 120_000).step_by(1000) {
            if watch.is_due(now) {
                looked.push((now - CAME) / 1000);
                assert!(watch.saw(now, Some(numbers(1, 0, 0, 0))).is_empty());
                assert_eq!(watch.is_over(), looked.len() == 4);
            }
        }
        assert_eq!(looked, [15, 30, 45, 60]);
    }

    #[test]
    fn a_look_that_is_late_stands_for_those_before() {
        let mut watch = watch();
        assert!(watch.is_due(CAME + 50_000));
        watch.saw(CAME + 50_000, None);
        assert!(!watch.is_due(CAME + 59_999) && watch.is_due(CAME + 60_000));
        watch.saw(CAME + 75_000, None);
        assert!(watch.is_over() && !watch.is_due(CAME + 80_000));
    }

    #[test]
    fn an_alert_is_told_once_and_kept() {
        let mut watch = watch();
        assert_eq!(watch.saw(CAME + 15_000, Some(numbers(1, 0, 6, 0)))[0].name, "reply_ratio");
        assert!(watch.saw(CAME + 30_000, Some(numbers(2, 0, 9, 0))).is_empty());
        assert!(watch.saw(CAME + 45_000, None).is_empty());
        let result = watch.result(&json!({"ann": ["people/ann"]}));
        assert_eq!(result["per_minute"], json!({"likes": 4.0, "replies": 18.0, "quotes": 0.0}));
        assert_eq!(result["alerts"][0]["message"], "6 replies and 1 likes within the first minute");
        assert_eq!(result["looks"][2]["metrics"], Value::Null);
        assert_eq!(result["mentioned"]["ann"][0], "people/ann");
    }

    #[test]
    fn nothing_seen_is_no_growth() {
        assert_eq!(watch().result(&Value::Null)["per_minute"], Value::Null);
    }
}
