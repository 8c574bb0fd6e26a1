//! `GET /metrics`: metrics for Prometheus (text format 0.0.4), on the local listener only.
//!
//! Metrics name no page and no client.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use brain_protocol::{Status, StatusReply, VERSION, WorkerState, WorkerStatus};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::counters::Counters;
use super::http_error::ErrorBody;
use super::{AppState, HttpError, Side};
use brain_base::caller::Caller;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// Metrics for Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "metrics",
    responses(
        (
            status = 200,
            description = "The metrics, in the text format 0.0.4",
            body = String,
            content_type = "text/plain"
        ),
        (status = 500, description = "The store failed", body = ErrorBody),
        (status = 503, description = "The daemon is stopping or too busy", body = ErrorBody),
    )
)]
async fn metrics(State(app): State<AppState>) -> Result<Response, HttpError> {
    let owner = Caller::local(rustix::process::geteuid().as_raw());
    let status = app.run(owner, Status).await?;
    let connections =
        [Side::Local, Side::Public].map(|side| (side, app.shared.limiter(side).count()));
    let text = render(&status, &app.shared.counters, &connections);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

/// Renders the metrics in the text format.
fn render(status: &StatusReply, counters: &Counters, connections: &[(Side, usize)]) -> String {
    let mut out = String::with_capacity(4096);
    write_head(&mut out, "brain_build_info", "gauge", "1, with the version.");
    let _ =
        writeln!(out, "brain_build_info{{version=\"{VERSION}\",schema=\"{}\"}} 1", status.schema);
    write_numbers(&mut out, status, counters);
    write_workers(&mut out, &status.workers);
    let help = "Items sent to /ingest, by result.";
    write_head(&mut out, "brain_ingest_items_total", "counter", help);
    for (result, count) in [
        ("accepted", &counters.accepted),
        ("duplicate", &counters.duplicate),
        ("refused", &counters.refused),
    ] {
        let _ = writeln!(out, "brain_ingest_items_total{{result=\"{result}\"}} {}", count.get());
    }
    write_head(&mut out, "brain_http_connections", "gauge", "Open connections.");
    for (side, count) in connections {
        let _ = writeln!(out, "brain_http_connections{{listener=\"{}\"}} {count}", side.as_str());
    }
    write_head(&mut out, "brain_http_requests_total", "counter", "Answered requests.");
    for (name, route) in counters.routes() {
        for (class, count) in route.classes() {
            let _ = writeln!(
                out,
                "brain_http_requests_total{{route=\"{name}\",status=\"{class}xx\"}} {count}"
            );
        }
    }
    write_histogram(&mut out, counters);
    out
}

/// Writes the metrics that are one number each.
fn write_numbers(out: &mut String, status: &StatusReply, counters: &Counters) {
    for (name, kind, help, value) in [
        (
            "brain_uptime_seconds",
            "gauge",
            "Seconds since the daemon started.",
            status.uptime_seconds,
        ),
        ("brain_pages", "gauge", "Active pages.", status.pages),
        ("brain_pages_deleted", "gauge", "Deleted pages that can be restored.", status.deleted),
        ("brain_store_bytes", "gauge", "Size of the store's file.", status.store_bytes),
        (
            "brain_index_behind",
            "gauge",
            "Changes that are not in the index on disk yet.",
            status.index_behind,
        ),
        ("brain_outbox", "gauge", "Files that are not written yet.", status.outbox),
        (
            "brain_degraded",
            "gauge",
            "Parts of the daemon that do not work.",
            status.degraded.len() as u64,
        ),
        ("brain_queue_waiting", "gauge", "Items in the queue.", status.jobs.waiting),
        ("brain_queue_failed", "gauge", "Items that failed permanently.", status.jobs.failed),
        (
            "brain_http_received_bytes_total",
            "counter",
            "Bytes of received request bodies.",
            counters.bytes_in.get(),
        ),
    ] {
        write_head(out, name, kind, help);
        let _ = writeln!(out, "{name} {value}");
    }
}

/// Writes the metrics of workers that are configured.
fn write_workers(out: &mut String, workers: &[WorkerStatus]) {
    const RESTARTS: &str = "brain_worker_restarts_total";
    let configured = || workers.iter().filter(|worker| worker.state != WorkerState::NotConfigured);
    let help = "1 if the worker runs, 0 while it waits for a restart.";
    write_head(out, "brain_worker_up", "gauge", help);
    for worker in configured() {
        let up = u8::from(worker.state != WorkerState::Restarting);
        let _ = writeln!(out, "brain_worker_up{{worker=\"{}\"}} {up}", worker.name);
    }
    write_head(out, RESTARTS, "counter", "Restarts of the worker after failures.");
    for worker in configured() {
        let _ = writeln!(out, "{RESTARTS}{{worker=\"{}\"}} {}", worker.name, worker.restarts);
    }
}

/// Writes the histogram of durations.
fn write_histogram(out: &mut String, counters: &Counters) {
    const NAME: &str = "brain_http_request_duration_seconds";
    write_head(out, NAME, "histogram", "Duration of requests.");
    let mut last_sum = 0;
    for (bound_us, sum) in counters.histogram() {
        let _ = writeln!(out, "{NAME}_bucket{{le=\"{}\"}} {sum}", bound_us as f64 / 1e6);
        last_sum = sum;
    }
    // Counters change while they are read; the last bucket must not be below the others.
    let all = counters.requests().max(last_sum);
    let _ = writeln!(out, "{NAME}_bucket{{le=\"+Inf\"}} {all}");
    let _ = writeln!(
        out,
        "{NAME}_sum {}\n{NAME}_count {all}",
        counters.total_duration_us.get() as f64 / 1e6
    );
}

/// Writes the lines before the values of a metric.
fn write_head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}
