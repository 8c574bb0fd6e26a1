//! Formats one JSON value on one line.

use brain_protocol::{Fault, FaultCode, escape_json};
use serde::Serialize;

/// Formats `value` as JSON with a line feed at the end. Control characters are escaped.
///
/// # Errors
/// `internal` if `value` cannot be converted to JSON.
pub(crate) fn line<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Fault> {
    let json = serde_json::to_string(value).map_err(|e| {
        Fault::new(FaultCode::Internal, format!("the answer cannot be converted to JSON: {e}"))
    })?;
    let mut line = escape_json(&json).into_owned();
    line.push('\n');
    Ok(line.into_bytes())
}

/// Formats a fault as `{"error":{"code","message","hint"}}`.
///
/// # Errors
/// As [`line()`].
pub(crate) fn fault(fault: &Fault) -> Result<Vec<u8>, Fault> {
    #[derive(Serialize)]
    struct FaultJson<'a> {
        error: &'a Fault,
    }
    line(&FaultJson { error: fault })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_the_value_stays() {
        let evil = "a\u{1b}[2J\u{7f}\u{9b}31m\u{202e}gpj\u{2066}\u{200f}\n\t\"é\u{1f600}";
        let bytes = line(evil).expect("json");
        let text = String::from_utf8(bytes).expect("utf-8");
        let json = text.trim_end();
        assert!(
            !json.chars().any(|c| c.is_control() || brain_protocol::is_direction_control(c)),
            "{json:?}"
        );
        assert_eq!(serde_json::from_str::<String>(json).expect("a string"), evil);
    }

    #[test]
    fn a_fault_has_a_hint_or_null() {
        let with_hint = Fault::new(FaultCode::NotFound, "no page \"x\"").hint("brain list");
        let text = String::from_utf8(fault(&with_hint).expect("json")).expect("utf-8");
        let expected =
            r#"{"error":{"code":"not_found","message":"no page \"x\"","hint":"brain list"}}"#;
        assert_eq!(text, format!("{expected}\n"));
        let no_hint = Fault::new(FaultCode::Usage, "no");
        let text = String::from_utf8(fault(&no_hint).expect("json")).expect("utf-8");
        assert_eq!(text, "{\"error\":{\"code\":\"usage\",\"message\":\"no\",\"hint\":null}}\n");
    }
}
