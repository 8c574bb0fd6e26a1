//! Administration over HTTP, on the local listener only: clients, tokens, audit, queue, status.
//!
//! Each handler translates its input into an operation, so HTTP and the client `brain` run the same
//! code.

mod clients;
mod login;
mod queue;
mod string_list;
mod tokens;

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use utoipa::openapi::header::Header;
use utoipa::openapi::schema::{Object, Type};
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;

use super::AppState;

/// Returns the routes of this module.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(login::routes())
        .merge(clients::routes())
        .merge(tokens::routes())
        .merge(queue::routes())
}

/// The error responses of administration, for the OpenAPI document.
pub(super) struct AdminErrors;

impl utoipa::IntoResponses for AdminErrors {
    fn responses() -> std::collections::BTreeMap<String, RefOr<Response>> {
        let errors = [
            ("400", "Invalid request; the message names the field"),
            ("401", "No valid admin token and no session"),
            ("403", "The token lacks the scope, or the CSRF token is missing"),
            ("404", "Not found"),
            ("409", "Conflict with something that exists"),
            ("413", "The body is too large"),
            ("415", "The body is not JSON"),
            ("429", "Too many attempts"),
            ("500", "A defect, or the store failed"),
            ("503", "The disk is full, or the daemon is stopping"),
            ("504", "Timeout"),
        ];
        let entry = |(status, description): (&str, &str)| {
            (status.to_owned(), RefOr::T(response(status, description)))
        };
        errors.into_iter().map(entry).collect()
    }
}

/// Returns the error response with this status.
fn response(status: &str, description: &str) -> Response {
    let body = Content::builder().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
    let mut response =
        ResponseBuilder::new().description(description).content("application/json", body).build();
    let header_field = match status {
        "401" => Some((WWW_AUTHENTICATE, Type::String)),
        "429" => Some((RETRY_AFTER, Type::Integer)),
        _ => None,
    };
    if let Some((name, kind)) = header_field {
        let header = Header::new(Object::with_type(kind));
        response.headers.insert(name.as_str().to_owned(), RefOr::T(header));
    }
    response
}
