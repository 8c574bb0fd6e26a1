//! JSON Schemas of tools, which cost few tokens and which old clients understand.
//!
//! They are flat and have no titles, formats and `null`.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Returns the schema of a tool's arguments. Doc comments of fields become descriptions for models.
pub(super) fn of_arguments<T: JsonSchema>() -> Arc<JsonObject> {
    plain::<T>(SchemaSettings::draft2020_12().for_deserialize(), true)
}

/// Returns the schema of a tool's answer, without descriptions: every list of tools contains it,
/// and names suffice.
pub(super) fn of_answer<T: JsonSchema>() -> Arc<JsonObject> {
    plain::<T>(SchemaSettings::draft2020_12().for_serialize(), false)
}

fn plain<T: JsonSchema>(settings: SchemaSettings, described: bool) -> Arc<JsonObject> {
    let settings = settings.with(|it| it.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    strip(&mut schema, described);
    let Value::Object(mut object) = schema else { return Arc::default() };
    // The tool has a description of its own.
    object.remove("description");
    object.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    Arc::new(object)
}

/// Removes what costs tokens or is unknown to some clients, recursively.
fn strip(schema: &mut Value, described: bool) {
    let Value::Object(object) = schema else { return };
    for name in ["$schema", "title", "format"] {
        object.remove(name);
    }
    if !described {
        object.remove("description");
        object.remove("minimum");
    }
    if object
        .get("default")
        .is_some_and(|value| value.is_null() || value == &Value::Array(Vec::new()))
    {
        object.remove("default");
    }
    if let Some(Value::Array(kinds)) = object.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    // The enumeration is optional.
    if let Some(Value::Array(choices)) = object.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    flatten_optional(object);
    flatten_enum(object);
    for (name, below) in object.iter_mut() {
        match (name.as_str(), below) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|below| strip(below, described));
            }
            ("items" | "additionalProperties", below) => {
                strip(below, described);
                // The list has a description already.
                if let Value::Object(below) = below {
                    below.remove("description");
                }
            }
            ("anyOf" | "oneOf", Value::Array(ways)) => {
                ways.iter_mut().for_each(|below| strip(below, described));
            }
            _ => {}
        }
    }
}

/// Replaces "something or `null`" by "something": the field is optional.
fn flatten_optional(object: &mut JsonObject) {
    let Some(Value::Array(mut ways)) = object.remove("anyOf") else { return };
    ways.retain(|way| way.get("type").is_none_or(|kind| kind != "null"));
    match (ways.len(), ways.pop()) {
        (1, Some(Value::Object(only))) => {
            for (name, value) in only {
                object.entry(name).or_insert(value);
            }
        }
        (_, Some(last)) => {
            ways.push(last);
            object.insert("anyOf".into(), Value::Array(ways));
        }
        (_, None) => {}
    }
}

/// Replaces separately described values by a plain enumeration.
fn flatten_enum(object: &mut JsonObject) {
    let Some(Value::Array(ways)) = object.get("oneOf") else { return };
    let mut names = Vec::new();
    for way in ways {
        match (way.get("const"), way.get("enum")) {
            (Some(name), _) => names.push(name.clone()),
            (None, Some(Value::Array(some))) => names.extend(some.iter().cloned()),
            _ => return,
        }
    }
    object.remove("oneOf");
    object.insert("type".into(), "string".into());
    object.insert("enum".into(), Value::Array(names));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    /// A way.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Way {
        /// Told.
        ThereAndBack,
        /// Told, too.
        There,
    }

    /// Of the whole.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Arguments {
        /// A name
        title: String,
        #[schemars(range(min = 1, max = 50))]
        limit: Option<u32>,
        way: Option<Way>,
        /// Some ways
        #[serde(default)]
        ways: Vec<Way>,
        #[serde(default)]
        dry: bool,
    }

    #[derive(Serialize, JsonSchema)]
    struct Answer {
        /// Not told
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<usize>,
        ways: Vec<Way>,
    }

    #[test]
    fn schemas_of_arguments_are_flat_and_described() {
        let ways = json!(["there_and_back", "there"]);
        let expected = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string", "description": "A name" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 50 },
                "way": { "type": "string", "enum": ways, "description": "A way." },
                "ways": {
                    "type": "array",
                    "items": { "type": "string", "enum": ways },
                    "description": "Some ways",
                },
                "dry": { "type": "boolean", "default": false },
            },
            "required": ["title"],
            "additionalProperties": false,
        });
        assert_eq!(Value::Object((*of_arguments::<Arguments>()).clone()), expected);
    }

    #[test]
    fn schemas_of_answers_are_names_and_types() {
        let ways = json!(["there_and_back", "there"]);
        let expected = json!({
            "type": "object",
            "properties": {
                "line": { "type": "integer" },
                "ways": { "type": "array", "items": { "type": "string", "enum": ways } },
            },
            "required": ["ways"],
        });
        assert_eq!(Value::Object((*of_answer::<Answer>()).clone()), expected);
    }
}
