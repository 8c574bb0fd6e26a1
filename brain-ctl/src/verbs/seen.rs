//! `brain seen`: lists what AI clients were given, and renders an answer again.

use brain_protocol::{
    Fault, SeenCall, SeenList, SeenOutcome, SeenReplay, SeenReplayReply, SeenReply,
};
use clap::Args;

use crate::{
    command::{Group, Verb},
    context::Context,
    list_options::LimitOption,
    output::{
        Column, Listing, Outcome, Paint, Show, Table, TableFormatOption, Text, format_to_second,
        json_records,
    },
    when::TimePeriod,
};

/// Maximum number of pages in a row of the table.
const MAX_PAGES: usize = 3;

/// Arguments of `seen`.
#[derive(Debug, Args)]
pub(crate) struct SeenCommand {
    /// Only calls of this client: its id, token:NAME, or "uid N" for programs on this machine
    #[arg(long, value_name = "NAME")]
    client: Option<String>,

    /// Only calls until this time: what the client knew then
    #[arg(long, value_name = "WHEN", value_parser = TimePeriod::parse)]
    at: Option<TimePeriod>,

    /// Only calls since this time
    #[arg(long, value_name = "WHEN", value_parser = TimePeriod::parse)]
    since: Option<TimePeriod>,

    /// Only calls that were given this page
    #[arg(long, value_name = "SLUG")]
    page: Option<String>,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE", requires = "page")]
    source: Option<String>,

    /// Only calls that were refused or failed
    #[arg(long)]
    failed: bool,

    /// Render the answer to this call again, byte for byte
    #[arg(long, value_name = "ID", conflicts_with_all = ["client", "at", "since", "page", "failed"])]
    replay: Option<String>,

    #[command(flatten)]
    limit: LimitOption,

    #[command(flatten)]
    format: TableFormatOption,
}

impl Verb for SeenCommand {
    const NAME: &'static str = "seen";
    const GROUP: Group = Group::Access;
    const ABOUT: &'static str = "List what AI clients were given, newest first";
    const EXAMPLES: &'static str = "Examples:
  brain seen --since today
  brain seen --client token:laptop --at \"2026-11-21 10:30\"
  brain seen --page people/ada --json
  brain seen --replay 0006ad0c6f0c0007";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let Self { client, at, since, page, source, failed, replay, limit, format } = self;
        if let Some(id) = replay {
            return context.run(SeenReplay { id });
        }
        let page = page.map(|slug| super::page(&slug, source.as_deref())).transpose()?;
        let (since, until) =
            (since.as_ref().map(TimePeriod::start), at.as_ref().map(TimePeriod::end));
        let seen = context.call(SeenList {
            client,
            since,
            until,
            page,
            failed,
            limit: limit.limit,
            skip: 0,
        })?;
        let truncated = seen.truncated;
        limit.print(context, &format.into(), seen, truncated, "calls")
    }
}

const COLUMNS: &[Column] = &[
    Column::fixed("ID"),
    Column::fixed("AT").with_paint(Paint::dim),
    Column::flexible("CLIENT", 8).with_paint(Paint::cyan),
    Column::flexible("CALL", 10),
    Column::fixed("END"),
    Column::flexible("PAGES", 10),
];

impl Listing for SeenReply {
    const FIELDS: &'static [&'static str] = &[
        "id",
        "at",
        "machine",
        "client",
        "tool",
        "request",
        "outcome",
        "code",
        "pages",
        "purged_pages",
        "purged_at",
        "zone_minutes",
        "form",
        "hash",
        "bytes",
    ];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.calls, Self::FIELDS)
    }
}

impl Show for SeenReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for call in &self.calls {
            let at = format_to_second(&call.at);
            let request = match &call.request {
                Some(request) => format!("{} {request}", call.tool),
                None => call.tool.clone(),
            };
            table.row([&call.id, &at, &call.client, &request, &end(call), &pages(call)]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for call in &self.calls {
            t.line(&format!("{} {} {} {}", call.id, call.at, call.client, call.tool));
        }
    }
}

impl Show for SeenReplayReply {
    fn text(&self, t: &mut Text) {
        t.verbatim(&self.answer);
    }

    fn quiet(&self, t: &mut Text) {
        t.verbatim(&self.answer);
    }
}

/// Returns how a call ended. A failed tool, a protocol error and a refusal are different things.
fn end(call: &SeenCall) -> String {
    let words = match call.outcome {
        SeenOutcome::Answered => return "answered".into(),
        SeenOutcome::Refused => "refused",
        SeenOutcome::ToolFailed => "tool failed",
        SeenOutcome::ProtocolFailed => "protocol error",
        SeenOutcome::HttpRefused => "HTTP",
    };
    format!("{words} {}", call.code)
}

/// Returns the first pages with their versions, and the number of the others.
fn pages(call: &SeenCall) -> String {
    let name = |page: &brain_protocol::SeenPage| format!("{} v{}", page.slug, page.version);
    let mut parts: Vec<String> = call.pages.iter().take(MAX_PAGES).map(name).collect();
    if call.pages.len() > MAX_PAGES {
        parts.push(format!("{} more", call.pages.len() - MAX_PAGES));
    }
    if call.purged_pages > 0 {
        parts.push(format!("{} purged", call.purged_pages));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_kinds_of_failures_differ() {
        let call = |outcome, code: &str| SeenCall {
            id: "0006ad0c6f0c0007".into(),
            at: "2026-11-21T10:30:45.123Z".into(),
            machine: None,
            client: "token:laptop".into(),
            tool: "query".into(),
            request: Some("{\"query\":\"tide\"}".into()),
            outcome,
            code: code.into(),
            pages: Vec::new(),
            purged_pages: 2,
            purged_at: None,
            zone_minutes: 60,
            form: 1,
            hash: String::new(),
            bytes: 0,
        };
        let calls = vec![
            call(SeenOutcome::Answered, ""),
            call(SeenOutcome::ToolFailed, "not_found"),
            call(SeenOutcome::ProtocolFailed, "-32602"),
            call(SeenOutcome::HttpRefused, "429"),
        ];
        let mut t = Text::plain(Some(140));
        SeenReply { calls, truncated: false, kept: "90d".into() }.text(&mut t);
        for part in ["answered", "tool failed not_found", "protocol error -32602", "HTTP 429"] {
            assert!(t.as_str().contains(part), "{part}: {}", t.as_str());
        }
        assert!(t.as_str().contains("2 purged"));
    }
}
