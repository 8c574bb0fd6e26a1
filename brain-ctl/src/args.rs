//! Parses the command line and formats the help.
//!
//! Commands are rows of a table. The clap tree contains only their names and purposes; the
//! arguments of a command are added when it is used (`Command::defer`), because building all of
//! them slows every start. Only man pages and clap's completion scripts build everything.

use std::ffi::OsString;

use brain_protocol::{Fault, FaultCode, VERSION};
use clap::{ArgMatches, Args, Command, FromArgMatches, error::ErrorKind};

use crate::{
    context::Context,
    fail,
    output::{self, Outcome},
    verbs,
};

/// A section of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Commands that change pages.
    Writing,
    /// Commands that read pages.
    Reading,
    /// Commands for tags, links and sources.
    Organising,
    /// The command of the collector.
    Collecting,
    /// Commands for clients and tokens.
    Access,
    /// Commands for the daemon and the programs.
    Service,
}

impl Group {
    const HEADINGS: [(Self, &'static str); 6] = [
        (Self::Writing, "Writing"),
        (Self::Reading, "Reading"),
        (Self::Organising, "Organising"),
        (Self::Collecting, "Collecting"),
        (Self::Access, "Access"),
        (Self::Service, "Service"),
    ];
}

/// A command. The fields of the type are its arguments.
pub(crate) trait Verb: Args {
    /// The name on the command line.
    const NAME: &'static str;
    /// The section of the help.
    const GROUP: Group;
    /// The purpose, in one line. `brain --help` wraps it at the width of the terminal.
    const ABOUT: &'static str;
    /// Text after the options in the help: examples, and notes if needed.
    const EXAMPLES: &'static str;
    /// Aliases of the command that people know from other programs.
    const ALIASES: &'static [&'static str] = &[];

    /// Runs the command.
    ///
    /// # Errors
    /// Returns the daemon's fault, or a fault of the client.
    fn run(self, context: &Context) -> Result<Outcome, Fault>;
}

/// A row of the table of commands, [`verbs::ALL`].
pub(crate) struct Row {
    /// The name on the command line.
    pub(crate) name: &'static str,
    group: Group,
    about: &'static str,
    aliases: &'static [&'static str],
    build: fn(Command) -> Command,
    run: fn(&ArgMatches, &Context) -> Result<Outcome, Fault>,
}

impl Row {
    /// Returns the row of a command.
    pub(crate) const fn of<V: Verb>() -> Self {
        Self {
            name: V::NAME,
            group: V::GROUP,
            about: V::ABOUT,
            aliases: V::ALIASES,
            build: |command| {
                let command = SharedFlags::augment_args(V::augment_args(command));
                command.about(V::ABOUT).long_about(None).after_help(V::EXAMPLES)
            },
            run: |matches, context| match V::from_arg_matches(matches) {
                Ok(verb) => verb.run(context),
                Err(e) => Err(usage_fault(&e, Some(V::NAME))),
            },
        }
    }
}

impl Row {
    /// Returns the command without its arguments.
    fn command(&self) -> Command {
        Command::new(self.name).about(self.about).aliases(self.aliases)
    }

    /// Returns whether `word` is the command's name or an alias.
    fn is_named(&self, word: &OsString) -> bool {
        word == self.name || self.aliases.iter().any(|alias| word == alias)
    }
}

/// Command names of other programs that brain does not have, with a hint at its own commands.
const FOREIGN_COMMANDS: &[(&str, &str)] =
    &[("new", "`brain capture TEXT` stores a thought, `brain edit SLUG --new` begins a page")];

/// Flags that every command accepts, before or after its name.
#[derive(Debug, Args)]
struct SharedFlags {
    /// Print one JSON value, errors included
    #[arg(long, help_heading = "Global options", display_order = 100)]
    json: bool,

    /// Print only the essential result
    #[arg(long, short, help_heading = "Global options", display_order = 101)]
    quiet: bool,

    /// Do not start a daemon (BRAIN_NO_START=1)
    #[arg(long, help_heading = "Global options", display_order = 102)]
    no_start: bool,
}

impl Context {
    /// Adds the shared flags of a level of the command line.
    fn add_flags(&mut self, matches: &mut ArgMatches) {
        if let Ok(shared) = SharedFlags::from_arg_matches_mut(matches) {
            self.json |= shared.json;
            self.quiet |= shared.quiet;
            self.no_start |= shared.no_start;
        }
    }
}

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

