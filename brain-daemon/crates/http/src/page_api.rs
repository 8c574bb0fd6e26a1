//! `GET /search`, `GET /pages/{slug}` and `POST /pages/{slug}/append`, for scripts and phones.
//!
//! Answers are JSON as `brain --json` prints it, or markdown. The rate limit, the scopes and the
//! sources of the token apply as on `/mcp`.

use axum::Json;
use axum::extract::{Path, Query, Request, State};
use axum::handler::Handler;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use brain_protocol::{
    Append, Fault, FaultCode, Get, Hits, MAX_HITS, NameError, Operation, Origin, Page, PageRef,
    Search, Slug, SourceId,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::{self, Resource};
use super::http_error::ErrorBody;
use super::ingest::AuthErrors;
use super::openapi::{self, JSON, error_responses};
use super::page_format::{Format, format, list, markdown};
use super::{AppState, HttpError, body, item_body};
use brain_base::caller::Caller;
use brain_page::MediaType;

/// The route of a page. A slug has slashes, which a parameter of OpenAPI cannot have, so the
/// document has [`DOCUMENTED_PATH`].
pub(super) const PATH: &str = "/pages/{*slug}";
/// The path of a page in the document, in logs and in the audit.
pub(super) const DOCUMENTED_PATH: &str = "/pages/{slug}";

/// The end of an append's path, after the slug.
const APPEND: &str = "/append";
/// Maximum number of search results if the request gives none.
const DEFAULT_LIMIT: u32 = 10;

/// Operations whose axum route differs from the documented path.
#[derive(OpenApi)]
#[openapi(paths(read_page, append))]
struct PageDocument;

/// Returns the routes of this module.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    let routes = OpenApiRouter::with_openapi(PageDocument::openapi())
        .routes(routes!(search))
        .route(PATH, any(page_or_append));
    openapi::group("pages", None, routes)
}

/// Passes a request to the documented path that it names. The two paths allow different methods.
async fn page_or_append(State(app): State<AppState>, request: Request) -> Response {
    match is_append(request.uri().path()) {
        true => post(append).call(request, app).await,
        false => get(read_page).call(request, app).await,
    }
}

/// Returns whether the path is that of an append. In the URL of a page whose own slug ends in
/// `/append`, that slash is written `%2F`.
fn is_append(path: &str) -> bool {
    path.strip_prefix("/pages/").is_some_and(|name| name.ends_with(APPEND))
}

/// A search.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct SearchParameters {
    /// Words or a question, as for `brain search`.
    #[param(min_length = 1, example = "latency budget")]
    q: String,
    /// The maximum number of pages; 10 if absent.
    #[param(minimum = 1, maximum = 200, nullable = false)]
    limit: Option<u32>,
    /// Only this source.
    #[param(nullable = false, pattern = "^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$")]
    source: Option<String>,
    /// Only this type.
    #[param(nullable = false)]
    r#type: Option<String>,
    /// Only pages with all of these tags, separated by commas.
    #[param(nullable = false)]
    tags: Option<String>,
    /// Only pages changed at or after this day or time (`YYYY-MM-DD` or RFC 3339).
    #[param(nullable = false)]
    since: Option<String>,
    /// Only pages changed at or before this day or time.
    #[param(nullable = false)]
    until: Option<String>,
    /// The form of the answer, instead of the field `Accept`.
    #[param(nullable = false, inline)]
    format: Option<Format>,
}

/// How to read a page.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct PageParameters {
    /// The number of a former version.
    #[param(minimum = 1, nullable = false)]
    version: Option<u32>,
    /// The form of the answer, instead of the field `Accept`.
    #[param(nullable = false, inline)]
    format: Option<Format>,
}

/// Where to add text.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct AppendParameters {
    /// The heading of the section; the end of the page if absent.
    #[param(nullable = false)]
    section: Option<String>,
}

/// Text to add, as JSON.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AppendBody {
    /// The text.
    #[schema(example = "- Ask Ann about the budget")]
    text: String,
}

/// The page that text was added to.
#[derive(Serialize, ToSchema)]
struct Appended {
    #[schema(value_type = String, example = "people/ada-lovelace")]
    slug: Slug,
    #[schema(value_type = String)]
    source_id: SourceId,
    /// Its version.
    version: u32,
    /// The SHA-256 of its text, in lower-case hex.
    content_hash: String,
    /// Warnings for the user.
    warnings: Vec<String>,
}

