//! Records: calls over the network, costs, backups, and the configuration in force.

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use brain_core::Door;
use brain_protocol::{
    Audit, AuditCall, AuditList, BackupFile, BackupList, BackupListReply, CostCall, CostSum, Costs,
    CostsReply, usd,
};
use maud::{Markup, html};

use super::respond;
use crate::chart::cost_bars;
use crate::session::Session;
use crate::table::{bytes, table, text, time};
use crate::text::Text;

/// Maximum number of calls on one screen.
const LIMIT: u32 = 100;

/// `GET /web/audit?failed&client=NAME&page=N`
pub(crate) async fn audit(State(brain): State<Door>, uri: Uri, session: Session) -> Response {
    let query = uri.query().unwrap_or_default();
    let field = |name: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    };
    let failed = field("failed").is_some();
    let page = field("page").and_then(|text| text.parse::<u32>().ok()).unwrap_or(1).clamp(1, 1000);
    let client = field("client").filter(|client| !client.is_empty());
    let list = AuditList {
        since: None,
        until: None,
        client: client.clone(),
        failed,
        limit: LIMIT,
        skip: (page - 1) * LIMIT,
    };
    let calls = session.run(&brain, list).await;
    let screen = |calls: Audit| calls_screen(&calls, client.as_deref(), failed, page);
    respond(&session, "/web/audit", calls.map(screen))
}

/// Returns the address of a part of the audit.
fn audit_path(client: Option<&str>, failed: bool, page: u32) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if failed {
        query.append_pair("failed", "1");
    }
    if let Some(client) = client {
        query.append_pair("client", client);
    }
    if page > 1 {
        query.append_pair("page", &page.to_string());
    }
    match query.finish() {
        query if query.is_empty() => "/web/audit".into(),
        query => format!("/web/audit?{query}"),
    }
}

fn calls_screen(audit: &Audit, client: Option<&str>, failed: bool, page: u32) -> Markup {
    let row = |call: &AuditCall| {
        let class = if call.status >= 400 { "bad" } else { "good" };
        vec![
            time(&call.at),
            html! { code { (Text(&call.client)) } },
            html! { code { (Text(&call.operation)) } },
            html! { span class={ "state " (class) } { (call.status) } },
            html! { (format!("{:.1} ms", call.took_us as f64 / 1000.0)) },
            html! { (Text(&call.parameters.join(", "))) },
        ]
    };
    let rows: Vec<Vec<Markup>> = audit.calls.iter().map(row).collect();
    let headings = ["Time (UTC)", "Caller", "Call", "Status", "Took", "Parameters and sizes"];
    let path = |failed, page| audit_path(client, failed, page);
    html! {
        p { "Calls over the network. Their contents are never recorded." }
        p class="chips" {
            a class={ "chip" @if !failed { " on" } } href=(Text(&path(false, 1))) { "all" }
            a class={ "chip" @if failed { " on" } } href=(Text(&path(true, 1))) {
                "refused or failed"
            }
        }
        (table("Calls", &headings, &rows, "There are no such calls."))
        p class="row" {
            @if page > 1 { a href=(Text(&path(failed, page - 1))) { "Newer" } }
            @if audit.truncated { a href=(Text(&path(failed, page + 1))) { "Older" } }
        }
    }
}

/// `GET /web/costs`
pub(crate) async fn costs(State(brain): State<Door>, session: Session) -> Response {
    let costs = Costs { since: None, until: None, limit: LIMIT };
    let reply = session.run(&brain, costs).await;
    let limit = brain.config().llm.max_cost.millionths();
    let body = reply.map(|reply| costs_screen(&reply, limit, brain.now()));
    respond(&session, "/web/costs", body)
}

fn costs_screen(reply: &CostsReply, limit: u64, now: i64) -> Markup {
    let sum = |sum: &CostSum| {
        vec![
            text(&sum.purpose),
            text(&sum.model),
            html! { (sum.spent.calls) },
            html! { (sum.spent.tokens_in) " in, " (sum.spent.tokens_out) " out" },
            html! { "$" (usd(sum.spent.actual)) },
        ]
    };
    let call = |call: &CostCall| {
        vec![
            time(&call.at),
            text(&call.purpose),
            text(&call.model),
            html! { (call.state) },
            html! { "$" (usd(call.spent.estimated)) },
            html! { "$" (usd(call.spent.actual)) },
        ]
    };
    let sums: Vec<Vec<Markup>> = reply.sums.iter().map(sum).collect();
    let calls: Vec<Vec<Markup>> = reply.calls.iter().map(call).collect();
    html! {
        p {
            "Paid services cost " strong { "$" (usd(reply.total.actual)) } " in "
            (reply.total.calls) " calls."
            @if reply.damaged > 0 { " " (reply.damaged) " lines of the ledger are unreadable." }
        }
        p {
            "One question or run may cost at most " strong { "$" (usd(limit)) } " ("
            code { "llm.max_cost" } "), unless it names another limit."
        }
        h2 { "By day" }
        (cost_bars(&reply.days, limit, now))
        h2 { "By purpose and model" }
        (table(
            "Sums",
            &["Purpose", "Model", "Calls", "Tokens", "Cost"],
            &sums,
            "Nothing was paid.",
        ))
        h2 { "Calls" }
        (table(
            "Calls",
            &["Time (UTC)", "Purpose", "Model", "State", "Estimate", "Cost"],
            &calls,
            "There are no calls of a model yet.",
        ))
    }
}

/// `GET /web/backups`
pub(crate) async fn backups(State(brain): State<Door>, session: Session) -> Response {
    let reply = session.run(&brain, BackupList).await;
    respond(&session, "/web/backups", reply.map(|reply| backups_screen(&reply)))
}

fn backups_screen(reply: &BackupListReply) -> Markup {
    let row = |backup: &BackupFile| {
        vec![time(&backup.made_at), bytes(backup.bytes), html! { code { (Text(&backup.path)) } }]
    };
    let rows: Vec<Vec<Markup>> = reply.backups.iter().map(row).collect();
    html! {
        @match &reply.dir {
            Some(dir) => { p { "Backups are made by schedule in " code { (Text(dir)) } "." } }
            None => {
                p class="notice" {
                    "No backups are scheduled. Set " code { "backup.dir" }
                    " in the configuration, or run " code { "brain backup create" } "."
                }
            }
        }
        (table("Backups", &["Made (UTC)", "Size", "File"], &rows, "There are no backups yet."))
        p {
            code { "brain backup verify FILE" } " checks one, "
            code { "brain-daemon --restore FILE" } " restores it in an empty home."
        }
    }
}

/// `GET /web/configuration`: the values in force. They are changed in the file.
pub(crate) async fn configuration(State(brain): State<Door>, session: Session) -> Response {
    let config = brain.config();
    let rows: Vec<Vec<Markup>> = config
        .entries()
        .map(|(key, value, origin)| {
            let origin = origin.to_string();
            vec![
                html! { code { (key.section) "." (key.name) } },
                html! { code { (Text(value)) } },
                html! {
                    @if origin == "default" { span class="facts" { "default" } }
                    @else { (Text(&origin)) }
                },
            ]
        })
        .collect();
    let body = html! {
        p {
            "The file is " code { (Text(&config.file().display().to_string())) } ". "
            code { "brain config set KEY VALUE" } " changes it, " code { "brain restart" }
            " brings it into force."
        }
        @if config.has_changed_file() {
            p class="notice" { "The file has changed since the daemon started." }
        }
        (table("Configuration", &["Key", "Value", "From"], &rows, ""))
    };
    respond(&session, "/web/configuration", Ok(body))
}