/// Parses the command line.
pub(crate) fn parse(args: &[OsString]) -> CommandLine {
    let flags = || args.iter().skip(1).take_while(|arg| *arg != "--");
    let json = flags().any(|arg| arg == "--json");
    let mut root = tree();
    // Building the overview takes time, so it is built only on request.
    if flags().any(|arg| arg == "--help" || arg == "-h" || arg == "help") {
        root = root.override_help(overview(output::stdout_width().unwrap_or(80)));
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
                    let command =
                        name.and_then(|arg| verbs::ALL.iter().find(|row| row.is_named(arg)));
                    let foreign_command = FOREIGN_COMMANDS
                        .iter()
                        .find(|(word, _)| name.is_some_and(|arg| arg == word));
                    let fault = match foreign_command {
                        Some((word, hint)) if command.is_none() => {
                            fail::usage(format!("there is no command \"{word}\"")).hint(*hint)
                        }
                        _ => usage_fault(&e, command.map(|row| row.name)),
                    };
                    CommandLine::Invalid { fault, json }
                }
            };
        }
    };
    let mut context = Context { no_start: is_set("BRAIN_NO_START"), ..Context::default() };
    let Some((name, mut command_matches)) = matches.remove_subcommand() else {
        context.add_flags(&mut matches);
        return CommandLine::Run { context, run: Box::new(verbs::summary::run) };
    };
    let Some(row) = verbs::ALL.iter().find(|row| row.name == name) else {
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

/// Returns clap's tree of all commands.
pub(crate) fn tree() -> Command {
    // `augment_args` sets a description, so `about` must come after it.
    let root = SharedFlags::augment_args(Command::new("brain")).about(ABOUT).long_about(None);
    let root = root.version(VERSION).subcommand_value_name("COMMAND");
    root.subcommands(verbs::ALL.iter().map(|row| row.command().defer(row.build)))
}

/// Returns clap's tree for completing `words`. The user waits for it at each key press, so only the
/// command in `words` has its arguments, and values from the daemon.
pub(crate) fn completion_tree(words: &[OsString]) -> Command {
    let root = SharedFlags::augment_args(Command::new("brain")).disable_help_subcommand(true);
    root.subcommands(verbs::ALL.iter().map(|row| {
        let command = row.command();
        match words.iter().skip(1).any(|word| row.is_named(word)) {
            true => crate::completion::add_values((row.build)(command)),
            false => command,
        }
    }))
}

const ABOUT: &str = "A personal knowledge store";

/// Returns the output of `brain --help`: every command in its section.
fn overview(width: usize) -> String {
    const NAME_WIDTH: usize = 14;
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
        for row in verbs::ALL.iter().filter(|row| row.group == group) {
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

/// Converts a clap error into a fault: the first paragraph is the message, the tips are the hint.
fn usage_fault(error: &clap::Error, command: Option<&str>) -> Fault {
    let help =
        command.map_or_else(|| "brain --help".to_owned(), |name| format!("brain {name} --help"));
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let first_paragraph = paragraphs.next().unwrap_or_default();
    let message: Vec<&str> =
        first_paragraph.trim_start_matches("error: ").lines().map(str::trim).collect();
    let mut hints: Vec<String> = Vec::new();
    for line in paragraphs.flat_map(str::lines).map(str::trim) {
        if line.starts_with("tip: to pass '") {
            // clap's tip shows only the first letters of the word, so it is replaced.
            hints.push(match command {
                Some("capture") => {
                    "put `--` before words that begin with a dash: brain capture -- \"- buy milk\""
                        .to_owned()
                }
                Some(name @ ("append" | "add")) => format!(
                    "put `--` before text that begins with a dash: brain {name} SLUG -- \"- buy \
                        milk\""
                ),
                _ => {
                    format!("see its options: {help}; put `--` before words that begin with a dash")
                }
            });
        } else if let Some(tip) = line.strip_prefix("tip: ") {
            hints.push(tip.to_owned());
        } else if let Some(usage) = line.strip_prefix("Usage: ")
            && hints.is_empty()
        {
            hints.push(format!("usage: {usage}"));
        }
    }
    // Rust's reason for a word in the place of a number does not name a number.
    let message = message.join(" ").replace("invalid digit found in string", "expects a number");
    let fault = Fault::new(FaultCode::Usage, message);
    match hints.is_empty() {
        true => fault.hint(format!("see: {help}")),
        false => fault.hint(hints.join("; ")),
    }
}

#[cfg(test)]
mod tests;
