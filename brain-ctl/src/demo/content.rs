//! The invented pages and posts. Their texts are in `content/*.txt`; this module adds the times.
//!
//! A line `=== PATH` begins a file. Placeholders are relative to now:
//!
//! | placeholder | stands for |
//! |---|---|
//! | `<<day N>>` | the day N days ago, as `2026-11-25` |
//! | `<<workday N>>` | the same, or the Friday before if that is a weekend |
//! | `<<title N>>` | the day N days ago, as `Wednesday, 25 November 2026` |
//! | `<<time N>>` | the time N minutes ago, as the collector writes it |
//! | `<<post N I>>` | the id of post number I, which was written N minutes ago |
//! | `<<likes N A B …>>` | a post's snapshots with A, B, … likes, the first N minutes ago |

use std::collections::BTreeSet;

use brain_protocol::{Fault, FaultCode};
use jiff::{
    SignedDuration, Timestamp, ToSpan, Zoned,
    civil::{Date, Weekday},
};
use serde_json::json;

const PAGES: [&str; 7] = [
    include_str!("content/companies.txt"),
    include_str!("content/daily.txt"),
    include_str!("content/ideas.txt"),
    include_str!("content/meetings.txt"),
    include_str!("content/people.txt"),
    include_str!("content/projects.txt"),
    include_str!("content/reading.txt"),
];
/// The files of the collector, which `docs/collector.md` describes.
const POSTS: &str = include_str!("content/collector.txt");
/// The id of the post that spread fast.
const FAST_POST: &str = "<<post 1874 2>>";
/// The time between two snapshots of a post, in minutes.
const SNAPSHOT_MINUTES: i64 = 30;

/// The invented pages and posts.
pub(crate) struct DemoContent {
    /// Paths and texts of the pages.
    pub(super) pages: Vec<(String, String)>,
    /// Paths and contents of the collector's files.
    pub(super) posts: Vec<(String, String)>,
    /// The id of a post that spread fast.
    pub(crate) fast_post_id: String,
}

impl DemoContent {
    /// Returns the pages and posts with their times, as of `now`.
    ///
    /// # Errors
    /// `internal` if an embedded text has an invalid placeholder; the tests expand all of them.
    pub(crate) fn new(now: &Zoned) -> Result<Self, Fault> {
        let mut pages = Vec::new();
        for text in PAGES {
            pages.extend(files(&expand(text, now)?));
        }
        // Two meetings about one project become one if a weekend moves them to the same Friday.
        let mut paths = BTreeSet::new();
        pages.retain(|(path, _)| paths.insert(path.clone()));
        let mut posts: Vec<_> = files(&expand(POSTS, now)?).collect();
        // The collector's JSON files end without a line feed.
        for (_, json) in posts.iter_mut().filter(|(path, _)| path.ends_with(".json")) {
            json.pop();
        }
        Ok(Self { pages, posts, fast_post_id: expand(FAST_POST, now)? })
    }

    /// Returns the number of pages.
    pub(crate) fn page_count(&self) -> usize {
        self.pages.len()
    }
}

/// Returns the paths and contents of the files in an expanded text.
fn files(text: &str) -> impl Iterator<Item = (String, String)> {
    let files = text.split("=== ").filter_map(|file| file.split_once('\n'));
    files.map(|(path, content)| (path.to_owned(), content.to_owned()))
}

/// Replaces the placeholders of a text.
fn expand(text: &str, now: &Zoned) -> Result<String, Fault> {
    let mut pieces = text.split("<<");
    let mut expanded = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let value = piece.split_once(">>").and_then(|(placeholder, rest)| {
            expanded.push_str(&value(placeholder, now)?);
            Some(rest)
        });
        expanded.push_str(value.ok_or_else(|| {
            Fault::new(FaultCode::Internal, format!("invalid placeholder: <<{piece:.40}"))
        })?);
    }
    Ok(expanded)
}

/// Returns the value of a placeholder, or `None` if it is invalid.
fn value(placeholder: &str, now: &Zoned) -> Option<String> {
    let (kind, numbers) = placeholder.split_once(' ')?;
    let numbers: Vec<i64> = numbers.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    let day = |age: i64| now.date().saturating_sub(age.days());
    let time = |minutes| now.timestamp().checked_sub(SignedDuration::from_mins(minutes)).ok();
    Some(match (kind, &numbers[..]) {
        ("day", [age]) => day(*age).to_string(),
        ("workday", [age]) => workday(day(*age)).to_string(),
        ("title", [age]) => day(*age).strftime("%A, %-d %B %Y").to_string(),
        ("time", [minutes]) => rfc3339(time(*minutes)?),
        ("post", [minutes, number]) => post_id(time(*minutes)?, *number),
        ("likes", [first, likes @ ..]) => {
            let times = (0..).map(|index| time(first - index * SNAPSHOT_MINUTES));
            let snapshots = likes.iter().zip(times).map(|(likes, at)| Some(snapshot(*likes, at?)));
            format!("[{}]", snapshots.collect::<Option<Vec<_>>>()?.join(","))
        }
        _ => return None,
    })
}

