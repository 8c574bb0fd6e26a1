//! Reads journals of jrnl: its text file, a folder of text files by day, or its export as JSON.
//!
//! The text of an entry is markdown, as jrnl's own export treats it. Times are local.

mod entry;
mod json;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Paths, Sample};

use crate::rest::report_rest;
use crate::source::Source;
use entry::{Entry, local_time};

pub(crate) const FORMAT: Format =
    Format { name: "jrnl", title: "a journal of jrnl", is_by_others: false, recognise, convert };

/// How many files are looked at to recognise the format.
const MAX_LOOKS: usize = 20;

fn recognise(sample: &Sample) -> bool {
    if let Some(tree) = sample.tree() {
        let mut days = tree.entries().iter().filter(|entry| is_day_file(&entry.path));
        let has_day = days.by_ref().take(MAX_LOOKS).any(|entry| {
            let head = tree.head(entry, 4096).unwrap_or_default();
            String::from_utf8_lossy(&head).lines().next().and_then(heading).is_some()
        });
        return has_day && tree.is_mostly(|entry| is_day_file(&entry.path));
    }
    let text = sample.text();
    let start = text.trim_start();
    if start.starts_with('{') {
        let has = |key: &str| start.contains(&format!("\"{key}\""));
        return ["tags", "entries", "title", "body", "date", "time", "starred"]
            .into_iter()
            .all(has);
    }
    is_journal(&text)
}

/// Returns whether a text is a journal: it begins with an entry, and a blank line is before each
/// other one. The lines of a log have no blank lines between them.
fn is_journal(text: &str) -> bool {
    let mut before = "";
    let mut count = 0;
    for (n, line) in text.lines().enumerate() {
        let heading = heading(line);
        if n == 0 && heading.is_none() || heading.is_some() && !before.trim().is_empty() {
            return false;
        }
        count += usize::from(heading.is_some());
        before = line;
    }
    // One entry is not enough, except in jrnl's usual form of a time.
    let first = text.lines().next().unwrap_or_default();
    let time = first.split(']').next().unwrap_or_default();
    count > 1 || count == 1 && (time.ends_with(" AM") || time.ends_with(" PM"))
}

/// Returns whether a path is that of a day: `2026/11/01.txt`.
fn is_day_file(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let is_number = |text: Option<&str>, len: usize| {
        text.is_some_and(|text| text.len() == len && text.bytes().all(|b| b.is_ascii_digit()))
    };
    let day = parts.next().and_then(|name| name.strip_suffix(".txt"));
    is_number(day, 2) && is_number(parts.next(), 2) && is_number(parts.next(), 4)
}

/// Returns the time and the text of a line that begins an entry: `[2026-11-01 09:00] Title`.
fn heading(line: &str) -> Option<(String, &str)> {
    let (time, rest) = line.strip_prefix('[')?.split_once("] ")?;
    Some((local_time(time)?, rest))
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let source = Source::open(path)?;
    let mut paths = Paths::default();
    if source.is_tree() {
        for file in source.files().iter().filter(|file| is_day_file(file)) {
            match source.text(file) {
                Ok(text) => read_text(text.as_bytes(), file, &mut paths, out)?,
                Err(reason) => out.lost(file, &reason)?,
            }
        }
        let reason = |path: &str| (!is_day_file(path)).then(|| "it is no day of jrnl".to_owned());
        return Ok(report_rest(&source, out, reason)?);
    }
    let name = source.files().first().cloned().unwrap_or_default();
    let open = || File::open(path).map(BufReader::new).map_err(ConvertError::read(path));
    let mut head = open()?;
    let is_json = head
        .fill_buf()
        .map_err(ConvertError::read(path))?
        .iter()
        .find(|byte| !byte.is_ascii_whitespace() && !b"\xEF\xBB\xBF".contains(byte))
        .is_some_and(|byte| *byte == b'{');
    if !is_json {
        return read_text(open()?, &name, &mut paths, out);
    }
    let mut number = 0;
    let mut written = Ok(());
    let mut take = |entry: Result<Entry, String>| {
        number += 1;
        written = match entry {
            Ok(entry) => entry.write(&name, &mut paths, out),
            Err(reason) => out.lost(&format!("{name}, entry {number}"), &reason),
        };
        written.as_ref().map_err(io::Error::to_string).copied()
    };
    let result = json::read(open()?, &mut take);
    written?;
    result.map_err(|reason| ConvertError::Malformed { from: name, reason })
}

/// Reads a text line by line. The entry before each heading is written.
fn read_text(
    mut input: impl BufRead,
    file: &str,
    paths: &mut Paths,
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let mut open: Option<(String, String)> = None;
    let mut before = String::new();
    let mut bytes = Vec::new();
    let mut is_damaged = false;
    loop {
        bytes.clear();
        let read = input.read_until(b'\n', &mut bytes);
        let length = read.map_err(ConvertError::read(Path::new(file)))?;
        let line = String::from_utf8_lossy(&bytes);
        is_damaged |= line.contains('\u{fffd}');
        let line = line.trim_start_matches('\u{feff}');
        let next = heading(line);
        if (length == 0 || next.is_some())
            && let Some((time, text)) = open.take()
        {
            Entry::of_text(time, &text).write(file, paths, out)?;
        }
        if length == 0 {
            break;
        }
        match (next, &mut open) {
            (Some((time, text)), _) => open = Some((time, text.to_owned())),
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => before.push_str(line),
        }
    }
    if !before.trim().is_empty() {
        out.lost(file, "the text before its first entry has no time, and is not read")?;
    }
    if is_damaged {
        out.lost(file, "it has bytes that are not UTF-8; they are shown as \u{fffd}")?;
    }
    Ok(())
}
