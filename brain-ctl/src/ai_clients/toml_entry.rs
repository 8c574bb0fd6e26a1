//! Finds, sets and removes the entry `[mcp_servers.NAME]` in a TOML file.

use std::path::Path;

use brain_protocol::Fault;
use serde_json::Value;
use toml_edit::{DocumentMut, Item, TableLike};

use super::{in_order, invalid};

/// The table of all servers.
const SERVERS: &str = "mcp_servers";

/// Returns the entry, as far as brain writes it: `command`, `args` and `env`.
///
/// # Errors
/// `invalid_config` if the file is not valid.
pub(super) fn find(path: &Path, text: &str, name: &str) -> Result<Option<Value>, Fault> {
    let document = parse(path, text)?;
    let Some(servers) = document.get(SERVERS) else { return Ok(None) };
    let Some(servers) = servers.as_table_like() else {
        return Err(invalid(path, &format!("has \"{SERVERS}\", which is not a table")));
    };
    Ok(servers.get(name).map(|entry| match entry.as_table_like() {
        Some(table) => json_of(table),
        None => Value::Null,
    }))
}

/// Returns the text with the entry, which is at the end.
///
/// # Errors
/// As [`find`].
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
        lines.push(format!("{key} = {}", toml_of(value)));
    }
    for line in lines {
        after.push_str(&line);
        after.push_str(line_end);
    }
    match find(path, &after, name) {
        Ok(Some(found)) if found == *entry => Ok(after),
        // Such as `mcp_servers = { … }`, to which no table can be added.
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

fn json_of(table: &dyn TableLike) -> Value {
    let fields = table.iter().map(|(key, item)| (key.to_owned(), json_of_item(item)));
    Value::Object(fields.collect())
}

fn json_of_item(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return json_of(table);
    }
    match (item.as_str(), item.as_array(), item.as_bool(), item.as_integer()) {
        (Some(text), ..) => text.into(),
        (_, Some(values), ..) => {
            values.iter().map(|value| json_of_item(&Item::Value(value.clone()))).collect()
        }
        (_, _, Some(value), _) => value.into(),
        (_, _, _, Some(number)) => number.into(),
        _ => item.to_string().into(),
    }
}

/// Formats a value that brain writes.
fn toml_of(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            format!("[{}]", values.iter().map(toml_of).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{key} = {}", toml_of(value)));
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
    fn what_is_not_understood_is_refused_with_a_sentence() {
        for (text, reason) in [
            ("a = ", "not valid TOML"),
            ("mcp_servers = 3", "which is not a table"),
            ("mcp_servers = { a = {} }", "cannot be extended"),
        ] {
            let refusal = set_in(text).expect_err(text);
            assert!(refusal.contains(reason) && refusal.contains("not changed"), "{refusal}");
        }
    }
}
