//! One JSON value, on one line.

use brain_protocol::{Fault, FaultCode};
use serde::Serialize;

/// `value` and a line feed.
pub(crate) fn line<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Fault> {
    let mut bytes = serde_json::to_vec(value)
        .map_err(|e| Fault::new(FaultCode::Internal, format!("the answer cannot be put into JSON: {e}")))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// `{"error":{"code","message","hint"}}`.
pub(crate) fn fault(fault: &Fault) -> Result<Vec<u8>, Fault> {
    #[derive(Serialize)]
    struct Failure<'a> {
        error: &'a Fault,
    }
    line(&Failure { error: fault })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_code_message_and_hint_even_when_null() {
        let with = Fault::new(FaultCode::NotFound, "no page \"x\"").hint("brain list");
        let text = String::from_utf8(fault(&with).expect("json")).expect("utf-8");
        assert_eq!(
            text,
            "{\"error\":{\"code\":\"not_found\",\"message\":\"no page \\\"x\\\"\",\"hint\":\"brain list\"}}\n"
        );
        let without = Fault::new(FaultCode::Usage, "no");
        let text = String::from_utf8(fault(&without).expect("json")).expect("utf-8");
        assert_eq!(text, "{\"error\":{\"code\":\"usage\",\"message\":\"no\",\"hint\":null}}\n");
    }
}
