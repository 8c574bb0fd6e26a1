//! The frontmatter of a note. All values are texts.

use brain_convert_base::{Page, Value};
use brain_page::Frontmatter;
use jiff::Timestamp;

/// Names of fields of the page for those of Joplin.
const RENAMED: [(&str, &str); 1] = [("source", "url")];

/// The fields of a note.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) title: String,
    created: Option<Timestamp>,
    updated: Option<Timestamp>,
    tags: Vec<String>,
    is_completed: Option<bool>,
    others: Vec<(String, String)>,
}

impl Fields {
    /// Splits a note into its fields and its text.
    pub(super) fn split(text: &str) -> (Self, &str) {
        let Some(rest) = text.strip_prefix("---\n") else { return (Self::default(), text) };
        let (raw, body) = match rest.split_once("\n---\n") {
            Some((raw, body)) => (raw, body),
            None => (rest.strip_suffix("\n---").unwrap_or(rest), ""),
        };
        let mut fields = Self::default();
        let mut lines = raw.lines().peekable();
        while let Some(line) = lines.next() {
            let Some((name, first)) = line.split_once(':') else { continue };
            let mut value = first.to_owned();
            while let Some(line) = lines.next_if(|line| line.starts_with(' ') || line.is_empty()) {
                value.push('\n');
                value.push_str(line);
            }
            fields.set(name, &value);
        }
        (fields, body.strip_prefix('\n').unwrap_or(body))
    }

    fn set(&mut self, name: &str, value: &str) {
        match name {
            "title" => self.title = scalar(value),
            "created" => self.created = time(&scalar(value)),
            "updated" => self.updated = time(&scalar(value)),
            "tags" => {
                let items = value.lines().filter_map(|line| line.trim_start().strip_prefix("- "));
                self.tags = items.map(scalar).collect();
            }
            "completed?" => self.is_completed = Some(scalar(value) == "yes"),
            "altitude" if scalar(value).parse() == Ok(0.0) => {}
            _ => {
                let name = RENAMED.iter().find(|(known, _)| *known == name).map_or(name, |it| it.1);
                let value = scalar(value);
                let value = match (name, time(&value)) {
                    ("due", Some(time)) => time.to_string(),
                    _ => value,
                };
                self.others.push((name.to_owned(), value));
            }
        }
    }

    /// Returns the task that a to-do is, as a line and an empty line; empty for another note.
    pub(super) fn task(&self, name: &str) -> String {
        let text = if self.title.is_empty() { name } else { &self.title };
        let text = brain_page::escape_inline(&brain_page::single_line(text));
        match self.is_completed {
            Some(true) => format!("- [x] {text}\n\n"),
            Some(false) => format!("- [ ] {text}\n\n"),
            None => String::new(),
        }
    }

    /// Sets the fields of a page.
    pub(super) fn write(self, page: &mut Page) {
        (page.created, page.updated, page.tags) = (self.created, self.updated, self.tags);
        let others = self.others.into_iter().filter(|(_, value)| !value.is_empty());
        page.fields = others.map(|(name, value)| (name, Value::Text(value))).collect();
    }
}

/// Returns the text of a scalar. One without quotes is a text, whatever it looks like.
fn scalar(value: &str) -> String {
    let plain = value.trim();
    let read = || Frontmatter::parse(&format!("x: {}\n", value.trim_start())).ok()?.get("x");
    match plain.starts_with(['\'', '"', '|', '>']) || plain.contains('\n') {
        true => read().unwrap_or_else(|| plain.to_owned()),
        false => plain.to_owned(),
    }
}

/// Returns a time such as `2026-11-30 08:57:29Z`.
fn time(text: &str) -> Option<Timestamp> {
    text.replacen(' ', "T", 1).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_values_are_texts() {
        for (value, expected) in [
            (" null", "null"),
            (" 0012", "0012"),
            (" 'Links: 100%'", "Links: 100%"),
            (" 'it''s'", "it's"),
            (" \"a\\nb\"", "a\nb"),
            (" >-\n  a long\n  title", "a long title"),
            ("", ""),
        ] {
            assert_eq!(scalar(value), expected);
        }
    }
}
