//! Reads journals of RedNotebook: a directory or a ZIP archive, or the file of one month.
//!
//! A file `2026-11.txt` has the days of a month in YAML. Each day is a page.

mod markup;
mod month;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Page, Paths, Sample, Value, literal_part};
use jiff::civil::Date;

use crate::files::{Files, PageFiles};
use crate::markdown::{Blocks, guarded};
use crate::rest::{is_hidden, report_rest};
use crate::source::{Source, folder, name};
use markup::Scope;
use month::{Day, days};

pub(crate) const FORMAT: Format = Format {
    name: "rednotebook",
    title: "a journal of RedNotebook",
    is_by_others: false,
    recognise,
    convert,
};

/// How many files are looked at to recognise the format.
const MAX_LOOKS: usize = 50;

fn recognise(sample: &Sample) -> bool {
    let is_month = |path: &str, text: &str| month_of(path).is_some() && has_days(text);
    let Some(tree) = sample.tree() else {
        return is_month(&sample.path().to_string_lossy(), &sample.text());
    };
    let mut months = tree
        .entries()
        .iter()
        .filter(|entry| month_of(&entry.path).is_some() && !is_hidden(&entry.path))
        .take(MAX_LOOKS);
    months.any(|entry| {
        let head = tree.head(entry, 4096).unwrap_or_default();
        is_month(&entry.path, &String::from_utf8_lossy(&head))
    }) && tree.is_mostly(|entry| month_of(&entry.path).is_some() || is_copy(&entry.path))
}

/// Returns whether a text begins with a day that has keys: `1:` before `  text:`, or on one line.
fn has_days(text: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
    let Some((number, rest)) = lines.next().and_then(|line| line.split_once(':')) else {
        return false;
    };
    let is_day = number.parse::<u8>().is_ok_and(|day| (1..=31).contains(&day));
    let has_key = |line: &str| line.trim_start_matches([' ', '{']).contains(':');
    is_day
        && match rest.trim() {
            "" => lines.next().is_some_and(|line| line.starts_with("  ") && has_key(line)),
            rest => rest.starts_with('{') && (has_key(rest) || rest.contains("text")),
        }
}

/// Returns the year and month of a file `2026-11.txt`.
fn month_of(path: &str) -> Option<(i16, i8)> {
    let (year, month) = name(path).strip_suffix(".txt")?.split_once('-')?;
    let is_number = |text: &str, len| text.len() == len && text.bytes().all(|b| b.is_ascii_digit());
    let month_number = month.parse().ok().filter(|month| (1..=12).contains(month))?;
    (is_number(year, 4) && is_number(month, 2)).then_some((year.parse().ok()?, month_number))
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let source = Source::open(path)?;
    let mut files = Files::default();
    let mut paths = Paths::default();
    let mut malformed = None;
    let months = source.files().iter().filter(|file| !is_hidden(file));
    for file in months {
        let Some((year, month)) = month_of(file) else { continue };
        let text = match source.text(file) {
            Ok(text) => text,
            Err(reason) => {
                out.lost(file, &reason)?;
                continue;
            }
        };
        let (days, error) = days(&text);
        for day in &days {
            match Date::new(year, month, day.number) {
                Ok(date) => write(&source, file, date, day, (&mut files, &mut paths), out)?,
                Err(_) => {
                    out.lost(&format!("{file}, {}", day.number), "the month has no such day")?;
                }
            }
        }
        if let Some(reason) = error {
            out.lost(file, &format!("it is read only up to an error: {reason}"))?;
            malformed = Some(ConvertError::Malformed { from: file.clone(), reason });
        }
    }
    report_rest(&source, out, |path| {
        let is_read = month_of(path).is_some() && !is_hidden(path) || files.is_used(path);
        (!is_read).then(|| match is_copy(path) {
            true => "it is a copy that RedNotebook made while saving".to_owned(),
            false => "it is no month, and no day has it".to_owned(),
        })
    })?;
    malformed.map_or(Ok(()), Err)
}

/// Returns whether a file is `2026-11.new.txt`, `2026-11.old.txt`, or a copy after a conflict.
fn is_copy(path: &str) -> bool {
    let name = name(path);
    let rest = name
        .get(7..)
        .filter(|_| month_of(&format!("{}.txt", name.get(..7).unwrap_or_default())).is_some());
    rest.is_some_and(|rest| {
        rest == ".new.txt" || rest == ".old.txt" || rest.starts_with(".CONFLICT_BACKUP")
    })
}

/// Writes a day as a page.
fn write(
    source: &Source,
    file: &str,
    date: Date,
    day: &Day,
    (files, paths): (&mut Files, &mut Paths),
    out: &mut Output<'_>,
) -> std::io::Result<()> {
    if day.text.trim().is_empty() && day.categories.is_empty() {
        return Ok(());
    }
    let mut page = Page::default();
    page.title = date.to_string();
    page.from = format!("{file}, {date}");
    page.path = paths.add([], &page.title);
    page.fields.push(("date".to_owned(), Value::Text(page.title.clone())));
    let mut scope = Scope { source, folder: folder(file), page, files: PageFiles::default() };
    for (category, _) in &day.categories {
        scope.tag(category);
    }
    let mut body = Blocks::default();
    body.push(&markup::blocks(&day.text, &mut scope));
    for (category, entries) in day.categories.iter().filter(|(_, entries)| !entries.is_empty()) {
        body.push(&format!("## {}", literal_part(&brain_page::single_line(category))));
        let items: Vec<String> = entries
            .iter()
            .map(|entry| markup::blocks(entry, &mut scope).replace('\n', "\n  "))
            .map(|entry| format!("- {}", guarded(&entry)))
            .collect();
        body.push(&items.join("\n"));
    }
    let Scope { mut page, files: attached, .. } = scope;
    page.body = body.finish();
    files.write(source, &page, attached, out)
}
