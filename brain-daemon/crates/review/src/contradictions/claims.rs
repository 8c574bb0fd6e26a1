//! The facts that a page states: in its frontmatter, on its timeline, in its lines.

use brain_page::{Field, timeline};
use jiff::civil::Date;

use super::fact::{Fact, Subject, Timing};
use super::fields::{VERBS, is_lasting, is_role, usual_name};
use super::names::{LINK_CLOSE, LINK_OPEN, Names};
use super::sentence::{Place, fact};
use super::span::{Span, period};
use super::value::Value;

/// Keys for what a person is, beside a key of [`WHERE_KEYS`].
const ROLE_KEYS: [&str; 6] = ["role", "position", "job", "job title", "function", "post"];
/// Keys for where a person has the role of [`ROLE_KEYS`].
const WHERE_KEYS: [&str; 9] = [
    "company",
    "organization",
    "organisation",
    "employer",
    "project",
    "team",
    "club",
    "ship",
    "institution",
];

/// A page whose facts are read.
#[derive(Debug, Clone)]
pub struct PageText<'a> {
    /// Its id.
    pub id: u64,
    /// Its slug.
    pub slug: &'a str,
    /// Its title.
    pub title: &'a str,
    /// Its other names.
    pub aliases: &'a [String],
    /// The fields of its frontmatter.
    pub fields: Vec<Field>,
    /// Its markdown.
    pub body: &'a str,
    /// The day of its last change.
    pub day: Option<Date>,
    /// Whether somebody else than the owner wrote it or a part of it.
    pub is_foreign: bool,
}

/// A fact with the sentence that states it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Claim {
    pub(crate) page: u64,
    /// The line, as written.
    pub(crate) sentence: String,
    /// The day of the line, or of the page's last change.
    pub(crate) day: Option<Date>,
    /// Whether the line names a source.
    pub(crate) has_source: bool,
    pub(crate) is_foreign: bool,
    /// Whether the line is dated.
    pub(crate) is_dated: bool,
    /// Whether it is a line of the page, not its frontmatter.
    pub(crate) is_line: bool,
    /// Whether the line names no time: it says how it was on its day.
    pub(crate) is_observed: bool,
    pub(crate) fact: Fact,
}

/// Returns the facts of a page, and the usual names of the keys that hold lists in it.
pub(crate) fn claims_of(page: &PageText<'_>, names: &Names) -> (Vec<Claim>, Vec<String>) {
    let mut reader = PageReader { page, names, claims: Vec::new(), is_in_lines: false };
    let lists = reader.frontmatter();
    reader.is_in_lines = true;
    reader.lines();
    (reader.claims, lists)
}

struct PageReader<'a> {
    page: &'a PageText<'a>,
    names: &'a Names,
    claims: Vec<Claim>,
    is_in_lines: bool,
}

