//! Turns a tool's output into an MCP result, and limits its size.

use brain_protocol::{Fault, FaultCode};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

/// The maximum size of an answer, in bytes of JSON: about 20,000 tokens in any script.
pub(super) const MAX_ANSWER: usize = 80_000;
/// The size of an answer if the call does not ask for more, in bytes of JSON. A result has the
/// answer twice, and one client replaces a result of more than about 20 KB by its first 500
/// characters.
pub(super) const DEFAULT_ANSWER: usize = 9_700;

/// Returns `answer` as structured content and as text. Some clients pass on only the structured
/// content, others only the text.
///
/// The field `page_text` of the answer is a block of text of its own, after the block with the
/// other fields, so that it keeps its line breaks: some clients shorten results by whole lines.
///
/// # Errors
/// [`FaultCode::TooLarge`] if `answer` exceeds [`MAX_ANSWER`]; tools shorten their output before.
/// [`FaultCode::Internal`] if `answer` cannot be serialized.
pub(super) fn to_result(
    answer: &impl Serialize,
    page_text: Option<&str>,
) -> Result<CallToolResult, Fault> {
    let size = json_len(answer);
    if size > MAX_ANSWER {
        let message = format!("the answer would have {size} bytes, more than {MAX_ANSWER}");
        return Err(Fault::new(FaultCode::TooLarge, message)
            .hint("request less: a lower limit, or a part of the page"));
    }
    let value = serde_json::to_value(answer)
        .map_err(|error| Fault::new(FaultCode::Internal, error.to_string()))?;
    let mut fields = value.clone();
    let text = page_text.and_then(|name| fields.as_object_mut()?.remove(name));
    let mut first = to_lines(&fields);
    let mut blocks = Vec::with_capacity(2);
    if let Some(Value::String(text)) = text
        && !text.is_empty()
    {
        // Some clients join blocks with nothing between them.
        first.push('\n');
        blocks.push(ContentBlock::text(text));
    }
    blocks.insert(0, ContentBlock::text(first));
    let mut result = CallToolResult::success(blocks);
    result.structured_content = Some(value);
    Ok(result)
}

/// Returns an object as JSON with one field on each line, and one row of a list on each line. Lists
/// are last, so that what stands beside them, such as a cursor, is read before them.
fn to_lines(value: &Value) -> String {
    let Value::Object(fields) = value else { return value.to_string() };
    let (lists, plain): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, it)| it.is_array());
    let lines: Vec<String> = plain
        .into_iter()
        .chain(lists)
        .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), rows_to_lines(value)))
        .collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}

/// Returns a list with one row on each line, and another value on one line.
fn rows_to_lines(value: &Value) -> String {
    match value {
        Value::Array(rows) if !rows.is_empty() => {
            let rows: Vec<String> = rows.iter().map(Value::to_string).collect();
            format!("[\n{}\n]", rows.join(",\n"))
        }
        other => other.to_string(),
    }
}

/// Returns the size of `value` as JSON, in bytes; [`MAX_ANSWER`] if it cannot be serialized.
pub(super) fn json_len(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(MAX_ANSWER, |text| text.len())
}

/// Returns the size of a character in a JSON string, in bytes, as serde_json writes it (RFC 8259
/// section 7).
pub(super) fn json_char_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}

/// Shortens `text` to at most `max` characters on one line. A text that was cut ends with `…`.
pub(super) fn shorten(text: &str, max: usize) -> String {
    let mut cut: String =
        text.chars().take(max).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(max).is_some() {
        cut.pop();
        cut.push('…');
    }
    cut
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn text_is_shortened_by_characters() {
        assert_eq!(shorten("größe", 5), "größe");
        assert_eq!(shorten("größer", 5), "größ…");
        assert_eq!(shorten("a\nb\u{0}", 9), "a b ");
        assert_eq!(shorten("", 3), "");
    }

    #[test]
    fn a_too_long_answer_is_refused() {
        assert!(to_result(&"a".repeat(MAX_ANSWER - 2), None).is_ok());
        let refused = to_result(&"a".repeat(MAX_ANSWER - 1), None).unwrap_err();
        assert_eq!(refused.code, FaultCode::TooLarge);
    }

    #[test]
    fn lists_are_last_with_a_row_on_each_line() {
        let answer =
            json!({ "a": [{ "b": 1 }, { "b": 2 }], "c": "x\ny", "d": [], "e": { "f": 3 } });
        let lines = to_lines(&answer);
        let expected = "{\n\"c\": \"x\\ny\",\n\"e\": {\"f\":3},\n\"a\": [\n{\"b\":1},\n{\"b\":2}\n],\n\"d\": []\n}";
        assert_eq!(lines, expected);
        assert_eq!(serde_json::from_str::<Value>(&lines).unwrap(), answer);
    }

    #[test]
    fn the_text_of_a_page_is_a_block_of_its_own() {
        let result = to_result(&json!({ "a": 1, "text": "x\n\"y\"" }), Some("text")).unwrap();
        let texts: Vec<&str> =
            result.content.iter().map(|it| it.as_text().unwrap().text.as_str()).collect();
        assert_eq!(texts, ["{\n\"a\": 1\n}\n", "x\n\"y\""]);
        let empty = to_result(&json!({ "text": "" }), Some("text")).unwrap();
        assert_eq!(empty.content.len(), 1, "models' APIs refuse empty blocks");
    }

    proptest! {
        #[test]
        fn character_lengths_match_json(text in ".{0,40}|[\\x00-\\x7f]{0,40}") {
            let counted: usize = text.chars().map(json_char_len).sum();
            prop_assert_eq!(counted + 2, json_len(&text));
        }
    }
}
