//! `brain machines init` and `join`: secrets, plan, confirmation, and the restart after a join.

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
};

use brain_protocol::{
    Fault, FaultCode, MachinesAccess, MachinesAction, MachinesInit, MachinesJoin, MachinesPlan,
    MachinesPlanReply,
};

use super::MachinesCommand;
use crate::{
    context::Context,
    fail,
    home::Home,
    input,
    output::{self, Outcome, Show, Text},
    stop,
};

/// Hints for files without a secret.
const URL_HINT: &str = "write one line to the file: postgresql://USER:PASSWORD@HOST:PORT/DATABASE";
const KEY_HINT: &str = "write the 24 words to the file, with or without their numbers";

impl MachinesCommand {
    pub(super) fn init(&self, context: &Context) -> Result<Outcome, Fault> {
        let access = self.access(context, MachinesAction::Init)?;
        let action = MachinesAction::Init;
        let plan = context.call(MachinesPlan { action, access: access.clone() })?;
        self.confirm_plan(&plan, "share this brain?")?;
        let request = MachinesInit { access, plan: plan.plan };
        let reply = context.call_with_progress(request, &mut |line| tell(context, line))?;
        context.show(&reply)
    }

    pub(super) fn join(&self, context: &Context) -> Result<Outcome, Fault> {
        let access = self.access(context, MachinesAction::Join)?;
        let action = MachinesAction::Join;
        let plan = context.call(MachinesPlan { action, access: access.clone() })?;
        self.confirm_plan(&plan, "join?")?;
        let request = MachinesJoin { access, plan: plan.plan };
        let reply = context.call_with_progress(request, &mut |line| tell(context, line))?;
        if reply.needs_restart {
            tell(context, "restarting the daemon");
            stop::stop_daemon(&Home::find()?.socket())?;
            // This call starts the daemon, unless a service has already started it.
            let starting = Context { quiet: true, no_start: false, ..*context };
            starting.call(brain_protocol::Status)?;
        }
        context.show(&reply)
    }

    /// Reads the secrets: from files, or at the terminal.
    ///
    /// # Errors
    /// The fault of a file, or `usage` for two secrets from standard input.
    pub(super) fn access(
        &self,
        context: &Context,
        action: MachinesAction,
    ) -> Result<MachinesAccess, Fault> {
        let files = [&self.url_file, &self.direct_url_file, &self.key_file];
        let from_stdin = files.iter().filter(|file| file.as_deref() == Some(Path::new("-")));
        if from_stdin.count() > 1 {
            return Err(fail::usage("only one secret can come from standard input")
                .hint("write the others to files"));
        }
        let can_ask = !self.yes && !context.json && io::stdin().is_terminal();
        let ask = |question| if can_ask { input::ask_secret(question) } else { Ok(None) };
        let read_url = |path| input::read_secret(path, URL_HINT).map(Some);
        let url = match &self.url_file {
            Some(path) => read_url(path)?,
            None => ask("URL of the server: ")?,
        };
        let direct_url = self.direct_url_file.as_deref().map_or(Ok(None), read_url)?;
        let key = match (action, &self.key_file) {
            (MachinesAction::Init, _) => None,
            (MachinesAction::Join, Some(path)) => Some(input::read_secret_words(path, KEY_HINT)?),
            (MachinesAction::Join, None) => ask("24 words of the key: ")?,
        };
        Ok(MachinesAccess {
            url,
            direct_url,
            key,
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            encrypt: action == MachinesAction::Init && !self.no_encryption,
        })
    }

    /// Prints the plan, and asks whether to do it.
    ///
    /// # Errors
    /// As [`MachinesCommand::confirm`].
    fn confirm_plan(&self, plan: &MachinesPlanReply, question: &str) -> Result<(), Fault> {
        let mut text = Text::for_stdout();
        plan.text(&mut text);
        let mut out = io::stderr().lock();
        out.write_all(&text.into_bytes()).map_err(|error| fail::stdout(&error))?;
        drop(out);
        for warning in &plan.warnings {
            output::notice(&format!("warning: {warning}"));
        }
        self.confirm("nothing was changed yet", question)
    }

    /// Asks at the terminal, unless `--yes` was given.
    ///
    /// # Errors
    /// `confirmation_needed` if the answer is not yes, or if standard input is no terminal.
    pub(super) fn confirm(&self, effect: &str, question: &str) -> Result<(), Fault> {
        if self.yes {
            return Ok(());
        }
        let ask = || input::confirm(&format!("{effect}; {question}"));
        let message = match io::stdin().is_terminal() {
            false => effect,
            true if ask().map_err(|e| fail::stdout(&e))? == Some(true) => return Ok(()),
            true => "not confirmed",
        };
        Err(Fault::new(FaultCode::ConfirmationNeeded, message)
            .hint("nothing was changed; --yes does it without asking"))
    }
}

/// Prints a line of progress.
fn tell(context: &Context, line: &str) {
    if !context.quiet && !context.json {
        output::notice(line);
    }
}
