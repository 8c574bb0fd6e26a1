//! `POST /ingest` stores an item from outside; `GET /ingest/{job_id}` returns its state.
//!
//! The order of checks is fixed: token, rate, permission, quota, source, type, other fields, body.
//! [`Door`](brain_core::Door) does the rest, and answers when the item is on disk.

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use brain_protocol::{
    Fault, FaultCode, IngestJob, IngestStatus, JobId, JobShow, Operation as _, Slug, SourceId,
    is_direction_control,
};
use serde::de::IgnoredAny;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::{self, Resource};
use super::body::not_json;
use super::http_error::ErrorBody;
use super::item_body::{item_type, read_body};
use super::openapi::{self, JSON, error_responses};
use super::{AppState, HttpError, dispatch, internal_error};
use brain_base::caller::{Caller, Scope};
use brain_base::permission::INGEST;
use brain_core::ingest::{IngestItem, IngestReceipt, ItemType};
use brain_page::MediaType;

/// The maximum length of `X-Brain-Source-Uri`, `X-Brain-Slug` and `X-Brain-Title`, in bytes.
const MAX_LONG_FIELD: usize = 1024;
/// The maximum length of other fields, in bytes.
const MAX_FIELD: usize = 255;
/// Text up to this size, in bytes, is prepared on the async thread. Larger text, and text that must
/// be converted, is prepared on a thread that may block.
const MAX_INLINE: usize = 64 * 1024;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    let routes = OpenApiRouter::new().routes(routes!(ingest)).routes(routes!(job));
    openapi::group("ingest", None, routes)
}

/// The error responses to a token without access, for the OpenAPI document.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "it is the schema of responses that `auth` creates")]
pub(super) enum AuthErrors {
    /// `invalid_token`
    #[response(
        status = 401,
        headers(("WWW-Authenticate" = String, description = "RFC 6750, RFC 9728"))
    )]
    Unauthorized(ErrorBody),
    /// `insufficient_scope`, `forbidden_host`, `forbidden_origin`
    #[response(
        status = 403,
        headers(("WWW-Authenticate" = String, description = "RFC 6750: the required scope"))
    )]
    Forbidden(ErrorBody),
}

error_responses! {
    IngestErrors: ErrorBody, JSON => {
        "400": "`empty_body`, `invalid_encoding`, `invalid_source`, `invalid_slug`, \
            `invalid_json`, `invalid_frontmatter`, `invalid_request`, `bad_request`",
        "408": "`request_timeout`: the body did not arrive in time",
        "409": "`conflict`: the `Idempotency-Key` was used for another item",
        "413": "`too_large`",
        "415": "`unsupported_content_type`",
        "429": "`rate_limited`, `quota_exceeded`",
        "500": "`internal`",
        "503": "`queue_full`, `stopping`, `disk_full`, `busy`",
    }
    JobErrors: ErrorBody, JSON => {
        "400": "`invalid_request`: this is not a job id",
        "404": "`unknown_job`: no such job, or the job of another client",
        "429": "`rate_limited`: the same wrong token was sent too often",
        "500": "`internal`",
        "503": "`stopping`, `busy`",
    }
}

/// Stores an item. The answer comes when the item is on disk; its page follows soon.
///
/// The same content from the same client to the same source within 24 hours is a `duplicate`, and
/// `job_id` names the first item.
#[utoipa::path(
    post,
    path = "/ingest",
    security(("bearer" = ["write"])),
    params(
        (
            "X-Brain-Source-Id" = Option<String>,
            Header,
            pattern = "^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$",
            description = "The source of the page: registered, and within the client's grant"
        ),
        (
            "X-Brain-Source-Uri" = Option<String>,
            Header,
            max_length = 1024,
            description = "Where the content comes from"
        ),
        (
            "X-Brain-Slug" = Option<String>,
            Header,
            min_length = 1,
            max_length = 1024,
            description = "The page's slug, instead of inbox/<date>-<hash>"
        ),
        (
            "X-Brain-Title" = Option<String>,
            Header,
            max_length = 1024,
            description = "The page's title, in UTF-8"
        ),
        (
            "X-Brain-Type" = Option<String>,
            Header,
            max_length = 255,
            description = "The page's type"
        ),
        (
            "Idempotency-Key" = Option<String>,
            Header,
            max_length = 255,
            description = "The sender's key for this item; the same key means the same item"
        ),
    ),
    request_body(
        description = "UTF-8, at most 1 MiB (`ingest.max_bytes`). Other text/* is stored as plain \
            text, except calendars, contacts, mail and exports of notes. In JSON, `content`, \
            `text` or `markdown` is the body, and `title`, `url`, `tags`, `type` are fields. Where \
            the owner set `ingest.documents`: also documents, at most \
            `pages.max_attachment_mb`",
        content(
            (String = "text/markdown", example = "# A thought\n\nfrom my phone"),
            (String = "text/plain"),
            (String = "text/html"),
            (
                serde_json::Value = "application/json",
                example = json!({"title": "A thought", "text": "from my phone"})
            ),
        )
    ),
    responses(
        (status = 202, description = "The item is on disk", body = IngestReceipt),
        AuthErrors,
        IngestErrors
    )
)]
async fn ingest(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    let counters = &app.shared.counters;
    match accept(&app, request).await {
        Ok(receipt) => {
            dispatch::set_job(receipt.job_id);
            match receipt.status {
                IngestStatus::Duplicate => counters.duplicate.add(1),
                IngestStatus::Queued => counters.accepted.add(1),
            }
            Ok((StatusCode::ACCEPTED, Json(receipt)).into_response())
        }
        Err(refusal) => {
            counters.refused.add(1);
            Err(refusal)
        }
    }
}

