//! `brain` without a command: shows the state of the brain, its newest pages, and problems.

use std::{fs, sync::mpsc, thread, time::Duration};

use brain_protocol::{
    Check, CheckStatus, Doctor, DoctorReply, Exit, Fault, FaultCode, List, PageRow, Pages, Sort,
    SourceId, Status, StatusReply, page_name,
};
use serde::Serialize;

use crate::{
    context::Context,
    duration,
    home::Home,
    output::{Column, Outcome, Paint, Show, Table, Text, count, format_to_day},
};

/// Maximum number of pages to show.
const MAX_PAGES: u32 = 5;
/// Time to wait for the checks, which can send requests to other machines.
const CHECKS_TIMEOUT: Duration = Duration::from_millis(1000);

/// First commands, each with its purpose.
const FIRST_COMMANDS: [(&str, &str); 4] = [
    ("brain setup", "answer five questions"),
    ("brain capture \"A first thought\"", "or begin at once"),
    ("brain import ~/notes", "or take in notes that you have"),
    ("brain demo", "or look around in an invented brain"),
];

/// The output of `brain` without a command.
#[derive(Serialize)]
struct Summary {
    /// `no_brain`, `stopped` or `running`.
    status: &'static str,
    /// The home.
    home: String,
    /// The daemon's status.
    #[serde(rename = "daemon", skip_serializing_if = "Option::is_none")]
    reply: Option<StatusReply>,
    /// The pages that changed last.
    newest: Vec<PageRow>,
    /// Findings of `brain doctor` that are not ok.
    attention: Vec<Check>,
    /// Whether all checks ended in time.
    is_checked: bool,
    /// What to do next.
    next: Vec<String>,
    #[serde(skip)]
    default_source: SourceId,
}

/// Shows the summary. Starts a daemon only for a brain that exists, and not with `--no-start`.
///
/// # Errors
/// `io` if the home is not a directory; the daemon's fault, or the reason if it cannot be started
/// or does not answer.
pub(crate) fn run(context: &Context) -> Result<Outcome, Fault> {
    let home = Home::find()?;
    if fs::metadata(home.dir()).is_ok_and(|metadata| !metadata.is_dir()) {
        let message = format!("the home {} is not a directory", home.dir().display());
        return Err(Fault::new(FaultCode::Io, message).hint("set BRAIN_HOME to a directory"));
    }
    let mut summary = Summary {
        status: "no_brain",
        home: home.dir().display().to_string(),
        reply: None,
        newest: Vec::new(),
        attention: Vec::new(),
        is_checked: false,
        next: FIRST_COMMANDS.iter().map(|(command, _)| (*command).to_owned()).collect(),
        default_source: SourceId::default(),
    };
    let reply = match context.call_running(Status) {
        Ok(reply) => reply,
        Err(fault) if fault.code.exit() != Exit::Unreachable => return Err(fault),
        Err(_) if !home.has_store() => return context.show(&summary),
        Err(_) if context.no_start => {
            summary.status = "stopped";
            summary.next = vec!["brain serve".to_owned()];
            return context.show(&summary);
        }
        Err(_) => context.call(Status)?,
    };
    summary.status = "running";
    summary.home.clone_from(&reply.home);
    summary.next = match reply.pages {
        0 => summary.next,
        _ => vec!["brain search WORDS".to_owned(), "brain open".to_owned()],
    };
    summary.reply = Some(reply);
    let checks = begin_checks(*context);
    let pages = newest_pages(context)?;
    summary.default_source = pages.default_source;
    summary.newest = pages.pages;
    if let Ok(report) = checks.recv_timeout(CHECKS_TIMEOUT) {
        summary.is_checked = true;
        let problems = report.checks.into_iter().filter(|check| check.status != CheckStatus::Ok);
        summary.attention = problems.collect();
    }
    context.show(&summary)
}

fn newest_pages(context: &Context) -> Result<Pages, Fault> {
    context.call(List {
        source: None,
        prefix: None,
        page_type: None,
        tag: None,
        deleted: false,
        sort: Sort::Updated,
        limit: MAX_PAGES,
        after: None,
        updated_since: None,
        updated_until: None,
    })
}

/// Runs the checks on another thread, so that slow checks do not delay the summary.
fn begin_checks(context: Context) -> mpsc::Receiver<DoctorReply> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let context = Context { quiet: true, ..context };
        if let Ok(report) = context.call_running(Doctor { fix: false }) {
            // The receiver may have stopped waiting.
            let _ = sender.send(report);
        }
    });
    receiver
}

const COLUMNS: &[Column] = &[
    Column::uncut("NEWEST").with_paint(Paint::cyan),
    Column::fixed("UPDATED").droppable(2),
    Column::flexible("TITLE", 12).droppable(1),
];

impl Summary {
    fn show_first_commands(&self, t: &mut Text) {
        for (command, purpose) in FIRST_COMMANDS {
            let purpose_width = purpose.chars().count();
            let purpose = t.paint.dim(purpose);
            let line = format!("  {command:<34}{purpose}");
            if t.fits(36 + purpose_width) {
                t.raw_line(&line);
            } else {
                t.line(&format!("  {command}"));
                t.raw_line(&format!("    {purpose}"));
            }
        }
        t.line("All commands: brain --help");
    }

    fn show_attention(&self, t: &mut Text) {
        for check in &self.attention {
            let status = match check.status {
                CheckStatus::Fail => t.paint.red("fail"),
                _ => t.paint.yellow("warn"),
            };
            t.prose(&format!("{status}  "), 6, &format!("{}: {}", check.name, check.message));
            if let Some(hint) = &check.hint {
                t.wrapped("      ", 6, &hint.to_string());
            }
        }
        match (self.is_checked, self.attention.is_empty()) {
            (true, true) => t.line("nothing needs your attention"),
            (true, false) => {}
            (false, _) => t.line("the checks take longer: brain doctor"),
        }
    }
}

impl Show for Summary {
    fn text(&self, t: &mut Text) {
        let Some(reply) = &self.reply else {
            if self.status == "stopped" {
                let line = format!("the brain in {} is not running: brain serve", self.home);
                return t.wrapped("", 0, &line);
            }
            let line = format!("there is no brain in {} yet; begin with one of these:", self.home);
            t.wrapped("", 0, &line);
            return self.show_first_commands(t);
        };
        let first = format!(
            "{} in {}, in {}, running for {}",
            count(reply.pages, "page"),
            count(reply.sources, "source"),
            self.home,
            duration::format_rounded(reply.uptime_seconds)
        );
        t.wrapped("", 0, &first);
        if self.newest.is_empty() {
            self.show_first_commands(t);
        } else {
            let mut table = Table::new(COLUMNS);
            for page in &self.newest {
                let name = page_name(self.default_source.as_str(), &page.source_id, &page.slug);
                let cells = [&*name, &*format_to_day(&page.updated_at), &page.title];
                table.linked_row(page.path.as_deref(), cells);
            }
            table.write(t);
        }
        self.show_attention(t);
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.status);
    }
}
