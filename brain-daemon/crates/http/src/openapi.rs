//! The OpenAPI document, generated from the handlers. Each listener documents its own routes.
//!
//! `/mcp` is left out, because MCP describes itself.

use std::collections::BTreeMap;

use axum::Router;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::routing::get;
use utoipa::openapi::header::Header;
use utoipa::openapi::path::{HttpMethod, Operation, PathItem};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    ComponentsBuilder, Content, ContentBuilder, InfoBuilder, OpenApi, Ref, RefOr, Response,
    ResponseBuilder,
};
use utoipa::{PartialSchema as _, ToSchema};
use utoipa_axum::router::OpenApiRouter;

use super::AppState;
use super::http_error::{ErrorBody, OAuthErrorBody};

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

/// The media type of forms.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// The media types of errors for programs.
pub(crate) const JSON: &[&str] = &["application/json"];

/// The media types of errors for browsers: a page, or JSON on request.
pub(crate) const PAGE_OR_JSON: &[&str] = &["text/html", "application/json"];

/// Declares the error responses of operations, for the `responses` of `utoipa::path`.
macro_rules! error_responses {
    ($($name:ident: $body:ty, $media_types:expr => {$($status:literal: $description:expr,)*})*) => {
        $(
            pub(crate) struct $name;

            impl utoipa::IntoResponses for $name {
                fn responses() -> $crate::openapi::Responses {
                    let errors = [$(($status, $description)),*];
                    $crate::openapi::errors::<$body>($media_types, &errors)
                }
            }
        )*
    };
}
pub(crate) use error_responses;

/// Responses by their status.
pub(crate) type Responses = BTreeMap<String, RefOr<Response>>;

/// Returns error responses with these statuses and descriptions. In JSON, `B` is their body.
pub(crate) fn errors<B: ToSchema>(media_types: &[&str], errors: &[(&str, &str)]) -> Responses {
    let response = |(status, description): &(&str, &str)| {
        let mut response = ResponseBuilder::new().description(*description).build();
        for media_type in media_types {
            let schema = match *media_type {
                "text/html" => String::schema(),
                _ => Ref::from_schema_name(B::name()).into(),
            };
            let content = ContentBuilder::new().schema(Some(schema)).build();
            response.content.insert((*media_type).to_owned(), RefOr::T(content));
        }
        let header = match *status {
            "401" => Some((WWW_AUTHENTICATE, String::schema(), None)),
            "429" | "503" => Some((RETRY_AFTER, u64::schema(), Some("Seconds to wait".to_owned()))),
            _ => None,
        };
        if let Some((name, schema, description)) = header {
            let mut header = Header::new(schema);
            header.description = description;
            response.headers.insert(name.to_string(), RefOr::T(header));
        }
        ((*status).to_owned(), RefOr::T(response))
    };
    errors.iter().map(response).collect()
}

/// Puts `routes` under a heading of the document. Operations that name no way to authenticate need
/// `scheme`.
pub(crate) fn group(
    tag: &str,
    scheme: Option<&str>,
    mut routes: OpenApiRouter<AppState>,
) -> OpenApiRouter<AppState> {
    for operation in operations(routes.get_openapi_mut()) {
        operation.tags = Some(vec![tag.to_owned()]);
        let scheme = scheme.map(|name| vec![SecurityRequirement::new(name, [""; 0])]);
        operation.security = operation.security.take().or(scheme);
    }
    routes
}

/// Iterates over all operations.
fn operations(api: &mut OpenApi) -> impl Iterator<Item = &mut Operation> {
    let paths = api.paths.paths.values_mut();
    paths.flat_map(|path| {
        [&mut path.get, &mut path.put, &mut path.post, &mut path.delete, &mut path.patch]
            .into_iter()
            .flatten()
    })
}

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
    for operation in operations(&mut api) {
        for (status, description) in COMMON_ERRORS {
            add_error(operation, status, description);
        }
    }
    let components = api.components.get_or_insert_with(|| ComponentsBuilder::new().build());
    components.schemas.insert(ErrorBody::name().into(), ErrorBody::schema());
    components.schemas.insert(OAuthErrorBody::name().into(), OAuthErrorBody::schema());
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