/// Returns the state of an item, to the client that sent it and to the owner.
#[utoipa::path(
    get,
    path = "/ingest/{job_id}",
    security(("bearer" = ["read"])),
    params(
        (
            "job_id" = String,
            Path,
            description = "The id from the answer of `POST /ingest`",
            example = "job_17",
            pattern = "^job_[0-9]{1,19}$"
        )
    ),
    responses(
        (status = 200, description = "The state of the item", body = IngestJob),
        AuthErrors,
        JobErrors
    )
)]
async fn job(
    State(app): State<AppState>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<IngestJob>, HttpError> {
    let caller = auth::authenticate(&app, &request, Resource::Service)?;
    auth::permit(&app, &caller, JobShow::INFO, Resource::Service)?;
    let id = JobId::parse(&id).map_err(|message| Fault::new(FaultCode::InvalidRequest, message))?;
    app.run(caller, JobShow { id }).await.map(Json)
}

/// Checks a request and queues its item.
async fn accept(app: &AppState, request: Request) -> Result<IngestReceipt, HttpError> {
    let caller = auth::authenticate(app, &request, Resource::Service)?;
    app.shared.limits.check_client(&caller.name, Scope::Write)?;
    auth::permit(app, &caller, INGEST, Resource::Service)?;
    app.shared.quota.check(&caller.name, app.brain.now())?;
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    let source = field(headers, "x-brain-source-id", MAX_FIELD)?.map(SourceId::parse);
    // Callers without access to a source must not learn whether it exists.
    if let Some(Ok(source)) = &source
        && !caller.may_use(source)
    {
        let fault = Fault::new(
            FaultCode::Forbidden,
            format!("this grant does not include the source \"{source}\""),
        );
        return Err(auth::insufficient_scope(app, Resource::Service, fault, Scope::Write));
    }
    let (item_type, limit) = item_type(headers, app.brain.config())?;
    let name_error =
        |code, error: brain_protocol::NameError| HttpError::from(Fault::new(code, error.message));
    let item = IngestItem {
        media_type: item_type,
        source: source.transpose().map_err(|error| name_error(FaultCode::InvalidSource, error))?,
        slug: field(headers, "x-brain-slug", MAX_LONG_FIELD)?
            .map(Slug::parse)
            .transpose()
            .map_err(|error| name_error(FaultCode::InvalidSlug, error))?,
        title: field(headers, "x-brain-title", MAX_LONG_FIELD)?,
        page_type: field(headers, "x-brain-type", MAX_FIELD)?,
        uri: field(headers, "x-brain-source-uri", MAX_LONG_FIELD)?,
        idempotency_key: field(headers, "idempotency-key", MAX_FIELD)?,
        body: read_body(headers, body, limit).await?,
    };
    if is_blank(&item.body) {
        let fault = Fault::new(FaultCode::EmptyBody, "the body is empty");
        return Err(fault.hint("send the text as the body of the request").into());
    }
    if item_type == ItemType::Text(MediaType::Json) {
        check_json(&item.body)?;
    }
    let (name, size, now) = (caller.name.clone(), item.body.len(), app.brain.now());
    app.shared.quota.charge(&name, size, now)?;
    let result = enqueue(app, caller, item).await;
    if result.as_ref().map_or(true, |receipt| receipt.status == IngestStatus::Duplicate) {
        app.shared.quota.refund(&name, size, now);
    }
    result
}

/// Checks that a body is JSON. `Brain` refuses bytes that are not UTF-8.
fn check_json(body: &[u8]) -> Result<(), HttpError> {
    let Ok(text) = std::str::from_utf8(body) else { return Ok(()) };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(not_json(&error)),
    }
}

/// Queues an item and waits until it is on disk.
async fn enqueue(
    app: &AppState,
    caller: Caller,
    item: IngestItem,
) -> Result<IngestReceipt, HttpError> {
    let (done, answer) = app.shared.completions.outcome_channel();
    let is_plain = ItemType::Text(MediaType::Plain) == item.media_type
        || ItemType::Text(MediaType::Markdown) == item.media_type;
    if is_plain && item.body.len() <= MAX_INLINE {
        app.brain.accept(&caller, item, done);
    } else {
        // Conversion needs many times the size of the text, so few run at once.
        let _permit = app.shared.conversions.acquire().await.map_err(|_| internal_error())?;
        app.block(move |brain| brain.accept(&caller, item, done)).await?;
    }
    let result = answer.await.map_err(|_| internal_error())?;
    result.map_err(|fault| match fault.code {
        FaultCode::Forbidden => {
            auth::insufficient_scope(app, Resource::Service, fault, Scope::Write)
        }
        _ => fault.into(),
    })
}

/// Returns a trimmed header field; `None` if it is absent or empty.
///
/// # Errors
/// 400 if it is not UTF-8, has more than `max` bytes, or has control characters.
fn field(headers: &HeaderMap, name: &str, max: usize) -> Result<Option<String>, HttpError> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let invalid = |problem: String| {
        let message = format!("the field {name} {problem}");
        HttpError::from(Fault::new(FaultCode::InvalidRequest, message))
    };
    let text =
        std::str::from_utf8(value.as_bytes()).map_err(|_| invalid("is not UTF-8".into()))?.trim();
    if text.len() > max {
        return Err(invalid(format!("has {} bytes; the maximum is {max}", text.len())));
    }
    if text.chars().any(|c| c.is_control() || is_invisible_control(c)) {
        return Err(invalid("has control characters".into()));
    }
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

/// Returns whether a character invisibly changes the direction of text, or ends a line.
fn is_invisible_control(c: char) -> bool {
    is_direction_control(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Returns whether a body is only white space, with or without a byte order mark.
fn is_blank(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    std::str::from_utf8(body).is_ok_and(|text| text.trim().is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
