//! `brain brainstorm` and `brain lsd`: generate ideas from pairs of pages.
//!
//! A run first prints an estimate. A run that costs money also prints the actual cost at the end.
//! Both lines go to standard error.

mod answer;

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brain_protocol::{Exit, Fault, IdeaProfile, IdeaStatus, IdeasReply, usd};
use clap::Args;

use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    money::parse_millionths,
    output::{Outcome, clean, notice},
};

use answer::{IdeasJson, Runs, prompts_text};

/// Delay before a paid run at a terminal. Ctrl-C cancels the run.
const CANCEL_DELAY_SECONDS: u64 = 10;

/// Arguments of both commands.
#[derive(Debug, Args)]
struct IdeasArgs {
    /// The question
    #[arg(
        value_name = "QUESTION",
        required_unless_present_any = ["resume", "list_runs"],
        conflicts_with_all = ["resume", "list_runs"],
        allow_negative_numbers = true
    )]
    question: Vec<String>,

    /// Show the best N ideas, 1 to 200; by default, all ideas that pass, or all with --json
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,

    /// Save the result as a page; brainstorm does so by default
    #[arg(long, conflicts_with = "no_save")]
    save: bool,

    /// Do not save the result
    #[arg(long)]
    no_save: bool,

    /// Start a paid run without the delay of 10 seconds
    #[arg(long)]
    yes: bool,

    /// Cost limit of the run in US dollars [default: llm.max_cost]
    #[arg(long, value_name = "USD", value_parser = parse_millionths)]
    max_cost: Option<u64>,

    /// Model to use instead of llm.model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Model that judges the ideas, instead of llm.judge_model
    #[arg(long, value_name = "NAME")]
    judge_model: Option<String>,

    /// Number of pages close to the question, 1 to 12; by default, brainstorm uses 4 and lsd 2
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=12),
        conflicts_with = "resume"
    )]
    close: Option<u32>,

    /// Number of distant pages, 1 to 24; by default, brainstorm uses 6 and lsd 12
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=24),
        conflicts_with = "resume"
    )]
    far: Option<u32>,

    /// Continue a run without paying twice
    #[arg(long, value_name = "RUN_ID", conflicts_with = "list_runs")]
    resume: Option<String>,

    /// Write the prompt of each pair to a new file instead of asking a model
    #[arg(long, value_name = "FILE", conflicts_with = "list_runs")]
    prompts: Option<PathBuf>,

    /// List stored runs
    #[arg(long)]
    list_runs: bool,
}

/// Arguments of `brainstorm`.
#[derive(Debug, Args)]
pub(crate) struct BrainstormCommand {
    #[command(flatten)]
    args: IdeasArgs,
}

/// Arguments of `lsd`.
#[derive(Debug, Args)]
pub(crate) struct LsdCommand {
    #[command(flatten)]
    args: IdeasArgs,
}

impl Verb for BrainstormCommand {
    const NAME: &'static str = "brainstorm";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Generate ideas from pairs of pages";
    const EXAMPLES: &'static str =
        "Combines 4 pages close to the question with 6 distant pages, and asks a model for 3 ideas
from each of the 24 pairs (crosses). A model then judges each idea on five axes. Ideas with a score
of at least 4.0 of 5 pass. The result is saved as a page unless you give --no-save. The estimated
cost is printed before the run. Distant pages are drawn from the half of the brain that is
farthest from the question, and others are drawn on the next day. Without a language model, the
pairs are printed, and to a pipe or a file also the prompts for another model.

Examples:
  brain brainstorm \"How could we halve the time to first answer?\" --max-cost 0.50
  brain brainstorm \"How could we halve the time to first answer?\" --prompts prompts.txt";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        self.args.run(IdeaProfile::Brainstorm, context)
    }
}

impl Verb for LsdCommand {
    const NAME: &'static str = "lsd";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Generate surprising ideas from distant pages";
    const EXAMPLES: &'static str =
        "Works like brainstorm, but combines 2 pages close to the question with 12 distant pages,
and asks for 4 ideas from each of the 24 pairs. The distant pages are drawn from the third of the
brain that is farthest from the question; pages that have not changed for a long time are preferred.
Each idea reverses an assumption of the question. Ideas with a score of at least 3.5 of 5 pass,
except obvious ones. The result is saved as a page only with --save.

Examples:
  brain lsd \"Why do we hold meetings?\" --limit 5
  brain lsd --list-runs";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        self.args.run(IdeaProfile::Lsd, context)
    }
}

