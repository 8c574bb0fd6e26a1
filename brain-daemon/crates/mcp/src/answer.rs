//! Turns a tool's output into an MCP result, and limits its size.

use brain_protocol::{Fault, FaultCode};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;

/// The maximum size of an answer, in bytes of JSON: about 20,000 tokens in any script, below the
/// limits of clients.
pub(super) const MAX_ANSWER: usize = 80_000;

/// Returns `answer` as structured content and as text. Some clients pass on only the structured
/// content, others only the text.
///
/// # Errors
/// [`FaultCode::TooLarge`] if `answer` exceeds [`MAX_ANSWER`]; tools shorten their output before.
/// [`FaultCode::Internal`] if `answer` cannot be serialized.
pub(super) fn to_result(answer: &impl Serialize) -> Result<CallToolResult, Fault> {
    let to_fault = |error: serde_json::Error| Fault::new(FaultCode::Internal, error.to_string());
    let text = serde_json::to_string(answer).map_err(to_fault)?;
    if text.len() > MAX_ANSWER {
        let message = format!("the answer would have {} bytes, more than {MAX_ANSWER}", text.len());
        return Err(Fault::new(FaultCode::TooLarge, message)
            .hint("request less: a lower limit, or a part of the page"));
    }
    let value = serde_json::to_value(answer).map_err(to_fault)?;
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(value);
    Ok(result)
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

    #[test]
    fn text_is_shortened_by_characters() {
        assert_eq!(shorten("größe", 5), "größe");
        assert_eq!(shorten("größer", 5), "größ…");
        assert_eq!(shorten("a\nb\u{0}", 9), "a b ");
        assert_eq!(shorten("", 3), "");
    }

    #[test]
    fn a_too_long_answer_is_refused() {
        assert!(to_result(&"a".repeat(MAX_ANSWER - 2)).is_ok());
        assert_eq!(to_result(&"a".repeat(MAX_ANSWER - 1)).unwrap_err().code, FaultCode::TooLarge);
    }

    proptest! {
        #[test]
        fn character_lengths_match_json(text in ".{0,40}|[\\x00-\\x7f]{0,40}") {
            let counted: usize = text.chars().map(json_char_len).sum();
            prop_assert_eq!(counted + 2, json_len(&text));
        }
    }
}
