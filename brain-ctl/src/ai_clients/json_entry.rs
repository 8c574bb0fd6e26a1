//! Finds, sets and removes an entry in a JSON file with comments. Other values do not change.

use std::path::Path;

use brain_protocol::Fault;
use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use serde_json::Value;

use super::{in_order, invalid};

/// The byte order mark, which some editors write at the beginning of a file.
const BOM: &str = "\u{feff}";

/// Accepts comments and trailing commas, as the clients do, and no other extension of JSON.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Returns the entry `name` of the object `key`.
///
/// # Errors
/// `invalid_config` if the file is not a JSON object, if `key` is not an object, or if `key` or
/// `name` occurs twice.
pub(super) fn find(path: &Path, text: &str, key: &str, name: &str) -> Result<Option<Value>, Fault> {
    let root = parse(path, text)?;
    let Some(servers) = servers(path, &root, key)? else { return Ok(None) };
    Ok(property(path, &servers, name)?.and_then(|entry| entry.to_serde_value()))
}

/// Returns the text with the entry.
///
/// # Errors
/// As [`find`]; `invalid_config` also if another value would change.
pub(super) fn set(
    path: &Path,
    text: &str,
    key: &str,
    name: &str,
    entry: &Value,
) -> Result<String, Fault> {
    let root = parse(path, text)?;
    let entry_value = cst_value(entry);
    match servers(path, &root, key)? {
        Some(servers) => match property(path, &servers, name)? {
            Some(property) => property.set_value(entry_value),
            None => _ = servers.append(name, entry_value),
        },
        None => {
            let servers = CstInputValue::Object(vec![(name.to_owned(), entry_value)]);
            root.object_value_or_set().append(key, servers);
        }
    }
    changed_text(path, text, &root, key, name, Some(entry))
}

/// Returns the text without the entry.
///
/// # Errors
/// As [`set`].
pub(super) fn remove(path: &Path, text: &str, key: &str, name: &str) -> Result<String, Fault> {
    let root = parse(path, text)?;
    if let Some(servers) = servers(path, &root, key)?
        && let Some(property) = property(path, &servers, name)?
    {
        property.remove();
    }
    changed_text(path, text, &root, key, name, None)
}

fn parse(path: &Path, text: &str) -> Result<CstRootNode, Fault> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let root = CstRootNode::parse(text, &OPTIONS)
        .map_err(|e| invalid(path, &format!("is not valid JSON: {e}")))?;
    match root.value() {
        Some(value) if value.as_object().is_none() => Err(invalid(path, "is not a JSON object")),
        _ => Ok(root),
    }
}

/// Returns the object `key`, or `None` if the file has none.
fn servers(path: &Path, root: &CstRootNode, key: &str) -> Result<Option<CstObject>, Fault> {
    let Some(object) = root.object_value() else { return Ok(None) };
    let Some(property) = property(path, &object, key)? else { return Ok(None) };
    property
        .object_value()
        .map(Some)
        .ok_or_else(|| invalid(path, &format!("has \"{key}\", which is not an object")))
}

/// Returns the property of this name, or `None`. A second one of the name is an error.
fn property(
    path: &Path,
    object: &CstObject,
    name: &str,
) -> Result<Option<jsonc_parser::cst::CstObjectProp>, Fault> {
    let mut matches =
        object.properties().into_iter().filter(|it| it.decoded_name().as_deref() == Some(name));
    match (matches.next(), matches.next()) {
        (_, Some(_)) => Err(invalid(path, &format!("has \"{name}\" twice"))),
        (property, None) => Ok(property),
    }
}

/// Returns the changed text. Fails if a value other than the entry differs from `before`.
fn changed_text(
    path: &Path,
    before: &str,
    root: &CstRootNode,
    key: &str,
    name: &str,
    entry: Option<&Value>,
) -> Result<String, Fault> {
    let bom = if before.starts_with(BOM) { BOM } else { "" };
    let after = format!("{bom}{root}");
    let mut expected = parse(path, before)?.to_serde_value().unwrap_or_else(empty_object);
    if entry.is_some() && expected[key].is_null() {
        expected[key] = empty_object();
    }
    match (entry, expected[key].as_object_mut()) {
        (Some(entry), Some(servers)) => _ = servers.insert(name.to_owned(), entry.clone()),
        (None, Some(servers)) => _ = servers.remove(name),
        (_, None) => {}
    }
    match parse(path, &after)?.to_serde_value() {
        Some(value) if value == expected => Ok(after),
        _ => Err(invalid(path, "cannot be changed without changing something else in it")),
    }
}

fn empty_object() -> Value {
    Value::Object(serde_json::Map::new())
}

fn cst_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(cst_value).collect()),
        Value::Object(fields) => CstInputValue::Object(
            in_order(fields).into_iter().map(|(name, it)| (name.clone(), cst_value(it))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set_in(text: &str) -> Result<String, String> {
        let entry = json!({"command": "/bin/brain", "args": ["mcp"]});
        set(Path::new("f.json"), text, "servers", "brain", &entry).map_err(|fault| fault.message)
    }

    #[test]
    fn set_keeps_comments_order_and_spaces() {
        let text = concat!(
            "// head\n{\n\t\"z\": 1, // one\n\t\"servers\": {\n\t\t/* a */ \"a\": {},\n\t},\n",
            "\t\"b\" :  [1,2 ],\n}\n// end\n",
        );
        let after = set_in(text).expect("it is valid");
        for line in text.lines() {
            assert!(after.contains(line), "{line:?} is gone:\n{after}");
        }
        assert!(after.contains("\t\t\"brain\": {"), "{after}");
        let removed = remove(Path::new("f.json"), &after, "servers", "brain").expect("valid");
        let values = [&removed, text]
            .map(|text| parse(Path::new(""), text).ok().and_then(|root| root.to_serde_value()));
        assert_eq!(values[0], values[1]);
    }

    #[test]
    fn set_accepts_empty_files_and_keeps_bom_and_crlf() {
        for text in ["", "\n", "{}", "{ }\n", "\u{feff}{}", "// only a comment\n"] {
            let after = set_in(text).expect("it is valid");
            let found = find(Path::new("f"), &after, "servers", "brain").expect("valid");
            assert_eq!(found, Some(json!({"command": "/bin/brain", "args": ["mcp"]})), "{after}");
            assert_eq!(after.starts_with(BOM), text.starts_with(BOM));
        }
        let after = set_in("{\r\n  \"a\": 1\r\n}\r\n").expect("it is valid");
        assert!(
            after.lines().count() > 6 && !after.replace("\r\n", "").contains('\n'),
            "{after:?}"
        );
    }

    #[test]
    fn an_invalid_file_is_refused_with_the_reason() {
        for (text, reason) in [
            ("{", "not valid JSON"),
            ("{\"a\": 'x'}", "not valid JSON"),
            ("{\"a\": 1 \"b\": 2}", "not valid JSON"),
            ("[]", "is not a JSON object"),
            ("3", "is not a JSON object"),
            ("{\"servers\": []}", "which is not an object"),
            ("{\"servers\": {}, \"servers\": {}}", "\"servers\" twice"),
            ("{\"servers\": {\"brain\": 1, \"brain\": 2}}", "\"brain\" twice"),
        ] {
            let message = set_in(text).expect_err(text);
            assert!(message.contains(reason) && message.contains("not changed"), "{message}");
        }
    }
}
