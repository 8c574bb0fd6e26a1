//! Parses model answers leniently: code fences, preambles, other shapes, cut texts. No I/O.
//!
//! Uses the complete parts of an incomplete answer.

use brain_protocol::Scores;
use serde_json::{Map, Value};

/// Maximum length of a parsed answer, in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// Maximum number of values without valid JSON before the search for values ends.
const MAX_FAILURES: usize = 500;
/// Maximum nesting depth of values that are read.
const MAX_DEPTH: usize = 6;
/// Maximum length of an idea, in characters.
const MAX_IDEA_CHARS: usize = 2000;
/// Maximum length of a judge's note, in characters.
const MAX_NOTE_CHARS: usize = 300;

/// The judge's scores for one idea.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IdeaScores {
    /// The idea's number in the question, from 1.
    pub(super) number: usize,
    pub(super) scores: Scores,
    pub(super) note: String,
}

/// A verdict as the answer has it, perhaps without the number of its idea.
struct ParsedVerdict {
    number: Option<usize>,
    scores: Scores,
    note: String,
}

/// Returns at most `max` distinct ideas of an answer.
pub(super) fn ideas(answer: &str, max: usize) -> Vec<String> {
    let answer = truncated(answer);
    let mut found = Vec::new();
    for value in values(answer) {
        collect_ideas(&value, 0, &mut found);
    }
    if found.is_empty() {
        found = cut_list(answer);
    }
    if found.is_empty() {
        found = list_items(answer);
    }
    let mut ideas: Vec<String> = Vec::new();
    for idea in found {
        let idea = clean(&idea, MAX_IDEA_CHARS);
        if !idea.is_empty() && !ideas.contains(&idea) {
            ideas.push(idea);
        }
    }
    ideas.truncate(max);
    ideas
}

/// Returns at most one verdict on each of `idea_count` ideas: the first one in the answer.
pub(super) fn verdicts(answer: &str, idea_count: usize) -> Vec<IdeaScores> {
    let mut found = Vec::new();
    for value in values(truncated(answer)) {
        collect_verdicts(&value, None, 0, &mut found);
    }
    // Without numbers, a complete list is in the order of the ideas.
    if found.len() == idea_count && found.iter().all(|verdict| verdict.number.is_none()) {
        found.iter_mut().enumerate().for_each(|(at, verdict)| verdict.number = Some(at + 1));
    }
    let mut verdicts: Vec<IdeaScores> = Vec::new();
    for ParsedVerdict { number, scores, note } in found {
        let Some(number) = number.filter(|number| (1..=idea_count).contains(number)) else {
            continue;
        };
        if verdicts.iter().all(|verdict| verdict.number != number) {
            verdicts.push(IdeaScores { number, scores, note });
        }
    }
    verdicts
}

/// Cuts a model's text to `max` characters. Removes control characters except line breaks and tabs,
/// because the store rejects them and terminals interpret them.
fn clean(text: &str, max: usize) -> String {
    let is_control = |c: &char| c.is_control() && !matches!(c, '\n' | '\t');
    let text: String = text.chars().filter(|c| !is_control(c)).collect();
    text.trim().chars().take(max).collect()
}

fn truncated(answer: &str) -> &str {
    &answer[..answer.floor_char_boundary(MAX_ANSWER_BYTES)]
}

/// Returns the outermost complete objects and lists. If a value is cut off, returns the complete
/// values inside it.
fn values(text: &str) -> Vec<Value> {
    let (mut out, mut at, mut failures) = (Vec::new(), 0, 0);
    while failures < MAX_FAILURES
        && let Some(start) = text[at..].find(['{', '[']).map(|found| at + found)
    {
        let value = end_of(text, start)
            .and_then(|end| Some((end, serde_json::from_str(&text[start..end]).ok()?)));
        at = match value {
            Some((end, value)) => {
                out.push(value);
                end
            }
            None => {
                failures += 1;
                start + 1
            }
        };
    }
    out
}

/// Returns the end of the string, object or list that begins at `start`, or `None` if the value is
/// not closed.
fn end_of(text: &str, start: usize) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !quoted {
            return Some(at + 1);
        }
    }
    None
}

/// Collects ideas: strings in lists, objects with a text, and strings under numbers as keys.
fn collect_ideas(value: &Value, depth: usize, out: &mut Vec<String>) {
    match value {
        _ if depth > MAX_DEPTH => {}
        Value::Array(list) => {
            for element in list {
                match element {
                    Value::String(text) => out.push(text.clone()),
                    other => collect_ideas(other, depth + 1, out),
                }
            }
        }
        Value::Object(map) => {
            let text = ["idea", "text", "content", "description"]
                .iter()
                .find_map(|name| get(map, name)?.as_str());
            if let Some(text) = text {
                let title = get(map, "title")
                    .and_then(Value::as_str)
                    .filter(|title| !title.trim().is_empty());
                out.push(title.map_or_else(|| text.to_owned(), |title| format!("{title}: {text}")));
                return;
            }
            let numbered = map.iter().filter(|(key, value)| is_number(key) && value.is_string());
            out.extend(numbered.filter_map(|(_, value)| value.as_str().map(str::to_owned)));
            map.values().filter(|value| value.is_array() || value.is_object()).for_each(|value| {
                collect_ideas(value, depth + 1, out);
            });
        }
        _ => {}
    }
}

