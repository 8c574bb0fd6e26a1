//! The event lines, to the letter: one line each, fields with colons between them. Pure.

use std::fmt;

/// The most characters of a preview.
const PREVIEW: usize = 80;

/// An event line. Instants are RFC 3339 in UTC with milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// `RUN_START:<timestamp>`.
    Start(String),
    /// `OWN_TWEETS:<total> (<new> new)`.
    Own(u64, u64),
    /// `MENTIONS:<total> (<new> new)`.
    Mentions(u64, u64),
    /// `DELETION_DETECTED:<id>:<author>:<preview>`.
    Deletion {
        /// The post.
        id: String,
        /// Handle or id of its author.
        author: String,
        /// The beginning of its text.
        preview: String,
    },
    /// `VELOCITY_ALERT:<id>:likes:<old>-><new>:<minutes>min`.
    Velocity {
        /// The post.
        id: String,
        /// Likes at the former snapshot.
        old: u64,
        /// Likes now.
        new: u64,
        /// Whole minutes between the two, rounded down, never below 0.
        minutes: i64,
    },
    /// `STREAM_SKIPPED:<stream>:<reason>[:<reset>]`.
    Skipped {
        /// The stream.
        stream: &'static str,
        /// Why.
        reason: &'static str,
        /// When it is free again, Unix seconds.
        reset: Option<i64>,
    },
    /// `RUN_COMPLETE:<timestamp>:tweets_stored=<N>:deletions=<N>:velocity_alerts=<N>`.
    Complete {
        /// When.
        at: String,
        /// Posts seen and stored, each once.
        stored: u64,
        /// Confirmed deletions.
        deletions: u64,
        /// Velocity alerts.
        alerts: u64,
    },
    /// `RUN_FAILED:<timestamp>:<reason>`.
    Failed {
        /// When.
        at: String,
        /// Why.
        reason: &'static str,
    },
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(at) => write!(f, "RUN_START:{at}"),
            Self::Own(total, new) => write!(f, "OWN_TWEETS:{total} ({new} new)"),
            Self::Mentions(total, new) => write!(f, "MENTIONS:{total} ({new} new)"),
            Self::Deletion { id, author, preview: text } => {
                write!(f, "DELETION_DETECTED:{id}:{}:{}", name(author), preview(text))
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
                "RUN_COMPLETE:{at}:tweets_stored={stored}:deletions={deletions}:velocity_alerts={alerts}"
            ),
            Self::Failed { at, reason } => write!(f, "RUN_FAILED:{at}:{reason}"),
        }
    }
}

/// The beginning of a text on one line: at most 80 characters, whatever breaks a line or steers a terminal as one space.
#[must_use]
pub fn preview(text: &str) -> String {
    one_line(text, PREVIEW)
}

/// The first `most` characters of a text, once whatever breaks a line or steers a terminal is one space, however much of it stands
/// together.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut steered = false;
    let plain = text.chars().filter_map(|c| {
        let (was, now) = (steered, steers(c));
        steered = now;
        match now {
            true => (!was).then_some(' '),
            false => Some(c),
        }
    });
    plain.take(most).collect()
}

/// Whether a character breaks a line, steers a terminal, or turns the direction of what follows.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'
                ..='\u{202E}'
        )
        || matches!(c, '\u{2066}'..='\u{2069}')
}

/// An author as a field of a line: the colon after it is where it ends.
fn name(author: &str) -> String {
    preview(author).replace(':', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_as_specified() {
        let at = || "2026-11-21T10:30:45.123Z".to_owned();
        let (id, author) = (|| "9007199254740993".to_owned(), || "alice".to_owned());
        let skipped = |reset| Line::Skipped { stream: "mentions", reason: "rate_limited", reset };
        for (line, text) in [
            (Line::Start(at()), "RUN_START:2026-11-21T10:30:45.123Z"),
            (Line::Own(17, 3), "OWN_TWEETS:17 (3 new)"),
            (Line::Mentions(0, 0), "MENTIONS:0 (0 new)"),
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
                "RUN_COMPLETE:2026-11-21T10:30:45.123Z:tweets_stored=20:deletions=1:velocity_alerts=2",
            ),
            (
                Line::Failed { at: at(), reason: "payment_required" },
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
