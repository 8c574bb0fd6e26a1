//! Event lines: one line each, with fields separated by colons. No I/O.

use std::fmt;

use brain_protocol::{RunProblem, is_direction_control};

/// Maximum length of a preview, in characters.
const MAX_PREVIEW_CHARS: usize = 80;

/// An event line. Times are RFC 3339 in UTC with milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// `RUN_START:<timestamp>`.
    Start(String),
    /// `OWN_TWEETS:<total> (<new> new)`.
    Own {
        /// Number of posts.
        total: u64,
        /// Number of posts that were not stored before.
        new: u64,
    },
    /// `MENTIONS:<total> (<new> new)`.
    Mentions {
        /// Number of posts.
        total: u64,
        /// Number of posts that were not stored before.
        new: u64,
    },
    /// `DELETION_DETECTED:<id>:<author>:<preview>`.
    Deletion {
        /// The post.
        id: String,
        /// Handle or id of the author.
        author: String,
        /// The beginning of the text.
        preview: String,
    },
    /// `VELOCITY_ALERT:<id>:likes:<old>-><new>:<minutes>min`.
    Velocity {
        /// The post.
        id: String,
        /// Likes at the previous snapshot.
        old: u64,
        /// Current likes.
        new: u64,
        /// Whole minutes between the snapshots, rounded down; printed as at least 0.
        minutes: i64,
    },
    /// `STREAM_SKIPPED:<stream>:<reason>[:<reset>]`.
    Skipped {
        /// The stream.
        stream: &'static str,
        /// The reason.
        reason: RunProblem,
        /// The time at which the rate limit ends, in Unix seconds.
        reset: Option<i64>,
    },
    /// `RUN_COMPLETE:<timestamp>:tweets_stored=<N>:deletions=<N>:velocity_alerts=<N>`.
    Complete {
        /// The time.
        at: String,
        /// Distinct stored posts.
        stored: u64,
        /// Confirmed deletions.
        deletions: u64,
        /// Velocity alerts.
        alerts: u64,
    },
    /// `RUN_FAILED:<timestamp>:<reason>`.
    Failed {
        /// The time.
        at: String,
        /// The reason.
        reason: RunProblem,
    },
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(at) => write!(f, "RUN_START:{at}"),
            Self::Own { total, new } => write!(f, "OWN_TWEETS:{total} ({new} new)"),
            Self::Mentions { total, new } => write!(f, "MENTIONS:{total} ({new} new)"),
            Self::Deletion { id, author, preview: text } => {
                write!(f, "DELETION_DETECTED:{id}:{}:{}", author_field(author), preview(text))
            }
            Self::Velocity { id, old, new, minutes } => {
                write!(
                    f,
                    "VELOCITY_ALERT:{id}:likes:{old}->{new}:{minutes}min",
                    minutes = (*minutes).max(0)
                )
            }
            Self::Skipped { stream, reason, reset: None } => {
                write!(f, "STREAM_SKIPPED:{stream}:{reason}")
            }
            Self::Skipped { stream, reason, reset: Some(reset) } => {
                write!(f, "STREAM_SKIPPED:{stream}:{reason}:{reset}")
            }
            Self::Complete { at, stored, deletions, alerts } => write!(
                f,
                "RUN_COMPLETE:{at}:tweets_stored={stored}:deletions={deletions}\
                    :velocity_alerts={alerts}"
            ),
            Self::Failed { at, reason } => write!(f, "RUN_FAILED:{at}:{reason}"),
        }
    }
}

/// Returns the beginning of a text on one line, at most 80 characters. A run of line breaks,
/// control characters and bidirectional marks becomes one space.
#[must_use]
pub fn preview(text: &str) -> String {
    one_line(text, MAX_PREVIEW_CHARS)
}

/// Returns at most `max` characters of a text on one line. A run of line breaks, control characters
/// and bidirectional marks becomes one space.
pub(super) fn one_line(text: &str, max: usize) -> String {
    let mut last_was_unsafe = false;
    let plain = text.chars().filter_map(|c| {
        let (was_unsafe, is_unsafe) = (last_was_unsafe, is_unsafe(c));
        last_was_unsafe = is_unsafe;
        match is_unsafe {
            true => (!was_unsafe).then_some(' '),
            false => Some(c),
        }
    });
    plain.take(max).collect()
}

/// Returns whether a character is a line break, control character or bidirectional mark.
fn is_unsafe(c: char) -> bool {
    c.is_control() || is_direction_control(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Formats an author as a field: no colons, one line.
fn author_field(author: &str) -> String {
    preview(author).replace(':', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_as_specified() {
        let at = || "2026-11-21T10:30:45.123Z".to_owned();
        let (id, author) = (|| "9007199254740993".to_owned(), || "alice".to_owned());
        let skipped =
            |reset| Line::Skipped { stream: "mentions", reason: RunProblem::RateLimited, reset };
        for (line, text) in [
            (Line::Start(at()), "RUN_START:2026-11-21T10:30:45.123Z"),
            (Line::Own { total: 17, new: 3 }, "OWN_TWEETS:17 (3 new)"),
            (Line::Mentions { total: 0, new: 0 }, "MENTIONS:0 (0 new)"),
            (
                Line::Deletion { id: id(), author: author(), preview: "Say: no\r\nmore".into() },
                "DELETION_DETECTED:9007199254740993:alice:Say: no more",
            ),
            (
                Line::Deletion {
                    id: id(),
                    author: "a:\nRUN_COMPLETE".into(),
                    preview: String::new(),
                },
                "DELETION_DETECTED:9007199254740993:a  RUN_COMPLETE:",
            ),
            (
                Line::Velocity { id: id(), old: 50, new: 100, minutes: 30 },
                "VELOCITY_ALERT:9007199254740993:likes:50->100:30min",
            ),
            (
                Line::Velocity { id: id(), old: 50, new: 100, minutes: -7 },
                "VELOCITY_ALERT:9007199254740993:likes:50->100:0min",
            ),
            (skipped(None), "STREAM_SKIPPED:mentions:rate_limited"),
            (skipped(Some(1_795_257_900)), "STREAM_SKIPPED:mentions:rate_limited:1795257900"),
            (
                Line::Complete { at: at(), stored: 20, deletions: 1, alerts: 2 },
                "RUN_COMPLETE:2026-11-21T10:30:45.123Z:tweets_stored=20:deletions=1:velocity_\
                    alerts=2",
            ),
            (
                Line::Failed { at: at(), reason: RunProblem::PaymentRequired },
                "RUN_FAILED:2026-11-21T10:30:45.123Z:payment_required",
            ),
        ] {
            assert_eq!(line.to_string(), text);
        }
    }

    #[test]
    fn a_preview_is_eighty_characters_on_one_line() {
        assert_eq!(preview(&"é".repeat(80)), "é".repeat(80));
        assert_eq!(preview(&"é".repeat(81)), "é".repeat(80));
        assert_eq!(preview("one\r\n\n two\u{2028}three\tfour"), "one  two three four");
        assert_eq!(preview("\u{1b}[31mred\u{202E}der\u{0}"), " [31mred der ");
        assert_eq!(preview("👩‍👩‍👧 stays"), "👩‍👩‍👧 stays");
        assert_eq!(preview(""), "");
    }
}
