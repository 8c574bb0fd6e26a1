//! `brain demo`: a guided tour of an invented brain, which leaves nothing behind.

use std::{
    io::{self, BufRead, ErrorKind, IsTerminal},
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use brain_protocol::Fault;
use clap::Args;
use jiff::Zoned;
use serde_json::{Value, json};

use crate::{
    command::{Group, Verb},
    context::Context,
    demo::{DemoContent, TemporaryBrain, sync_pages},
    end_signals::{at_end_signals, wait_for_end},
    fail,
    output::{Outcome, Paint, end_line_at_terminal, notice, stdout_width, write_stdout},
    start,
};

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoCommand {
    /// Do not wait for Enter between the steps
    #[arg(long)]
    no_wait: bool,

    /// Open this brain in the browser after the last step, until Enter or Ctrl-C
    #[arg(long)]
    open: bool,
}

/// The brain, if it is started and not ended. The threads that wait for signals share it.
type SharedBrain = Arc<Mutex<Option<TemporaryBrain>>>;

impl Verb for DemoCommand {
    const NAME: &'static str = "demo";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Try brain out with invented pages";
    const EXAMPLES: &'static str = "Examples:
  brain demo
  brain demo --no-wait --open

It uses a temporary directory and a daemon of its own, and leaves nothing behind.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let started_at = Instant::now();
        let shared = SharedBrain::default();
        end_at_signals(&shared)?;
        let result = self.tour(context, &shared, started_at);
        let ended = lock(&shared).take().map_or(Ok(()), |mut brain| brain.end());
        match result {
            Ok(outcome) => ended.map(|()| outcome),
            Err(TourError::OutputClosed) => ended.map(|()| Outcome::default()),
            Err(TourError::Fault(fault)) => Err(fault),
        }
    }
}

impl DemoCommand {
    /// Prepares the brain and shows the tour.
    fn tour(
        &self,
        context: &Context,
        shared: &SharedBrain,
        started_at: Instant,
    ) -> Result<Outcome, TourError> {
        if !context.json && io::stdout().is_terminal() {
            print("preparing an invented brain …\n")?;
        }
        let invented = DemoContent::new(&Zoned::now())?;
        // The lock is held while the home is written, so that a signal waits for a complete home
        // and removes it. It is not held during the slow rest.
        let mut slot = lock(shared);
        let brain = slot.insert(TemporaryBrain::start(&invented)?);
        let steps = steps(&invented.fast_post_id);
        let tour = Tour {
            commands: commands(brain, &steps, context)?,
            steps,
            dir: brain.dir().display().to_string(),
            pages: invented.page_count(),
        };
        let open_command = open_command(brain)?;
        let mut sync_command = brain.sync_command()?;
        drop(slot);
        let prepared = wait_until_answering(shared).and_then(|()| sync_pages(&mut sync_command));
        wait_if_ended(shared);
        prepared?;
        let ready_ms = started_at.elapsed().as_millis() as u64;
        match context.json {
            true => Ok(tour.run_as_json(ready_ms, shared)?),
            false => self.guide(tour, open_command, shared),
        }
    }
}

/// Waits until the daemon answers, or a signal has ended the brain.
fn wait_until_answering(shared: &SharedBrain) -> Result<(), Fault> {
    let deadline = Instant::now() + start::START_TIMEOUT;
    while Instant::now() < deadline {
        match lock(shared).as_mut().map(TemporaryBrain::is_answering) {
            Some(Ok(false)) => thread::sleep(Duration::from_millis(3)),
            Some(Err(fault)) => return Err(fault),
            Some(Ok(true)) | None => return Ok(()),
        }
    }
    Err(start::no_answer_fault())
}

/// Why a tour ended early.
enum TourError {
    /// The reader of the output closed the pipe. This is no failure.
    OutputClosed,
    Fault(Fault),
}

impl From<Fault> for TourError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// A step of the tour.
struct TourStep {
    /// A sentence about the step.
    text: &'static str,
    /// The arguments of `brain`, as a user types them.
    arguments: Vec<String>,
}

/// Returns the steps, in order.
fn steps(fast_post: &str) -> Vec<TourStep> {
    let step = |text, arguments: &[&str]| TourStep {
        text,
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
    };
    vec![
        step(
            "Capture a thought. It becomes a page, and a plain file.",
            &["capture", "Mara thinks one battery lasts the winter", "--tag", "winter-buoy"],
        ),
        step(
            "Search finds it at once, beside older notes about the same topic.",
            &["search", "battery winter", "--limit", "4"],
        ),
        step(
            "Pages link each other. This is a person with the linked pages.",
            &["graph", "people/mara-lindqvist", "--limit", "6"],
        ),
        step(
            "Dated lines are the history of a page, or of everything.",
            &["timeline", "projects/winter-buoy", "--limit", "8"],
        ),
        step(
            "Ask in your own words. Links answer this, without a language model.",
            &["ask", "the last meeting with Mara Lindqvist"],
        ),
        step("Tasks are lines in your notes.", &["todos", "--limit", "6"]),
        step(
            "The collector keeps your posts with the curves of their likes.",
            &["collector", "plot", fast_post],
        ),
    ]
}

/// The tour of a brain.
struct Tour {
    steps: Vec<TourStep>,
    /// The command of each step.
    commands: Vec<Command>,
    /// The directory of the home.
    dir: String,
    /// The number of pages.
    pages: usize,
}

