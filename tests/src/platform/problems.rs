//! Error responses with the bodies of the real platform.

use serde_json::{Map, Value, json};

use super::Response;
use super::params::InvalidParameter;

/// The content type of a problem.
const PROBLEM: &str = "application/problem+json; charset=utf-8";

/// Returns a problem response.
pub(super) fn problem(status: u16, body: &Value) -> Response {
    Response::new(status, PROBLEM, body.to_string())
}

/// Returns the `type` of a problem.
pub(super) fn kind(name: &str) -> String {
    format!("https://api.twitter.com/2/problems/{name}")
}

/// Returns a problem with the type `about:blank`.
pub(super) fn untyped(status: u16, title: &str) -> Response {
    problem(
        status,
        &json!({"title": title, "detail": title, "type": "about:blank", "status": status}),
    )
}

pub(super) fn unauthorized() -> Response {
    untyped(401, "Unauthorized")
}

pub(super) fn too_many() -> Response {
    untyped(429, "Too Many Requests")
}

/// Returns the error of an invalid parameter.
pub(super) fn invalid(parameter: &InvalidParameter) -> Response {
    let InvalidParameter { name, value, message } = parameter;
    problem(
        400,
        &json!({
            "errors": [{"parameters": {name: [value]}, "message": message}],
            "title": "Invalid Request",
            "detail": "One or more parameters to your request was invalid.",
            "type": kind("invalid-request"),
        }),
    )
}

/// Returns the error of `/2/users/me` for an app's token.
pub(super) fn app_only() -> Response {
    problem(
        403,
        &json!({
            "title": "Unsupported Authentication",
            "detail": "Authenticating with OAuth 2.0 Application-Only is forbidden for this \
                       endpoint.  Supported authentication types are [OAuth 1.0a User Context, \
                       OAuth 2.0 User Context].",
            "type": kind("unsupported-authentication"),
            "status": 403,
        }),
    )
}

/// Returns the error of rules and streams for a user's token.
pub(super) fn user_context() -> Response {
    problem(
        403,
        &json!({
            "title": "Unsupported Authentication",
            "detail": "Authenticating with OAuth 2.0 User Context is forbidden for this endpoint.  \
                       Supported authentication types are [OAuth 2.0 Application-Only].",
            "type": kind("unsupported-authentication"),
            "status": 403,
        }),
    )
}

/// Returns the error of a connection over the limit or without rules.
pub(super) fn connection(status: u16, issue: &str, detail: &str) -> Response {
    problem(
        status,
        &json!({
            "title": "ConnectionException",
            "detail": detail,
            "connection_issue": issue,
            "type": kind("streaming-connection"),
        }),
    )
}

/// Why an object is not in `data` of a response with status 200.
pub(super) enum MissingReason {
    /// It does not exist.
    NotFound,
    /// The client may not see it.
    NotAuthorized,
    /// The account is suspended.
    Suspended,
}

/// Returns the entry of `errors` for an object that is not in `data`.
pub(super) fn missing(
    why: &MissingReason,
    resource: &str,
    parameter: &str,
    value: &str,
    id: &str,
) -> Value {
    let (title, detail, type_name) = match why {
        MissingReason::NotFound => (
            "Not Found Error",
            format!("Could not find {resource} with {parameter}: [{value}]."),
            "resource-not-found",
        ),
        MissingReason::NotAuthorized => (
            "Authorization Error",
            format!("Sorry, you are not authorized to see the Tweet with {parameter}: [{value}]."),
            "not-authorized-for-resource",
        ),
        MissingReason::Suspended => {
            ("Forbidden", format!("User has been suspended: [{value}]."), "resource-not-found")
        }
    };
    let mut entry = Map::from_iter([
        ("value".to_owned(), json!(value)),
        ("detail".to_owned(), json!(detail)),
        ("title".to_owned(), json!(title)),
        ("resource_type".to_owned(), json!(resource)),
        ("parameter".to_owned(), json!(parameter)),
        ("resource_id".to_owned(), json!(id)),
        ("type".to_owned(), json!(kind(type_name))),
    ]);
    if matches!(why, MissingReason::NotAuthorized) {
        entry.insert("section".to_owned(), json!("data"));
    }
    Value::Object(entry)
}
