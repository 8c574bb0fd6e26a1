//! A command: what its type declares, its row in the table, and the flags that all share.

use std::ffi::OsString;

use brain_protocol::Fault;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::{context::Context, fail, output::Outcome};

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
    /// The sections in the order of the help, with their headings.
    pub(crate) const HEADINGS: [(Self, &'static str); 6] = [
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

/// A row of the table of commands, [`crate::verbs::ALL`].
pub(crate) struct Row {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// The section of the help.
    pub(crate) group: Group,
    /// The purpose, in one line.
    pub(crate) about: &'static str,
    aliases: &'static [&'static str],
    /// Adds the arguments to the command.
    pub(crate) build: fn(Command) -> Command,
    /// Runs the command with its parsed arguments.
    pub(crate) run: fn(&ArgMatches, &Context) -> Result<Outcome, Fault>,
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
                Err(e) => Err(fail::arguments(&e, Some(V::NAME))),
            },
        }
    }

    /// Returns the command without its arguments.
    pub(crate) fn command(&self) -> Command {
        Command::new(self.name).about(self.about).aliases(self.aliases)
    }

    /// Returns whether `word` is the command's name or an alias.
    pub(crate) fn is_named(&self, word: &OsString) -> bool {
        word == self.name || self.aliases.iter().any(|alias| word == alias)
    }
}

/// Flags that every command accepts, before or after its name.
#[derive(Debug, Args)]
pub(crate) struct SharedFlags {
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
    pub(crate) fn add_flags(&mut self, matches: &mut ArgMatches) {
        if let Ok(shared) = SharedFlags::from_arg_matches_mut(matches) {
            self.json |= shared.json;
            self.quiet |= shared.quiet;
            self.no_start |= shared.no_start;
        }
    }
}
