//! What models answer, read with patience: behind a code fence, after a preamble, in other shapes than the one that was asked for, or cut in
//! the middle. What is whole counts. Pure.

use brain_protocol::Scores;
use serde_json::{Map, Value};

/// The longest answer that is looked at, in bytes.
const MOST: usize = 256 * 1024;
/// How many beginnings of values without an end are tried.
const TRIES: usize = 500;
/// How deep values may lie in each other.
const DEPTH: usize = 6;
/// The longest idea and note that are kept, in characters.
const IDEA: usize = 2000;
const NOTE: usize = 300;

/// What a judge says of one idea.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict {
    /// The idea's number in the question, from 1.
    pub(super) number: usize,
    pub(super) scores: Scores,
    pub(super) note: String,
}

/// At most `most` ideas of an answer, each once.
pub(super) fn ideas(answer: &str, most: usize) -> Vec<String> {
    let answer = bounded(answer);
    let mut found = Vec::new();
    for value in values(answer) {
        gather_ideas(&value, 0, &mut found);
    }
    if found.is_empty() {
        found = cut_list(answer);
    }
    if found.is_empty() {
        found = lines(answer);
    }
    let mut ideas: Vec<String> = Vec::new();
    for idea in found {
        let idea = tidy(&idea, IDEA);
        if !idea.is_empty() && !ideas.contains(&idea) {
            ideas.push(idea);
        }
    }
    ideas.truncate(most);
    ideas
}

/// The verdicts of an answer on `asked` ideas, each number once; the first word on an idea counts.
pub(super) fn verdicts(answer: &str, asked: usize) -> Vec<Verdict> {
    let mut found = Vec::new();
    for value in values(bounded(answer)) {
        gather_verdicts(&value, None, 0, &mut found);
    }
    // Without any number they stand in the order of the ideas, if none is missing.
    if found.len() == asked && found.iter().all(|(number, _, _)| number.is_none()) {
        found.iter_mut().enumerate().for_each(|(at, verdict)| verdict.0 = Some(at + 1));
    }
    let mut verdicts: Vec<Verdict> = Vec::new();
    for (number, scores, note) in found {
        let Some(number) = number.filter(|number| (1..=asked).contains(number)) else { continue };
        if verdicts.iter().all(|verdict| verdict.number != number) {
            verdicts.push(Verdict { number, scores, note });
        }
    }
    verdicts
}

/// A model's words, at most `most` characters, without what a terminal obeys and a page does not take: the store refuses a NUL as no text.
fn tidy(text: &str, most: usize) -> String {
    let steers = |c: &char| c.is_control() && !matches!(c, '\n' | '\t');
    let text: String = text.chars().filter(|c| !steers(c)).collect();
    text.trim().chars().take(most).collect()
}

fn bounded(answer: &str) -> &str {
    &answer[..answer.floor_char_boundary(MOST)]
}

/// The objects and lists that are whole, outermost ones only. Of one that was cut, those inside.
fn values(text: &str) -> Vec<Value> {
    let (mut out, mut at, mut tries) = (Vec::new(), 0, 0);
    while tries < TRIES
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
                tries += 1;
                start + 1
            }
        };
    }
    out
}

/// The end of the string, object or list that begins at `start`; `None` when it has none.
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

/// Texts under `ideas`, in objects that have one, or in a bare list.
fn gather_ideas(value: &Value, depth: usize, out: &mut Vec<String>) {
    match value {
        _ if depth > DEPTH => {}
        Value::Array(list) => {
            for one in list {
                match one {
                    Value::String(text) => out.push(text.clone()),
                    other => gather_ideas(other, depth + 1, out),
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
                gather_ideas(value, depth + 1, out);
            });
        }
        _ => {}
    }
}

/// The whole texts of a list of texts that was cut.
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