fn commands(
    brain: &TemporaryBrain,
    steps: &[TourStep],
    context: &Context,
) -> Result<Vec<Command>, Fault> {
    let command = |step: &TourStep| {
        let mut command = brain.command()?;
        command.args(&step.arguments);
        if context.json {
            command.arg("--json");
        }
        Ok(command)
    };
    steps.iter().map(command).collect()
}

fn open_command(brain: &TemporaryBrain) -> Result<Command, Fault> {
    let mut command = brain.command()?;
    command.arg("open");
    Ok(command)
}

impl DemoCommand {
    /// Shows the steps one after the other, then the brain in the browser if the user agrees.
    fn guide(
        &self,
        mut tour: Tour,
        mut open: Command,
        shared: &SharedBrain,
    ) -> Result<Outcome, TourError> {
        let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        let paint = Paint::new(stdout_width().is_some());
        let intro = format!(
            "This is a demonstration. The brain has {} invented pages and is in {}.\n\
             Your own brain is not touched, and nothing is left behind at the end.\n",
            tour.pages, tour.dir
        );
        print(&intro)?;
        let count = tour.steps.len();
        for (index, step) in tour.steps.iter().enumerate() {
            if is_terminal && !self.no_wait && !wait_for_enter("Enter: next   q and Enter: end")? {
                return Ok(end_message());
            }
            let heading = paint.bold(&format!("{} of {count}  {}", index + 1, step.text));
            let command_line = paint.dim(&format!("$ {}", command_line(&step.arguments)));
            print(&format!("\n{heading}\n\n{command_line}\n"))?;
            if let Some(command) = tour.commands.get_mut(index) {
                run_step(command)?;
                wait_if_ended(shared);
            }
        }
        if self.open || (is_terminal && !self.no_wait && confirm_open()?) {
            print("\n")?;
            run_step(&mut open)?;
            match is_terminal {
                true => _ = wait_for_enter("The page works until you press Enter here.")?,
                false => {
                    print("The page works until this command is ended.\n")?;
                    wait_for_end();
                }
            }
        }
        Ok(end_message())
    }
}

impl Tour {
    /// Runs all steps, and returns one JSON value with their results.
    fn run_as_json(mut self, ready_ms: u64, shared: &SharedBrain) -> Result<Outcome, Fault> {
        let mut results = Vec::new();
        for (step, command) in self.steps.iter().zip(&mut self.commands) {
            let output = command.output().map_err(|e| fail::run("brain", &e))?;
            wait_if_ended(shared);
            let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            results.push(json!({
                "text": step.text, "command": command_line(&step.arguments),
                "exit": output.status.code(), "result": result,
            }));
        }
        let value = json!({
            "status": "ended", "pages": self.pages, "ready_ms": ready_ms, "steps": results,
        });
        Ok(Outcome::text(format!("{value}\n")))
    }
}

fn end_message() -> Outcome {
    let text = "\nThat was brain. The demonstration is removed.\n\
                Begin your own:  brain setup   or at once:  brain capture \"A first thought\"\n";
    Outcome::text(text)
}

/// Returns a command line as a user types it.
fn command_line(arguments: &[String]) -> String {
    let quote = |argument: &String| match argument.contains(' ') {
        true => format!("\"{argument}\""),
        false => argument.clone(),
    };
    format!("brain {}", arguments.iter().map(quote).collect::<Vec<_>>().join(" "))
}

/// Runs a command whose output the user sees.
fn run_step(command: &mut Command) -> Result<(), Fault> {
    let status = command.status().map_err(|e| fail::run("brain", &e))?;
    // A command that a signal ended has no exit status. The signal also reaches this process, whose
    // thread for signals then ends it.
    if status.code().is_none() {
        wait_for_end();
    }
    Ok(())
}

fn print(text: &str) -> Result<(), TourError> {
    write_stdout(text.as_bytes()).map_err(|e| match e.kind() {
        ErrorKind::BrokenPipe => TourError::OutputClosed,
        _ => TourError::Fault(fail::stdout(&e)),
    })
}

/// Waits for Enter. Returns `false` if the user types `q`, `quit` or `exit`, or the input ends.
fn wait_for_enter(prompt: &str) -> Result<bool, TourError> {
    let answer = read_answer(prompt)?.map(|answer| answer.to_lowercase());
    Ok(answer.is_some_and(|answer| !["q", "quit", "exit"].contains(&answer.as_str())))
}

fn confirm_open() -> Result<bool, TourError> {
    let answer = read_answer("Open this brain in the browser? [y/N]")?;
    Ok(answer.is_some_and(|answer| answer.starts_with(['y', 'Y'])))
}

/// Returns the typed line, or `None` at the end of the input.
fn read_answer(prompt: &str) -> Result<Option<String>, TourError> {
    let paint = Paint::new(stdout_width().is_some());
    print(&format!("\n{} ", paint.dim(prompt)))?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    Ok(read.is_ok_and(|bytes| bytes > 0).then(|| line.trim().to_owned()))
}

/// If a signal ended the brain, waits until it also ends this process.
fn wait_if_ended(shared: &SharedBrain) {
    if lock(shared).is_none() {
        wait_for_end();
    }
}

fn lock(shared: &SharedBrain) -> MutexGuard<'_, Option<TemporaryBrain>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the brain and this process when a signal arrives.
fn end_at_signals(shared: &SharedBrain) -> Result<(), Fault> {
    let shared = Arc::clone(shared);
    at_end_signals(move |end| {
        let ended = lock(&shared).take().map_or(Ok(()), |mut brain| brain.end());
        end_line_at_terminal();
        match ended {
            Ok(()) => notice("the demonstration is ended, and nothing is left behind"),
            Err(fault) => notice(&fault.message),
        }
        end();
    })
}
