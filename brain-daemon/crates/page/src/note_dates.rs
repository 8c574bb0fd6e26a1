//! The dates of a note: those that it states, else those of git or of its file, else the time of a
//! write.
//!
//! - A stated date that is more than a day ahead is not used.
//! - The creation date is never after the last change. A derived creation date is lowered to the
//!   date of the last change. If the note states its creation date, the last change is raised to
//!   it.
//! - If a new version no longer states the creation date, that of the previous version is kept.

use brain_protocol::Slug;
use jiff::civil::{Date, Time};
use jiff::tz::{Offset, TimeZone};

use super::date_keys::{CAPTURED_KEYS, CREATED_KEYS, DATE_KEYS, UPDATED_KEYS, is_key};
use super::frontmatter::Frontmatter;
use super::page_title::is_captured;

/// How far a time of writing may be in the future, in milliseconds: time zones differ by up to a
/// day. A later stated date is an appointment or a mistake.
const MAX_AHEAD_MS: i64 = 24 * 60 * 60 * 1000;
/// Years before this are no dates: programs write the year 1 for a date that is not set.
const FIRST_YEAR: i16 = 1000;
/// A date in a note's name is used only from this year on. An earlier one is the date of an event.
const FIRST_YEAR_IN_NAME: &str = "1970";
/// Maximum length of a stated date, in bytes.
const MAX_DATE: usize = 60;

/// The dates that a note and its file state, in Unix milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoteDates {
    /// When the note was made.
    pub created: Option<i64>,
    /// When the note was last changed.
    pub updated: Option<i64>,
    /// The date of a post. Used as creation and change date if no better one is known.
    pub date: Option<i64>,
    /// The commits of the note's file.
    pub commits: Option<FileCommits>,
    /// When the note's file was made, and when it was last changed.
    pub file: Option<(i64, i64)>,
    /// Whether the note was converted from a file of another program. Then it has no `file`, and
    /// its text is not new.
    pub is_converted: bool,
}

/// The commits of a file, in Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileCommits {
    /// The first commit.
    pub first: i64,
    /// The last commit.
    pub last: i64,
    /// Whether the file was changed since the last commit.
    pub is_edited: bool,
}

/// The dates of the previous version, in Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormerDates {
    /// When the note was made.
    pub created: i64,
    /// When the note was last changed.
    pub updated: i64,
    /// Whether the text of the previous version is the current one.
    pub is_same_text: bool,
}

impl NoteDates {
    /// Returns the dates in the frontmatter, and in a name that begins with a day, as the
    /// names of posts and daily notes do. Dates without an offset are in `zone`.
    #[must_use]
    pub fn stated(slug: &Slug, frontmatter: &Frontmatter, zone: &TimeZone) -> Self {
        let first = |names: &[&str]| {
            names.iter().find_map(|name| {
                let mut keys = frontmatter.keys().filter(|key| is_key(key, name));
                keys.find_map(|key| parse_date(&frontmatter.get(key)?, zone))
            })
        };
        let in_name = || {
            let day = day_in_name(slug.name())?;
            let is_made_by_brain = is_captured(slug, frontmatter.raw());
            (!is_made_by_brain).then(|| parse_date(&day, zone)).flatten()
        };
        let date = first(DATE_KEYS).or_else(in_name);
        let created = first(CREATED_KEYS).or(date).or_else(|| first(CAPTURED_KEYS));
        Self { created, updated: first(UPDATED_KEYS), date, ..Self::default() }
    }

