//! From what a model sent to a tool's arguments. Clients write the same thing in several ways; what is meant is taken, and what is
//! not understood is refused by the argument's name: the schema says what there is, and nothing before this has checked it.

use brain_protocol::{Fault, FaultCode};
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use super::REPEATED;
use super::answer::short;

/// Reads `arguments` by the tool's input `schema`: `null` and `""` are absent where the argument is optional, numbers and booleans may
/// come as text, text as a number, and a list as one text with commas.
///
/// # Errors
/// [`FaultCode::InvalidRequest`], naming the argument.
pub(super) fn read<T: DeserializeOwned>(
    arguments: JsonObject,
    schema: &JsonObject,
) -> Result<T, Fault> {
    let none = JsonObject::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let mut meant = JsonObject::new();
    for (name, value) in arguments {
        let Some(kind) = known.get(&name) else { return Err(unknown(&name, known)) };
        let blank = value.as_str().is_some_and(|text| text.trim().is_empty());
        if value.is_null() || (blank && !is_required(&name)) {
            continue;
        }
        let value = fit(value, kind);
        check(&name, &value, kind)?;
        meant.insert(name, value);
    }
    if let Some(missing) = known.keys().find(|name| is_required(name) && !meant.contains_key(*name))
    {
        return Err(refused(format!("the argument \"{missing}\" is missing")));
    }
    serde_json::from_value(Value::Object(meant))
        .map_err(|error| refused(short(&error.to_string(), 300)))
}

fn refused(message: String) -> Fault {
    Fault::new(FaultCode::InvalidRequest, message)
        .hint("call again with arguments as the tool's input schema has them")
}

fn unknown(name: &str, known: &JsonObject) -> Fault {
    let name = short(name, REPEATED).escape_debug().to_string();
    let known: Vec<&str> = known.keys().map(String::as_str).collect();
    refused(match known.as_slice() {
        [] => format!("there is no argument \"{name}\"; this tool takes none"),
        known => format!("there is no argument \"{name}\"; there are: {}", known.join(", ")),
    })
}

/// The value that is meant, of the kind that the schema names, where that is plain.
fn fit(value: Value, schema: &Value) -> Value {
    let kind = schema.get("type").and_then(Value::as_str);
    match (kind, value) {
        (Some("integer" | "number"), Value::String(text)) => {
            match serde_json::from_str(text.trim()) {
                Ok(Value::Number(number)) => whole(number),
                _ => Value::String(text),
            }
        }
        (Some("integer"), Value::Number(number)) => whole(number),
        (Some("boolean"), Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => true.into(),
            "false" => false.into(),
            _ => Value::String(text),
        },
        (Some("string"), Value::Number(number)) => number.to_string().into(),
        (Some("string"), Value::String(text)) => choice(text, schema),
        (Some("array"), value) => {
            let items = match value {
                Value::Array(items) => items,
                Value::String(text) => list(&text),
                other => return other,
            };
            let kind = schema.get("items").unwrap_or(&Value::Null);
            let blank = |item: &Value| {
                item.is_null() || item.as_str().is_some_and(|text| text.trim().is_empty())
            };
            items.into_iter().filter(|item| !blank(item)).map(|item| fit(item, kind)).collect()
        }
        (_, value) => value,
    }
}

/// One of several words, in the letters in which it is known.
fn choice(text: String, schema: &Value) -> Value {
    let choices = schema.get("enum").and_then(Value::as_array);
    let word = text.trim().to_lowercase();
    let known = choices.and_then(|all| all.iter().find(|one| one.as_str() == Some(&word)));
    known.cloned().unwrap_or(Value::String(text))
}

/// A list that came as text: JSON, or words with commas between them.
fn list(text: &str) -> Vec<Value> {
    if let Ok(Value::Array(items)) = serde_json::from_str(text) {
        return items;
    }
    text.split(',').map(|item| Value::from(item.trim())).collect()
}

/// `10.0` is a whole number, too.
fn whole(number: Number) -> Value {
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

/// Refuses what the schema does not allow.
fn check(name: &str, value: &Value, schema: &Value) -> Result<(), Fault> {
    let shown = || short(&value.to_string(), REPEATED);
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
        return Err(refused(format!("\"{name}\" is of type {kind}, not {}", shown())));
    }
    if let Some(Value::Array(choices)) = schema.get("enum")
        && !choices.contains(value)
    {
        let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        return Err(refused(format!(
            "\"{name}\" is one of {}, not {}",
            choices.join(", "),
            shown()
        )));
    }
    if let Some(number) = value.as_f64() {
        let bound = |which: &str| schema.get(which).and_then(Value::as_f64);
        let (least, most) = (bound("minimum"), bound("maximum"));
        if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
            let range = match (least, most) {
                (Some(least), Some(most)) => format!("{least} to {most}"),
                (Some(least), None) => format!("at least {least}"),
                (None, most) => format!("at most {}", most.unwrap_or_default()),
            };
            return Err(refused(format!("\"{name}\" is {range}, not {}", shown())));
        }
    }
    if let (Value::Array(items), Some(kind)) = (value, schema.get("items")) {
        for item in items {
            check(name, item, kind)?;
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
    enum Sort {
        Updated,
        Slug,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Asked {
        query: String,
        #[schemars(range(min = 1, max = 50))]
        limit: Option<u32>,
        #[serde(default)]
        tags: Vec<String>,
        sort: Option<Sort>,
        #[serde(default)]
        dry: bool,
        #[serde(default)]
        sorts: Vec<Sort>,
    }

    fn ask(arguments: Value) -> Result<Asked, String> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        read(arguments, &crate::schema::of_arguments::<Asked>()).map_err(|fault| fault.message)
    }

    #[test]
    fn what_is_meant_is_taken() {
        let plain = ask(
            json!({ "query": "a", "limit": 10, "tags": ["x", "y"], "sort": "slug", "dry": true }),
        );
        for (arguments, name) in [
            (
                json!({ "query": "a", "limit": "10", "tags": "x, y", "sort": "slug", "dry": "true" }),
                "text",
            ),
            (
                json!({ "query": "a", "limit": 10.0, "tags": "[\"x\",\"y\"]", "sort": " Slug", "dry": "True" }),
                "JSON",
            ),
            (
                json!({ "query": "a", "limit": "10.0", "tags": ["x", "", null, "y"], "sort": "slug", "dry": true, "sorts": null }),
                "gaps",
            ),
        ] {
            assert_eq!(ask(arguments), plain, "{name}");
        }
        let bare = ask(json!({ "query": 2024 })).unwrap();
        assert_eq!((bare.query.as_str(), bare.limit, bare.dry), ("2024", None, false));
        let absent = json!({ "query": "2024", "limit": "", "tags": "", "sort": null, "dry": " ", "sorts": [] });
        assert_eq!(ask(absent).unwrap(), bare);
        assert_eq!(
            ask(json!({ "query": "a", "sorts": "SLUG, updated" })).unwrap().sorts,
            [Sort::Slug, Sort::Updated]
        );
        assert_eq!(ask(json!({ "query": "" })).unwrap().query, "");
    }

    #[test]
    fn a_refusal_names_the_argument() {
        for (arguments, message) in [
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
            let refused = ask(arguments).unwrap_err();
            assert!(refused.starts_with(message), "{refused}");
        }
        let long = ask(json!({ "query": "a", "limit": "x".repeat(100_000) })).unwrap_err();
        assert!(long.chars().count() < 200, "{long}");
    }
}
