//! The state of the collector: setup, the last run with its streams, and rate limits.

use brain_base::clock::rfc3339;
use brain_protocol::{
    CollectedStream, CollectorRun, CollectorStatusReply, RateLimit, RunStatus, StreamStatus,
};
use maud::{Markup, html};

use super::COLLECT;
use crate::layout::csrf;
use crate::session::Session;
use crate::table::{table, text, time};
use crate::text::{Text, with_noun};

/// Shows whether the collector runs, and the button that starts a run.
pub(super) fn state(session: &Session, status: &CollectorStatusReply) -> Markup {
    let is_set_up = status.user_id.is_some();
    html! {
        @if !is_set_up {
            div class="notice" role="note" {
                p { "The collector is not set up. In a terminal, run:" }
                pre { code { "brain collector setup --handle NAME --token-file FILE" } }
                p { "The file has the bearer token of your app on the platform." }
            }
        } @else if let Some(reason) = &status.off_because {
            p class="notice" role="note" {
                "The collector does not run by itself: " (text(reason)) "."
            }
        }
        (facts(status))
        @if is_set_up {
            form method="post" action=(COLLECT) {
                (csrf(session))
                p { button { "Collect now" } }
            }
        }
    }
}

fn facts(status: &CollectorStatusReply) -> Markup {
    let stored = &status.stored;
    html! {
        dl class="facts-list" {
            @if status.handle.is_some() || status.user_id.is_some() {
                dt { "Account" }
                dd {
                    @if let Some(handle) = &status.handle { "@" (text(handle)) " " }
                    @if let Some(id) = &status.user_id { span class="facts" { "id " (Text(id)) } }
                }
            }
            @if let Some(next) = &status.next_run { dt { "Next run" } dd { (time(next)) } }
            dt { "Stored" }
            dd {
                (with_noun(stored.own, "own post", "own posts")) ", "
                (with_noun(stored.mentions, "mention", "mentions")) ", "
                (stored.searches) " from searches, "
                (with_noun(stored.deletions, "deletion", "deletions")) ", "
                (with_noun(stored.engagement, "curve", "curves"))
            }
            dt { "Platform" } dd { code { (Text(&status.platform_api)) } }
            dt { "Directory" } dd { code { (Text(&status.dir)) } }
            @if let Some(stream) = &status.stream {
                dt { "Connection" } dd { (connection(stream)) }
            }
        }
    }
}

/// Shows the state of the persistent connection.
fn connection(stream: &StreamStatus) -> Markup {
    html! {
        (text(stream.state.as_str())) ", " (with_noun(stream.posts, "post", "posts")) " in "
        (with_noun(stream.connections, "connection", "connections")) ": "
        (text(&stream.message))
    }
}

/// Shows the result of the run that the button started.
pub(super) fn run_result(run: &CollectorRun) -> Markup {
    let class = if run.status == RunStatus::Complete { "good" } else { "bad" };
    html! {
        div class={ "notice " (class) } role="status" {
            p { (summary(run)) }
            @for warning in &run.warnings { p { (text(warning)) } }
        }
    }
}

fn summary(run: &CollectorRun) -> Markup {
    html! {
        @if run.status == RunStatus::Complete {
            "The run is complete: " (with_noun(run.tweets_stored, "post", "posts")) ", "
            (with_noun(run.deletions, "deletion", "deletions")) ", "
            (with_noun(run.velocity_alerts, "alert", "alerts")) ", "
            (with_noun(run.requests, "request", "requests")) "."
        } @else {
            "The run failed: "
            (text(run.why().unwrap_or("no reason is known")))
        }
    }
}

/// Shows the last run, its streams, and the remaining requests of the platform's rate limits.
pub(super) fn runs(status: &CollectorStatusReply, now: i64) -> Markup {
    let limits: Vec<Vec<Markup>> =
        status.rate_limits.iter().map(|limit| rate_limit(limit, now)).collect();
    html! {
        h2 id="runs" { "Runs" }
        @match &status.last_run {
            None => { p { "The collector has not run yet." } }
            Some(run) => {
                @let rows: Vec<Vec<Markup>> = run.streams.iter().map(stream).collect();
                p {
                    "Last run from " (time(&run.started_at)) " to " (time(&run.finished_at)) ". "
                    (summary(run))
                }
                @if run.unverified > 0 {
                    p {
                        (with_noun(run.unverified, "missing post", "missing posts"))
                        " will be checked again by the next run."
                    }
                }
                @if !run.warnings.is_empty() {
                    ul { @for warning in &run.warnings { li { (text(warning)) } } }
                }
                (table("Streams", &["Stream", "Posts", "New", "State"], &rows, ""))
            }
        }
        h3 { "Rate limits" }
        (table(
            "Rate limits",
            &["Endpoint", "Requests left", "Until (UTC)", "State"],
            &limits,
            "The platform has reported none yet.",
        ))
    }
}

fn stream(stream: &CollectedStream) -> Vec<Markup> {
    vec![
        html! { (Text(&stream.stream)) },
        html! { (stream.total) },
        html! { (stream.new) },
        html! {
            @match &stream.skipped {
                None => span class="state good" { "complete" },
                Some(skipped) => {
                    span class="state bad" { "incomplete" } " " (text(&skipped.message))
                    @if let Some(reset) = skipped.reset {
                        ", until " (time(&rfc3339(reset.saturating_mul(1000))))
                    }
                }
            }
        },
    ]
}

fn rate_limit(limit: &RateLimit, now: i64) -> Vec<Markup> {
    let reset = limit.reset.saturating_mul(1000);
    vec![
        html! { code { (Text(&limit.endpoint)) } },
        html! { (limit.remaining) },
        time(&rfc3339(reset)),
        html! {
            @if reset <= now { span class="facts" { "the limit is reset" } }
            @else if limit.held { span class="state warn" { "paused until then" } }
            @else { span class="state good" { "open" } }
        },
    ]
}
