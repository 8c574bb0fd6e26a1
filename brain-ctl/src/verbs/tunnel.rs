//! `brain tunnel`: sets up and controls the public address.

use brain_protocol::{
    Exit, Fault, FaultCode, JobId, TunnelReplay, TunnelReplayReply, TunnelRequests,
    TunnelRequestsReply, TunnelSetup, TunnelSetupReply, TunnelStart, TunnelState, TunnelStatus,
    TunnelStatusReply, TunnelStop,
};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::access::check_flags;
use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    output::{
        Column, Outcome, Paint, Show, Table, Text, format_bytes, format_to_minute,
        format_to_second, pad,
    },
};

/// The width of a label and the space after it, in columns of the terminal.
const LABEL_WIDTH: usize = 10;

/// Arguments of `tunnel`.
#[derive(Debug, Args)]
pub(crate) struct TunnelCommand {
    /// What to do with the tunnel
    #[arg(value_enum, value_name = "ACTION", default_value_t = TunnelAction::Status)]
    action: TunnelAction,

    /// Job to process again (replay)
    #[arg(value_name = "JOB", value_parser = JobId::parse, required_if_eq("action", "replay"))]
    job: Option<JobId>,

    /// Only failed requests: status 400 and above (requests)
    #[arg(long)]
    failed: bool,

    /// Number of requests, 1 to 1000 [default: 50] (requests)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
}

/// The actions of `tunnel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TunnelAction {
    /// Set up the tunnel step by step; safe to run again
    Setup,
    /// Start the tunnel, and restart it if it fails
    Start,
    /// Stop the tunnel, and do not start it again
    Stop,
    /// Show state, address and last check
    Status,
    /// Print only the public address
    Url,
    /// List received requests, without bodies and secrets
    Requests,
    /// Process a received item again
    Replay,
}

impl Verb for TunnelCommand {
    const NAME: &'static str = "tunnel";
    const GROUP: Group = Group::Access;
    const ABOUT: &'static str = "Set up and control the public address";
    const EXAMPLES: &'static str = "Examples:
  brain tunnel setup
  brain tunnel requests --failed";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        use TunnelAction::{Replay, Requests, Setup, Start, Status, Stop, Url};
        check_flags(
            Self::NAME,
            &self.action,
            &[
                ("a job's id", self.job.is_some(), &[Replay]),
                ("--failed", self.failed, &[Requests]),
                ("--limit", self.limit.is_some(), &[Requests]),
            ],
        )?;
        let is_start = self.action == Start;
        let show = |status| context.show(&TunnelOutput { is_start, status });
        match (self.action, self.job) {
            (Setup, _) => context.run(TunnelSetup),
            (Start, _) => show(context.call(TunnelStart)?),
            (Stop, _) => show(context.call(TunnelStop)?),
            (Status, _) => show(context.call(TunnelStatus)?),
            (Url, _) => context.show(&public_address(context.call(TunnelStatus)?)?),
            (Requests, _) => {
                context.run(TunnelRequests { failed: self.failed, limit: self.limit.unwrap_or(50) })
            }
            (Replay, Some(job_id)) => context.run(TunnelReplay { job_id }),
            (Replay, None) => Err(fail::usage("no job is named").hint(
                "`brain tunnel requests` lists them; for example: brain tunnel replay job_17",
            )),
        }
    }
}

/// Returns the public address.
///
/// # Errors
/// `not_found` if there is none.
fn public_address(status: TunnelStatusReply) -> Result<Address, Fault> {
    let message = format!("there is no public address: {} ({})", status.message, status.state);
    let url = status.url.ok_or_else(|| {
        Fault::new(FaultCode::NotFound, message)
            .hint(status.hint.unwrap_or_else(|| "see `brain tunnel status`".into()))
    })?;
    Ok(Address { url })
}

/// The output of `brain tunnel url`.
#[derive(Debug, Serialize)]
struct Address {
    url: String,
}

impl Show for Address {
    fn text(&self, t: &mut Text) {
        t.line(&self.url);
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.url);
    }
}