/// Returns the day, or the Friday before if the day is in a weekend.
fn workday(day: Date) -> Date {
    match day.weekday() {
        Weekday::Saturday => day.saturating_sub(1.days()),
        Weekday::Sunday => day.saturating_sub(2.days()),
        _ => day,
    }
}

/// Returns the snapshot of a post, with the time first, as the collector writes it.
fn snapshot(likes: i64, at: Timestamp) -> String {
    let metrics = json!({
        "like_count": likes, "retweet_count": likes / 6, "reply_count": likes / 14,
        "quote_count": likes / 40, "bookmark_count": likes / 20,
        "impression_count": likes * 61 + 200,
    });
    format!(r#"{{"timestamp":"{}","metrics":{metrics}}}"#, rfc3339(at))
}

/// Returns an id like those of the platform: the milliseconds since the platform's epoch, shifted
/// by 22 bits, so that ids are in the order of time.
fn post_id(at: Timestamp, number: i64) -> String {
    const EPOCH_MS: i64 = 1_288_834_974_657;
    (((at.as_millisecond() - EPOCH_MS) << 22) + number).max(1).to_string()
}

/// Formats a time as the collector does: UTC with milliseconds.
fn rfc3339(time: Timestamp) -> String {
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use brain_protocol::CollectorRun;
    use serde_json::Value;

    use super::*;

    fn content(at: &str) -> DemoContent {
        let now = at.parse().expect("a time");
        DemoContent::new(&now).expect("the embedded texts are valid")
    }

    #[test]
    fn the_same_day_writes_the_same_pages() {
        let first = content("2026-11-25T10:00[UTC]");
        assert_eq!(first.pages, content("2026-11-25T20:00[UTC]").pages);
        assert_ne!(first.pages, content("2027-02-28T10:00[UTC]").pages);
    }

    #[test]
    fn pages_are_hundreds_and_every_link_has_a_target() {
        for day in 1..=28 {
            let pages = content(&format!("2027-02-{day:02}T10:00[UTC]")).pages;
            assert!((280..400).contains(&pages.len()), "{} pages", pages.len());
            let paths: BTreeSet<&str> =
                pages.iter().filter_map(|(path, _)| path.strip_suffix(".md")).collect();
            assert_eq!(paths.len(), pages.len(), "no path is used twice");
            for (path, text) in &pages {
                assert!(text.starts_with("---\ntitle: ") && text.ends_with('\n'), "{path}: {text}");
                for link in text.split("[[").skip(1) {
                    let target = link.split(['|', ']']).next().unwrap_or_default();
                    assert!(paths.contains(target), "{path} links {target}");
                }
            }
        }
    }

    #[test]
    fn dates_cover_a_year_and_none_is_in_the_future() {
        let pages = content("2026-11-25T10:00[UTC]").pages;
        let days: BTreeSet<&str> = pages
            .iter()
            .flat_map(|(_, text)| text.lines().filter_map(|line| line.strip_prefix("created: ")))
            .collect();
        assert!(days.len() > 100, "{} days", days.len());
        let (first, last) = (days.first().copied(), days.last().copied());
        assert!(first.is_some_and(|day| day < "2025-12-20"), "{first:?}");
        assert!(last.is_some_and(|day| day < "2026-11-25" && day > "2026-11-20"), "{last:?}");
    }

    #[test]
    fn the_collectors_files_have_no_future_events() {
        let DemoContent { posts, fast_post_id, .. } = content("2026-11-25T10:00[UTC]");
        let text = |name: &str| {
            let file = posts.iter().find(|(path, _)| path == name);
            file.map(|(_, text)| text.as_str()).unwrap_or_default()
        };
        let lines: Vec<Value> =
            text("journal.jsonl").lines().flat_map(serde_json::from_str).collect();
        assert!(lines.len() > 28, "{lines:?}");
        assert!(lines.iter().all(|line| line["at"].as_str() <= Some("2026-11-25T10:00:00.000Z")));
        let kinds: Vec<&str> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
        assert!(kinds.contains(&"alert") && kinds.contains(&"deletion"), "{kinds:?}");
        let curve = text(&format!("data/engagement/{fast_post_id}.json"));
        assert!(curve.contains("like_count\":19"), "{curve}");
        let files = posts.iter().filter(|(path, _)| path.ends_with(".json"));
        for (path, text) in files {
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{path}: {text}");
        }
        let mut state: Value = serde_json::from_str(text("data/state.json")).unwrap_or_default();
        let report = serde_json::from_value::<CollectorRun>(state["last_report"].take());
        assert!(report.is_ok_and(|report| report.tweets_stored == 28));
    }
}
