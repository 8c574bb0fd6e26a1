//! Parses the command line and formats the help.
//!
//! Commands are rows of a table. The clap tree contains only their names and purposes; the
//! arguments of a command are added when it is used (`Command::defer`), because building all of
//! them slows every start. Only man pages and clap's completion scripts build everything.

use std::ffi::OsString;

use brain_protocol::{Fault, VERSION};
use clap::{Args, Command, error::ErrorKind};

use crate::{
    command::{Group, Row, SharedFlags},
    context::Context,
    fail,
    output::{self, Outcome},
};

/// Command names of other programs that brain does not have, with a hint at its own commands.
const FOREIGN_COMMANDS: &[(&str, &str)] =
    &[("new", "`brain capture TEXT` stores a thought, `brain edit SLUG --new` begins a page")];

/// Runs a parsed command.
pub(crate) type RunCommand = Box<dyn FnOnce(&Context) -> Result<Outcome, Fault>>;

/// The parsed command line.
pub(crate) enum CommandLine {
    /// Help or the version to print.
    Print(Outcome),
    /// A usage error.
    Invalid {
        /// The fault.
        fault: Fault,
        /// Whether to print the fault as JSON.
        json: bool,
    },
    /// A command to run.
    Run {
        /// The flags that all commands share.
        context: Context,
        /// The command with its arguments.
        run: RunCommand,
    },
}

/// Returns the output of `brain --version`.
pub(crate) fn version_line() -> String {
    format!("brain {VERSION}\n")
}

/// Parses the command line. `rows` is the table of commands; without a command, `summary` runs.
pub(crate) fn parse(
    args: &[OsString],
    rows: &'static [Row],
    summary: fn(&Context) -> Result<Outcome, Fault>,
) -> CommandLine {
    let flags = || args.iter().skip(1).take_while(|arg| *arg != "--");
    let json = flags().any(|arg| arg == "--json");
    let mut root = tree(rows);
    // Building the overview takes time, so it is built only on request.
    if flags().any(|arg| arg == "--help" || arg == "-h" || arg == "help") {
        root = root.override_help(overview(rows, output::stdout_width().unwrap_or(80)));
    }
    let mut matches = match root.try_get_matches_from_mut(args) {
        Ok(matches) => matches,
        Err(e) => {
            return match e.kind() {
                ErrorKind::DisplayHelp => match output::help(e.render().to_string(), json) {
                    Ok(help) => CommandLine::Print(help),
                    Err(fault) => CommandLine::Invalid { fault, json },
                },
                ErrorKind::DisplayVersion if json => {
                    CommandLine::Print(Outcome::text(format!("{{\"version\":\"{VERSION}\"}}\n")))
                }
                ErrorKind::DisplayVersion => CommandLine::Print(Outcome::text(version_line())),
                _ => {
                    let name = flags().find(|arg| !arg.as_encoded_bytes().starts_with(b"-"));
                    let command = name.and_then(|arg| rows.iter().find(|row| row.is_named(arg)));
                    let foreign_command = FOREIGN_COMMANDS
                        .iter()
                        .find(|(word, _)| name.is_some_and(|arg| arg == word));
                    let fault = match foreign_command {
                        Some((word, hint)) if command.is_none() => {
                            fail::usage(format!("there is no command \"{word}\"")).hint(*hint)
                        }
                        _ => fail::arguments(&e, command.map(|row| row.name)),
                    };
                    CommandLine::Invalid { fault, json }
                }
            };
        }
    };
    let mut context = Context { no_start: is_set("BRAIN_NO_START"), ..Context::default() };
    let Some((name, mut command_matches)) = matches.remove_subcommand() else {
        context.add_flags(&mut matches);
        return CommandLine::Run { context, run: Box::new(summary) };
    };
    let Some(row) = rows.iter().find(|row| row.name == name) else {
        return CommandLine::Invalid { fault: fail::usage(format!("no command \"{name}\"")), json };
    };
    context.add_flags(&mut matches);
    context.add_flags(&mut command_matches);
    let run = row.run;
    CommandLine::Run { context, run: Box::new(move |context| run(&command_matches, context)) }
}

/// Returns whether an environment variable is set to a value other than 0.
fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Returns clap's tree of the commands.
pub(crate) fn tree(rows: &'static [Row]) -> Command {
    // `augment_args` sets a description, so `about` must come after it.
    let root = SharedFlags::augment_args(Command::new("brain")).about(ABOUT).long_about(None);
    let root = root.version(VERSION).subcommand_value_name("COMMAND");
    root.subcommands(rows.iter().map(|row| row.command().defer(row.build)))
}

const ABOUT: &str = "A personal knowledge store";

/// Returns the output of `brain --help`: every command in its section.
fn overview(rows: &[Row], width: usize) -> String {
    const NAME_WIDTH: usize = 15;
    let mut text = format!("{ABOUT}\n\nUsage: brain [OPTIONS] [COMMAND]\n");
    text.push_str("Without a command, it prints a summary.\n");
    let add_entry = |text: &mut String, name: &str, about: &str| {
        let name = format!("  {name}");
        text.push_str(&format!("{name:<indent$}", indent = NAME_WIDTH + 2));
        let mut column = NAME_WIDTH + 2;
        for (i, word) in about.split(' ').enumerate() {
            let length = word.chars().count();
            if i > 0 && column + 1 + length > width {
                text.push_str(&format!("\n{}", " ".repeat(NAME_WIDTH + 2)));
                column = NAME_WIDTH + 2;
            } else if i > 0 {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += length;
        }
        text.push('\n');
    };
    for (group, title) in Group::HEADINGS {
        text.push_str(&format!("\n{title}:\n"));
        for row in rows.iter().filter(|row| row.group == group) {
            add_entry(&mut text, row.name, row.about);
        }
    }
    text.push_str("\nOptions:\n");
    for (flag, about) in [
        ("--json", "Print one JSON value, errors included"),
        ("-q, --quiet", "Print only the essential result"),
        ("--no-start", "Do not start a daemon (BRAIN_NO_START=1)"),
        ("-h, --help", "Print help; works for each command"),
        ("-V, --version", "Print the version"),
    ] {
        add_entry(&mut text, flag, about);
    }
    text.push_str("\nEnvironment:\n");
    for (variable, about) in [
        ("BRAIN_HOME", "Directory of the brain (~/.brain)"),
        ("BRAIN_SOCKET", "Socket (run/brain.sock in the home)"),
    ] {
        add_entry(&mut text, variable, about);
    }
    text.push_str("\nExamples:\n  brain capture \"Buy milk\"\n  brain search milk\n");
    text
}

#[cfg(test)]
mod tests;