/// The lines of a numbered or bulleted list, for models that know no JSON. Lines that follow belong to the item.
fn lines(text: &str) -> Vec<String> {
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

fn gather_verdicts(
    value: &Value,
    key: Option<&str>,
    depth: usize,
    out: &mut Vec<(Option<usize>, Scores, String)>,
) {
    match value {
        _ if depth > DEPTH => {}
        Value::Array(list) => {
            list.iter().for_each(|one| gather_verdicts(one, None, depth + 1, out))
        }
        Value::Object(map) => {
            let inner = get(map, "scores").or_else(|| get(map, "judge")).and_then(Value::as_object);
            if let Some(scores) = scores(map).or_else(|| scores(inner?)) {
                let number =
                    ["id", "idea", "number", "n"].iter().find_map(|name| whole(get(map, name)?));
                let number = number.or_else(|| key?.trim().parse().ok());
                let note = ["note", "reason", "why", "comment"]
                    .iter()
                    .find_map(|name| get(map, name)?.as_str());
                out.push((number, scores, tidy(note.unwrap_or_default(), NOTE)));
                return;
            }
            map.iter().for_each(|(key, value)| gather_verdicts(value, Some(key), depth + 1, out));
        }
        _ => {}
    }
}

/// All five axes, however their names are written.
fn scores(map: &Map<String, Value>) -> Option<Scores> {
    let of = |name| score(get(map, name)?);
    Some(Scores {
        originality: of("originality")?,
        resistance: of("resistance")?,
        thesis: of("thesis")?,
        grounding: of("grounding")?,
        load_bearing: of("loadbearing")?,
    })
}

/// The value under a name, without regard to case, `-` and `_`.
fn get<'v>(map: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    let plain = |key: &str| -> String {
        key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    map.iter().find(|(key, _)| plain(key) == name).map(|(_, value)| value)
}

/// A score from 1 to 5: a number, or a text such as `4` and `4/5`. Others are none: a scale of ten is not guessed at.
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

/// A number from 1, as a number or a text such as `3` and `#3`.
fn whole(value: &Value) -> Option<usize> {
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
    fn ideas_are_found_in_every_shape() {
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
        for none in
            ["", "I would rather not.", "{\"ideas\": []}", "{\"ideas\": [\"Thr", "{{{{", "[1, 2]"]
        {
            assert_eq!(ideas(none, 3), Vec::<String>::new(), "{none}");
        }
    }

    fn one(id: &str) -> String {
        format!(
            r#"{{{id} "originality": 4, "resistance": 3.5, "thesis": 4, "grounding": 2, "load_bearing": 5, "note": "so"}}"#
        )
    }

    fn numbers(answer: &str, asked: usize) -> Vec<usize> {
        verdicts(answer, asked).into_iter().map(|verdict| verdict.number).collect()
    }

    #[test]
    fn verdicts_are_found_in_every_shape() {
        let both = [one(r#""id": 1,"#), one(r#""id": 2,"#)].join(", ");
        let (first, second) = (one(""), one(""));
        for answer in [
            format!(r#"{{"scores": [{both}]}}"#),
            format!("```json\n[{both}]\n```"),
            format!("Sure! {both}"),
            format!(r#"{{"1": {first}, "2": {second}}}"#),
            format!(r#"{{"scores": [{first}, {second}]}}"#),
            format!(r#"[{}, {}]"#, one(r##""id": "#1","##), one(r#""idea": "2","#)),
            format!(
                r#"{{"ideas": [{{"id": 1, "scores": {first}}}, {{"id": 2, "scores": {second}}}]}}"#
            ),
            both.replace("load_bearing", "Load-Bearing").replace("3.5", "\"3.5/5\""),
        ] {
            assert_eq!(numbers(&answer, 2), [1, 2], "{answer}");
        }
        let verdict = verdicts(&one(r#""id": 1,"#), 1).remove(0);
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
    fn a_cut_answer_keeps_what_is_whole() {
        let all = format!(
            r#"{{"scores": [{}, {}, {}]}}"#,
            one(r#""id": 1,"#),
            one(r#""id": 2,"#),
            one(r#""id": 3,"#)
        );
        let third = all.rfind('{').unwrap();
        for end in third..all.len() - 3 {
            assert_eq!(numbers(&all[..end], 3), [1, 2], "{}", &all[..end]);
        }
    }

    #[test]
    fn what_nobody_asked_for_counts_not() {
        let ten = one(r#""id": 1,"#).replace("3.5", "8");
        assert!(numbers(&ten, 1).is_empty(), "another scale");
        assert!(numbers(&one(r#""id": 7,"#), 3).is_empty());
        assert!(numbers(&one(r#""id": 0,"#), 3).is_empty());
        assert!(numbers(&one(""), 3).is_empty(), "whose it is cannot be told");
        assert!(numbers(&one(r#""id": 1,"#).replace("\"thesis\": 4,", ""), 1).is_empty());
        let twice = [one(r#""id": 1,"#), one(r#""id": 1,"#).replace("so", "no")].join(",");
        assert_eq!(verdicts(&twice, 2).into_iter().map(|v| v.note).collect::<Vec<_>>(), ["so"]);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_harm(answer in "[\\[\\]{}\",:a-z0-9 \\\\\\n知]{0,200}") {
            prop_assert!(ideas(&answer, 4).len() <= 4);
            prop_assert!(verdicts(&answer, 12).len() <= 12);
        }
    }
}
