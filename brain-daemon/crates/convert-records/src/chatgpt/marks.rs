//! Replaces the marks of ChatGPT's answers, which its own program shows as links.
//!
//! A mark is between U+E200 and U+E201, with U+E202 between its parts, or `【…】` in older answers.
//! The addresses are in the metadata of the message.

use std::collections::HashMap;

use serde_json::Value;

use crate::embedded::web_link;
use crate::json::{list, text};

const BEGIN: char = '\u{e200}';
const END: char = '\u{e201}';
const SEPARATOR: char = '\u{e202}';
/// The beginning of a mark of 2023 and 2024.
const OLDER: &str = ":contentReference[oaicite:";
/// All characters that ChatGPT uses for marks.
const MARKS: std::ops::RangeInclusive<char> = '\u{e200}'..='\u{e2ff}';

/// Returns the text of an answer with links for its marks.
pub(super) fn without_marks(message: &Value, answer: &str) -> String {
    if !answer.contains(|c: char| MARKS.contains(&c) || c == '【') && !answer.contains(OLDER) {
        return answer.to_owned();
    }
    let links = links(message, answer);
    let mut out = String::with_capacity(answer.len());
    let mut rest = answer;
    while let Some(at) = rest.find([BEGIN, '【']) {
        let (before, mark) = rest.split_at(at);
        out.push_str(before);
        let (begin, end) = if mark.starts_with(BEGIN) { (BEGIN, END) } else { ('【', '】') };
        // A mark is short and has no other mark in it.
        let inner = mark.strip_prefix(begin).unwrap_or_default();
        let length = inner.find([end, begin, '\n']).filter(|at| inner[*at..].starts_with(end));
        let Some(length) = length else {
            out.push(begin);
            rest = inner;
            continue;
        };
        let whole = &mark[..begin.len_utf8() + length + end.len_utf8()];
        match links.get(whole) {
            Some(link) => out.push_str(link),
            None if begin == BEGIN => out.push_str(&visible(&inner[..length])),
            None => out.push_str(&old_visible(whole)),
        }
        rest = &mark[whole.len()..];
    }
    out.push_str(rest);
    out.retain(|c| !MARKS.contains(&c));
    without_older(&out)
}

/// Removes `:contentReference[oaicite:0]{index=0}`, which stands for a link that is nowhere.
fn without_older(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OLDER) {
        let end = after.find('}').filter(|end| after[..*end].contains("]{index="));
        out.push_str(before);
        if end.is_none() {
            out.push_str(OLDER);
        }
        rest = &after[end.map_or(0, |end| end + 1)..];
    }
    out.push_str(rest);
    out
}

/// Returns what `【4:0†notes.pdf】` shows without a reference: the name of a file, or nothing for a
/// place in a source. Other text in such brackets stays.
fn old_visible(mark: &str) -> String {
    let inner = mark.trim_start_matches('【').trim_end_matches('】');
    let Some((number, name)) = inner.split_once('†') else { return mark.to_owned() };
    let is_number = |c: char| c.is_ascii_digit() || c == ':';
    if number.is_empty() || !number.chars().all(is_number) {
        return mark.to_owned();
    }
    let is_place = |name: &str| {
        let lines = name.strip_prefix('L').unwrap_or_default();
        name == "source" || lines.starts_with(|c: char| c.is_ascii_digit())
    };
    if name.is_empty() || is_place(name) { String::new() } else { format!("({name})") }
}

/// Returns what a mark without a reference shows: the name of an entity, a link, else nothing.
fn visible(inner: &str) -> String {
    let Some((kind, rest)) = inner.split_once(SEPARATOR) else { return String::new() };
    if kind == "url" {
        let (title, address) = rest.split_once(SEPARATOR).unwrap_or((rest, ""));
        return link(title, address).unwrap_or_else(|| title.to_owned());
    }
    if kind != "entity" {
        return String::new();
    }
    let parts: Value = serde_json::from_str(rest).unwrap_or_default();
    parts.get(1).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the markdown for each mark, from the metadata of a message.
fn links(message: &Value, answer: &str) -> HashMap<String, String> {
    let none = Value::Null;
    let metadata = message.get("metadata").unwrap_or(&none);
    let mut links = HashMap::new();
    for reference in list(metadata, "content_references") {
        let mark = text(reference, "matched_text");
        if !mark.starts_with([BEGIN, '【']) || links.contains_key(mark) {
            continue;
        }
        let mut shown: Vec<String> = Vec::new();
        for source in [reference].into_iter().chain(list(reference, "items")) {
            let link = link(text(source, "title"), text(source, "url"));
            shown.extend(link.filter(|link| !shown.contains(link)));
        }
        let name = match text(reference, "type") {
            "file" => text(reference, "name"),
            _ => "",
        };
        let entity = visible(mark.trim_start_matches(BEGIN).trim_end_matches(END));
        let fallback = if name.is_empty() { entity } else { format!("({name})") };
        let shown = if shown.is_empty() { fallback } else { shown.join(", ") };
        links.insert(mark.to_owned(), shown);
    }
    add_citations(metadata, answer, &mut links);
    links
}

/// Adds the references of older answers, which count characters.
fn add_citations(metadata: &Value, answer: &str, links: &mut HashMap<String, String>) {
    let citations = list(metadata, "citations");
    if citations.is_empty() {
        return;
    }
    let starts: Vec<usize> =
        answer.char_indices().map(|(at, _)| at).chain([answer.len()]).collect();
    for citation in citations {
        let place = |key: &str| {
            let number = citation.get(key).and_then(Value::as_u64)?;
            starts.get(usize::try_from(number).ok()?).copied()
        };
        let Some((start, end)) = place("start_ix").zip(place("end_ix")) else { continue };
        // The numbers are off in some files. Only a whole mark is replaced.
        let mark = answer.get(start..end).unwrap_or_default();
        let Some(source) = citation.get("metadata").filter(|_| is_old_mark(mark)) else { continue };
        let shown = link(text(source, "title"), text(source, "url"));
        if let Some(shown) = shown.or_else(|| Some(format!("({})", source.get("title")?.as_str()?)))
        {
            links.entry(mark.to_owned()).or_insert(shown);
        }
    }
}

fn is_old_mark(mark: &str) -> bool {
    mark.starts_with('【') && mark.ends_with('】') && mark.matches('【').count() == 1
}

fn link(title: &str, url: &str) -> Option<String> {
    let label = if title.trim().is_empty() { url } else { title };
    url.starts_with("http").then(|| web_link(label, url))
}
