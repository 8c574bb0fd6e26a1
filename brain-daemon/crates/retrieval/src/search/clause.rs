//! The clause of a link: the part of its sentence that says something about it. No I/O.
//!
//! In `[[Kate]], who led the seed round, and [[Sarah]], who joined later`, nothing says that Kate
//! joined. What stands before a link can be about it (`investors include [[Kate]] and [[Sarah]]`),
//! except a relative clause about an earlier link. What follows is about it up to the next comma,
//! or as a relative clause, a short apposition, or the end of a list of links.

use std::ops::Range;

use brain_search::each_word;

/// Marks that end a clause on both sides.
const BREAKS: [&str; 1] = [";"];
/// Marks between the parts of a clause.
const MARKS: [&str; 3] = [",", "—", " – "];
/// Words that begin a relative clause.
const RELATIVES: [&str; 20] = [
    "who", "which", "whose", "whom", "where", "der", "die", "das", "den", "dem", "dessen", "deren",
    "qui", "que", "dont", "quien", "quienes", "cuyo", "cuya", "donde",
];
/// Words before the last link of a list.
const AND: [&str; 7] = ["and", "und", "et", "y", "&", "as well as", "sowie"];
/// Maximum number of words of an apposition: `[[Ann]], its founder`.
const MAX_APPOSITION: usize = 4;

/// Returns the clause of the link whose target is written as `raw`. `is_about` returns whether a
/// word can continue what is said about a link: `[[Acme]], founded in 2020`. The whole sentence is
/// returned if it does not have the link.
pub(super) fn clause_of(sentence: &str, raw: &str, is_about: &dyn Fn(&str) -> bool) -> String {
    let links = links_in(sentence);
    let own = links.iter().find(|link| sentence[(*link).clone()].contains(raw)).cloned();
    let Some(link) = own else { return sentence.to_owned() };
    let is_inside = |at: usize| links.iter().any(|link| link.contains(&at));
    let breaks = |mark: &&str| {
        let found = sentence.match_indices(*mark).map(|(at, mark)| at..at + mark.len());
        found.filter(|range| !is_inside(range.start)).collect::<Vec<_>>()
    };
    let ends: Vec<Range<usize>> = BREAKS.iter().flat_map(breaks).collect();
    let from = ends.iter().rfind(|end| end.end <= link.start).map_or(0, |end| end.end);
    let to = ends.iter().find(|end| end.start >= link.end).map_or(sentence.len(), |end| end.start);
    let mut marks: Vec<Range<usize>> = MARKS.iter().flat_map(breaks).collect();
    marks.retain(|mark| from <= mark.start && mark.end <= to);
    marks.sort_by_key(|mark| mark.start);
    let starts = std::iter::once(from).chain(marks.iter().map(|mark| mark.end));
    let stops = marks.iter().map(|mark| mark.start).chain([to]);
    let parts: Vec<Range<usize>> = starts.zip(stops).map(|(start, stop)| start..stop).collect();
    let Some(at) = parts.iter().position(|part| part.contains(&link.start)) else {
        return sentence.to_owned();
    };
    let text = |part: &Range<usize>| sentence[part.clone()].trim();
    let ends_with_link = |part: &Range<usize>| {
        links.iter().filter(|link| part.contains(&link.start)).any(|link| {
            let rest = sentence.get(link.end..part.end).unwrap_or_default();
            rest.trim_matches(['.', ' ', '*']).is_empty()
        })
    };
    let mut clause: Vec<&str> = Vec::new();
    for (number, part) in parts[..=at].iter().enumerate() {
        let is_of_other = number > 0
            && number < at
            && is_relative(text(part))
            && ends_with_link(&parts[number - 1]);
        if !is_of_other {
            clause.push(text(part));
        }
    }
    let mut last = at;
    while ends_with_link(&parts[last])
        && let Some(next) = parts.get(last + 1)
        && begins_with_link(text(next))
    {
        clause.push(text(next));
        last += 1;
    }
    if last == at
        && ends_with_link(&parts[at])
        && let Some(next) = parts.get(at + 1).map(text)
        && (is_relative(next) || is_apposition(next) || is_about(&first_word(next)))
    {
        clause.push(next);
    }
    clause.join(", ")
}

