//! Values that a page states in a line of its text: `Lead: [[Ann]]`, `- **Status:** on hold`. No
//! I/O.

use super::folded_words;
use super::names_in_text::{link_in, list_item, split_names};

/// Maximum number of words of a label and of a value. A longer text is a sentence.
const MAX_LABEL_WORDS: usize = 3;
const MAX_VALUE_WORDS: usize = 8;

/// Returns the labels of the lines of `body` with their values, in order.
pub(super) fn labelled_values(body: &str) -> Vec<(&str, Vec<String>)> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in body.lines().map(str::trim) {
        is_code ^= line.starts_with("```");
        if !is_code && !line.starts_with(['#', '>', '|']) {
            found.extend(labelled_value(list_item(line).unwrap_or(line)));
        }
    }
    found
}

fn labelled_value(line: &str) -> Option<(&str, Vec<String>)> {
    const MARKS: [char; 4] = ['*', '_', ' ', ':'];
    let (label, value) = line.split_once(':')?;
    // `12:30`, `https://…`
    let is_mark = value.starts_with([' ', '*', '_', ':']);
    let (label, value) = (label.trim_matches(MARKS), value.trim_matches(MARKS));
    let is_label = (1..=MAX_LABEL_WORDS).contains(&folded_words(label).len());
    if !is_mark || !is_label || label.contains(['[', '`']) || value.is_empty() {
        return None;
    }
    let values = match link_in(value) {
        Some(_) => split_names(value),
        None => vec![value.to_owned()],
    };
    let is_value =
        |value: &String| link_in(value).is_some() || folded_words(value).len() <= MAX_VALUE_WORDS;
    values.iter().all(is_value).then_some((label, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_label_have_values() {
        let body = "Lead: [Ann](people/ann)\n\n- **Status:** on hold\nOwners: [[Ann]], [[Bo]]\n\
            budget:: 300\n\nSome text: it goes on and on for a while and says nothing at all.\n\
            https://example.com\n12:30 lunch\n```\nkey: value\n```\n";
        let found = labelled_values(body);
        let labels: Vec<(&str, usize)> =
            found.iter().map(|(label, values)| (*label, values.len())).collect();
        assert_eq!(labels, [("Lead", 1), ("Status", 1), ("Owners", 2), ("budget", 1)]);
        assert_eq!(found[1].1, ["on hold"]);
    }
}
