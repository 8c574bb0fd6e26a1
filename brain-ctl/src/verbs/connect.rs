//! `brain connect`: tests an MCP endpoint like an AI client.

use std::path::PathBuf;

use brain_protocol::{ConnectReport, ConnectTest, Credentials, Exit, Fault, Secret};
use clap::{Args, ValueEnum};

use crate::{
    command::{Group, Verb},
    context::Context,
    input,
    output::{Outcome, Show, Text},
};

/// The environment variable with a token.
const TOKEN_VARIABLE: &str = "BRAIN_TOKEN";
/// Hint for a file without a secret.
const SECRET_HINT: &str =
    "`brain clients register` prints id and secret once; write only the secret to the file";

/// Arguments of `connect`.
#[derive(Debug, Args)]
pub(crate) struct ConnectCommand {
    /// The check to make
    #[arg(value_enum, value_name = "ACTION")]
    action: ConnectAction,

    /// URL of the endpoint, for example `https://brain.example.org/mcp`
    #[arg(value_name = "URL")]
    url: String,

    /// Client to use instead of BRAIN_TOKEN or a temporary token
    #[arg(long, value_name = "ID", requires = "secret_file")]
    client_id: Option<String>,

    /// File with the client's secret
    #[arg(long, value_name = "FILE", requires = "client_id")]
    secret_file: Option<PathBuf>,
}

/// The actions of `connect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ConnectAction {
    /// Go through the steps of an AI client and report the first failure
    Test,
}

impl Verb for ConnectCommand {
    const NAME: &'static str = "connect";
    const GROUP: Group = Group::Access;
    const ABOUT: &'static str = "Test an MCP endpoint by acting as an AI client";
    const EXAMPLES: &'static str = "Examples:
  brain connect test https://brain.example.org/mcp
  brain connect test http://127.0.0.1:3131/mcp --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let ConnectAction::Test = self.action;
        let token = std::env::var(TOKEN_VARIABLE).ok();
        let request =
            ConnectTest { credentials: self.credentials(token.as_deref())?, url: self.url };
        context.run(request)
    }
}

impl ConnectCommand {
    /// Returns the credentials: of the command line, else `token`, else those of brain.
    fn credentials(&self, token: Option<&str>) -> Result<Credentials, Fault> {
        if let (Some(id), Some(path)) = (&self.client_id, &self.secret_file) {
            return Ok(Credentials::Client {
                id: id.clone(),
                secret: input::read_secret(path, SECRET_HINT)?,
            });
        }
        Ok(match token.map(str::trim).filter(|token| !token.is_empty()) {
            Some(token) => Credentials::Token(Secret::new(token)),
            None => Credentials::Own,
        })
    }
}

impl Show for ConnectReport {
    fn text(&self, t: &mut Text) {
        super::steps::write(t, &self.steps);
        match self.steps.last().filter(|_| self.exit() == Exit::Failed) {
            Some(step) => t.line(&format!("{}: a client fails at step {}", self.status, step.name)),
            None => t.line(self.status.as_str()),
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.status.as_str());
    }

    fn exit(&self) -> Exit {
        super::steps::exit(self.status)
    }
}

#[cfg(test)]
mod tests {
    use brain_protocol::{Step, StepStatus};

    use super::*;
    use crate::output::width;

    fn step(name: &str, status: StepStatus, message: &str, hint: Option<&str>) -> Step {
        let hint = hint.map(Into::into);
        Step { name: name.into(), status, message: message.into(), hint, took_ms: 1234 }
    }

    #[test]
    fn hints_are_below_their_steps_in_60_columns() {
        let report = ConnectReport {
            url: "http://brain.example.org/mcp".into(),
            status: StepStatus::Failed,
            steps: vec![
                step(
                    "reach",
                    StepStatus::Warned,
                    "brain.example.org answers, without encryption",
                    Some(
                        "tokens can be read on the way, and hosted clients take https only: \
                         use a tunnel",
                    ),
                ),
                step(
                    "challenge",
                    StepStatus::Failed,
                    "it answers 403: forbidden_host: \
                     \u{1b}[31mthis service is not at that address",
                    Some(
                        "tell brain its public address: \
                         http.base_url = \"http://brain.example.org\"",
                    ),
                ),
            ],
        };
        let mut t = Text::plain(Some(60));
        report.text(&mut t);
        assert_eq!(
            t.as_str(),
            "warn reach      1.2 s  brain.example.org answers, without\n                       \
             encryption\n     tokens can be read on the way, and hosted clients take\n     \
             https only: use a tunnel\nfail challenge  1.2 s  it answers 403: \
             forbidden_host:\n                       \u{FFFD}[31mthis service is not at \
             that\n                       address\n     tell brain its public address: \
             http.base_url =\n     \"http://brain.example.org\"\n\
             failed: a client fails at step challenge\n"
        );
        assert!(t.as_str().lines().all(|line| width(line) <= 60));
        assert_eq!(report.exit(), Exit::Failed);
    }

    #[test]
    fn credentials_come_from_a_file_or_the_environment() {
        let plain = ConnectCommand {
            action: ConnectAction::Test,
            url: String::new(),
            client_id: None,
            secret_file: None,
        };
        assert_eq!(plain.credentials(None), Ok(Credentials::Own));
        assert_eq!(plain.credentials(Some("  ")), Ok(Credentials::Own));
        assert_eq!(plain.credentials(Some("t\n")), Ok(Credentials::Token(Secret::new("t"))));
        let missing = ConnectCommand {
            client_id: Some("id".into()),
            secret_file: Some("/no/such".into()),
            ..plain
        };
        let fault = missing.credentials(Some("t")).map_err(|fault| fault.message);
        assert!(fault.as_ref().is_err_and(|message| message.contains("/no/such")), "{fault:?}");
    }
}
