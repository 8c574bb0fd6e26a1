//! `brain audit`: lists calls over HTTP and their results.

use brain_protocol::{Audit as AuditReply, AuditList, Fault};
use clap::Args;

use crate::{
    command::{Group, Verb},
    context::Context,
    list_options::PagingOptions,
    output::{
        Column, Listing, Outcome, Paint, Show, Table, TableFormatOption, Text, format_to_second,
        json_records,
    },
    when::PeriodOptions,
};

/// Arguments of `audit`.
#[derive(Debug, Args)]
pub(crate) struct AuditCommand {
    #[command(flatten)]
    period: PeriodOptions,

    /// Only calls of the client with this id
    #[arg(long, value_name = "ID")]
    client: Option<String>,

    /// Only calls that failed
    #[arg(long)]
    failed: bool,

    #[command(flatten)]
    paging: PagingOptions,

    #[command(flatten)]
    format: TableFormatOption,
}

impl Verb for AuditCommand {
    const NAME: &'static str = "audit";
    const GROUP: Group = Group::Access;
    const ABOUT: &'static str = "List calls over HTTP, newest first";
    const EXAMPLES: &'static str = "Examples:
  brain audit --failed
  brain audit --since \"last week\" --limit 1000 --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let Self { period, client, failed, paging, format } = self;
        let (since, until) = period.instants();
        let (limit, skip) = (paging.limit(), paging.skip());
        let calls = context.call(AuditList { since, until, client, failed, limit, skip })?;
        let truncated = calls.truncated;
        paging.print(context, &format.into(), calls, truncated, "calls", None)
    }
}

const COLUMNS: &[Column] = &[
    Column::fixed("AT").with_paint(Paint::dim),
    Column::flexible("CLIENT", 10).with_paint(Paint::cyan),
    Column::flexible("CALL", 12),
    Column::fixed("STATUS").align_right(),
    Column::fixed("TOOK").align_right().droppable(1),
    Column::flexible("PARAMETERS", 8).droppable(2),
];

impl Listing for AuditReply {
    const FIELDS: &'static [&'static str] =
        &["at", "client", "operation", "status", "took_us", "parameters"];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.calls, Self::FIELDS)
    }
}

impl Show for AuditReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for call in &self.calls {
            let took = format!("{:.1} ms", call.took_us as f64 / 1000.0);
            let at = format_to_second(&call.at);
            let status = call.status.to_string();
            table.row([
                &at,
                &call.client,
                &call.operation,
                &status,
                &took,
                &call.parameters.join(", "),
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for call in &self.calls {
            t.line(&format!("{} {} {} {}", call.at, call.status, call.client, call.operation));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::AuditCall;

    #[test]
    fn the_list_fits_60_columns() {
        let call = AuditCall {
            at: "2026-11-21T10:30:45.123Z".into(),
            client: format!("brain_cl_{}", "x".repeat(43)),
            operation: "POST /admin/api/register-client".into(),
            status: 401,
            took_us: 1_250,
            parameters: vec!["body 12".into()],
        };
        let reply = AuditReply { calls: vec![call], truncated: true };
        let mut t = Text::plain(Some(60));
        reply.text(&mut t);
        assert!(t.as_str().lines().all(|line| line.chars().count() <= 60), "{}", t.as_str());
        assert!(
            t.as_str().contains("2026-11-21 10:30:45") && t.as_str().contains("401"),
            "{}",
            t.as_str()
        );
    }
}