/// Returns the byte ranges of the links of a text, with their targets.
fn links_in(text: &str) -> Vec<Range<usize>> {
    let mut links = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('[').map(|found| at + found) {
        let rest = &text[open..];
        let end = match rest.starts_with("[[") {
            true => rest.find("]]").map(|end| end + 2),
            false => rest.find("](").and_then(|middle| {
                let close = rest[middle..].find(')')?;
                Some(middle + close + 1)
            }),
        };
        at = open + end.unwrap_or(1);
        links.extend(end.map(|end| open..open + end));
    }
    links
}

fn begins_with_link(text: &str) -> bool {
    let rest = AND.iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text);
    rest.trim_start().starts_with('[')
}

fn is_relative(text: &str) -> bool {
    RELATIVES.contains(&first_word(text).as_str())
}

/// Returns whether a text only says what the link before it is: `its founder`.
fn is_apposition(text: &str) -> bool {
    let mut count = 0;
    each_word(text, &mut |_| count += 1);
    count <= MAX_APPOSITION && !text.contains('[')
}

fn first_word(text: &str) -> String {
    let mut first = String::new();
    each_word(text, &mut |word| {
        if first.is_empty() {
            word.clone_into(&mut first);
        }
    });
    first
}

/// Returns the text without the participle `founding` before a noun: a founding engineer founded
/// nothing.
pub(super) fn without_attributes(sentence: &str) -> String {
    const WORD: &str = "founding ";
    // Words after which `founding` is a verb: `founding the firm`.
    const AFTER_VERB: [&str; 14] = [
        "the", "a", "an", "of", "his", "her", "their", "its", "this", "that", "and", "in", "two",
        "with",
    ];
    let mut out = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some(at) = rest.to_ascii_lowercase().find(WORD) {
        let after = &rest[at + WORD.len()..];
        let is_attribute = after.starts_with(char::is_lowercase)
            && !AFTER_VERB
                .contains(&first_word(after.split(' ').next().unwrap_or_default()).as_str());
        let keep = if is_attribute { at } else { at + WORD.len() };
        out.push_str(&rest[..keep]);
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_says_something_about_its_link() {
        let clause = |sentence: &str, raw: &str| {
            clause_of(sentence, raw, &|word| {
                word.starts_with("found") || word.starts_with("invest")
            })
        };
        for (sentence, raw, has, lacks) in [
            (
                "Investors include [[Kate]], who led the round, and [[Sarah]], who joined later",
                "Kate",
                "led",
                "joined",
            ),
            (
                "Investors include [[Kate]], who led the round, and [[Sarah]], who joined later",
                "Sarah",
                "joined",
                "led",
            ),
            (
                "Colleagues believed in [Quantum](companies/quantum), both as angel investors and as \
              customers",
                "companies/quantum",
                "Colleagues",
                "investors",
            ),
            (
                "When [[Acme]] hit a wall, he traced the problem back to a bug",
                "Acme",
                "wall",
                "back",
            ),
            ("[[Ann]] joined as advisor; [[Bo]] invested", "Ann", "advisor", "invested"),
            ("[[Ann]] joined as advisor; [[Bo]] invested", "Bo", "invested", "advisor"),
        ] {
            let found = clause(sentence, raw);
            assert!(found.contains(has) && !found.contains(lacks), "{sentence}: {found}");
        }
        for (sentence, raw, has) in [
            ("Backed by angels such as [[Ann]], [[Bo]], and [[Cy]]", "Cy", "Backed"),
            ("[[Ann]], [[Bo]] and [[Cy]] invested", "Ann", "invested"),
            ("[[Acme]], founded in 2020 by two friends of hers, makes robots", "Acme", "founded"),
            ("[[Ann]], its founder, smiled", "Ann", "founder"),
            ("[[Acme]], which she founded in 2020 with a friend, grew", "Acme", "founded"),
        ] {
            assert!(clause(sentence, raw).contains(has), "{sentence}: {}", clause(sentence, raw));
        }
        assert_eq!(clause("No link here", "Ann"), "No link here");
        assert_eq!(clause("[open and [[Ann", "Ann"), "[open and [[Ann");
    }

    #[test]
    fn founding_before_a_noun_is_no_founding() {
        for (sentence, expected) in [
            ("Joined [[Acme]] as founding engineer", "Joined [[Acme]] as engineer"),
            ("before founding the firm", "before founding the firm"),
            ("after founding [[Acme]]", "after founding [[Acme]]"),
        ] {
            assert_eq!(without_attributes(sentence), expected);
        }
    }
}
