//! An entry of a journal as a page.

use std::io;

use brain_convert_base::{Output, Page, Paths, Value};
use jiff::civil::{Date, Time};

/// An entry.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// Its local time: `2026-11-01T09:00`, or a day.
    pub(super) time: String,
    pub(super) title: String,
    /// Its text, in markdown.
    pub(super) body: String,
    /// Its tags, if the export lists them.
    pub(super) tags: Option<Vec<String>>,
    pub(super) is_starred: bool,
}

/// Returns the local time of `2026-11-01 09:00`, also with seconds and `AM` or `PM`, or a day alone.
pub(super) fn local_time(text: &str) -> Option<String> {
    let text = text.trim();
    let (day, rest) = text.split_once([' ', 'T']).unwrap_or((text, ""));
    day.parse::<Date>().ok().filter(|_| day.len() == 10)?;
    let rest = rest.trim();
    if rest.is_empty() {
        return Some(day.to_owned());
    }
    let (clock, half) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut parts = clock.split(':');
    let hour: i8 = parts.next()?.parse().ok()?;
    let minute: i8 = parts.next()?.parse().ok()?;
    let second: i8 = parts.next().map_or(Some(0), |second| second.parse().ok())?;
    let hour = match half.to_ascii_lowercase().as_str() {
        "" => hour,
        "am" if (1..=12).contains(&hour) => hour % 12,
        "pm" if (1..=12).contains(&hour) => hour % 12 + 12,
        _ => return None,
    };
    let time = Time::new(hour, minute, second, 0).ok().filter(|_| parts.next().is_none())?;
    let form = if second == 0 { "%H:%M" } else { "%H:%M:%S" };
    Some(format!("{day}T{}", time.strftime(form)))
}

/// Returns the tags in a text: words with `@` or `#` before them, as jrnl reads them, in lower
/// case.
fn tags(text: &str) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let Some(name) = word.strip_prefix(['@', '#']) else { continue };
        let is_tag = |c: char| c.is_alphanumeric() || "_-+*#/".contains(c);
        let end = name.find(|c| !is_tag(c)).unwrap_or(name.len());
        let name = name.get(..end).unwrap_or_default().to_lowercase();
        if name.contains(char::is_alphanumeric) && !tags.contains(&name) {
            tags.push(name);
        }
    }
    tags
}

impl Entry {
    /// Makes an entry of its time and its text. The first line is its title; a `*` at the end of
    /// it, a star.
    pub(super) fn of_text(time: String, text: &str) -> Self {
        let text = text.trim();
        let (title, body) = text.split_once('\n').unwrap_or((text, ""));
        let is_starred = title.trim_end().ends_with('*');
        let title = if is_starred { title.trim_matches([' ', '*']) } else { title };
        Self {
            time,
            title: title.trim().to_owned(),
            body: body.trim().to_owned(),
            tags: None,
            is_starred,
        }
    }

    /// Writes the entry as a page.
    pub(super) fn write(
        self,
        file: &str,
        paths: &mut Paths,
        out: &mut Output<'_>,
    ) -> io::Result<()> {
        let mut page = Page::default();
        let day = self.time.split('T').next().unwrap_or_default();
        let title = brain_page::single_line(&self.title);
        page.from = format!("{file}, {}", self.time.replace('T', " "));
        page.path = paths.add([], format!("{day} {title}").trim());
        page.title = if title.is_empty() { day.to_owned() } else { title };
        let of_text = || tags(&format!("{}\n{}", self.title, self.body));
        page.tags = self.tags.unwrap_or_else(of_text);
        page.fields.push(("created".to_owned(), Value::Text(self.time)));
        if self.is_starred {
            page.fields.push(("starred".to_owned(), Value::Text("true".to_owned())));
        }
        page.body = self.body;
        out.page(&page)
    }
}