/// Returns the complete strings of the first list, which may be cut.
fn cut_list(text: &str) -> Vec<String> {
    let Some(start) = text.find('[') else { return Vec::new() };
    let (mut out, mut at) = (Vec::new(), start + 1);
    while let Some(found) =
        text[at..].find(|c: char| !c.is_whitespace() && c != ',').map(|found| at + found)
        && text[found..].starts_with('"')
        && let Some(end) = end_of(text, found)
    {
        out.extend(serde_json::from_str::<String>(&text[found..end]).ok());
        at = end;
    }
    out
}

/// Returns the items of a numbered or bulleted list with their continuation lines.
fn list_items(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim) {
        let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let item = match digits.len() < line.len() {
            true => digits.strip_prefix(['.', ')']),
            false => line.strip_prefix(['-', '*', '•']),
        };
        match (item.and_then(|item| item.strip_prefix(' ')), out.last_mut()) {
            (Some(item), _) => out.push(item.trim().to_owned()),
            (None, Some(last)) if !line.is_empty() && !line.starts_with("```") => {
                last.push(' ');
                last.push_str(line);
            }
            _ => {}
        }
    }
    out
}

/// Collects objects with all scores. `key` is the key of `value` in its object: the number of the
/// idea, if the verdict itself has none.
fn collect_verdicts(value: &Value, key: Option<&str>, depth: usize, out: &mut Vec<ParsedVerdict>) {
    match value {
        _ if depth > MAX_DEPTH => {}
        Value::Array(list) => {
            list.iter().for_each(|element| collect_verdicts(element, None, depth + 1, out));
        }
        Value::Object(map) => {
            let inner = get(map, "scores").or_else(|| get(map, "judge")).and_then(Value::as_object);
            if let Some(scores) = scores(map).or_else(|| scores(inner?)) {
                let number = ["id", "idea", "number", "n"]
                    .iter()
                    .find_map(|name| parse_number(get(map, name)?));
                let number = number.or_else(|| key?.trim().parse().ok());
                let note = ["note", "reason", "why", "comment"]
                    .iter()
                    .find_map(|name| get(map, name)?.as_str());
                let note = clean(note.unwrap_or_default(), MAX_NOTE_CHARS);
                out.push(ParsedVerdict { number, scores, note });
                return;
            }
            map.iter().for_each(|(key, value)| collect_verdicts(value, Some(key), depth + 1, out));
        }
        _ => {}
    }
}

/// Returns the scores on all five axes, or `None` if one is missing or invalid.
fn scores(map: &Map<String, Value>) -> Option<Scores> {
    let axis = |name| score(get(map, name)?);
    Some(Scores {
        originality: axis("originality")?,
        resistance: axis("resistance")?,
        thesis: axis("thesis")?,
        grounding: axis("grounding")?,
        load_bearing: axis("loadbearing")?,
    })
}

/// Looks up a key, ignoring case and characters such as `-` and `_`. `name` is lower case.
fn get<'v>(map: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    let plain = |key: &str| -> String {
        key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    map.iter().find(|(key, _)| plain(key) == name).map(|(_, value)| value)
}

/// Parses a score from 1 to 5: a JSON number, or a string such as `4` or `4/5`. Returns `None` for
/// a number outside this range.
fn score(value: &Value) -> Option<f32> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => {
            let text = text.trim();
            text.strip_suffix("/5").unwrap_or(text).trim().parse().ok()?
        }
        _ => return None,
    };
    (1.0..=5.0).contains(&number).then_some(number as f32)
}

/// Parses the number of an idea: a JSON number, or a string such as `3`, `#3` or `idea 3`.
fn parse_number(value: &Value) -> Option<usize> {
    match value {
        Value::Number(number) => number.as_u64().and_then(|number| number.try_into().ok()),
        Value::String(text) => {
            text.trim().trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()
        }
        _ => None,
    }
}

