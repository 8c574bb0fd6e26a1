//! The line of a task: `- [ ] Title (due 2026-11-05; priority A)`.

use super::document::Section;
use super::inline::inline;
use super::scope::Scope;

/// Returns the task that a heading is, or `None` if it has no keyword.
pub(super) fn task(section: &Section<'_>, scope: &mut Scope<'_>) -> Option<String> {
    let state = section.state.as_ref()?;
    let mut facts = Vec::new();
    if state.name != "TODO" && state.name != "DONE" {
        facts.push(state.name.clone());
    }
    facts.extend(planning(section));
    if let Some(priority) = section.priority {
        facts.push(format!("priority {priority}"));
    }
    let mark = if state.is_done { 'x' } else { ' ' };
    let title = match inline(section.title, scope).trim() {
        "" => "Untitled task".to_owned(),
        title => title.to_owned(),
    };
    let facts = match facts.is_empty() {
        true => String::new(),
        false => format!(" ({})", facts.join("; ")),
    };
    Some(format!("- [{mark}] {title}{facts}{}", tags(section)))
}

/// Returns when a heading is due, scheduled and closed.
pub(super) fn planning(section: &Section<'_>) -> Vec<String> {
    let name = |key: &str| match key {
        "DEADLINE" => "due",
        "SCHEDULED" => "scheduled",
        _ => "closed",
    };
    section.planning.iter().map(|(key, stamp)| format!("{} {}", name(key), time(stamp))).collect()
}

/// Returns a timestamp without its brackets and its day of the week.
pub(super) fn time(stamp: &str) -> String {
    let inner = stamp.trim_matches(['<', '>', '[', ']']);
    let mut words = Vec::new();
    for word in inner.split_whitespace() {
        let is_repeater = ["+", ".+", "-"].iter().any(|start| word.starts_with(start));
        if is_repeater && word.starts_with('-') {
            words.push(format!("warning {}", word.trim_start_matches('-')));
        } else if is_repeater {
            words.push(format!("repeats {word}"));
        } else if !word.chars().all(|c| c.is_alphabetic() || c == '.') {
            words.push(word.to_owned());
        }
    }
    brain_page::escape_inline(&brain_page::single_line(&words.join(" ")))
}

/// Returns the tags of a heading as they follow it.
pub(super) fn tags(section: &Section<'_>) -> String {
    let mut out = String::new();
    for tag in &section.tags {
        let is_plain = tag.chars().all(|c| c.is_alphanumeric() || c == '_')
            && tag.contains(|c: char| c.is_alphabetic());
        out.push(' ');
        match is_plain {
            true => out.push_str(&format!("#{tag}")),
            false => out.push_str(&brain_convert_base::literal_part(&format!(":{tag}:"))),
        }
    }
    out
}