/// The output of `start`, `stop` and `status`.
#[derive(Debug, Serialize)]
struct TunnelOutput {
    /// Whether the command was `start`, which fails if the agent is not connected.
    #[serde(skip)]
    is_start: bool,
    #[serde(flatten)]
    status: TunnelStatusReply,
}

/// Prints a labelled value, wrapped with a hanging indent.
fn field(t: &mut Text, label: &str, value: &str) {
    let lead = format!("{} ", t.paint.dim(&pad(label, LABEL_WIDTH - 1)));
    t.prose(&lead, LABEL_WIDTH, value);
}

impl Show for TunnelOutput {
    fn text(&self, t: &mut Text) {
        let status = &self.status;
        let state = status.state.as_str().replace('_', " ");
        field(t, "tunnel", &format!("{state}: {}", status.message));
        if let Some(hint) = &status.hint {
            field(t, "", &hint.to_string());
        }
        if let Some(url) = &status.url {
            field(t, "address", url);
        }
        if status.provider != "none" {
            let owner = if status.adopted {
                "; started by another program, which the daemon does not stop"
            } else {
                ""
            };
            field(t, "agent", &format!("{}, to port {}{owner}", status.provider, status.forward));
        }
        if let Some(since) = &status.up_since {
            field(t, "up since", &format_to_minute(since));
        }
        if let Some(checked) = &status.checked_at {
            let next = status
                .next_at
                .as_ref()
                .map(|next| format!("; next at {}", time_of_day(next)))
                .unwrap_or_default();
            field(t, "checked", &format!("{}{next}", format_to_minute(checked)));
        }
        if status.starts > 0 {
            field(t, "starts", &status.starts.to_string());
        }
        if let Some(telephone) = &status.telephone {
            field(t, "telephone", telephone);
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.status.state.as_str());
    }

    fn exit(&self) -> Exit {
        let is_connected = matches!(
            self.status.state,
            TunnelState::Up | TunnelState::ServiceDown | TunnelState::Unreachable
        );
        if self.is_start && !is_connected { Exit::Failed } else { Exit::Done }
    }
}

/// Returns the local time of day of an RFC 3339 time: `10:30:45`.
fn time_of_day(at: &str) -> String {
    format_to_second(at).get(11..).unwrap_or(at).to_owned()
}

impl Show for TunnelSetupReply {
    fn text(&self, t: &mut Text) {
        super::steps::write(t, &self.steps);
        match self.steps.last().filter(|_| self.exit() == Exit::Failed) {
            Some(step) => {
                t.line(&format!(
                    "{} at {}; fix the problem and run setup again",
                    self.status, step.name
                ));
            }
            None => t.line("passed: the tunnel is set up, and the daemon maintains it"),
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.status.as_str());
    }

    fn exit(&self) -> Exit {
        super::steps::exit(self.status)
    }
}

const COLUMNS: &[Column] = &[
    Column::fixed("TIME"),
    Column::fixed("STATUS"),
    Column::fixed("METHOD").droppable(3),
    Column::flexible("PATH", 10).with_paint(Paint::cyan),
    Column::fixed("TOOK").droppable(2),
    Column::fixed("BYTES").droppable(4),
    Column::flexible("CLIENT", 8).droppable(1),
    Column::fixed("JOB"),
];

/// Formats the duration of a request, `us` microseconds.
fn duration(us: u64) -> String {
    match us {
        0..1000 => format!("{us} us"),
        1000..10_000_000 => format!("{} ms", us / 1000),
        _ => format!("{} s", us / 1_000_000),
    }
}

impl Show for TunnelRequestsReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for request in &self.requests {
            let job = request.job_id.map(|id| id.to_string()).unwrap_or_default();
            table.row([
                &time_of_day(&request.at),
                &request.status.to_string(),
                &request.method,
                &request.path,
                &duration(request.took_us),
                &format_bytes(request.bytes),
                &request.client,
                &job,
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for job in self.requests.iter().filter_map(|request| request.job_id) {
            t.line(&job.to_string());
        }
    }

    fn notes(&self) -> Vec<String> {
        if self.requests.is_empty() {
            return vec!["no requests came through the tunnel since the daemon started".into()];
        }
        if self.truncated {
            vec!["more requests exist: --limit takes up to 1000".into()]
        } else {
            Vec::new()
        }
    }
}

impl Show for TunnelReplayReply {
    fn text(&self, t: &mut Text) {
        t.line(&format!("{} {}: {}", self.new_job_id, self.status, self.message));
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.new_job_id.to_string());
    }

