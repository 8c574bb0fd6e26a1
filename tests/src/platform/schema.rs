//! The platform's OpenAPI document. Validation is stricter than the document: an object may have
//! listed fields only, so that misspelt fields are found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::endpoint as at;
use crate::shared_data;

/// The prefix of schema references.
const SCHEMAS: &str = "#/components/schemas/";

/// The document.
pub struct Schema {
    paths: Value,
    schemas: Map<String, Value>,
    /// Created on first use.
    validators: Mutex<BTreeMap<String, &'static Validator>>,
}

impl Schema {
    /// Returns the document of this process, or reports a skip if the test data does not have it.
    pub(super) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Schema>> = OnceLock::new();
        SHARED
            .get_or_init(|| {
                let text = std::fs::read(shared_data("x-openapi.json")?)
                    .expect("the document cannot be read");
                Some(Self::new(serde_json::from_slice(&text).expect("the document is not JSON")))
            })
            .as_ref()
    }

    fn new(mut document: Value) -> Self {
        let paths = document["paths"].take();
        let Value::Object(mut schemas) = document["components"]["schemas"].take() else {
            panic!("the document has no schemas");
        };
        let mut shared = BTreeSet::new();
        schemas.values().for_each(|schema| collect_included_schemas(schema, false, &mut shared));
        for (name, schema) in &mut schemas {
            // A schema in an `allOf` must allow the fields of its siblings.
            if !shared.contains(name.as_str()) && schema.get("discriminator").is_none() {
                forbid_unlisted_fields(schema);
            }
        }
        Self { paths, schemas, validators: Mutex::new(BTreeMap::new()) }
    }

    /// Validates a response of an endpoint.
    ///
    /// # Errors
    /// A description of the first violation.
    pub fn validate(&self, endpoint: &str, status: u16, body: &[u8]) -> Result<(), String> {
        let value: Value = serde_json::from_slice(body).map_err(|e| format!("not JSON: {e}"))?;
        if status >= 400 {
            return self.validate_problem(&value);
        }
        let (method, path) = endpoint.split_once(' ').unwrap_or(("GET", endpoint));
        let path = path.replace(":id", "{id}").replace(":username", "{username}");
        // Rules are created with 201, which the document does not have.
        let responses = &self.paths[&path][method.to_lowercase()]["responses"];
        let schema = &responses["200"]["content"]["application/json"]["schema"];
        let name = schema["$ref"].as_str().and_then(|name| name.strip_prefix(SCHEMAS));
        self.validate_with_errors(
            name.ok_or_else(|| format!("the document does not have {endpoint}"))?,
            &value,
        )
    }

    /// Validates a line of the persistent connection.
    ///
    /// # Errors
    /// A description of the first violation.
    pub fn validate_line(&self, line: &Value) -> Result<(), String> {
        let (method, path) = ("get", at::STREAM);
        let schema =
            &self.paths[path][method]["responses"]["200"]["content"]["application/json"]["schema"];
        let name =
            schema["$ref"].as_str().and_then(|name| name.strip_prefix(SCHEMAS)).unwrap_or_default();
        self.validate_with_errors(name, line)
    }

    /// Validates a problem by its type.
    ///
    /// # Errors
    /// A description of the first violation.
    pub fn validate_problem(&self, value: &Value) -> Result<(), String> {
        self.validate_as("Problem", value)?;
        let kind = value["type"].as_str().unwrap_or_default();
        let named = self.schemas["Problem"]["discriminator"]["mapping"][kind].as_str();
        match named.and_then(|name| name.strip_prefix(SCHEMAS)) {
            Some(name) => self.validate_as(name, value),
            None => Err(format!("the document has no problem {kind}")),
        }
    }

    fn validate_with_errors(&self, name: &str, value: &Value) -> Result<(), String> {
        self.validate_as(name, value)?;
        let errors = value["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        errors.iter().try_for_each(|error| self.validate_problem(error))
    }

    fn validate_as(&self, name: &str, value: &Value) -> Result<(), String> {
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        // There are few of them, and they live as long as the process.
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
        let (mut needed, mut next) = (Map::new(), vec![name.to_owned()]);
        while let Some(name) = next.pop() {
            if !needed.contains_key(&name) {
                let schema =
                    self.schemas.get(&name).unwrap_or_else(|| panic!("the document has no {name}"));
                references(schema, &mut next);
                needed.insert(name, schema.clone());
            }
        }
        let whole = json!({"$ref": format!("{SCHEMAS}{name}"), "components": {"schemas": needed}});
        jsonschema::draft202012::options()
            .should_validate_formats(true)
            .build(&whole)
            .expect("not a schema")
    }
}

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Array(list) => list.iter().for_each(|part| references(part, found)),
        Value::Object(object) => {
            let name = object
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|name| name.strip_prefix(SCHEMAS));
            found.extend(name.map(str::to_owned));
            object.values().for_each(|part| references(part, found));
        }
        _ => {}
    }
}

/// Collects the schemas that others include with `allOf`.
fn collect_included_schemas<'a>(schema: &'a Value, part: bool, found: &mut BTreeSet<String>) {
    match schema {
        Value::Array(list) => {
            list.iter().for_each(|inner| collect_included_schemas(inner, part, found));
        }
        Value::Object(object) => {
            let name = object
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|name| name.strip_prefix(SCHEMAS));
            found.extend(name.filter(|_| part).map(str::to_owned));
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
            let is_closed = |(key, _): &(&String, &mut Value)| {
                key.as_str() != "allOf" && key.as_str() != "example"
            };
            object
                .iter_mut()
                .filter(is_closed)
                .for_each(|(_, inner)| forbid_unlisted_fields(inner));
        }
        _ => {}
    }
}