fn is_number(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ideas_are_parsed_in_every_shape() {
        for answer in [
            r#"{"ideas": ["One.", "Two."]}"#,
            "```json\n{\"ideas\": [\"One.\", \"Two.\"]}\n```",
            "Here you are:\n\n{\"ideas\": [{\"idea\": \"One.\"}, {\"text\": \"Two.\"}]}\nHave fun!",
            r#"["One.", "Two.", "One."]"#,
            r#"{"result": {"Ideas": ["One.", " Two. "]}}"#,
            r#"{"1": "One.", "2": "Two."}"#,
            r#"{"ideas": ["One.", "Two.", "Thr"#,
            r#"{"ideas": [{"text": "One."}, {"text": "Two."}, {"text": "Thr"#,
            "1. One.\n2) Two.",
            "Ideas:\n- One.\n\n- Two.",
        ] {
            assert_eq!(ideas(answer, 3), ["One.", "Two."], "{answer}");
        }
        assert_eq!(ideas(r#"{"ideas": ["a", "b", "c", "d"]}"#, 3), ["a", "b", "c"]);
        assert_eq!(ideas(r#"{"ideas": [{"title": "T", "idea": "I"}]}"#, 3), ["T: I"]);
        assert_eq!(ideas("1. A long\none.\n2. B", 3), ["A long one.", "B"]);
        assert_eq!(ideas(r#"{"ideas": ["He said \"no [yet]\"."]}"#, 3), ["He said \"no [yet]\"."]);
        assert_eq!(
            ideas("{\"ideas\": [\"A\\u0000\\u001b[2J\\u0085b\\n知\", \"\\u0007\"]}", 3),
            ["A[2Jb\n知"]
        );
        for unusable in
            ["", "I would rather not.", "{\"ideas\": []}", "{\"ideas\": [\"Thr", "{{{{", "[1, 2]"]
        {
            assert_eq!(ideas(unusable, 3), Vec::<String>::new(), "{unusable}");
        }
    }

    /// Returns a verdict as JSON. `id` is empty, or a JSON member with a comma.
    fn verdict_json(id: &str) -> String {
        format!(
            "{{{id} \"originality\": 4, \"resistance\": 3.5, \"thesis\": 4, \
             \"grounding\": 2, \"load_bearing\": 5, \"note\": \"so\"}}"
        )
    }

    fn numbers(answer: &str, idea_count: usize) -> Vec<usize> {
        verdicts(answer, idea_count).into_iter().map(|verdict| verdict.number).collect()
    }

    #[test]
    fn verdicts_are_parsed_in_every_shape() {
        let both = [verdict_json(r#""id": 1,"#), verdict_json(r#""id": 2,"#)].join(", ");
        let (first, second) = (verdict_json(""), verdict_json(""));
        for answer in [
            format!(r#"{{"scores": [{both}]}}"#),
            format!("```json\n[{both}]\n```"),
            format!("Sure! {both}"),
            format!(r#"{{"1": {first}, "2": {second}}}"#),
            format!(r#"{{"scores": [{first}, {second}]}}"#),
            format!(
                r#"[{}, {}]"#,
                verdict_json(r##""id": "#1","##),
                verdict_json(r#""idea": "2","#)
            ),
            format!(
                r#"{{"ideas": [{{"id": 1, "scores": {first}}}, {{"id": 2, "scores": {second}}}]}}"#
            ),
            both.replace("load_bearing", "Load-Bearing").replace("3.5", "\"3.5/5\""),
        ] {
            assert_eq!(numbers(&answer, 2), [1, 2], "{answer}");
        }
        let verdict = verdicts(&verdict_json(r#""id": 1,"#), 1).remove(0);
        let scores = Scores {
            originality: 4.0,
            resistance: 3.5,
            thesis: 4.0,
            grounding: 2.0,
            load_bearing: 5.0,
        };
        assert_eq!((verdict.scores, verdict.note.as_str()), (scores, "so"));
    }

    #[test]
    fn cut_answer_keeps_complete_verdicts() {
        let all = format!(
            r#"{{"scores": [{}, {}, {}]}}"#,
            verdict_json(r#""id": 1,"#),
            verdict_json(r#""id": 2,"#),
            verdict_json(r#""id": 3,"#)
        );
        let third = all.rfind('{').unwrap();
        for end in third..all.len() - 3 {
            assert_eq!(numbers(&all[..end], 3), [1, 2], "{}", &all[..end]);
        }
    }

    #[test]
    fn invalid_and_unrequested_verdicts_are_ignored() {
        let out_of_ten = verdict_json(r#""id": 1,"#).replace("3.5", "8");
        assert!(numbers(&out_of_ten, 1).is_empty(), "another scale");
        assert!(numbers(&verdict_json(r#""id": 7,"#), 3).is_empty());
        assert!(numbers(&verdict_json(r#""id": 0,"#), 3).is_empty());
        assert!(numbers(&verdict_json(""), 3).is_empty(), "the verdict names no idea");
        assert!(numbers(&verdict_json(r#""id": 1,"#).replace("\"thesis\": 4,", ""), 1).is_empty());
        let first = verdict_json(r#""id": 1,"#);
        let twice = [first.clone(), first.replace("so", "no")].join(",");
        assert_eq!(verdicts(&twice, 2).into_iter().map(|v| v.note).collect::<Vec<_>>(), ["so"]);
    }

    proptest! {
        #[test]
        fn any_answer_is_parsed_without_panic(answer in "[\\[\\]{}\",:a-z0-9 \\\\\\n知]{0,200}") {
            prop_assert!(ideas(&answer, 4).len() <= 4);
            prop_assert!(verdicts(&answer, 12).len() <= 12);
        }
    }
}