    /// Returns the times at which the note was created and its text last changed, for a version
    /// that is written at `now`. Each is the first known of these:
    ///
    /// - the stated time;
    /// - the time of the `former` version. For the last change only if the text is the same, and
    ///   there is no newer commit;
    /// - the commit. If the text changed, a commit not newer than the former version is ignored: it
    ///   cannot contain the change. A file that was changed since its commit has its own time, if
    ///   that is later;
    /// - for the last change of a new note with a file, the stated `date`;
    /// - for the last change of a new note that was converted, the stated `date`, else the stated
    ///   creation date;
    /// - the time of the file, or `now` for a note without a file.
    #[must_use]
    pub fn resolve(&self, former: Option<FormerDates>, now: i64) -> (i64, i64) {
        let stated = |at: Option<i64>| at.filter(|at| *at <= now.saturating_add(MAX_AHEAD_MS));
        let until_now = |(first, last): (i64, i64)| (first.min(last).min(now), last.min(now));
        let commits = self.commits.map(|commits| until_now((commits.first, commits.last)));
        let file = self.file.map(until_now);
        let last_commit = commits.map(|(_, last)| last);
        let is_edited = self.commits.is_some_and(|commits| commits.is_edited);
        let last_edit = last_commit.zip(file).map(|(at, (_, last))| at.max(last));
        let last_edit = last_edit.filter(|_| is_edited);
        let updated = stated(self.updated).unwrap_or_else(|| match (former, file) {
            (Some(former), _) if former.is_same_text => {
                last_commit.map_or(former.updated, |at| at.max(former.updated))
            }
            (Some(former), Some((_, last))) => {
                last_edit.or(last_commit.filter(|at| *at > former.updated)).unwrap_or(last)
            }
            (None, Some((_, last))) => {
                last_edit.or(last_commit).or(stated(self.date)).unwrap_or(last)
            }
            (None, None) if self.is_converted => {
                stated(self.date).or_else(|| stated(self.created)).unwrap_or(now)
            }
            (_, None) => now,
        });
        // Keeps created <= updated.
        let created = stated(self.created).unwrap_or_else(|| {
            let first = commits.or(file).map(|(first, _)| first);
            former.map(|former| former.created).or(first).unwrap_or(now).min(updated)
        });
        (created, updated.max(created))
    }
}

/// Parses a date as Obsidian, Jekyll and Hugo write it, into Unix milliseconds: `2021-03-04` or
/// `2021/03/04`, alone or with a time after `T` or a space, and with or without an offset.
fn parse_date(text: &str, zone: &TimeZone) -> Option<i64> {
    if text.len() > MAX_DATE {
        return None;
    }
    let text = text.trim().trim_start_matches("[[").trim_end_matches("]]");
    let text = text.split('|').next().unwrap_or(text).trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Dendron writes milliseconds since 1970, other programs seconds.
        let at = text.parse::<i64>().ok()?;
        return match text.len() {
            13 => Some(at),
            10 => Some(at * 1000),
            _ => None,
        };
    }
    let (day, rest) = text.split_once(['T', 't', ' ']).unwrap_or((text, ""));
    let date = parse_day(day).filter(|date| date.year() >= FIRST_YEAR)?;
    let rest = rest.trim();
    if rest.is_empty() {
        return Some(date.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond());
    }
    let (time, offset) = rest.split_at(rest.find(['Z', 'z', '+', '-', ' ']).unwrap_or(rest.len()));
    let time = match time.find(':') {
        Some(1) => format!("0{time}").parse::<Time>(),
        _ => time.parse::<Time>(),
    };
    // A name of the zone can follow the offset.
    let zone = match offset.trim().split([' ', '[']).next().unwrap_or_default() {
        "" => zone.clone(),
        "Z" | "z" | "UTC" | "GMT" => TimeZone::UTC,
        offset => TimeZone::fixed(parse_offset(offset)?),
    };
    let at = date.to_datetime(time.ok()?).to_zoned(zone).ok()?;
    Some(at.timestamp().as_millisecond())
}

/// Returns the day with which the name of a post or a daily note begins, as `YYYY-MM-DD`:
/// `2021-03-04`, `2021_03_04` (Logseq), `20210304`, also with a time (`202103041530`), or after the
/// English name of the weekday (`Thu 2021-03-04`).
pub(super) fn day_in_name(name: &str) -> Option<String> {
    const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let name = match name.split_once(['-', '_']) {
        Some((first, rest))
            if WEEKDAYS.iter().any(|day| first.starts_with(day))
                && (first.len() == 3 || first.ends_with("day")) =>
        {
            rest
        }
        _ => name,
    };
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let day = match digits {
        4 => {
            let (day, rest) = name.split_at_checked(10)?;
            let day = day.replace('_', "-");
            (!rest.starts_with(|c: char| c.is_ascii_digit())).then_some(day)?
        }
        8 | 12 | 14 => format!("{}-{}-{}", &name[..4], &name[4..6], &name[6..8]),
        _ => return None,
    };
    (day.as_str() >= FIRST_YEAR_IN_NAME).then_some(day)
}

