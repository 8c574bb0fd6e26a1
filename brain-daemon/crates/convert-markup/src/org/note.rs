//! Writes a note of Org as a page.

use std::io;

use brain_convert_base::{Output, Page, Value, link};
use jiff::civil::DateTime;

use super::blocks::blocks;
use super::document::{Document, Section};
use super::index::{Note, stem};
use super::inline::inline;
use super::scope::{Import, Scope};
use super::task::{planning, tags, task};
use crate::files::Files;
use crate::markdown::{Blocks, guarded};

/// Keywords and properties that have a place of their own in a page, or are for Emacs.
const PLACED: [&str; 8] =
    ["title", "filetags", "todo", "seq_todo", "typ_todo", "date", "roam_aliases", "roam_refs"];

/// Writes a note.
pub(super) fn write(
    import: Import<'_>,
    document: &Document<'_>,
    note: &Note,
    files: &mut Files,
    out: &mut Output<'_>,
) -> io::Result<()> {
    let Some(section) = document.sections.get(note.section) else { return Ok(()) };
    let page = page(document, section, note);
    let mut scope = Scope::new(import, document, note, page);
    let body = body(document, section, &mut scope);
    let mut page = std::mem::take(&mut scope.page);
    page.body = body;
    files.write(import.source, &page, std::mem::take(&mut scope.files), out)?;
    for reason in &scope.lost {
        out.lost(&page.from, reason)?;
    }
    Ok(())
}

/// Returns the page of a note without its text.
fn page(document: &Document<'_>, section: &Section<'_>, note: &Note) -> Page {
    let mut page = Page::default();
    page.from = match note.section {
        0 => note.file.clone(),
        _ => format!("{}, {}", note.file, note.title),
    };
    page.path.clone_from(&note.path);
    page.title.clone_from(&note.title);
    page.tags = document.tags(note.section);
    let date = if note.section == 0 { document.values("date").next() } else { None };
    let made = section.property("CREATED").and_then(stamp);
    let made = made.or_else(|| (note.section == 0).then(|| time_in_name(&note.file)).flatten());
    if let Some(made) = made {
        page.fields.push(("created".to_owned(), Value::Text(made)));
    }
    match date.map(|date| (date, stamp(date))) {
        Some((_, Some(date))) => page.fields.push(("date".to_owned(), Value::Text(date))),
        Some((date, None)) if !date.is_empty() => {
            page.fields.push(("date".to_owned(), Value::Text(date.to_owned())));
        }
        _ => {}
    }
    for (property, field) in [("ROAM_ALIASES", "aliases"), ("ROAM_REFS", "refs")] {
        let words = section.property(property).map(words).unwrap_or_default();
        if !words.is_empty() {
            page.fields.push((field.to_owned(), Value::List(words)));
        }
    }
    let keywords = document.keywords.iter().filter(|_| note.section == 0);
    let keywords = keywords.map(|(key, value)| (key.clone(), *value));
    let properties = section.properties.iter().map(|(key, value)| (key.to_lowercase(), *value));
    for (key, value) in keywords.chain(properties) {
        let is_made = key == "created" && page.fields.iter().any(|(field, _)| field == "created");
        if PLACED.contains(&key.as_str()) || is_made || value.is_empty() {
            continue;
        }
        let key = if key == "id" { "org_id".to_owned() } else { key };
        match page.fields.iter_mut().find(|(known, _)| *known == key) {
            Some((_, Value::List(values))) => values.push(value.to_owned()),
            Some((_, known)) => {
                if let Value::Text(first) = known {
                    *known = Value::List(vec![std::mem::take(first), value.to_owned()]);
                }
            }
            None => page.fields.push((key, Value::Text(value.to_owned()))),
        }
    }
    page
}

/// Returns the day, and the time if there is one, of a timestamp: `2026-11-05T10:00`.
fn stamp(text: &str) -> Option<String> {
    let inner = text.trim().trim_start_matches(['<', '[']);
    let day = inner.get(..10)?;
    day.parse::<jiff::civil::Date>().ok()?;
    let is_time = |word: &&str| {
        let hour = word.split_once(':').map(|(hour, _)| hour.len());
        hour.is_some_and(|hour| (1..=2).contains(&hour)) && word.len() >= 4
    };
    let rest = inner.get(10..)?.trim_end_matches(['>', ']']);
    let clock = rest.split_whitespace().find(is_time).and_then(|word| {
        let (hour, minute) = word.split_once(':')?;
        let minute = minute.get(..2)?;
        format!("{hour:0>2}:{minute}:00").parse::<jiff::civil::Time>().ok()?;
        Some(format!("T{hour:0>2}:{minute}"))
    });
    Some(format!("{day}{}", clock.unwrap_or_default()))
}

