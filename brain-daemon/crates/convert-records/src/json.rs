//! Reads fields of JSON that may be missing or of another kind.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// Returns the fields of an object, which are parsed when they are needed. A parsed conversation
/// takes more than ten times the memory of its text.
pub(crate) fn fields(object: &[u8]) -> Result<BTreeMap<String, &RawValue>, serde_json::Error> {
    serde_json::from_slice(object)
}

/// Parses a value. One that cannot be parsed is null.
pub(crate) fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// Returns the text of a field; empty if it has none.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the elements of a field; none if it is no array.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns whether a field is true.
pub(crate) fn is_true(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}
