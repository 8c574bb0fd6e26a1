//! Finds, sets and removes the entry `[mcp_servers.NAME]` in a TOML file.

use std::path::Path;

use brain_protocol::Fault;
use serde_json::Value;
use toml_edit::{DocumentMut, Item, TableLike};

use super::{in_order, invalid};

/// The table of all servers.
const SERVERS: &str = "mcp_servers";

/// Returns the entry as JSON; `Value::Null` if it is not a table.
///
/// # Errors
/// `invalid_config` if the file is not valid TOML, or if [`SERVERS`] is not a table.
pub(super) fn find(path: &Path, text: &str, name: &str) -> Result<Option<Value>, Fault> {
    let document = parse(path, text)?;
    let Some(servers) = document.get(SERVERS) else { return Ok(None) };
    let Some(servers) = servers.as_table_like() else {
        return Err(invalid(path, &format!("has \"{SERVERS}\", which is not a table")));
    };
    Ok(servers.get(name).map(|entry| match entry.as_table_like() {
        Some(table) => table_to_json(table),
        None => Value::Null,
    }))
}

/// Returns the text with the entry at its end; a former entry of the name is removed.
///
/// # Errors
/// As [`find`]; `invalid_config` also if no table can be added to [`SERVERS`].
pub(super) fn set(path: &Path, text: &str, name: &str, entry: &Value) -> Result<String, Fault> {
    let mut after = match find(path, text, name)? {
        Some(_) => remove(path, text, name)?,
        None => text.to_owned(),
    };
    let line_end = if after.contains("\r\n") { "\r\n" } else { "\n" };
    if !after.is_empty() {
        if !after.ends_with('\n') {
            after.push_str(line_end);
        }
        after.push_str(line_end);
    }
    let mut lines = vec![format!("[{SERVERS}.{name}]")];
    for (key, value) in entry.as_object().map(in_order).into_iter().flatten() {
        lines.push(format!("{key} = {}", value_to_toml(value)));
    }
    for line in lines {
        after.push_str(&line);
        after.push_str(line_end);
    }
    match find(path, &after, name) {
        Ok(Some(found)) if found == *entry => Ok(after),
        // For example `mcp_servers = { … }`: no table can be added to an inline table.
        _ => Err(invalid(path, &format!("has \"{SERVERS}\" in a form that cannot be extended"))),
    }
}

/// Returns the text without the entry.
///
/// # Errors
/// As [`find`].
pub(super) fn remove(path: &Path, text: &str, name: &str) -> Result<String, Fault> {
    let mut document = parse(path, text)?;
    if let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) {
        servers.remove(name);
    }
    Ok(document.to_string())
}

fn parse(path: &Path, text: &str) -> Result<DocumentMut, Fault> {
    text.parse::<DocumentMut>().map_err(|e| {
        let reason = e.message().replace('\n', ", ");
        invalid(path, &format!("is not valid TOML: {reason}"))
    })
}

fn table_to_json(table: &dyn TableLike) -> Value {
    let fields = table.iter().map(|(key, item)| (key.to_owned(), item_to_json(item)));
    Value::Object(fields.collect())
}

fn item_to_json(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return table_to_json(table);
    }
    match (item.as_str(), item.as_array(), item.as_bool(), item.as_integer()) {
        (Some(text), ..) => text.into(),
        (_, Some(values), ..) => {
            values.iter().map(|value| item_to_json(&Item::Value(value.clone()))).collect()
        }
        (_, _, Some(value), _) => value.into(),
        (_, _, _, Some(number)) => number.into(),
        _ => item.to_string().into(),
    }
}

/// Formats a value as TOML.
fn value_to_toml(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            format!("[{}]", values.iter().map(value_to_toml).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(key, value)| format!("{key} = {}", value_to_toml(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => toml_edit::Value::from(text.as_str()).to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set_in(text: &str) -> Result<String, String> {
        let entry = json!({"command": "/bin/brain", "args": ["mcp"], "env": {"BRAIN_HOME": "/b"}});
        set(Path::new("config.toml"), text, "brain", &entry).map_err(|fault| fault.message)
    }

    #[test]
    fn the_entry_is_appended_and_everything_before_stays() {
        for text in [
            "",
            "model = \"o\"  # mine\n",
            "[mcp_servers.other]\ncommand = 'x'",
            "a=1\r\n[b]\r\n",
            "[mcp_servers]\n# none\n",
        ] {
            let after = set_in(text).expect("it is valid");
            assert!(after.starts_with(text), "{after}");
            assert!(after.contains("[mcp_servers.brain]"), "{after}");
            if text.contains("\r\n") {
                assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
            }
        }
        let twice = set_in(&set_in("a = 1\n").expect("valid")).expect("valid");
        assert_eq!(twice.matches("[mcp_servers.brain]").count(), 1, "{twice}");
    }

    #[test]
    fn an_invalid_file_is_refused_with_the_reason() {
        for (text, reason) in [
            ("a = ", "not valid TOML"),
            ("mcp_servers = 3", "which is not a table"),
            ("mcp_servers = { a = {} }", "cannot be extended"),
        ] {
            let message = set_in(text).expect_err(text);
            assert!(message.contains(reason) && message.contains("not changed"), "{message}");
        }
    }
}