    fn notes(&self) -> Vec<String> {
        vec![format!("follow the job: brain jobs show {}", self.new_job_id)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::width;
    use brain_protocol::TunnelRequest;

    fn status(state: TunnelState) -> TunnelStatusReply {
        TunnelStatusReply {
            provider: "ngrok".into(),
            state,
            message: "https://brain-of-somebody.ngrok.app/health does not answer as brain \
                      does: it answers with status 404"
                .into(),
            hint: Some("try it from another machine".into()),
            url: (state == TunnelState::Unreachable)
                .then(|| "https://brain-of-somebody.ngrok.app".into()),
            up_since: Some("2026-11-21T10:30:00.000Z".into()),
            checked_at: Some("2026-11-21T10:31:00.000Z".into()),
            next_at: Some("2026-11-21T10:33:00.000Z".into()),
            starts: 2,
            adopted: true,
            forward: 8765,
            telephone: Some("https://brain-of-somebody.ngrok.app/voice".into()),
        }
    }

    #[test]
    fn a_status_fits_60_columns_and_a_start_without_connection_fails() {
        let mut t = Text::plain(Some(60));
        let output = TunnelOutput { is_start: false, status: status(TunnelState::Unreachable) };
        output.text(&mut t);
        for line in t.as_str().lines() {
            assert!(width(line) <= 60, "{line}");
        }
        for part in [
            "tunnel    unreachable:",
            "started by another program",
            "checked   2026-11-21 10:31; next at 10:33:00",
            "starts    2\n",
        ] {
            assert!(t.as_str().contains(part), "{part:?} is missing:\n{}", t.as_str());
        }
        assert_eq!(output.exit(), Exit::Done);
        for (state, is_start, exit) in [
            (TunnelState::Up, true, Exit::Done),
            (TunnelState::Unreachable, true, Exit::Done),
            (TunnelState::Refused, true, Exit::Failed),
            (TunnelState::Refused, false, Exit::Done),
        ] {
            assert_eq!(TunnelOutput { is_start, status: status(state) }.exit(), exit, "{state}");
        }
    }

    #[test]
    fn a_missing_address_is_a_fault() {
        assert_eq!(
            public_address(status(TunnelState::Unreachable)).map(|a| a.url).ok().as_deref(),
            Some("https://brain-of-somebody.ngrok.app")
        );
        let fault = public_address(status(TunnelState::Refused)).err();
        let found = fault.map(|fault| (fault.code, fault.message.contains("refused")));
        assert_eq!(found, Some((FaultCode::NotFound, true)));
    }

    #[test]
    fn requests_are_a_table_and_quiet_prints_job_ids() {
        let request = |job| TunnelRequest {
            at: "2026-11-21T10:30:45.123Z".into(),
            method: "POST".into(),
            path: "/ingest".into(),
            status: 202,
            took_us: 1500,
            client: "brain_cl_0123456789abcdef".into(),
            bytes: 70_000,
            job_id: job,
        };
        let reply = TunnelRequestsReply {
            requests: vec![request(Some(JobId(17))), request(None)],
            truncated: true,
        };
        let mut t = Text::plain(Some(60));
        reply.text(&mut t);
        assert!(t.as_str().lines().all(|line| width(line) <= 60), "{}", t.as_str());
        for part in ["10:30:45", "202", "/ingest", "job_17"] {
            assert!(t.as_str().contains(part), "{part} is missing:\n{}", t.as_str());
        }
        let mut quiet = Text::plain(None);
        reply.quiet(&mut quiet);
        assert_eq!(quiet.as_str(), "job_17\n");
        assert_eq!(reply.notes(), ["more requests exist: --limit takes up to 1000"]);
        assert_eq!(
            (duration(900), duration(1500), duration(12_000_000)),
            ("900 us".into(), "1 ms".into(), "12 s".into())
        );
    }
}
