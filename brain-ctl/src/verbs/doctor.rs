//! `brain doctor`: checks the installation.

use brain_protocol::{Check, CheckStatus, DoctorReply, Exit, Fault};
use clap::Args;

use crate::{
    args::{Group, Verb},
    context::Context,
    output::{Outcome, Show, Text, clean},
};

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Repair problems that can be repaired safely
    #[arg(long)]
    fix: bool,
}

impl Verb for Doctor {
    const NAME: &'static str = "doctor";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Check the installation";
    const EXAMPLES: &'static str = "Examples:
  brain doctor
  brain doctor --fix --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
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
    DoctorReply { status: "unhealthy".into(), health_score: 0, checks: vec![check] }
}

impl Show for DoctorReply {
    fn text(&self, t: &mut Text) {
        let names = self.checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
        for check in &self.checks {
            let status = match check.status {
                CheckStatus::Ok => t.paint.green("ok  "),
                CheckStatus::Warn => t.paint.yellow("warn"),
                CheckStatus::Fail => t.paint.red("fail"),
            };
            let name = clean(&check.name);
            t.prose(&format!("{status}  {name:<names$}  "), names + 8, &check.message);
            // A hint is never cut, because users copy the command in it.
            if let Some(hint) = check.hint.as_deref().filter(|_| check.status != CheckStatus::Ok) {
                let line = format!("      {}", t.paint.dim(&clean(hint)));
                t.raw(&line);
            }
        }
        t.line(&format!("{} ({}/100)", self.status, self.health_score));
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.status);
    }

    fn exit(&self) -> Exit {
        let failed = self.checks.iter().any(|check| check.status == CheckStatus::Fail);
        if failed || self.status == "unhealthy" { Exit::Failed } else { Exit::Done }
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
}
