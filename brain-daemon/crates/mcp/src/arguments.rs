//! Reads the arguments of a tool call.
//!
//! Clients write the same value in several ways. Values with an obvious meaning are converted;
//! others are refused with the argument's name. rmcp does not check arguments against the schema.

use brain_protocol::{Fault, FaultCode};
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use super::MAX_QUOTED;
use super::answer::shorten;

/// Reads `arguments` according to the tool's input `schema`.
///
/// `null` counts as absent, and so does blank text if the argument is optional. Numbers and
/// booleans may be text, text may be a number, and a list may be one text with commas.
///
/// # Errors
/// [`FaultCode::InvalidRequest`] if an argument is unknown, missing or invalid.
pub(super) fn read<T: DeserializeOwned>(
    arguments: JsonObject,
    schema: &JsonObject,
) -> Result<T, Fault> {
    let no_properties = JsonObject::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&no_properties);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|item| item == name));
    let mut values = JsonObject::new();
    for (name, value) in arguments {
        let Some(property) = properties.get(&name) else {
            return Err(unknown_argument(&name, properties));
        };
        let is_blank = value.as_str().is_some_and(|text| text.trim().is_empty());
        if value.is_null() || (is_blank && !is_required(&name)) {
            continue;
        }
        let value = coerce(value, property);
        check(&name, &value, property)?;
        values.insert(name, value);
    }
    if let Some(missing) =
        properties.keys().find(|name| is_required(name) && !values.contains_key(*name))
    {
        return Err(invalid(format!("the argument \"{missing}\" is missing")));
    }
    serde_json::from_value(Value::Object(values))
        .map_err(|error| invalid(shorten(&error.to_string(), 300)))
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultCode::InvalidRequest, message)
        .hint("call again with arguments that match the tool's input schema")
}

fn unknown_argument(name: &str, properties: &JsonObject) -> Fault {
    let name = shorten(name, MAX_QUOTED).escape_debug().to_string();
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    invalid(match names.as_slice() {
        [] => format!("there is no argument \"{name}\"; this tool takes none"),
        names => format!("there is no argument \"{name}\"; there are: {}", names.join(", ")),
    })
}

/// Converts a value to the type in the schema, if its meaning is obvious.
fn coerce(value: Value, schema: &Value) -> Value {
    let kind = schema.get("type").and_then(Value::as_str);
    match (kind, value) {
        (Some("integer" | "number"), Value::String(text)) => {
            match serde_json::from_str(text.trim()) {
                Ok(Value::Number(number)) => to_integer(number),
                _ => Value::String(text),
            }
        }
        (Some("integer"), Value::Number(number)) => to_integer(number),
        (Some("boolean"), Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => true.into(),
            "false" => false.into(),
            _ => Value::String(text),
        },
        (Some("string"), Value::Number(number)) => number.to_string().into(),
        (Some("string"), Value::String(text)) => match_choice(text, schema),
        (Some("array"), value) => {
            let items = match value {
                Value::Array(items) => items,
                Value::String(text) => parse_list(&text),
                other => return other,
            };
            let item_schema = schema.get("items").unwrap_or(&Value::Null);
            let is_blank = |item: &Value| {
                item.is_null() || item.as_str().is_some_and(|text| text.trim().is_empty())
            };
            let items = items.into_iter().filter(|item| !is_blank(item));
            items.map(|item| coerce(item, item_schema)).collect()
        }
        (_, value) => value,
    }
}

/// Returns the choice of the schema that `text` names, ignoring case; `text` itself if there is
/// none.
fn match_choice(text: String, schema: &Value) -> Value {
    let choices = schema.get("enum").and_then(Value::as_array);
    let word = text.trim().to_lowercase();
    let choice = choices.and_then(|all| all.iter().find(|choice| choice.as_str() == Some(&word)));
    choice.cloned().unwrap_or(Value::String(text))
}

/// Splits a list that was sent as text: JSON, or items separated by commas.
fn parse_list(text: &str) -> Vec<Value> {
    if let Ok(Value::Array(items)) = serde_json::from_str(text) {
        return items;
    }
    text.split(',').map(|item| Value::from(item.trim())).collect()
}

/// Converts a float without a fraction, such as `10.0`, to an integer. Returns other numbers
/// unchanged.
fn to_integer(number: Number) -> Value {
    match number.as_f64() {
        Some(float)
            if !number.is_u64()
                && !number.is_i64()
                && float.fract() == 0.0
                && float.abs() < 1e15 =>
        {
            Value::from(float as i64)
        }
        _ => Value::Number(number),
    }
}

