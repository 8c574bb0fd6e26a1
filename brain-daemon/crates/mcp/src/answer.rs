//! From an answer to what a client passes to its model.

use brain_protocol::{Fault, FaultCode};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;

/// The longest answer, in bytes of its JSON: about 20,000 tokens in any script, below what clients cut at. So it has never more
/// characters than this either.
pub(super) const LONGEST: usize = 80_000;

/// An answer as structured content, and the same as text in one item: half of the clients pass on only the one, half the other.
///
/// # Errors
/// When it is no JSON, or longer than any client takes: the tool should have cut it.
pub(super) fn told(answer: &impl Serialize) -> Result<CallToolResult, Fault> {
    let broken = |error: serde_json::Error| Fault::new(FaultCode::Internal, error.to_string());
    let text = serde_json::to_string(answer).map_err(broken)?;
    if text.len() > LONGEST {
        let message = format!("the answer would have {} bytes, more than {LONGEST}", text.len());
        return Err(Fault::new(FaultCode::TooLarge, message)
            .hint("ask for less: a lower limit, or a part of it"));
    }
    let value = serde_json::to_value(answer).map_err(broken)?;
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(value);
    Ok(result)
}

/// How many bytes `value` has as JSON.
pub(super) fn weight(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(LONGEST, |text| text.len())
}

/// How many bytes a character has in a text of JSON, as it is written here (RFC 8259 section 7).
pub(super) fn weight_of(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}

/// At most `most` characters of `text` on one line, with `…` where it was cut.
pub(super) fn short(text: &str, most: usize) -> String {
    let mut cut: String =
        text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(most).is_some() {
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
    fn a_text_is_cut_by_characters() {
        assert_eq!(short("größe", 5), "größe");
        assert_eq!(short("größer", 5), "größ…");
        assert_eq!(short("a\nb\u{0}", 9), "a b ");
        assert_eq!(short("", 3), "");
    }

    #[test]
    fn what_is_too_long_is_refused() {
        assert!(told(&"a".repeat(LONGEST - 2)).is_ok());
        assert_eq!(told(&"a".repeat(LONGEST - 1)).unwrap_err().code, FaultCode::TooLarge);
    }

    proptest! {
        #[test]
        fn weights_are_those_of_json(text in ".{0,40}|[\\x00-\\x7f]{0,40}") {
            let counted: usize = text.chars().map(weight_of).sum();
            prop_assert_eq!(counted + 2, weight(&text));
        }
    }
}