error_responses! {
    SearchErrors: ErrorBody, JSON => {
        "400": "`invalid_request`, `invalid_source`, `usage`",
        "429": "`rate_limited`",
        "503": "`busy`, `stopping`",
    }
    PageErrors: ErrorBody, JSON => {
        "400": "`invalid_slug`, `invalid_source`, `invalid_request`",
        "404": "`not_found`, `unknown_version`: no such page in the token's sources; \
            `ambiguous_slug`: several have this name",
        "429": "`rate_limited`",
    }
    AppendErrors: ErrorBody, JSON => {
        "400": "`empty_body`, `invalid_encoding`, `invalid_json`, `invalid_slug`, \
            `invalid_source`, `invalid_request`",
        "404": "`not_found`: no such page in the token's sources, or no such section",
        "413": "`too_large`",
        "415": "`unsupported_content_type`",
        "429": "`rate_limited`, `quota_exceeded`",
        "503": "`busy`, `stopping`, `disk_full`",
    }
}

/// Finds pages. Only pages of the token's sources are found.
#[utoipa::path(
    get,
    path = "/search",
    security(("bearer" = ["read"])),
    params(SearchParameters),
    responses(
        (
            status = 200,
            description = "The pages, best first; in markdown a list of titles, slugs and passages",
            content((Hits = "application/json"), (String = "text/markdown"))
        ),
        AuthErrors,
        SearchErrors
    )
)]
async fn search(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    let caller = admit::<Search>(&app, &request)?;
    let parameters: SearchParameters = parse_query(request.uri())?;
    let limit = parameters.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_HITS).contains(&limit) {
        return Err(invalid(format!("limit is a number from 1 to {MAX_HITS}")));
    }
    let format = format(parameters.format, request.headers());
    let tags = parameters.tags.as_deref().unwrap_or_default().split(',').map(str::trim);
    let search = Search {
        query: parameters.q,
        limit,
        source: parameters.source.map(parse_source).transpose()?,
        page_type: parameters.r#type,
        tags: tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
        since: parameters.since,
        until: parameters.until,
        ..Search::default()
    };
    let mut hits = app.run(caller, search).await?;
    hits.hits.iter_mut().for_each(|hit| remove_local_path(&mut hit.source_uri));
    if hits.degraded.is_some() {
        // Only the owner learns the cause.
        let message =
            "the index is incomplete at the moment: pages may be missing; try again later";
        hits.degraded = Some(message.into());
    }
    Ok(match format {
        Format::Json => Json(hits).into_response(),
        Format::Md => markdown(list(&hits)),
    })
}

