//! Administration over HTTP, on the local listener only: clients, tokens, audit, queue, status.
//!
//! Each handler translates its input into an operation, so that HTTP and the client `brain` have
//! the same functions.

mod clients;
mod login;
mod queue;
mod tokens;
mod words;

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
pub(super) struct Refusals;

impl utoipa::IntoResponses for Refusals {
    fn responses() -> std::collections::BTreeMap<String, RefOr<Response>> {
        let told = [
            ("400", "Not what is asked for; the message names the field"),
            ("401", "Not the owner: no admin token, or not any more"),
            ("403", "The token is good for less, or the seal of the session is missing"),
            ("404", "There is no such thing"),
            ("409", "Something else is there already"),
            ("413", "The body is too large"),
            ("415", "The body is not JSON"),
            ("429", "Too many tries"),
            ("500", "A defect, or the store failed"),
            ("503", "Not now: the disk is full, or the daemon is stopping"),
            ("504", "It took too long"),
        ];
        told.into_iter()
            .map(|(status, what)| (status.to_owned(), RefOr::T(response(status, what))))
            .collect()
    }
}

fn response(status: &str, what: &str) -> Response {
    let body = Content::builder().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
    let mut response =
        ResponseBuilder::new().description(what).content("application/json", body).build();
    let field = match status {
        "401" => Some((WWW_AUTHENTICATE, Type::String)),
        "429" => Some((RETRY_AFTER, Type::Integer)),
        _ => None,
    };
    if let Some((name, kind)) = field {
        let header = Header::new(Object::with_type(kind));
        response.headers.insert(name.as_str().to_owned(), RefOr::T(header));
    }
    response
}
