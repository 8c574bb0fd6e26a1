//! Reads the records of `My Clippings.txt`.

use jiff::civil::DateTime;

use super::kind::Kind;
use super::words::{is_page, kind_in, time_in};

/// A record.
#[derive(Debug)]
pub(super) struct Record {
    /// Title and author, as in the file.
    pub(super) book: String,
    pub(super) kind: Kind,
    /// The page, as the book numbers it.
    page: Option<String>,
    /// First and last location.
    pub(super) location: Option<(u64, u64)>,
    /// When it was made, by the clock of the device.
    pub(super) time: Option<DateTime>,
    /// The parts of the second line that were not understood.
    rest: Vec<String>,
    pub(super) text: String,
}

/// Returns all records, and whether the last one is cut off.
pub(super) fn records(text: &str, separator: &str) -> (Vec<Record>, bool) {
    let mut records = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    let text = text.replace("\r\n", "\n");
    for line in text.split(['\n', '\r']) {
        if line.trim() == separator {
            records.extend(Record::parse(&lines));
            lines.clear();
        } else {
            lines.push(line);
        }
    }
    (records, lines.iter().any(|line| !clean(line).is_empty()))
}

/// Returns a line without the marks of byte order that some titles begin with.
fn clean(line: &str) -> String {
    brain_page::single_line(&line.replace('\u{feff}', ""))
}

impl Record {
    fn parse(lines: &[&str]) -> Option<Self> {
        let start = lines.iter().position(|line| !clean(line).is_empty())?;
        let mut lines = lines.iter().skip(start);
        let book = clean(lines.next()?);
        let place = clean(lines.next().unwrap_or(&""));
        let text: Vec<&str> = lines.copied().collect();
        let text = text.join("\n").trim_matches(['\n', ' ', '\u{feff}']).to_owned();
        let mut record = Self {
            book,
            kind: Kind::Unknown,
            page: None,
            location: None,
            time: None,
            rest: Vec::new(),
            text,
        };
        record.read_place(&place);
        Some(record)
    }

    /// Reads the second line: `- Your Highlight on page 12 | Location 170-174 | Added on …`.
    fn read_place(&mut self, line: &str) {
        // Chinese has the location in parentheses.
        let parts: Vec<&str> = line
            .trim_start_matches("- ")
            .split(['|', '｜', '(', '（'])
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        self.kind = parts.iter().find_map(|part| kind_in(part)).unwrap_or(Kind::Unknown);
        let places = parts.iter().filter(|part| time_in(part).is_none()).count();
        for (number, part) in parts.iter().enumerate() {
            if let Some(time) = time_in(part) {
                self.time = Some(time);
                continue;
            }
            let range = range_in(part);
            // In an unknown language, the page is before the location.
            let is_page =
                is_page(part) || (self.kind == Kind::Unknown && places > 1 && number == 0);
            match range {
                _ if is_page && self.page.is_none() => self.page = Some(page_in(part)),
                Some(range) if self.location.is_none() => self.location = Some(range),
                _ => self.rest.push((*part).to_owned()),
            }
        }
        if self.kind == Kind::Unknown {
            self.rest = vec![line.trim_start_matches("- ").to_owned()];
        }
    }

    /// Returns where in the book it is, so that records can be sorted.
    pub(super) fn position(&self) -> (u64, u64) {
        let page = self.page.as_deref().and_then(|it| it.split('-').next()?.parse().ok());
        match (self.location, page) {
            (Some((first, last)), _) => (first, last),
            // A book has pages or locations.
            (None, page) => (page.unwrap_or(0), 0),
        }
    }

    /// Returns a line about its place and time.
    pub(super) fn caption(&self) -> String {
        let mut parts = Vec::new();
        if self.kind == Kind::Unknown {
            parts.extend(self.rest.iter().cloned());
        } else {
            parts.extend(self.page.as_ref().map(|page| format!("page {page}")));
            parts.extend(self.location.map(|(first, last)| {
                if first == last {
                    format!("location {first}")
                } else {
                    format!("location {first}-{last}")
                }
            }));
            parts.extend(self.time.map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string()));
            parts.extend(self.rest.iter().cloned());
        }
        parts.join(", ")
    }

    /// Returns whether the text is the message that the publisher's limit of clippings is reached.
    pub(super) fn is_over_limit(&self) -> bool {
        let inner = self.text.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
        inner.is_some_and(|it| !it.contains(['<', '>', '\n']) && it.contains(' '))
    }
}

/// Returns the first number of a text, or two with a hyphen. Old devices write 170-74 for 170-174.
fn range_in(part: &str) -> Option<(u64, u64)> {
    let start = part.find(|c: char| c.is_ascii_digit())?;
    let rest = part.get(start..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let first = rest.get(..end)?;
    let after = rest.get(end..).unwrap_or_default();
    let second = after.strip_prefix(['-', '–']).unwrap_or_default();
    let length = second.find(|c: char| !c.is_ascii_digit()).unwrap_or(second.len());
    let second = second.get(..length).unwrap_or_default();
    let number: u64 = first.parse().ok()?;
    if second.is_empty() {
        return Some((number, number));
    }
    let last = match first.len().checked_sub(second.len()) {
        Some(missing) if missing > 0 => format!("{}{second}", first.get(..missing)?),
        _ => second.to_owned(),
    };
    Some((number, last.parse().ok().filter(|last| *last >= number).unwrap_or(number)))
}

/// Returns the page in a part: its number, else its last word (`page xii`).
fn page_in(part: &str) -> String {
    match range_in(part) {
        Some((first, last)) if first == last => first.to_string(),
        Some((first, last)) => format!("{first}-{last}"),
        None => part.rsplit(' ').next().unwrap_or_default().to_owned(),
    }
}
