//! The OpenAPI document, generated from the handlers. Each listener documents its own routes.
//!
//! `/mcp` is left out, because MCP describes itself.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use utoipa::openapi::path::{HttpMethod, Operation, PathItem};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, Content, ContentBuilder, InfoBuilder, OpenApi, Ref, RefOr, Response,
    ResponseBuilder,
};
use utoipa::{PartialSchema as _, ToSchema as _};

use super::AppState;
use super::http_error::ErrorBody;

/// Errors that any request can get before a handler runs.
const COMMON_ERRORS: [(&str, &str); 7] = [
    ("400", "Ambiguous fields, or an incomplete body"),
    ("403", "A request to another host name, or from a web page of another origin"),
    ("405", "The path has no such method"),
    ("408", "The request did not arrive in time"),
    ("500", "A defect in brain"),
    ("501", "A transfer coding other than `chunked`"),
    ("503", "Too many bodies at the same time, or the daemon is stopping"),
];

/// The path of the document.
pub(super) const PATH: &str = "/openapi.json";

/// Adds the route of the document to `router`.
pub(super) fn serve(router: Router<AppState>, api: OpenApi) -> Router<AppState> {
    let text = serde_json::to_string(&document(api)).unwrap_or_default();
    let text = axum::body::Bytes::from(text);
    router.route(
        PATH,
        get(move || {
            let text = text.clone();
            async move { ([(CONTENT_TYPE, "application/json")], text) }
        }),
    )
}

/// Completes the document with parts that the handlers do not declare.
fn document(mut api: OpenApi) -> OpenApi {
    api.info = InfoBuilder::new()
        .title("brain")
        .version(brain_protocol::VERSION)
        .description(Some(
            "A daemon that stores a person's knowledge: ingest, access and administration.",
        ))
        .build();
    let document_operation = Operation::builder()
        .tag("service")
        .operation_id(Some("openapi"))
        .summary(Some("This document."))
        .response(
            "200",
            ResponseBuilder::new()
                .description("OpenAPI 3.1")
                .content("application/json", Content::default()),
        )
        .build();
    let document_path = PathItem::new(HttpMethod::Get, document_operation);
    api.paths.paths.insert(PATH.into(), document_path);
    for path_item in api.paths.paths.values_mut() {
        let operations = [
            &mut path_item.get,
            &mut path_item.put,
            &mut path_item.post,
            &mut path_item.delete,
            &mut path_item.patch,
            &mut path_item.head,
        ];
        for operation in operations.into_iter().flatten() {
            for (status, description) in COMMON_ERRORS {
                add_error(operation, status, description);
            }
        }
    }
    let components = api.components.get_or_insert_with(|| ComponentsBuilder::new().build());
    components.schemas.insert(ErrorBody::name().into(), ErrorBody::schema());
    for (name, scheme) in schemes() {
        components.add_security_scheme(name, scheme);
    }
    api
}

/// Adds an error response to an operation. If the status is documented, adds the error body to it.
fn add_error(operation: &mut Operation, status: &str, description: &str) {
    let error_content =
        || ContentBuilder::new().schema(Some(Ref::from_schema_name(ErrorBody::name()))).build();
    match operation.responses.responses.entry(status.into()).or_insert_with(|| {
        RefOr::T(
            ResponseBuilder::new()
                .description(description)
                .content("application/json", error_content())
                .build(),
        )
    }) {
        RefOr::T(response) => allow_error_body(response, error_content),
        RefOr::Ref(_) => {}
    }
}

/// Documents that the JSON of `response` can also be the error body.
fn allow_error_body(response: &mut Response, error_content: impl Fn() -> Content) {
    use utoipa::openapi::schema::{OneOfBuilder, Schema};
    let json = response
        .content
        .entry("application/json".into())
        .or_insert_with(|| RefOr::T(error_content()));
    let RefOr::T(content) = json else { return };
    let error_body = Ref::from_schema_name(ErrorBody::name());
    match content.schema.take() {
        Some(RefOr::Ref(schema)) if schema.ref_location != error_body.ref_location => {
            let both: Schema = OneOfBuilder::new().item(schema).item(error_body).into();
            content.schema = Some(both.into());
        }
        schema => content.schema = schema,
    }
}

/// Returns the ways to authenticate, by name.
fn schemes() -> [(&'static str, SecurityScheme); 3] {
    let bearer = Http::builder().scheme(HttpAuthScheme::Bearer).description(Some(
        "An access token, a personal token, or for administration the admin token.",
    ));
    let client = Http::builder().scheme(HttpAuthScheme::Basic).description(Some(
        "A client's id and secret, each encoded as in a form (RFC 6749 section 2.3.1).",
    ));
    let session =
        ApiKeyValue::with_description("brain-admin", "The session that `/admin/login` opens.");
    [
        ("bearer", SecurityScheme::Http(bearer.build())),
        ("client", SecurityScheme::Http(client.build())),
        ("session", SecurityScheme::ApiKey(ApiKey::Cookie(session))),
    ]
}
