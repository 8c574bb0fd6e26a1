//! The state of the daemon, and the checks of `brain doctor` with their repairs.

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use brain_core::Door;
use brain_protocol::{
    Check, CheckStatus, Doctor, DoctorReply, Fault, Status, StatusReply, WorkerState, WorkerStatus,
};
use maud::{Markup, html};

use super::respond;
use crate::extract::FormPost;
use crate::layout::csrf;
use crate::navigation::STATUS;
use crate::session::Session;
use crate::table::{bytes, table, text, time};
use crate::text::Text;

/// `GET /web/status`, with `?check` for the checks of the doctor.
pub(crate) async fn show(State(brain): State<Door>, uri: Uri, session: Session) -> Response {
    let has_checks = uri.query().is_some_and(|query| query.starts_with("check"));
    let body = screen(&brain, &session, has_checks.then_some(Doctor { fix: false })).await;
    respond(&session, STATUS, body)
}

/// `POST /web/status/fix`: runs the checks with the repairs that are safe, and shows both.
pub(crate) async fn fix(State(brain): State<Door>, form_post: FormPost) -> Response {
    let body = screen(&brain, &form_post.session, Some(Doctor { fix: true })).await;
    respond(&form_post.session, STATUS, body)
}

async fn screen(brain: &Door, session: &Session, doctor: Option<Doctor>) -> Result<Markup, Fault> {
    let checks = match doctor {
        Some(doctor) => Some(session.run(brain, doctor).await?),
        None => None,
    };
    let status = session.run(brain, Status).await?;
    Ok(html! {
        (problems(&status))
        (facts(&status))
        h2 { "Checks" }
        @match &checks {
            None => {
                p { a class="button" href={ (STATUS) "?check=1" } { "Run the checks" } }
            }
            Some(reply) => (checks_of(session, reply))
        }
        h2 { "Workers" }
        (workers(&status.workers))
    })
}

fn problems(status: &StatusReply) -> Markup {
    html! {
        @if status.degraded.is_empty() {
            p class="notice good" { "Everything works." }
        } @else {
            div class="notice" role="note" {
                ul { @for problem in &status.degraded { li { (text(problem)) } } }
            }
        }
    }
}

fn facts(status: &StatusReply) -> Markup {
    let hours = status.uptime_seconds / 3600;
    let listener = |address: &Option<String>| address.clone().unwrap_or_else(|| "off".into());
    let rows: [(&str, Markup); 10] = [
        ("Version", html! { (Text(&status.version)) ", process " (status.pid) }),
        ("Running for", html! { (hours) " h " (status.uptime_seconds % 3600 / 60) " min" }),
        ("Home", html! { code { (Text(&status.home)) } }),
        ("Pages", html! { (status.pages) ", and " (status.deleted) " deleted" }),
        ("Sources", html! { (status.sources) }),
        ("Store", html! { (bytes(status.store_bytes)) ", schema " (status.schema) }),
        (
            "Index",
            match status.index_behind {
                0 => html! { "up to date" },
                behind => html! { (behind) " changes not on disk yet" },
            },
        ),
        ("Files to write", html! { (status.outbox) }),
        (
            "Queue",
            html! {
                (status.jobs.waiting) " waiting, " (status.jobs.failed) " failed, "
                (status.jobs.stored) " stored"
            },
        ),
        (
            "HTTP",
            html! {
                "local " (Text(&listener(&status.http_local)))
                ", public " (Text(&listener(&status.http_public)))
            },
        ),
    ];
    html! { dl class="facts-list" { @for (term, value) in &rows { dt { (term) } dd { (value) } } } }
}

fn checks_of(session: &Session, reply: &DoctorReply) -> Markup {
    let (fine, others): (Vec<&Check>, Vec<&Check>) =
        reply.checks.iter().partition(|check| check.status == CheckStatus::Ok);
    let row = |check: &&Check| {
        let (class, name) = match check.status {
            CheckStatus::Ok => ("good", "fine"),
            CheckStatus::Warn => ("warn", "warning"),
            CheckStatus::Fail => ("bad", "broken"),
        };
        vec![
            html! { span class={ "state " (class) } { (name) } },
            html! { (Text(&check.name)) },
            html! {
                (text(&check.message))
                @if let Some(hint) = &check.hint {
                    br; span class="facts" { (text(&hint.to_string())) }
                }
            },
        ]
    };
    let headings = ["State", "Check", "Observation"];
    let rows = |checks: &[&Check]| checks.iter().map(row).collect::<Vec<_>>();
    html! {
        p { "Health " strong { (reply.health_score) } " of 100, " (reply.status) "." }
        (table("Problems", &headings, &rows(&others), "No problems."))
        @if !fine.is_empty() {
            details {
                summary { (fine.len()) " checks are fine" }
                (table("Passed checks", &headings, &rows(&fine), ""))
            }
        }
        form class="row" method="post" action="/web/status/fix" {
            (csrf(session))
            button { "Repair what is safe" }
            a href={ (STATUS) "?check=1" } { "Check again" }
        }
    }
}

fn workers(workers: &[WorkerStatus]) -> Markup {
    let row = |worker: &WorkerStatus| {
        let (class, state) = match worker.state {
            WorkerState::NotConfigured => ("", "not configured"),
            WorkerState::Running => ("good", "running"),
            WorkerState::Waiting => ("good", "waiting"),
            WorkerState::Restarting => ("bad", "restarting"),
        };
        vec![
            html! { (Text(&worker.name)) },
            html! { span class={ "state " (class) } { (state) } },
            html! { (worker.restarts) },
            html! {
                @if let Some(failure) = &worker.failure {
                    (time(&failure.at)) ": " (text(&failure.message))
                }
            },
        ]
    };
    let rows: Vec<Vec<Markup>> = workers.iter().map(row).collect();
    table("Workers", &["Worker", "State", "Restarts", "Last failure"], &rows, "There are none.")
}