impl IdeasArgs {
    fn run(self, profile: IdeaProfile, context: &Context) -> Result<Outcome, Fault> {
        let name = profile.as_str();
        if self.list_runs {
            let runs = context.call(brain_protocol::IdeaRuns)?;
            return context.show(&Runs::of(runs, profile));
        }
        if let Some(file) = self.prompts.as_deref().filter(|file| file.exists()) {
            return Err(already_exists(file));
        }
        let is_confirmed = self.yes;
        let limit = self.limit;
        let mut request = brain_protocol::Ideas {
            profile,
            question: self.question.join(" "),
            limit,
            save: (self.save || self.no_save).then_some(self.save),
            max_cost: self.max_cost,
            model: self.model,
            judge_model: self.judge_model,
            close: self.close,
            far: self.far,
            resume: self.resume,
            estimate: true,
            prompts_only: self.prompts.is_some(),
        };
        let estimated = context.call(request.clone())?;
        print_notice(&estimate_line(&estimated));
        for note in &estimated.notes {
            notice(note);
        }
        let has_cost = estimated.status == IdeaStatus::Estimated;
        if has_cost && !is_confirmed && io::stderr().is_terminal() {
            print_notice(&format!(
                "[{name}] starts in {CANCEL_DELAY_SECONDS} seconds; \
                 Ctrl-C cancels, --yes skips the delay"
            ));
            std::thread::sleep(Duration::from_secs(CANCEL_DELAY_SECONDS));
        }
        request.estimate = false;
        let mut reply = context.call(request)?;
        // The notes of the estimate are already printed.
        reply.notes.retain(|note| context.json || !estimated.notes.contains(note));
        if reply.cost.calls > 0 || has_cost {
            print_notice(&actual_line(&reply));
        }
        let file = self.prompts.as_deref().filter(|_| !reply.prompts.is_empty());
        if let Some(file) = file {
            let hint = format!("then: brain {name} --resume {} --prompts FILE", reply.run_id);
            write_new(file, &prompts_text(&reply.prompts)).map_err(|fault| fault.hint(hint))?;
        }
        let file = file.map(|file| file.display().to_string());
        let answer =
            IdeasJson::of(&reply, limit).with_prompts(file.as_deref(), io::stdout().is_terminal());
        let mut outcome = context.show(&answer)?;
        if context.json {
            // The JSON contains `degraded`.
            return Ok(outcome);
        }
        outcome.warnings.extend(reply.degraded.as_deref().map(clean));
        Ok(outcome)
    }
}

/// Formats `[brainstorm] estimated cost: $0.96 (4×6 = 24 crosses × 3 ideas + judge)`.
fn estimate_line(reply: &IdeasReply) -> String {
    let (close, far) = (reply.close_set.len(), reply.far_set.len());
    let total = close * far;
    let word = if total == 1 { "cross" } else { "crosses" };
    let crosses = match reply.crosses as usize {
        remaining if remaining == total => format!("{close}×{far} = {total} {word}"),
        remaining => format!("{remaining} of {close}×{far} = {total} {word} left"),
    };
    format!(
        "[{}] estimated cost: ${} ({crosses} × {} ideas + judge)",
        reply.profile.as_str(),
        dollars(reply.cost.estimated),
        reply.ideas_per_cross
    )
}

/// Formats `[brainstorm] actual cost: $0.91 (estimated $0.96) — in=70000 out=21000 tokens`.
fn actual_line(reply: &IdeasReply) -> String {
    let cost = &reply.cost;
    format!(
        "[{}] actual cost: ${} (estimated ${}) — in={} out={} tokens",
        reply.profile.as_str(),
        dollars(cost.actual),
        dollars(cost.estimated),
        cost.tokens_in,
        cost.tokens_out
    )
}

/// Formats millionths of a dollar with two decimals, or with all decimals below one cent.
fn dollars(millionths: u64) -> String {
    match millionths {
        10_000.. => format!("{:.2}", millionths as f64 / 1e6),
        below_one_cent => usd(below_one_cent),
    }
}

/// Writes a new file that only its owner can read.
fn write_new(path: &Path, text: &str) -> Result<(), Fault> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let result = file.and_then(|mut file| file.write_all(text.as_bytes()));
    result.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => already_exists(path),
        _ => fail::file("write", path, &error),
    })
}

fn already_exists(path: &Path) -> Fault {
    fail::usage(format!("{} exists already", path.display())).hint("name a new file")
}

/// Returns the exit status for a reply.
fn exit(reply: &IdeasReply) -> Exit {
    match reply.status == IdeaStatus::Stopped || reply.save_problem.is_some() {
        true => Exit::Failed,
        false => Exit::Done,
    }
}

/// Prints a line to standard error.
fn print_notice(line: &str) {
    // A failure of standard error cannot be reported.
    let _ = writeln!(io::stderr().lock(), "{}", clean(line));
}

#[cfg(test)]
mod tests {
    use super::answer::tests::reply;
    use super::*;

    #[test]
    fn the_cost_lines_have_the_documented_form() {
        let mut reply = reply();
        reply.crosses = 2;
        reply.cost.estimated = 960_000;
        assert_eq!(
            estimate_line(&reply),
            "[brainstorm] estimated cost: $0.96 (1×2 = 2 crosses × 3 ideas + judge)"
        );
        assert_eq!(
            actual_line(&reply),
            "[brainstorm] actual cost: $0.91 (estimated $0.96) — in=70000 out=21000 tokens"
        );
        assert_eq!([0, 9_999, 50_709_999].map(dollars), ["0.00", "0.009999", "50.71"]);
        reply.crosses = 1;
        assert!(estimate_line(&reply).contains("(1 of 1×2 = 2 crosses left × 3 ideas + judge)"));
    }

    #[test]
    fn a_stopped_or_unsaved_run_fails() {
        let mut reply = reply();
        assert_eq!(exit(&reply), Exit::Done);
        reply.save_problem = Some("disk full".into());
        assert_eq!(exit(&reply), Exit::Failed);
        reply.save_problem = None;
        reply.status = IdeaStatus::Stopped;
        assert_eq!(exit(&reply), Exit::Failed);
    }
}