/// Checks a value against the schema: type, choices, range, and items of a list.
fn check(name: &str, value: &Value, schema: &Value) -> Result<(), Fault> {
    let quoted = || shorten(&value.to_string(), MAX_QUOTED);
    let fits = match schema.get("type").and_then(Value::as_str) {
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    };
    if !fits {
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        return Err(invalid(format!("\"{name}\" is of type {kind}, not {}", quoted())));
    }
    if let Some(Value::Array(choices)) = schema.get("enum")
        && !choices.contains(value)
    {
        let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        return Err(invalid(format!(
            "\"{name}\" is one of {}, not {}",
            choices.join(", "),
            quoted()
        )));
    }
    if let Some(number) = value.as_f64() {
        let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        let (min, max) = (bound("minimum"), bound("maximum"));
        if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
            let range = match (min, max) {
                (Some(min), Some(max)) => format!("{min} to {max}"),
                (Some(min), None) => format!("at least {min}"),
                (None, max) => format!("at most {}", max.unwrap_or_default()),
            };
            return Err(invalid(format!("\"{name}\" is {range}, not {}", quoted())));
        }
    }
    if let (Value::Array(items), Some(item_schema)) = (value, schema.get("items")) {
        for item in items {
            check(name, item, item_schema)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum SortArgument {
        Updated,
        Slug,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct TestArguments {
        query: String,
        #[schemars(range(min = 1, max = 50))]
        limit: Option<u32>,
        #[serde(default)]
        tags: Vec<String>,
        sort: Option<SortArgument>,
        #[serde(default)]
        dry: bool,
        #[serde(default)]
        sorts: Vec<SortArgument>,
    }

    fn read_json(arguments: Value) -> Result<TestArguments, String> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        read(arguments, &crate::schema::of_arguments::<TestArguments>())
            .map_err(|fault| fault.message)
    }

    #[test]
    fn obvious_values_are_converted() {
        let plain = read_json(
            json!({ "query": "a", "limit": 10, "tags": ["x", "y"], "sort": "slug", "dry": true }),
        );
        for (arguments, name) in [
            (
                json!({
                    "query": "a", "limit": "10", "tags": "x, y", "sort": "slug", "dry": "true",
                }),
                "text",
            ),
            (
                json!({
                    "query": "a", "limit": 10.0, "tags": "[\"x\",\"y\"]", "sort": " Slug",
                    "dry": "True",
                }),
                "JSON",
            ),
            (
                json!({
                    "query": "a", "limit": "10.0", "tags": ["x", "", null, "y"], "sort": "slug",
                    "dry": true, "sorts": null,
                }),
                "gaps",
            ),
        ] {
            assert_eq!(read_json(arguments), plain, "{name}");
        }
        let bare = read_json(json!({ "query": 2024 })).unwrap();
        assert_eq!((bare.query.as_str(), bare.limit, bare.dry), ("2024", None, false));
        let absent = json!({
            "query": "2024", "limit": "", "tags": "", "sort": null, "dry": " ", "sorts": [],
        });
        assert_eq!(read_json(absent).unwrap(), bare);
        assert_eq!(
            read_json(json!({ "query": "a", "sorts": "SLUG, updated" })).unwrap().sorts,
            [SortArgument::Slug, SortArgument::Updated]
        );
        assert_eq!(read_json(json!({ "query": "" })).unwrap().query, "");
    }

    #[test]
    fn an_error_names_the_argument() {
        for (arguments, expected) in [
            (json!({}), "the argument \"query\" is missing"),
            (json!({ "query": null }), "the argument \"query\" is missing"),
            (json!({ "query": {} }), "\"query\" is of type string, not {}"),
            (json!({ "query": "a", "limit": 0 }), "\"limit\" is 1 to 50, not 0"),
            (json!({ "query": "a", "limit": "51" }), "\"limit\" is 1 to 50, not 51"),
            (json!({ "query": "a", "limit": -1e300 }), "\"limit\" is of type integer, not -1e+300"),
            (json!({ "query": "a", "limit": 1.5 }), "\"limit\" is of type integer, not 1.5"),
            (
                json!({ "query": "a", "limit": "many" }),
                "\"limit\" is of type integer, not \"many\"",
            ),
            (json!({ "query": "a", "dry": "maybe" }), "\"dry\" is of type boolean, not \"maybe\""),
            (
                json!({ "query": "a", "sort": "best" }),
                "\"sort\" is one of updated, slug, not \"best\"",
            ),
            (
                json!({ "query": "a", "sorts": "slug,best" }),
                "\"sorts\" is one of updated, slug, not \"best\"",
            ),
            (json!({ "query": "a", "tags": [1, [2]] }), "\"tags\" is of type string, not [2]"),
            (json!({ "query": "a", "tags": 5 }), "\"tags\" is of type array, not 5"),
            (json!({ "query": "a", "mode\n": "x" }), "there is no argument \"mode \"; there are: "),
        ] {
            let message = read_json(arguments).unwrap_err();
            assert!(message.starts_with(expected), "{message}");
        }
        let long = read_json(json!({ "query": "a", "limit": "x".repeat(100_000) })).unwrap_err();
        assert!(long.chars().count() < 200, "{long}");
    }
}
