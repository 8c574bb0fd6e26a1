//! The platform's OpenAPI document, reduced to the imitated endpoints. Validation is stricter than
//! the document: an object may have only listed fields, except in `allOf`. So validation finds
//! misspelt fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::endpoint;

/// The document. `reduce_openapi.py` makes it from the published one.
const DOCUMENT: &str = include_str!("../../fixtures/platform/openapi.json");
/// The prefix of references to schemas.
const SCHEMA_PREFIX: &str = "#/components/schemas/";

/// The OpenAPI document.
pub struct Schema {
    paths: Value,
    schemas: Map<String, Value>,
    /// By the name of the schema. Each is created on first use.
    validators: Mutex<BTreeMap<String, &'static Validator>>,
}

impl Schema {
    /// Returns the document, which the process parses once.
    pub(super) fn shared() -> &'static Self {
        static SHARED: LazyLock<Schema> = LazyLock::new(|| {
            Schema::new(serde_json::from_str(DOCUMENT).expect("the document is not JSON"))
        });
        &SHARED
    }

    /// Returns the names of the query parameters of an endpoint.
    #[cfg(test)]
    pub(super) fn query_parameters(&self, endpoint: &str) -> Vec<&str> {
        let parameters = self.operation(endpoint)["parameters"].as_array();
        let parameters = parameters.expect("the document does not have the endpoint");
        let of_query = parameters.iter().filter(|parameter| parameter["in"] == "query");
        of_query.filter_map(|parameter| parameter["name"].as_str()).collect()
    }

    /// Returns an endpoint's operation, or `null`.
    fn operation(&self, endpoint: &str) -> &Value {
        let (method, path) = endpoint.split_once(' ').unwrap_or(("GET", endpoint));
        let path = path.replace(":id", "{id}").replace(":username", "{username}");
        &self.paths[&path][method.to_lowercase()]
    }

    /// Returns the name of the schema of an endpoint's answers.
    fn response_schema(&self, endpoint: &str) -> Option<&str> {
        // The platform creates rules with status 201; the document has only 200.
        let content = &self.operation(endpoint)["responses"]["200"]["content"];
        let schema = &content["application/json"]["schema"];
        schema["$ref"].as_str().and_then(|name| name.strip_prefix(SCHEMA_PREFIX))
    }

    fn new(mut document: Value) -> Self {
        let paths = document["paths"].take();
        let Value::Object(mut schemas) = document["components"]["schemas"].take() else {
            panic!("the document has no schemas");
        };
        let mut included_names = BTreeSet::new();
        schemas
            .values()
            .for_each(|schema| collect_included_schemas(schema, false, &mut included_names));
        for (name, schema) in &mut schemas {
            // A schema in an `allOf` must allow the fields of its siblings.
            if !included_names.contains(name.as_str()) && schema.get("discriminator").is_none() {
                forbid_unlisted_fields(schema);
            }
        }
        Self { paths, schemas, validators: Mutex::new(BTreeMap::new()) }
    }

    /// Validates the body of a response of an endpoint. A body with a status from 400 on must be a
    /// problem.
    ///
    /// # Errors
    /// When the body does not match: a description of the first violation.
    pub fn validate(&self, endpoint: &str, status: u16, body: &[u8]) -> Result<(), String> {
        let value: Value = serde_json::from_slice(body).map_err(|e| format!("not JSON: {e}"))?;
        if status >= 400 {
            return self.validate_problem(&value);
        }
        let name = self.response_schema(endpoint);
        self.validate_with_errors(
            name.ok_or_else(|| format!("the document does not have {endpoint}"))?,
            &value,
        )
    }

    /// Validates a line of the persistent connection.
    ///
    /// # Errors
    /// When the line does not match: a description of the first violation.
    pub fn validate_line(&self, line: &Value) -> Result<(), String> {
        let name = self.response_schema(endpoint::STREAM).unwrap_or_default();
        self.validate_with_errors(name, line)
    }

    /// Validates a problem by its type.
    ///
    /// # Errors
    /// When the type is unknown or the problem does not match: a description of the first
    /// violation.
    pub fn validate_problem(&self, value: &Value) -> Result<(), String> {
        self.validate_as("Problem", value)?;
        let kind = value["type"].as_str().unwrap_or_default();
        let reference = self.schemas["Problem"]["discriminator"]["mapping"][kind].as_str();
        match reference.and_then(|name| name.strip_prefix(SCHEMA_PREFIX)) {
            Some(name) => self.validate_as(name, value),
            None => Err(format!("the document has no problem {kind}")),
        }
    }

    /// Validates `value` by a schema, and each of its `errors` as a problem.
    fn validate_with_errors(&self, name: &str, value: &Value) -> Result<(), String> {
        self.validate_as(name, value)?;
        let errors = value["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        errors.iter().try_for_each(|error| self.validate_problem(error))
    }

    fn validate_as(&self, name: &str, value: &Value) -> Result<(), String> {
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        // Leaking them is harmless: they are few, and are needed until the process ends.
        let validator: &'static Validator = validators
            .entry(name.into())
            .or_insert_with(|| Box::leak(Box::new(self.validator(name))));
        drop(validators);
        let first = validator.iter_errors(value).next();
        first.map_or(Ok(()), |error| {
            Err(format!("not a valid {name}: {error} at {}", error.instance_path()))
        })
    }

    fn validator(&self, name: &str) -> Validator {
        let (mut schemas, mut pending) = (Map::new(), vec![name.to_owned()]);
        while let Some(name) = pending.pop() {
            if !schemas.contains_key(&name) {
                let schema =
                    self.schemas.get(&name).unwrap_or_else(|| panic!("the document has no {name}"));
                references(schema, &mut pending);
                schemas.insert(name, schema.clone());
            }
        }
        let document = json!({"$ref": format!("{SCHEMA_PREFIX}{name}"),
            "components": {"schemas": schemas}});
        jsonschema::draft202012::options()
            .should_validate_formats(true)
            .build(&document)
            .expect("not a schema")
    }
}

