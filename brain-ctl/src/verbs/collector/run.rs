//! `brain collector collect` and `setup`: progress and result.

use std::io::{self, ErrorKind};

use brain_protocol::{
    CollectorCollect, CollectorRun, CollectorSetupReply, Exit, Fault, FaultCode, RunStatus,
};

use crate::{
    context::Context,
    fail,
    output::{Outcome, Show, Text, clean, write_stdout},
};

/// Prints event lines until the reader of standard output closes it.
#[derive(Default)]
struct LinePrinter {
    /// The last event, with a line end.
    last: String,
    /// The error that ended the output.
    error: Option<io::Error>,
}

impl LinePrinter {
    /// Keeps an event as the last one, and prints it if `print`.
    fn add(&mut self, line: &str, print: bool) {
        self.last = format!("{}\n", clean(line));
        if print && self.error.is_none() {
            self.error = write_stdout(self.last.as_bytes()).err();
        }
    }
}

/// Runs the collector and prints its event lines; with `--quiet` only the last one, with `--json`
/// the result instead.
pub(super) fn collect(context: &Context) -> Result<Outcome, Fault> {
    let mut lines = LinePrinter::default();
    let print = !context.json && !context.quiet;
    let run = context.call_with_progress(CollectorCollect, &mut |line| lines.add(line, print))?;
    if let Some(error) = lines.error.filter(|error| error.kind() != ErrorKind::BrokenPipe) {
        let message = format!(
            "cannot write to standard output: {}; the run is {}",
            fail::reason(&error),
            run.status
        );
        return Err(Fault::new(FaultCode::Io, message).hint("check it: brain collector status"));
    }
    let mut outcome = context.show(&run)?;
    if context.quiet && !context.json {
        outcome.out = lines.last.into_bytes();
    }
    Ok(outcome)
}

impl Show for CollectorRun {
    /// Prints nothing, because the event lines already show the result.
    fn text(&self, _: &mut Text) {}

    fn quiet(&self, _: &mut Text) {}

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn failures(&self) -> Vec<String> {
        let reason = self.why().filter(|_| self.exit() == Exit::Failed);
        reason.into_iter().map(str::to_owned).collect()
    }

    fn notes(&self) -> Vec<String> {
        let skipped = self
            .streams
            .iter()
            .filter_map(|stream| Some((&stream.stream, stream.skipped.as_ref()?)));
        let mut notes: Vec<String> = skipped
            .map(|(stream, skipped)| format!("{stream} was skipped: {}", skipped.message))
            .collect();
        if self.unverified > 0 {
            notes.push(format!(
                "whether {} deleted is not known yet; the next run checks again",
                if self.unverified == 1 {
                    "1 post was".into()
                } else {
                    format!("{} posts were", self.unverified)
                }
            ));
        }
        notes
    }

    fn exit(&self) -> Exit {
        if self.status == RunStatus::Failed { Exit::Failed } else { Exit::Done }
    }
}

impl Show for CollectorSetupReply {
    fn text(&self, t: &mut Text) {
        crate::verbs::steps::write(t, &self.steps);
        match self.steps.last().filter(|_| self.exit() == Exit::Failed) {
            Some(step) => {
                t.line(&format!(
                    "{} at {}; fix the problem and run setup again",
                    self.status, step.name
                ));
            }
            None => t.line("passed: the collector is set up"),
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.status.as_str());
    }

    fn exit(&self) -> Exit {
        crate::verbs::steps::exit(self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::width;
    use brain_protocol::{CollectedStream, RunProblem, SkippedStream, Step, StepStatus};

    fn run(status: RunStatus) -> CollectorRun {
        let skipped = SkippedStream {
            reason: RunProblem::RateLimited,
            message: "2 requests are left until 10:45".into(),
            reset: Some(1_795_257_900),
        };
        CollectorRun {
            status,
            reason: (status == RunStatus::Failed).then_some(RunProblem::PaymentRequired),
            message: (status == RunStatus::Failed)
                .then(|| "the account has no credits; add some".into()),
            started_at: "2026-11-21T10:30:00.000Z".into(),
            finished_at: "2026-11-21T10:30:01.000Z".into(),
            streams: vec![CollectedStream {
                stream: "mentions".into(),
                total: 0,
                new: 0,
                skipped: Some(skipped),
            }],
            tweets_stored: 7,
            deletions: 0,
            velocity_alerts: 0,
            unverified: 1,
            requests: 3,
            warnings: vec!["own/17.json was damaged".into()],
        }
    }

    #[test]
    fn a_failed_run_reports_its_reason() {
        let failed = run(RunStatus::Failed);
        assert_eq!((failed.exit(), run(RunStatus::Complete).exit()), (Exit::Failed, Exit::Done));
        assert_eq!(failed.failures(), ["the account has no credits; add some"]);
        assert!(run(RunStatus::Complete).failures().is_empty());
        let notes = failed.notes();
        assert!(
            notes[0].starts_with("mentions was skipped: 2 requests")
                && notes[1].contains("1 post was"),
            "{notes:?}"
        );
        let mut t = Text::plain(Some(60));
        failed.text(&mut t);
        assert_eq!(t.as_str(), "", "standard output has event lines and nothing else");
    }

    #[test]
    fn an_event_is_one_clean_line() {
        let mut lines = LinePrinter::default();
        lines.add("DELETION_DETECTED:1:a:\u{1b}[2Jx\u{202e}\ny", false);
        assert_eq!(lines.last, "DELETION_DETECTED:1:a:\u{FFFD}[2Jx\u{FFFD} y\n");
    }

    #[test]
    fn a_failed_setup_names_the_step_in_60_columns() {
        let reply = CollectorSetupReply {
            status: StepStatus::Failed,
            user_id: None,
            steps: vec![Step {
                name: "token".into(),
                status: StepStatus::Failed,
                message: "the platform rejects the token: Unauthorized".into(),
                hint: Some(
                    "create one in the platform's developer console, \
                     then `brain collector setup --token-file FILE`"
                        .into(),
                ),
                took_ms: 230,
            }],
        };
        let mut t = Text::plain(Some(60));
        reply.text(&mut t);
        assert!(t.as_str().lines().all(|line| width(line) <= 60), "{}", t.as_str());
        assert!(
            t.as_str().ends_with("failed at token; fix the problem and run setup again\n"),
            "{}",
            t.as_str()
        );
        assert_eq!(reply.exit(), Exit::Failed);
    }
}
