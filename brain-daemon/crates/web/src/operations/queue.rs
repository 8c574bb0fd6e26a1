//! The ingest queue. The screen calls a job an item.

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use brain_core::Door;
use brain_protocol::{Fault, FaultCode, IngestJob, JobId, JobList, JobRetry, JobState, Jobs};
use maud::{Markup, html};

use super::respond;
use crate::extract::FormPost;
use crate::layout::{self, csrf, see_other};
use crate::page_path::page_path;
use crate::session::Session;
use crate::table::{bytes, table, text, time};
use crate::text::Text;

const PATH: &str = "/web/queue";
/// Maximum number of jobs on one screen.
const LIMIT: u32 = 100;

/// `GET /web/queue?state=failed&after=ID`
pub(crate) async fn show(State(brain): State<Door>, uri: Uri, session: Session) -> Response {
    let query = uri.query().unwrap_or_default();
    let field = |name: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    };
    let state = field("state").and_then(|text| JobState::parse(&text));
    let after = field("after").and_then(|text| JobId::parse(&text).ok());
    let jobs = session.run(&brain, JobList { state, limit: LIMIT, after }).await;
    respond(&session, PATH, jobs.map(|jobs| screen(&session, state, &jobs)))
}

/// `POST /web/queue/retry`: retries one failed job, or all.
pub(crate) async fn retry(State(brain): State<Door>, form_post: FormPost) -> Response {
    let work = async {
        let id = match form_post.field("job") {
            "" => None,
            text => Some(
                JobId::parse(text)
                    .map_err(|message| Fault::new(FaultCode::InvalidRequest, message))?,
            ),
        };
        form_post.session.run(&brain, JobRetry { id }).await
    };
    match work.await {
        Ok(_) => see_other(PATH),
        Err(fault) => layout::fault(&form_post.session, &fault),
    }
}

fn screen(session: &Session, state: Option<JobState>, jobs: &Jobs) -> Markup {
    let counts = jobs.counts;
    let rows: Vec<Vec<Markup>> = jobs.jobs.iter().map(|job| row(session, job)).collect();
    let headings = ["Item", "State", "From", "Received", "Size", "Page or problem", ""];
    html! {
        p {
            (counts.waiting) " waiting, " (counts.failed) " failed, " (counts.stored) " stored. "
            "Items arrive over HTTP and become pages one after the other."
        }
        p class="chips" aria-label="State" {
            a class={ "chip" @if state.is_none() { " on" } } href=(PATH) { "all" }
            @for other in JobState::ALL {
                a class={ "chip" @if state == Some(other) { " on" } }
                    href={ (PATH) "?state=" (other.as_str()) } { (other.as_str()) }
            }
        }
        @if counts.failed > 0 {
            form method="post" action="/web/queue/retry" {
                (csrf(session))
                p { button { "Try all failed items again" } }
            }
        }
        (table("Items", &headings, &rows, "Nothing here. Programs send items to POST /ingest."))
        @if let Some(next) = jobs.next {
            p {
                a href={
                    (PATH) "?after=" (next.to_string())
                    @if let Some(state) = state { "&state=" (state.as_str()) }
                } { "Older items" }
            }
        }
    }
}

fn row(session: &Session, job: &IngestJob) -> Vec<Markup> {
    let class = match job.status {
        JobState::Failed => "bad",
        JobState::Retrying => "warn",
        _ => "good",
    };
    vec![
        html! { code { (job.job_id.to_string()) } },
        html! {
            span class={ "state " (class) } { (job.status.as_str()) }
            @if job.attempts > 1 { " " span class="facts" { (job.attempts) " attempts" } }
        },
        text(&job.client),
        time(&job.received_at),
        bytes(job.bytes),
        html! {
            @if let Some(slug) = &job.slug {
                a href=(Text(&page_path(&format!("{}:{slug}", job.source_id)))) { (Text(slug)) }
            }
            @if let Some(error) = &job.error { (text(&error.message)) }
            @if let Some(at) = &job.retry_at { span class="facts" { " again at " (time(at)) } }
        },
        html! {
            @if job.status == JobState::Failed {
                form method="post" action="/web/queue/retry" {
                    (csrf(session))
                    input type="hidden" name="job" value=(job.job_id.to_string());
                    button class="plain" { "Try again" }
                }
            }
        },
    ]
}
