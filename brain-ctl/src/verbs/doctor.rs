//! `brain doctor`: checks the installation.

use std::path::PathBuf;

use brain_protocol::{Check, CheckStatus, DoctorReply, DoctorStatus, Exit, Fault};
use clap::Args;

use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    output::{Outcome, Show, Text, clean, width},
    torture,
};

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorCommand {
    /// Repair problems that can be repaired safely
    #[arg(long)]
    fix: bool,

    /// Test whether this disk keeps acknowledged writes: a daemon is killed again and again
    #[arg(long, conflicts_with = "fix")]
    torture: bool,

    /// Test the disk of this directory [default: the disk of the brain's home]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Test for so many seconds, 1 to 3600
    #[arg(long, value_name = "SECONDS", requires = "torture", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,

    /// Print each promise, to keep the lines elsewhere and cut the power
    #[arg(long, requires = "torture")]
    promises: bool,

    /// Compare the lines of --promises with the disk, after the restart
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fix", "torture"])]
    verify: Option<PathBuf>,
}

impl Verb for DoctorCommand {
    const NAME: &'static str = "doctor";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Check the installation";
    const EXAMPLES: &'static str = "Examples:
  brain doctor
  brain doctor --fix --json
  brain doctor --torture
  ssh laptop brain doctor --torture --promises > promises.txt
  brain doctor --verify promises.txt

--torture uses a directory and a daemon of its own beside the brain's home, and removes them. It
tests the death of the process and the kernel's cache. Only a power cut tests the drive's own
cache: --promises, then --verify.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let dir = self.dir.as_deref();
        match self.verify {
            Some(list) => return torture::verify(context, &list, dir),
            None if self.torture && self.promises => {
                return torture::list_promises(context, dir, self.seconds);
            }
            None if self.torture => return torture::torture(context, dir, self.seconds),
            None if dir.is_some() => {
                return Err(fail::usage("--dir needs --torture or --verify"));
            }
            None => {}
        }
        match context.call(brain_protocol::Doctor { fix: self.fix }) {
            Ok(report) => context.show(&report),
            Err(fault) if fault.code.exit() == Exit::Unreachable => {
                context.show(&without_daemon(fault))
            }
            Err(fault) => Err(fault),
        }
    }
}

/// Returns the report if no daemon runs.
fn without_daemon(fault: Fault) -> DoctorReply {
    let check = Check {
        name: "daemon".into(),
        status: CheckStatus::Fail,
        message: fault.message,
        hint: fault.hint,
    };
    DoctorReply { status: DoctorStatus::Unhealthy, health_score: 0, checks: vec![check] }
}

/// Returns whether a hint is a command: it has no punctuation of a sentence.
fn is_command(hint: &str) -> bool {
    !["; ", ", ", ": ", "`"].iter().any(|mark| hint.contains(mark))
}

impl Show for DoctorReply {
    fn text(&self, t: &mut Text) {
        let name_widths = self.checks.iter().map(|check| check.name.chars().count());
        let name_width = name_widths.max().unwrap_or(0);
        for check in &self.checks {
            let status = match check.status {
                CheckStatus::Ok => t.paint.green("ok  "),
                CheckStatus::Warn => t.paint.yellow("warn"),
                CheckStatus::Fail => t.paint.red("fail"),
            };
            let name = clean(&check.name);
            // A message with a word that is too long for the space beside the names, such as a
            // path, starts on its own line.
            let is_narrow = t.width.is_some_and(|columns| {
                let message_width = columns.saturating_sub(name_width + 8);
                check.message.split_whitespace().any(|word| width(word) > message_width)
            });
            if is_narrow {
                t.raw_line(&format!("{status}  {name}"));
                t.prose("      ", 6, &check.message);
            } else {
                let lead = format!("{status}  {name:<name_width$}  ");
                t.prose(&lead, name_width + 8, &check.message);
            }
            let hint = check.hint.as_ref().map(ToString::to_string);
            match hint.filter(|_| check.status != CheckStatus::Ok) {
                // A command stays on one line, because users copy it.
                Some(hint) if is_command(&hint) => t.raw_line(&format!("      {}", clean(&hint))),
                Some(hint) => t.prose("      ", 6, &hint),
                None => {}
            }
        }
        t.line(&format!("{} ({}/100)", self.status, self.health_score));
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.status.as_str());
    }

    fn exit(&self) -> Exit {
        let failed = self.checks.iter().any(|check| check.status == CheckStatus::Fail);
        if failed || self.status == DoctorStatus::Unhealthy { Exit::Failed } else { Exit::Done }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::FaultCode;

    #[test]
    fn without_a_daemon_the_report_is_unhealthy_and_fails() {
        let report = without_daemon(
            Fault::new(FaultCode::Unreachable, "no daemon answers").hint("brain serve"),
        );
        assert_eq!(report.exit(), Exit::Failed);
        let mut t = Text::plain(Some(60));
        report.text(&mut t);
        assert_eq!(
            t.as_str(),
            "fail  daemon  no daemon answers\n      brain serve\nunhealthy (0/100)\n"
        );
    }

    #[test]
    fn text_fits_a_narrow_terminal_and_commands_stay_whole() {
        let command = "systemctl --user restart brain-daemon.socket && brain status --no-start";
        let sentence = "where brain is stopped and has no brain.redb.spool, put it beside its \
                        store under that name; or remove it";
        let path = "/home/a-long-name-of-a-user/.brain/run/brain.sock, mode 0666: others can";
        let check = |hint: &str| Check {
            name: "socket permissions".into(),
            status: CheckStatus::Fail,
            message: path.into(),
            hint: Some(hint.into()),
        };
        let mut t = Text::plain(Some(60));
        let checks = vec![check(command), check(sentence)];
        DoctorReply { status: DoctorStatus::Unhealthy, health_score: 0, checks }.text(&mut t);
        for line in t.as_str().lines() {
            assert!(width(line) <= 60 || line.trim() == command, "{line}");
        }
        assert!(t.as_str().contains(command), "{}", t.as_str());
    }
}