/// Appends the names of the schemas to which `schema` refers.
fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Array(list) => list.iter().for_each(|part| references(part, found)),
        Value::Object(object) => {
            let name = object
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|name| name.strip_prefix(SCHEMA_PREFIX));
            found.extend(name.map(str::to_owned));
            object.values().for_each(|part| references(part, found));
        }
        _ => {}
    }
}

/// Collects the names of schemas that others include with `allOf`. `is_in_all_of` is whether
/// `schema` is inside an `allOf`.
fn collect_included_schemas<'a>(
    schema: &'a Value,
    is_in_all_of: bool,
    found: &mut BTreeSet<String>,
) {
    match schema {
        Value::Array(list) => {
            list.iter().for_each(|inner| collect_included_schemas(inner, is_in_all_of, found));
        }
        Value::Object(object) => {
            let name = object
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|name| name.strip_prefix(SCHEMA_PREFIX));
            found.extend(name.filter(|_| is_in_all_of).map(str::to_owned));
            let inside = |(key, inner): (&'a String, &'a Value)| {
                collect_included_schemas(inner, key == "allOf", found);
            };
            object.iter().for_each(inside);
        }
        _ => {}
    }
}

/// Forbids unlisted fields, except in parts of `allOf`.
fn forbid_unlisted_fields(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(forbid_unlisted_fields),
        Value::Object(object) => {
            if object.get("properties").is_some_and(Value::is_object)
                && object.get("type") == Some(&json!("object"))
            {
                object.entry("additionalProperties").or_insert(Value::Bool(false));
            }
            let has_own_fields = |(key, _): &(&String, &mut Value)| key.as_str() != "allOf";
            object
                .iter_mut()
                .filter(has_own_fields)
                .for_each(|(_, inner)| forbid_unlisted_fields(inner));
        }
        _ => {}
    }
}
