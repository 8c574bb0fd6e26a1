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

/// What any request may be refused with before a handler sees it.
const COMMON: [(&str, &str); 7] = [
    ("400", "Fields that can be read in two ways, or a body that ended early"),
    ("403", "Addressed to another host, or from a web page of another origin"),
    ("405", "There is no such method here"),
    ("408", "The request did not come in time"),
    ("500", "A defect in brain"),
    ("501", "A transfer coding other than `chunked`"),
    ("503", "Too many bodies are on their way, or the daemon is stopping"),
];

/// Where it is.
pub(super) const PATH: &str = "/openapi.json";

/// The router, and the document about it at `/openapi.json`.
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

/// The document, with what the handlers cannot say of themselves.
fn document(mut api: OpenApi) -> OpenApi {
    api.info = InfoBuilder::new()
        .title("brain")
        .version(brain_protocol::VERSION)
        .description(Some(
            "A daemon that keeps a person's knowledge: what it takes in, and who may come in.",
        ))
        .build();
    let about = Operation::builder()
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
    api.paths.paths.insert(PATH.into(), PathItem::new(HttpMethod::Get, about));
    for item in api.paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
            &mut item.patch,
            &mut item.head,
        ];
        for operation in operations.into_iter().flatten() {
            for (status, what) in COMMON {
                add(operation, status, what);
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

/// Adds an error response to an operation: a new status, or another form of a documented one.
fn add(operation: &mut Operation, status: &str, what: &str) {
    let refusal =
        || ContentBuilder::new().schema(Some(Ref::from_schema_name(ErrorBody::name()))).build();
    match operation.responses.responses.entry(status.into()).or_insert_with(|| {
        RefOr::T(
            ResponseBuilder::new().description(what).content("application/json", refusal()).build(),
        )
    }) {
        RefOr::T(known) => either(known, refusal),
        RefOr::Ref(_) => {}
    }
}

/// A response whose JSON is `known`, or the common refusal.
fn either(known: &mut Response, refusal: impl Fn() -> Content) {
    use utoipa::openapi::schema::{OneOfBuilder, Schema};
    let json =
        known.content.entry("application/json".into()).or_insert_with(|| RefOr::T(refusal()));
    let RefOr::T(content) = json else { return };
    let common = Ref::from_schema_name(ErrorBody::name());
    match content.schema.take() {
        Some(RefOr::Ref(own)) if own.ref_location != common.ref_location => {
            let both: Schema = OneOfBuilder::new().item(own).item(common).into();
            content.schema = Some(both.into());
        }
        same => content.schema = same,
    }
}

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