/// Returns the local time with which org-roam begins the name of a file: `20231114221320-title`.
fn time_in_name(file: &str) -> Option<String> {
    let digits = stem(file).get(..14).filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()))?;
    let part = |from: usize, to: usize| digits.get(from..to)?.parse::<i16>().ok();
    let small = |from: usize| i8::try_from(part(from, from + 2)?).ok();
    let time =
        DateTime::new(part(0, 4)?, small(4)?, small(6)?, small(8)?, small(10)?, small(12)?, 0);
    time.ok().map(|time| time.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}

/// Splits a property at blanks. Words in double quotes stay together.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"').and_then(|it| it.split_once('"')) {
            Some(found) => found,
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        if !word.is_empty() {
            words.push(word.to_owned());
        }
        rest = after.trim_start();
    }
    words
}

/// Returns the text of a note: its own, and that of the headings below it that are no notes.
fn body(document: &Document<'_>, first: &Section<'_>, scope: &mut Scope<'_>) -> String {
    let mut out = Blocks::default();
    match task(first, scope) {
        Some(task) => out.push(&task),
        None => out.push(&planning_line(first)),
    }
    out.push(&blocks(&first.body, 0, scope));
    let mut definitions = first.footnotes.clone();
    // Whether a heading was written at the level of the open heading, or below it.
    let mut last_heading = usize::MAX;
    let mut at = scope.note.section + 1;
    while let Some(section) = document.sections.get(at).filter(|it| it.level > first.level) {
        scope.section = at;
        if let Some(note) = scope.import.index.at(&scope.note.file, at) {
            out.push(&link(&note.path, &note.title));
            at += 1;
            while document.sections.get(at).is_some_and(|below| below.level > section.level) {
                at += 1;
            }
            continue;
        }
        definitions.extend(&section.footnotes);
        let is_leaf = document.sections.get(at + 1).is_none_or(|it| it.level <= section.level)
            && section.body.iter().all(|line| line.trim().is_empty())
            && section.properties.is_empty();
        let is_below = last_heading == usize::MAX || last_heading < section.level;
        match task(section, scope) {
            Some(task) if is_leaf && is_below => out.push_item(&task),
            _ => {
                let is_notes = section.title == "Footnotes" && is_leaf;
                if !is_notes {
                    heading(section, section.level - first.level, &mut out, scope);
                    last_heading = section.level;
                }
            }
        }
        at += 1;
    }
    for definition in footnotes(document, &definitions, scope) {
        out.push(&definition);
    }
    out.finish()
}

/// Writes a heading and its text.
fn heading(section: &Section<'_>, level: usize, out: &mut Blocks, scope: &mut Scope<'_>) {
    let title = inline(section.title, scope);
    let priority = match section.priority {
        Some(priority) if section.state.is_none() => format!("\\[\\#{priority}\\] "),
        _ => String::new(),
    };
    let title = match title.trim() {
        "" => "…".to_owned(),
        title => title.replace('\n', " "),
    };
    out.push(&format!("{} {priority}{title}{}", "#".repeat(level.clamp(1, 6)), tags(section)));
    match task(section, scope) {
        Some(task) => {
            // The heading has the tags.
            let task = task.strip_suffix(&tags(section)).unwrap_or(&task);
            out.push(task);
        }
        None => out.push(&planning_line(section)),
    }
    let properties: Vec<String> = section
        .properties
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| brain_convert_base::literal_line(&format!("{key}: {value}")))
        .map(|line| format!("- {line}"))
        .collect();
    out.push(&properties.join("\n"));
    out.push(&blocks(&section.body, 0, scope));
}

/// Returns when a heading without a keyword is due, scheduled and closed.
fn planning_line(section: &Section<'_>) -> String {
    let mut line = planning(section).join("; ");
    if let Some(first) = line.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    line
}

/// Returns the footnotes of a note: those that it refers to, then others that are defined in it.
fn footnotes(document: &Document<'_>, defined: &[&str], scope: &mut Scope<'_>) -> Vec<String> {
    let mut out = Vec::new();
    // The text of a footnote can refer to others.
    let mut queue: Vec<String> = std::mem::take(&mut scope.referenced);
    queue.extend(defined.iter().map(|label| (*label).to_owned()));
    let mut known = std::collections::HashSet::new();
    let mut at = 0;
    while let Some(label) = queue.get(at).cloned() {
        at += 1;
        if !known.insert(label.clone()) {
            continue;
        }
        if let Some(text) = document.footnotes.get(label.as_str()) {
            let lines: Vec<&str> = text.lines().collect();
            let text = blocks(&lines, 1, scope).replace('\n', "\n    ");
            let text = text.replace("\n    \n", "\n\n");
            out.push(format!("[^{label}]: {text}"));
        }
        queue.append(&mut scope.referenced);
    }
    for (label, text) in std::mem::take(&mut scope.inline_notes) {
        out.push(format!("[^{label}]: {}", guarded(&text.replace('\n', " "))));
    }
    out
}