/// Returns whether a text is a date as notes state it.
pub(super) fn is_stated_date(text: &str) -> bool {
    parse_date(text, &TimeZone::UTC).is_some()
}

/// Parses `2021-03-04` and `2021/3/4`.
pub(super) fn parse_day(text: &str) -> Option<Date> {
    let mut parts = text.split(['-', '/']);
    let mut next = |max: usize| {
        let part = parts.next()?;
        let is_number = (1..=max).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| part.parse::<i16>().ok()).flatten()
    };
    let (year, month, day) = (next(4)?, next(2)?, next(2)?);
    let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    parts.next().is_none().then_some(date)
}

/// Parses `+0200`, `-05:30` and `+1`.
fn parse_offset(text: &str) -> Option<Offset> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = text[1..].replace(':', "");
    let number: i32 = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())??;
    let minutes = match digits.len() {
        1 | 2 => number * 60,
        4 => number / 100 * 60 + number % 100,
        _ => return None,
    };
    Offset::from_seconds(sign * minutes * 60).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 60 * 60 * 1000;
    const HOUR: i64 = 60 * 60 * 1000;
    /// 2021-03-04.
    const AT: i64 = 18_690 * DAY;

    #[test]
    fn dates_of_obsidian_jekyll_and_hugo_are_read() {
        for (text, hour) in [
            ("2021-03-04", 0),
            ("2021/03/04", 0),
            ("2021-3-4", 0),
            ("[[2021-03-04]]", 0),
            ("[[2021-03-04|Thursday]]", 0),
            ("2021-03-04T10:00", 10),
            ("2021-03-04 10:00", 10),
            ("2021-03-04 9:00", 9),
            ("2021-03-04 10:00:00", 10),
            ("2021-03-04T10:00:00.000Z", 10),
            ("2021-03-04t10:00:00z", 10),
            ("2021-03-04T10:00:00+02:00", 8),
            ("2021-03-04T10:00:00+02:00[Europe/Berlin]", 8),
            ("2021-03-04 10:00:00 +0200", 8),
            ("2021-03-04 10:00:00 +0100 CET", 9),
            ("2021-03-04 10:00:00 -05:00", 15),
            ("2021-03-04 10:00:00 -5", 15),
            ("2021-03-04 10:00:00 UTC", 10),
        ] {
            assert_eq!(parse_date(text, &TimeZone::UTC), Some(AT + hour * HOUR), "{text}");
        }
    }

    #[test]
    fn a_date_without_an_offset_is_in_the_zone() {
        let west = TimeZone::fixed(jiff::tz::offset(-5));
        assert_eq!(parse_date("2021-03-04", &west), Some(AT + 5 * HOUR));
        assert_eq!(parse_date("2021-03-04 10:00", &west), Some(AT + 15 * HOUR));
        assert_eq!(parse_date("2021-03-04T10:00Z", &west), Some(AT + 10 * HOUR));
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "",
            "-",
            "T",
            "yesterday",
            "2021",
            "2021-03",
            "2021-13-04",
            "2021-02-30",
            "2021-03-04-05",
            "20210304",
            "99999-01-01",
            "-2021-03-04",
            "2021-+3-04",
            "0001-01-01T00:00:00Z",
            "2021-03-04 or later",
            "2021-03-04T25:00",
            "2021-03-04T10:00+99:99",
            "2021-03-04T10:00+",
            "2021-03-04T10:00+é",
            "9999-12-31T23:59:59-23:00",
            "äöüäöüäöü",
            "[[]]",
            "|",
            &"2021-03-04 ".repeat(100),
        ] {
            assert_eq!(parse_date(text, &TimeZone::UTC), None, "{text:?}");
        }
    }

    fn stated(slug: &str, raw: &str) -> NoteDates {
        let frontmatter = Frontmatter::parse(raw).unwrap();
        NoteDates::stated(&Slug::parse(slug).unwrap(), &frontmatter, &TimeZone::UTC)
    }

    #[test]
    fn the_keys_of_dates_have_many_spellings() {
        let both = |raw: &str| {
            let dates = stated("x", raw);
            (dates.created, dates.updated)
        };
        for key in ["created", "Created", "created_at", "date created", "creation-date", "date"] {
            assert_eq!(both(&format!("{key}: 2021-03-04\n")), (Some(AT), None), "{key}");
        }
        for key in
            ["updated", "modified", "lastmod", "last_modified_at", "date modified", "Last-Modified"]
        {
            assert_eq!(both(&format!("{key}: '2021-03-04'\n")), (None, Some(AT)), "{key}");
        }
        assert_eq!(both("date: 2020-01-01\ncreated: 2021-03-04\n"), (Some(AT), None));
        assert_eq!(both("created: soon\ncreated_at: 2021-03-04\n"), (Some(AT), None));
        assert_eq!(both("created: [2021-03-04]\nupdated: {a: 1}\n"), (None, None));
        assert_eq!(stated("_posts/2021-03-04-walk", "").date, Some(AT));
        for name in [
            "daily/2021-03-04",
            "journals/2021_03_04",
            "20210304",
            "20210304-walk",
            "202103041530-walk",
            "thu-2021-03-04",
            "thursday-2021-03-04",
        ] {
            assert_eq!(stated(name, "").date, Some(AT), "{name}");
        }
        for name in ["202103041", "2021030", "20211304", "monk-2021-03-04", "1984"] {
            assert_eq!(stated(name, ""), NoteDates::default(), "{name}");
        }
        // Dendron.
        assert_eq!(
            both("created: 1614816000000\nupdated: 1614902400\n"),
            (Some(AT), Some(AT + DAY))
        );
        // Not dates: a number, and names that brain made.
        assert_eq!(stated("2021-03-0456", ""), NoteDates::default());
        assert_eq!(stated("inbox/2021-03-04-0123abcd", ""), NoteDates::default());
        assert_eq!(stated("2021-03-04-x", "captured_via: mcp\n"), NoteDates::default());
        // An event of history is older than notes about it; a note can still state such a date.
        assert_eq!(stated("1066-10-14-hastings", ""), NoteDates::default());
        assert_eq!(stated("1969-07-20-moon", ""), NoteDates::default());
        assert_eq!(stated("1970-01-02-x", "").date, Some(DAY));
        assert_eq!(stated("x", "created: 1969-12-31\n").created, Some(-DAY));
    }

    fn commits(first: i64, last: i64) -> Option<FileCommits> {
        Some(FileCommits { first, last, is_edited: false })
    }

    #[test]
    fn a_stated_date_precedes_git_file_and_clock() {
        let now = AT + 1000 * DAY;
        let file = Some((AT + 20 * DAY, AT + 30 * DAY));
        let commits = commits(AT + 2 * DAY, AT + 3 * DAY);
        let first = |dates: NoteDates| dates.resolve(None, now);
        let both = stated("x", "created: 2021-03-04\nupdated: 2021-03-06\n");
        assert_eq!(first(NoteDates { file, commits, ..both }), (AT, AT + 2 * DAY));
        let created = stated("x", "created: 2021-03-04\n");
        assert_eq!(first(NoteDates { file, ..created }), (AT, AT + 30 * DAY));
        assert_eq!(first(NoteDates { file, commits, ..created }), (AT, AT + 3 * DAY));
        // The date of a post is better than the time of a file that was copied.
        let post = stated("x", "date: 2021-03-04\n");
        assert_eq!(first(NoteDates { file, ..post }), (AT, AT));
        assert_eq!(first(NoteDates { file, commits, ..post }), (AT, AT + 3 * DAY));
        assert_eq!(first(post), (AT, now));
        let none = NoteDates::default();
        assert_eq!(first(NoteDates { file, ..none }), (AT + 20 * DAY, AT + 30 * DAY));
        assert_eq!(first(NoteDates { file, commits, ..none }), (AT + 2 * DAY, AT + 3 * DAY));
        assert_eq!(first(none), (now, now));
        // A file that was changed since its commit.
        let edited = commits.map(|commits| FileCommits { is_edited: true, ..commits });
        let dates = NoteDates { file, commits: edited, ..none };
        assert_eq!(first(dates), (AT + 2 * DAY, AT + 30 * DAY));
        assert_eq!(first(NoteDates { file: Some((AT, AT)), ..dates }).1, AT + 3 * DAY);
        // Neither an appointment nor a file of the future is a time of writing.
        let later = Some((now + DAY, now + 2 * DAY));
        let appointment = stated("x", "date: 2999-01-01\nupdated: 2999-01-01\n");
        assert_eq!(first(NoteDates { file: later, ..appointment }), (now, now));
        assert_eq!(first(stated("x", "updated: 2021-03-04\n")), (AT, AT));
        // A change is not older than the note.
        assert_eq!(first(stated("x", "created: 2021-03-04\nupdated: 2020-01-01\n")), (AT, AT));
    }

    #[test]
    fn a_converted_note_has_the_one_date_that_it_states() {
        let now = AT + 1000 * DAY;
        let resolve = |raw: &str, former: Option<FormerDates>| {
            NoteDates { is_converted: true, ..stated("x", raw) }.resolve(former, now)
        };
        for raw in
            ["date: \"2021-03-04\"\n", "date: 2021-03-04T00:00:00Z\n", "created: 2021-03-04\n"]
        {
            assert_eq!(resolve(raw, None), (AT, AT), "{raw}");
        }
        assert_eq!(resolve("date: 2021-03-04\nupdated: 2021-03-05\n", None), (AT, AT + DAY));
        assert_eq!(resolve("date: 2021-03-05\ncreated: 2021-03-04\n", None), (AT, AT + DAY));
        // An event of the future, and a note without a date.
        assert_eq!(resolve("date: 2999-01-01\n", None), (now, now));
        assert_eq!(resolve("", None), (now, now));
        // Nothing says when the text of a note with a former version changed.
        let former = |is_same_text| Some(FormerDates { created: AT, updated: AT, is_same_text });
        assert_eq!(resolve("date: 2021-03-04\n", former(true)), (AT, AT));
        assert_eq!(resolve("date: 2021-03-04\n", former(false)), (AT, now));
    }

    #[test]
    fn only_a_changed_text_changes_the_date_of_a_note() {
        let now = AT + 1000 * DAY;
        let former =
            |is_same_text| Some(FormerDates { created: AT, updated: AT + 5 * DAY, is_same_text });
        let none = NoteDates::default();
        assert_eq!(none.resolve(former(true), now), (AT, AT + 5 * DAY));
        assert_eq!(none.resolve(former(false), now), (AT, now));
        // A file that was changed has the time of the commit with the change, else its own.
        let file = Some((AT, AT + 9 * DAY));
        let with_last_commit =
            |commit: i64| NoteDates { commits: commits(AT, commit), file, ..none };
        assert_eq!(with_last_commit(AT + 7 * DAY).resolve(former(false), now), (AT, AT + 7 * DAY));
        assert_eq!(with_last_commit(AT + 5 * DAY).resolve(former(false), now), (AT, AT + 9 * DAY));
        // Changed frontmatter does not count as a changed text, but a newer commit sets its own
        // date.
        let without_commits = NoteDates { file, ..none };
        assert_eq!(without_commits.resolve(former(true), now), (AT, AT + 5 * DAY));
        assert_eq!(with_last_commit(AT + 4 * DAY).resolve(former(true), now), (AT, AT + 5 * DAY));
        assert_eq!(with_last_commit(AT + 7 * DAY).resolve(former(true), now), (AT, AT + 7 * DAY));
        // A text that was changed since its newer commit.
        let edited = FileCommits { first: AT, last: AT + 7 * DAY, is_edited: true };
        let edited = NoteDates { commits: Some(edited), file, ..none };
        assert_eq!(edited.resolve(former(false), now), (AT, AT + 9 * DAY));
        assert_eq!(edited.resolve(former(true), now), (AT, AT + 7 * DAY));
        let stated = NoteDates { updated: Some(AT + DAY), ..none };
        assert_eq!(stated.resolve(former(false), now), (AT, AT + DAY));
        let stated = NoteDates { updated: Some(AT - DAY), ..none };
        assert_eq!(stated.resolve(former(true), now), (AT - DAY, AT - DAY));
    }
}
