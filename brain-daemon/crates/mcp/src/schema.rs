//! JSON Schemas of tools.
//!
//! The schemas are flat, without titles, formats and `null`. So they cost few tokens, and old
//! clients understand them.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Returns the schema of a tool's arguments. Doc comments of fields become descriptions for models.
pub(super) fn of_arguments<T: JsonSchema>() -> Arc<JsonObject> {
    flat_schema::<T>(SchemaSettings::draft2020_12().for_deserialize(), true)
}

/// Returns the schema of a tool's answer, without descriptions, enumeration values and `required`.
/// Every list of tools contains the schema, and names and types suffice.
pub(super) fn of_answer<T: JsonSchema>() -> Arc<JsonObject> {
    flat_schema::<T>(SchemaSettings::draft2020_12().for_serialize(), false)
}

fn flat_schema<T: JsonSchema>(settings: SchemaSettings, is_for_arguments: bool) -> Arc<JsonObject> {
    let settings = settings.with(|it| it.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    strip(&mut schema, is_for_arguments);
    let Value::Object(mut object) = schema else { return Arc::default() };
    // The tool itself has the description.
    object.remove("description");
    object.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    Arc::new(object)
}

/// Removes keywords that cost tokens or that some clients do not know, recursively. Removes more
/// from schemas of answers than from schemas of arguments.
fn strip(schema: &mut Value, is_for_arguments: bool) {
    let Value::Object(object) = schema else { return };
    for name in ["$schema", "title", "format"] {
        object.remove(name);
    }
    if !is_for_arguments {
        for name in ["description", "minimum", "required"] {
            object.remove(name);
        }
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
    // An optional enumeration contains `null`.
    if let Some(Value::Array(choices)) = object.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    flatten_optional(object);
    flatten_enum(object);
    if !is_for_arguments {
        object.remove("enum");
    }
    for (name, subschema) in object.iter_mut() {
        match (name.as_str(), subschema) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|property| strip(property, is_for_arguments));
            }
            ("items" | "additionalProperties", items) => {
                strip(items, is_for_arguments);
                // The list has a description already. In an answer, the type of a row suffices;
                // some clients refuse a list without `items`.
                if let Value::Object(items) = items {
                    items.retain(|name, _| {
                        name != "description" && (is_for_arguments || name == "type")
                    });
                }
            }
            ("anyOf" | "oneOf", Value::Array(variants)) => {
                variants.iter_mut().for_each(|variant| strip(variant, is_for_arguments));
            }
            _ => {}
        }
    }
}

/// Replaces "a type or `null`" with the type. Such a field is optional, so `null` is not needed.
fn flatten_optional(object: &mut JsonObject) {
    let Some(Value::Array(mut variants)) = object.remove("anyOf") else { return };
    variants.retain(|variant| variant.get("type").is_none_or(|kind| kind != "null"));
    match (variants.len(), variants.pop()) {
        (1, Some(Value::Object(only))) => {
            for (name, value) in only {
                object.entry(name).or_insert(value);
            }
        }
        (_, Some(last)) => {
            variants.push(last);
            object.insert("anyOf".into(), Value::Array(variants));
        }
        (_, None) => {}
    }
}

/// Replaces separately described values with a plain enumeration.
fn flatten_enum(object: &mut JsonObject) {
    let Some(Value::Array(variants)) = object.get("oneOf") else { return };
    let mut names = Vec::new();
    for variant in variants {
        match (variant.get("const"), variant.get("enum")) {
            (Some(name), _) => names.push(name.clone()),
            (None, Some(Value::Array(values))) => names.extend(values.iter().cloned()),
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

    /// A color.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Color {
        /// Described.
        DarkBlue,
        /// Described, too.
        Green,
    }

    /// Removed, because the tool itself has a description
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Arguments {
        /// A name
        title: String,
        #[schemars(range(min = 1, max = 50))]
        limit: Option<u32>,
        color: Option<Color>,
        /// Some colors
        #[serde(default)]
        colors: Vec<Color>,
        #[serde(default)]
        dry: bool,
    }

    #[derive(Serialize, JsonSchema)]
    struct Answer {
        /// Removed
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<usize>,
        colors: Vec<Color>,
        rows: Vec<Row>,
    }

    #[derive(Serialize, JsonSchema)]
    struct Row {
        name: Option<String>,
    }

    #[test]
    fn schemas_of_arguments_are_flat_and_described() {
        let colors = json!(["dark_blue", "green"]);
        let expected = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string", "description": "A name" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 50 },
                "color": { "type": "string", "enum": colors, "description": "A color." },
                "colors": {
                    "type": "array",
                    "items": { "type": "string", "enum": colors },
                    "description": "Some colors",
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
        let expected = json!({
            "type": "object",
            "properties": {
                "line": { "type": "integer" },
                "colors": { "type": "array", "items": { "type": "string" } },
                "rows": { "type": "array", "items": { "type": "object" } },
            },
        });
        assert_eq!(Value::Object((*of_answer::<Answer>()).clone()), expected);
    }
}