/// Reads a page. The slug may have slashes, encoded or not, and a source before a colon.
///
/// The markdown is the page as it is in its file, with its frontmatter.
#[utoipa::path(
    get,
    path = "/pages/{slug}",
    security(("bearer" = ["read"])),
    params(
        (
            "slug" = String,
            Path,
            description = "`slug` or `source:slug`",
            example = "people/ada-lovelace"
        ),
        PageParameters
    ),
    responses(
        (
            status = 200,
            description = "The page",
            content((Page = "application/json"), (String = "text/markdown"))
        ),
        AuthErrors,
        PageErrors
    )
)]
async fn read_page(
    State(app): State<AppState>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, HttpError> {
    let caller = admit::<Get>(&app, &request)?;
    let parameters: PageParameters = parse_query(request.uri())?;
    let format = format(parameters.format, request.headers());
    let mut page =
        app.run(caller, Get { page: parse_page(&name)?, version: parameters.version }).await?;
    remove_local_path(&mut page.source_uri);
    Ok(match format {
        Format::Json => Json(page).into_response(),
        Format::Md => markdown(page.content),
    })
}

/// Adds text to the end of a page or of one of its sections. The page must exist.
#[utoipa::path(
    post,
    path = "/pages/{slug}/append",
    security(("bearer" = ["write"])),
    params(
        (
            "slug" = String,
            Path,
            description = "`slug` or `source:slug`",
            example = "people/ada-lovelace"
        ),
        AppendParameters
    ),
    request_body(
        description = "UTF-8, at most 1 MiB (`ingest.max_bytes`)",
        content(
            (String = "text/plain", example = "- Ask Ann about the budget"),
            (String = "text/markdown"),
            (AppendBody = "application/json"),
        )
    ),
    responses(
        (status = 200, description = "The text is in the page", body = Appended),
        AuthErrors,
        AppendErrors
    )
)]
async fn append(
    State(app): State<AppState>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<Appended>, HttpError> {
    let caller = admit::<Append>(&app, &request)?;
    app.shared.quota.check(&caller.name, app.brain.now())?;
    let (parts, request_body) = request.into_parts();
    let AppendParameters { section } = parse_query(&parts.uri)?;
    let page = parse_page(name.strip_suffix(APPEND).unwrap_or(&name))?;
    let media_type = item_body::media_type(&parts.headers)?;
    let limit = item_body::BodyLimit::of_text(app.brain.config());
    let bytes = item_body::read_body(&parts.headers, request_body, limit).await?;
    let content = match media_type {
        MediaType::Plain | MediaType::Markdown => bytes,
        MediaType::Json => json_text(&bytes)?.into_bytes(),
        MediaType::Html => {
            let message = "HTML cannot be added to a page";
            return Err(Fault::new(FaultCode::UnsupportedContentType, message)
                .hint("send text/plain, text/markdown or application/json")
                .into());
        }
    };
    let (client, size, now) = (caller.name.clone(), content.len(), app.brain.now());
    app.shared.quota.charge(&client, size, now)?;
    let appended = app.run(caller, Append { page, content, origin: Origin::Http, section }).await;
    if appended.is_err() {
        app.shared.quota.refund(&client, size, now);
    }
    let written = appended?;
    Ok(Json(Appended {
        slug: written.slug,
        source_id: written.source_id,
        version: written.version,
        content_hash: written.content_hash,
        warnings: written.warnings,
    }))
}

/// Returns the text of a JSON body.
///
/// # Errors
/// 400 if the body is not JSON or has other members.
fn json_text(bytes: &[u8]) -> Result<String, HttpError> {
    let append_body: AppendBody =
        serde_json::from_slice(bytes).map_err(|error| match error.is_data() {
            true => invalid(format!("the body must be an object with \"text\": {error}")),
            false => body::not_json(&error),
        })?;
    Ok(append_body.text)
}

/// Returns the caller of a request for the operation `O`.
///
/// # Errors
/// 401 without a valid token, 403 if its scopes do not suffice, 429 after too many calls.
fn admit<O: Operation>(app: &AppState, request: &Request) -> Result<Caller, HttpError> {
    let caller = auth::authenticate(app, request, Resource::Service)?;
    app.shared.limits.check_client(&caller.name, O::INFO.scope)?;
    auth::permit(app, &caller, O::INFO, Resource::Service)?;
    Ok(caller)
}

/// Returns the parameters of a query.
///
/// # Errors
/// 400 with the name of an unknown or invalid parameter.
fn parse_query<T: DeserializeOwned>(uri: &Uri) -> Result<T, HttpError> {
    let parsed = Query::try_from_uri(uri);
    parsed.map(|Query(parameters)| parameters).map_err(|error| invalid(error.body_text()))
}

/// Parses `slug` or `source:slug`.
fn parse_page(name: &str) -> Result<PageRef, HttpError> {
    let (source, slug) = match name.split_once(':') {
        Some((source, slug)) => (Some(parse_source(source.to_owned())?), slug),
        None => (None, name),
    };
    let slug = Slug::parse(slug).map_err(|error| name_error(FaultCode::InvalidSlug, error))?;
    Ok(PageRef { source, slug })
}

fn parse_source(id: String) -> Result<SourceId, HttpError> {
    SourceId::parse(id).map_err(|error| name_error(FaultCode::InvalidSource, error))
}

fn name_error(code: FaultCode, error: NameError) -> HttpError {
    Fault::new(code, error.message).into()
}

fn invalid(message: String) -> HttpError {
    Fault::new(FaultCode::InvalidRequest, message).into()
}

/// Removes a `source_uri` that is a path on this machine, which is of no use elsewhere.
fn remove_local_path(source_uri: &mut Option<String>) {
    if source_uri.as_deref().is_some_and(|uri| uri.starts_with("file:")) {
        *source_uri = None;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn page_names_have_an_optional_source() {
        let name = |text: &str| {
            let page = parse_page(text).map_err(|refusal| refusal.code().to_owned())?;
            Ok::<_, String>((page.source.map(|source| source.to_string()), page.slug.to_string()))
        };
        assert_eq!(name("people/ada"), Ok((None, "people/ada".into())));
        assert_eq!(name("work:people/ada"), Ok((Some("work".into()), "people/ada".into())));
        assert_eq!(name("No Source:a").unwrap_err(), "invalid_source");
        assert_eq!(name("../etc").unwrap_err(), "invalid_slug");
    }

    #[test]
    fn only_the_end_of_a_path_makes_an_append() {
        for (path, expected) in [
            ("/pages/people/ada/append", true),
            ("/pages/work:a/append", true),
            ("/pages/people/ada", false),
            ("/pages/append", false),
            ("/pages/notes%2Fappend", false),
            ("/pages/append/x", false),
        ] {
            assert_eq!(is_append(path), expected, "{path}");
        }
    }
}
