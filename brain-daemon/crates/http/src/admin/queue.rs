//! The audit, the ingest queue and the status of the daemon.

use axum::Json;
use axum::extract::{Path, State};
use brain_protocol::{
    Audit, AuditList, Fault, FaultCode, IngestJob, JobId, JobList, JobRetry, JobRetryReply,
    JobShow, JobState, Jobs, Status, StatusReply,
};
use serde::Deserialize;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::AdminErrors;
use crate::body::{JsonObject, StrictQuery};
use crate::session::Owner;
use crate::{AppState, HttpError};

/// The default number of rows.
const DEFAULT_LIMIT: u32 = 100;
/// The maximum number of rows.
const MAX_LIMIT: u32 = 1000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(audit))
        .routes(routes!(jobs))
        .routes(routes!(job))
        .routes(routes!(retry))
        .routes(routes!(status))
}

/// The schema of a day or an instant.
struct DayOrInstant;

impl utoipa::PartialSchema for DayOrInstant {
    fn schema() -> RefOr<Schema> {
        let text = |format, pattern: &str| {
            let text = ObjectBuilder::new().schema_type(Type::String).format(Some(format));
            text.pattern(Some(pattern))
        };
        OneOfBuilder::new()
            .item(text(
                SchemaFormat::KnownFormat(KnownFormat::Date),
                "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
            ))
            .item(text(
                SchemaFormat::KnownFormat(KnownFormat::DateTime),
                "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]",
            ))
            .into()
    }
}

impl ToSchema for DayOrInstant {}

/// Selects calls.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct CallFilter {
    /// Only calls at or after this day or instant (`YYYY-MM-DD` or RFC 3339).
    #[param(nullable = false, inline, value_type = Option<DayOrInstant>)]
    since: Option<String>,
    /// Only calls at or before this day or instant.
    #[param(nullable = false, inline, value_type = Option<DayOrInstant>)]
    until: Option<String>,
    /// Only calls of the client with this id.
    #[param(nullable = false)]
    client: Option<String>,
    /// Only calls that failed.
    #[serde(default)]
    #[param(required = false)]
    failed: bool,
    /// The maximum number, newest first; 100 if absent.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<u32>,
}

/// Selects items.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct JobFilter {
    /// Only items in this state.
    #[param(nullable = false, inline)]
    state: Option<JobState>,
    /// The maximum number, newest first; 100 if absent.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<u32>,
    /// The `next` of the previous answer.
    #[param(nullable = false, pattern = "^job_[0-9]{1,19}$")]
    after: Option<String>,
}

/// Selects items to retry.
#[derive(Deserialize, ToSchema)]
#[schema(as = Again)]
#[serde(deny_unknown_fields)]
struct RetryRequest {
    /// One item; all failed items if absent.
    #[schema(pattern = "^job_[0-9]{1,19}$")]
    job_id: Option<String>,
}

/// Lists calls over the network.
///
/// They are kept for 90 days, without values and secrets.
#[utoipa::path(
    get,
    path = "/admin/api/audit",
    params(CallFilter),
    responses((status = 200, description = "Calls, the newest first", body = Audit), AdminErrors)
)]
async fn audit(
    State(app): State<AppState>,
    Owner(caller): Owner,
    StrictQuery(filter): StrictQuery<CallFilter>,
) -> Result<Json<Audit>, HttpError> {
    let CallFilter { since, until, client, failed, limit } = filter;
    let limit = checked_limit(limit)?;
    let request = AuditList { since, until, client, failed, limit, skip: 0 };
    app.run(caller, request).await.map(Json)
}

/// Lists ingested items.
#[utoipa::path(
    get,
    path = "/admin/api/jobs",
    params(JobFilter),
    responses((status = 200, description = "Items, the newest first", body = Jobs), AdminErrors)
)]
async fn jobs(
    State(app): State<AppState>,
    Owner(caller): Owner,
    StrictQuery(filter): StrictQuery<JobFilter>,
) -> Result<Json<Jobs>, HttpError> {
    let after = filter.after.as_deref().map(job_id).transpose()?;
    let limit = checked_limit(filter.limit)?;
    let request = JobList { state: filter.state, limit, after };
    app.run(caller, request).await.map(Json)
}

/// Shows an item.
#[utoipa::path(
    get,
    path = "/admin/api/jobs/{id}",
    params(("id" = String, Path, description = "The item's id", pattern = "^job_[0-9]{1,19}$")),
    responses((status = 200, description = "The item", body = IngestJob), AdminErrors)
)]
async fn job(
    State(app): State<AppState>,
    Owner(caller): Owner,
    Path(id): Path<String>,
) -> Result<Json<IngestJob>, HttpError> {
    let request = JobShow { id: job_id(&id)? };
    app.run(caller, request).await.map(Json)
}

/// Retries failed items.
#[utoipa::path(
    post,
    path = "/admin/api/jobs/retry",
    request_body(
        content = Option<RetryRequest>,
        description = "At most 64 KiB. Without a body, all failed items are retried."
    ),
    responses(
        (status = 200, description = "How many items are queued again", body = JobRetryReply),
        AdminErrors
    )
)]
async fn retry(
    State(app): State<AppState>,
    Owner(caller): Owner,
    JsonObject(request): JsonObject<RetryRequest>,
) -> Result<Json<JobRetryReply>, HttpError> {
    let id = request.job_id.as_deref().map(job_id).transpose()?;
    app.run(caller, JobRetry { id }).await.map(Json)
}

/// Returns the state of the daemon and the size of its store.
#[utoipa::path(
    get,
    path = "/admin/api/status",
    responses((status = 200, description = "The daemon", body = StatusReply), AdminErrors)
)]
async fn status(
    State(app): State<AppState>,
    Owner(caller): Owner,
) -> Result<Json<StatusReply>, HttpError> {
    app.run(caller, Status).await.map(Json)
}

fn job_id(text: &str) -> Result<JobId, Fault> {
    JobId::parse(text).map_err(|message| Fault::new(FaultCode::InvalidRequest, message))
}

/// Checks the requested number of rows.
fn checked_limit(limit: Option<u32>) -> Result<u32, Fault> {
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if (1..=MAX_LIMIT).contains(&limit) {
        return Ok(limit);
    }
    Err(Fault::new(
        FaultCode::InvalidRequest,
        format!("limit is {limit}; the allowed values are 1 to {MAX_LIMIT}"),
    ))
}
