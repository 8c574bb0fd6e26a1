//! `brain left`: lists what left the machine.

use brain_protocol::{Fault, LeftKind, LeftList, LeftOutcome, LeftReply, LeftRequest};
use clap::Args;

use crate::{
    command::{Group, Verb},
    context::Context,
    list_options::LimitOption,
    output::{
        Column, Listing, Outcome, Paint, Show, Table, TableFormatOption, Text, format_to_second,
        json_records,
    },
    when::PeriodOptions,
};

/// Arguments of `left`.
#[derive(Debug, Args)]
pub(crate) struct LeftCommand {
    #[command(flatten)]
    period: PeriodOptions,

    /// Only requests to this host, or starts of this program
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// Only requests with text of this page
    #[arg(long, value_name = "SLUG")]
    page: Option<String>,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE", requires = "page")]
    source: Option<String>,

    #[command(flatten)]
    limit: LimitOption,

    #[command(flatten)]
    format: TableFormatOption,
}

impl Verb for LeftCommand {
    const NAME: &'static str = "left";
    const GROUP: Group = Group::Access;
    const ABOUT: &'static str = "List requests to other hosts, newest first";
    const EXAMPLES: &'static str = "Examples:
  brain left --since yesterday
  brain left --host api.openai.com --json
  brain left --page people/ada

Sizes are those of bodies, without headers and encryption. Redirects and retries
are rows of their own; in --json, \"call\" joins them. Programs that the daemon
starts may send by themselves: a row says when they ran.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let Self { period, host, page, source, limit, format } = self;
        let (since, until) = period.instants();
        let page = page.map(|slug| super::page(&slug, source.as_deref())).transpose()?;
        let left =
            context.call(LeftList { since, until, host, page, limit: limit.limit, skip: 0 })?;
        let truncated = left.truncated;
        limit.print(context, &format.into(), left, truncated, "requests")
    }
}

const COLUMNS: &[Column] = &[
    Column::fixed("AT").with_paint(Paint::dim),
    Column::flexible("TO", 12).with_paint(Paint::cyan),
    Column::flexible("WHY", 8),
    Column::fixed("OUT").align_right(),
    Column::fixed("IN").align_right().droppable(2),
    Column::fixed("END"),
    Column::flexible("PAGES", 8).droppable(1),
];

impl Listing for LeftReply {
    const FIELDS: &'static [&'static str] = &[
        "id",
        "call",
        "at",
        "machine",
        "kind",
        "host",
        "port",
        "method",
        "purpose",
        "outcome",
        "status",
        "sent",
        "received",
        "took_ms",
        "pages",
        "purged_pages",
    ];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.requests, Self::FIELDS)
    }
}

impl Show for LeftReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for request in &self.requests {
            table.row([
                &format_to_second(&request.at),
                &target(request),
                &purpose(request),
                &request.sent.to_string(),
                &request.received.to_string(),
                &end(request),
                &pages(request),
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for request in &self.requests {
            let LeftRequest { at, sent, received, .. } = request;
            t.line(&format!("{at} {} {sent} {received} {}", target(request), end(request)));
        }
    }
}

fn target(request: &LeftRequest) -> String {
    match request.kind {
        LeftKind::Program => format!("program {}", request.host),
        LeftKind::Request | LeftKind::Connection => format!("{}:{}", request.host, request.port),
    }
}

fn purpose(request: &LeftRequest) -> String {
    match request.kind {
        LeftKind::Program => format!("{}; may send by itself", request.purpose),
        LeftKind::Request | LeftKind::Connection => request.purpose.clone(),
    }
}

/// Returns how a request ended: its status, or words.
fn end(request: &LeftRequest) -> String {
    match (request.outcome, request.status) {
        (LeftOutcome::Answered, Some(status)) => status.to_string(),
        (LeftOutcome::Answered, None) => "answered".into(),
        (LeftOutcome::NotSent, _) => "not sent".into(),
        (LeftOutcome::Failed, Some(status)) => format!("{status}, cut"),
        (LeftOutcome::Failed, None) => "no answer".into(),
        (LeftOutcome::Ended, _) => "ended".into(),
        (LeftOutcome::Open, _) => "open".into(),
        (LeftOutcome::Unknown, _) => "not known".into(),
    }
}

fn pages(request: &LeftRequest) -> String {
    let names: Vec<&str> = request.pages.iter().map(|page| page.slug.as_str()).collect();
    match request.purged_pages {
        0 => names.join(", "),
        purged if names.is_empty() => format!("{purged} purged"),
        purged => format!("{}, {purged} purged", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::{LeftPage, Slug, SourceId};

    fn request(outcome: LeftOutcome, status: Option<u16>) -> LeftRequest {
        let slug = Slug::parse("people/ada").unwrap_or_else(|_| unreachable!());
        LeftRequest {
            id: "0006ad0c6f0c0007".into(),
            call: "0006ad0c6f0c0007".into(),
            at: "2026-11-21T10:30:45.123Z".into(),
            machine: None,
            kind: LeftKind::Request,
            host: "api.openai.com".into(),
            port: 443,
            method: "POST".into(),
            purpose: "embedding".into(),
            outcome,
            status,
            sent: 4096,
            received: 128,
            took_ms: Some(7),
            pages: vec![LeftPage { source_id: SourceId::default(), slug }],
            purged_pages: 1,
        }
    }

    #[test]
    fn each_end_has_its_words() {
        let words = |outcome, status| end(&request(outcome, status));
        assert_eq!(words(LeftOutcome::Answered, Some(503)), "503");
        assert_eq!(words(LeftOutcome::NotSent, None), "not sent");
        assert_eq!(words(LeftOutcome::Failed, Some(200)), "200, cut");
        assert_eq!(words(LeftOutcome::Unknown, None), "not known");
    }

    #[test]
    fn the_list_names_host_bytes_and_pages() {
        let requests = vec![request(LeftOutcome::Answered, Some(200))];
        let reply = LeftReply { requests, truncated: false, kept: "365d".into() };
        let mut t = Text::plain(Some(120));
        reply.text(&mut t);
        for part in ["api.openai.com:443", "embedding", "4096", "people/ada, 1 purged"] {
            assert!(t.as_str().contains(part), "{part}: {}", t.as_str());
        }
    }
}