impl PageReader<'_> {
    fn place(&self, day: Option<Date>, is_frontmatter: bool) -> Place<'_> {
        // Frontmatter is about its page. A day's page has notes about many things.
        let name = self.page.slug.rsplit('/').next().unwrap_or_default();
        let is_days_page = name.starts_with(|c: char| c.is_ascii_digit());
        let has_own_fields = is_frontmatter || !is_days_page;
        Place { page: self.page.id, has_own_fields, is_frontmatter, day, names: self.names }
    }

    fn add(&mut self, sentence: &str, dated: Option<(Date, bool)>, fact: Fact) {
        let day = dated.map(|(day, _)| day).or(self.page.day);
        let mut fact = fact;
        let is_observed = fact.span == Span::default();
        if is_lasting(&fact.field) {
            fact.span = Span::default();
        } else if fact.span.from.is_none()
            && fact.span.to.is_none_or(|to| day.is_some_and(|d| d <= to))
        {
            // The sentence says how it is on this day, and nothing about former days.
            fact.span.from = day;
        }
        self.claims.push(Claim {
            page: self.page.id,
            sentence: sentence.trim().to_owned(),
            day,
            has_source: dated.is_some_and(|(_, has_source)| has_source),
            is_foreign: self.page.is_foreign,
            is_dated: dated.is_some(),
            is_line: self.is_in_lines,
            is_observed,
            fact,
        });
    }

    /// Reads the frontmatter. Returns the keys of lists.
    fn frontmatter(&mut self) -> Vec<String> {
        let mut lists = Vec::new();
        for field in &self.page.fields {
            let key = usual_name(&field.key);
            let verb = VERBS.iter().find(|(verb, _, is_inverse)| *is_inverse && verb[0] == key);
            let role = verb.map(|(_, role, _)| *role).or_else(|| key.strip_suffix(" of"));
            if let Some(role) = role {
                self.role_of(&usual_name(role), &field.values, &field.line());
                continue;
            }
            let [value] = &field.values[..] else {
                lists.push(key);
                continue;
            };
            if ROLE_KEYS.contains(&key.as_str()) {
                self.role(value);
                continue;
            }
            let found = fact(
                &format!("{}: {value}", field.key.replace(' ', "_")),
                self.place(self.page.day, true),
            );
            if let Some(found) = found {
                self.add(&field.line(), None, found);
            }
        }
        lists
    }

    /// Reads a key such as `ceo_of: Acme` in the frontmatter of a person.
    fn role_of(&mut self, role: &str, things: &[String], line: &str) {
        if !is_role(role) && role != "acquired by" {
            return;
        }
        for thing in things {
            let Some(thing) = self.names.page(thing) else { continue };
            let span = self.span_of_role();
            let fact = Fact {
                subject: Subject::Page(thing),
                field: role.to_owned(),
                value: Value::Page(self.page.id),
                span,
                timing: Timing::Holds,
            };
            self.add(line, None, fact);
        }
    }

    /// Reads `role: CEO` beside `company: Acme`, and `role: CEO of Acme`.
    fn role(&mut self, role: &str) {
        let sentence = format!("{LINK_OPEN}{}{LINK_CLOSE} is {role}", self.page.id);
        if let Some(found) = fact(&sentence, self.place(self.page.day, false)) {
            return self.add(&format!("role: {role}"), None, found);
        }
        let mut at = self.page.fields.iter().filter(|field| {
            WHERE_KEYS.contains(&usual_name(&field.key).as_str()) && field.values.len() == 1
        });
        let (Some(thing), None) = (at.next(), at.next()) else { return };
        let line = format!("role: {role}, {}", thing.line());
        self.role_of(&usual_name(role), &thing.values.clone(), &line);
    }

    /// Returns the span in the keys `since` and `until` beside a role.
    fn span_of_role(&self) -> Span {
        let day = |keys: [&str; 3]| {
            let field = self
                .page
                .fields
                .iter()
                .find(|field| keys.contains(&field.key.to_lowercase().as_str()))?;
            let words: Vec<String> =
                field.values.first()?.split_whitespace().map(str::to_lowercase).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            period(&words, None).map(|(period, _)| period)
        };
        let from = day(["since", "from", "start"]).map(|period| period.first);
        let to = day(["until", "to", "end"]).map(|period| period.first.yesterday());
        Span { from, to: to.and_then(Result::ok) }
    }

    fn lines(&mut self) {
        let body = self.page.body;
        let mut is_code = false;
        for line in body.lines() {
            let text = line.trim();
            if text.starts_with("```") || text.starts_with("~~~") {
                is_code = !is_code;
            }
            // A quotation is somebody else's word, a task is not done, a table has no sentences.
            if is_code || text.is_empty() || text.starts_with(['#', '>', '|', '<', '`', '~']) {
                continue;
            }
            if let Some(entry) = timeline(line).pop() {
                let day = entry.date.parse::<Date>().ok();
                let dated = day.map(|day| (day, entry.source.is_some()));
                self.sentences(&entry.text, text, dated);
                continue;
            }
            let item = text.strip_prefix(['-', '*', '+']).map_or(text, str::trim_start);
            if !item.starts_with("[ ]") && !item.starts_with("[x]") {
                self.sentences(&item.replace("::", ":"), text, None);
            }
        }
    }

    fn sentences(&mut self, text: &str, line: &str, dated: Option<(Date, bool)>) {
        let day = dated.map(|(day, _)| day).or(self.page.day);
        for sentence in split_sentences(text) {
            if let Some(found) = fact(sentence, self.place(day, false)) {
                self.add(line, dated, found);
            }
        }
    }
}

/// Splits a line into sentences: after a full stop or semicolon before a capital letter, but not
/// after an abbreviation.
fn split_sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, mark) in text.match_indices(['.', ';', '!', '?']) {
        let rest = &text[at + mark.len()..];
        let before = text[start..at].rsplit(' ').next().unwrap_or_default();
        let is_abbreviation = mark == "." && before.chars().count() <= 3;
        let next = rest.strip_prefix(' ').and_then(|rest| rest.chars().next());
        if !is_abbreviation && next.is_some_and(|c| c.is_uppercase() || c == '[' || mark == ";") {
            sentences.push(&text[start..=at]);
            start = at + mark.len();
        }
    }
    sentences.push(&text[start..]);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_into_sentences() {
        for (text, parts) in [
            ("One is here. Two is there.", 2),
            ("Dr. Oda is here", 1),
            ("a 3.5 m; Then b", 2),
            ("see e.g. this", 1),
        ] {
            assert_eq!(split_sentences(text).len(), parts, "{text}");
        }
    }
}
