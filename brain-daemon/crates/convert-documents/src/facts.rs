//! What the metadata of a document says: title, authors and times. Programs write values that
//! stand for none.

use brain_convert_base::{Page, Value};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// Titles that programs give to a document without one, in lower case.
const NO_TITLES: [&str; 9] = [
    "unknown",
    "index",
    "untitled",
    "unknown title",
    "untitled document",
    "word document",
    "document",
    "title",
    "microsoft word",
];
/// Authors that are none, in lower case.
const NO_AUTHORS: [&str; 10] = [
    "unknown",
    "unknown author",
    "author",
    "user",
    "admin",
    "windows user",
    "microsoft office user",
    "python-docx",
    "un-named",
    "anonymous",
];
/// Maximum number of characters of a title.
const MAX_TITLE: usize = 300;

/// What is known about a document.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) title: Option<String>,
    pub(crate) authors: Vec<String>,
    pub(crate) created: Option<Timestamp>,
    pub(crate) updated: Option<Timestamp>,
    pub(crate) tags: Vec<String>,
    /// Other fields of the page, in order.
    pub(crate) fields: Vec<(&'static str, String)>,
}

impl Facts {
    /// Sets the title, unless the text stands for none.
    pub(crate) fn set_title(&mut self, text: &str) {
        let line = brain_page::single_line(text);
        if self.title.is_none() && is_title(&line) {
            // Word's printer driver writes this.
            let line = line.strip_prefix("Microsoft Word - ").unwrap_or(&line);
            self.title = Some(line.chars().take(MAX_TITLE).collect());
        }
    }

    /// Adds authors, who are separated by `;`, unless a name stands for none.
    pub(crate) fn add_authors(&mut self, text: &str) {
        for name in text.split(';').map(brain_page::single_line) {
            let is_none = name.is_empty() || NO_AUTHORS.contains(&name.to_lowercase().as_str());
            if !is_none && !self.authors.contains(&name) {
                self.authors.push(name);
            }
        }
    }

    /// Adds words of a list with commas as tags.
    pub(crate) fn add_tags(&mut self, text: &str) {
        for tag in text.split([',', ';', '\n']).map(brain_page::single_line) {
            if !tag.is_empty() && !self.tags.contains(&tag) {
                self.tags.push(tag);
            }
        }
    }

    /// Adds a field, unless the text is empty or stands for none.
    pub(crate) fn add_field(&mut self, key: &'static str, text: &str) {
        let line = brain_page::single_line(text);
        if !line.is_empty() && !line.eq_ignore_ascii_case("unknown") {
            self.fields.push((key, line));
        }
    }

    /// Writes everything into a page. `title` is the one of its text.
    pub(crate) fn write(self, page: &mut Page, title: Option<String>) {
        if let Some(title) = self.title.or(title) {
            page.title = title;
        }
        page.created = self.created;
        page.updated = self.updated;
        page.tags = self.tags;
        match self.authors.as_slice() {
            [] => {}
            [author] => page.fields.push(("author".to_owned(), Value::Text(author.clone()))),
            _ => page.fields.push(("author".to_owned(), Value::List(self.authors))),
        }
        let fields = self.fields.into_iter();
        page.fields.extend(fields.map(|(key, text)| (key.to_owned(), Value::Text(text))));
    }
}

/// Returns whether a line is a title, not what a program writes for none.
pub(crate) fn is_title(line: &str) -> bool {
    let lower = line.to_lowercase();
    let is_file = [".xhtml", ".html", ".htm"].iter().any(|end| lower.ends_with(end));
    // LibreOffice names the parts of an EPUB so.
    let is_section = lower
        .strip_prefix("section ")
        .is_some_and(|number| number.bytes().all(|c| c.is_ascii_digit()));
    !(line.is_empty() || is_file || is_section || NO_TITLES.contains(&lower.as_str()))
}

/// Reads a time. One without a zone is in `zone`; a date alone begins at midnight in UTC. Times
/// before there were such programs stand for none.
pub(crate) fn time(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    let moment = text.parse::<Timestamp>().ok().or_else(|| {
        // A date alone is a DateTime, too.
        let zone = if text.contains('T') { zone } else { &TimeZone::UTC };
        text.parse::<DateTime>().ok()?.to_zoned(zone.clone()).ok().map(|it| it.timestamp())
    })?;
    is_plausible(moment).then_some(moment)
}

/// Reads the digits of a time that is marked as UTC, but is in `zone`.
pub(crate) fn local_time(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    time(text.trim().trim_end_matches('Z'), zone)
}

/// Returns whether a document can have this time. 1980-01-01 is the first day of ZIP and of DOS.
fn is_plausible(moment: Timestamp) -> bool {
    let first = Date::constant(1980, 1, 2).to_zoned(TimeZone::UTC).map(|it| it.timestamp());
    let last = Date::constant(2200, 1, 1).to_zoned(TimeZone::UTC).map(|it| it.timestamp());
    first.is_ok_and(|first| moment >= first) && last.is_ok_and(|last| moment < last)
}

/// Returns when a file was changed, to the second.
pub(crate) fn file_time(path: &std::path::Path) -> Option<Timestamp> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    Timestamp::from_second(Timestamp::try_from(modified).ok()?.as_second()).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn titles_that_stand_for_none_are_none() {
        for text in ["Unknown", "index", "Untitled", "Unknown Title", "ch001.xhtml", " ", "INDEX"] {
            let mut facts = Facts::default();
            facts.set_title(text);
            assert_eq!(facts.title, None, "{text}");
        }
        let mut facts = Facts::default();
        facts.set_title("Index of\nharbours");
        assert_eq!(facts.title.unwrap(), "Index of harbours");
    }

    #[test]
    fn times_have_their_zone() {
        let tokyo = TimeZone::fixed(jiff::tz::offset(9));
        let shown = |time: Option<Timestamp>| time.map(|it| it.to_string());
        let day = |text: &str| shown(time(text, &tokyo));
        assert_eq!(day("2026-11-30T10:00:00Z").unwrap(), "2026-11-30T10:00:00Z");
        assert_eq!(day("2026-11-30T10:00:00+01:00").unwrap(), "2026-11-30T09:00:00Z");
        assert_eq!(day("2026-11-30T10:00:00.123").unwrap(), "2026-11-30T01:00:00.123Z");
        assert_eq!(day("2026-11-30").unwrap(), "2026-11-30T00:00:00Z");
        for none in ["", "2026", "1601-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-01-01"] {
            assert_eq!(day(none), None, "{none}");
        }
        let local = local_time("2026-11-30T10:00:00Z", &tokyo);
        assert_eq!(shown(local).unwrap(), "2026-11-30T01:00:00Z");
    }
}
