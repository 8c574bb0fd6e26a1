//! The watchdog: observes a tunnel and starts or stops its agent. Reads no clock.

use brain_protocol::{Command, Secret, TunnelState, hint};
use url::Url;

use super::diagnosis::{
    BACKOFF, CHECK_AFTER_START_MS, CHECK_INTERVAL_MS, CONNECT_TIMEOUT_MS, Diagnosis, Observation,
    Remedy, diagnose, select_url,
};
use super::{
    Agent, AgentStatus, Child, PROBE_HEADER, Rejection, SKIP_BROWSER_WARNING, Settings, Starter,
};
use brain_net::{HttpClient, HttpRequest, Reason};

/// Maximum length of a word with a digit, in bytes. Longer ones may be tokens and are redacted.
const MAX_WORD_BYTES: usize = 30;
/// Maximum length of a shown agent line, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// External dependencies of one check.
#[derive(Clone, Copy)]
pub struct WatchdogEnvironment<'a> {
    /// Makes HTTP requests.
    pub net: &'a dyn HttpClient,
    /// Starts programs.
    pub starter: &'a dyn Starter,
    /// Proves that a public address leads to this brain, or returns the reason why it does not.
    pub prove: &'a dyn Fn(&str) -> Result<(), String>,
    /// The agent's token, if there is one.
    pub token: Option<&'a Secret>,
    /// The current time, in Unix milliseconds.
    pub now: i64,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunnelCheck {
    /// The diagnosis. `action` is the action that was due, whether done or postponed.
    pub diagnosis: Diagnosis,
    /// Whether this check started the agent.
    pub has_started_agent: bool,
    /// Whether the agent was started by someone else.
    pub is_foreign: bool,
    /// Whether our last child was given the token. Some agents take none from us.
    pub has_token: bool,
    /// Whether the platform rejects the token.
    pub is_token_refused: bool,
    /// When the tunnel came up at its address, in Unix milliseconds.
    pub up_since: Option<i64>,
    /// Delay until the next check, in milliseconds.
    pub next_ms: i64,
    /// A warning about the start, for the owner.
    pub warning: Option<String>,
}

/// What a check did about an agent that should be started.
#[derive(Default)]
struct Attempt {
    has_started_agent: bool,
    /// A warning about the start, for the owner.
    warning: Option<String>,
    /// Delay until the next check, in milliseconds.
    next_ms: i64,
}

/// Makes the diagnosis of a tunnel that the owner stopped.
fn show_stopped(diagnosis: &mut Diagnosis) {
    if diagnosis.url.is_none() {
        diagnosis.state = TunnelState::Stopped;
        diagnosis.message = format!("stopped by `{}`: {}", Command::TunnelStop, diagnosis.message);
        diagnosis.hint = Some(hint!("{} starts it", Command::TunnelStart));
    }
    diagnosis.action = Remedy::Nothing;
}

/// Keeps one tunnel up.
pub struct Watchdog {
    settings: Settings,
    agent: Box<dyn Agent>,
    child: Option<Box<dyn Child>>,
    /// How the last child exited.
    last_exit: Option<String>,
    /// The last output line of our child that reports an error.
    last_error: Option<String>,
    /// Why the platform rejected our last child.
    rejection: Option<Rejection>,
    /// The token at the last start.
    token: Option<Secret>,
    /// Whether the child was given the token.
    child_has_token: bool,
    /// When the agent was last started, in Unix milliseconds.
    last_start: Option<i64>,
    /// Since when our child runs without the right tunnel, in Unix milliseconds.
    disconnected_since: Option<i64>,
    /// Number of starts since the tunnel was last stable.
    failed_starts: u32,
    /// Total number of starts.
    starts: u64,
    /// The public address, and since when the tunnel is up there, in Unix milliseconds.
    up: Option<(String, i64)>,
}

impl Watchdog {
    /// Creates a watchdog for these settings. Starts nothing.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            agent: super::agent(&settings),
            settings,
            child: None,
            last_exit: None,
            last_error: None,
            rejection: None,
            token: None,
            child_has_token: false,
            last_start: None,
            disconnected_since: None,
            failed_starts: 0,
            starts: 0,
            up: None,
        }
    }

    /// Returns the agent's name as in the configuration.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.agent.name()
    }

    /// Returns the agent's program, if it is installed.
    pub fn program(&self, starter: &dyn Starter) -> Option<std::path::PathBuf> {
        starter.find(&self.agent.program())
    }

    /// Returns how often the agent was started.
    #[must_use]
    pub fn starts(&self) -> u64 {
        self.starts
    }

    /// Checks the tunnel once. Acts if an action is due and the tunnel `should_run`.
    pub fn check(&mut self, environment: WatchdogEnvironment<'_>, should_run: bool) -> TunnelCheck {
        self.read_output();
        if self.rejection.is_some() && self.token.as_ref() != environment.token {
            // A new token makes an earlier rejection obsolete.
            self.reset_backoff();
        }
        let observation = self.observe(environment);
        let mut diagnosis = diagnose(&self.settings, self.agent.name(), &observation);
        if diagnosis.url.is_some() {
            // Earlier errors must not explain a later failure.
            (self.rejection, self.last_exit, self.last_error) = (None, None, None);
        }
        self.disconnected_since = match self.child.is_some() && diagnosis.url.is_none() {
            true => self
                .disconnected_since
                .filter(|at| *at <= environment.now)
                .or(Some(environment.now)),
            false => None,
        };
        let is_foreign = self.child.is_none()
            && matches!(observation.agent, AgentStatus::Up(_) | AgentStatus::NotConnected(_));
        let mut attempt = Attempt { next_ms: CHECK_INTERVAL_MS, ..Attempt::default() };
        if !should_run {
            show_stopped(&mut diagnosis);
        } else if diagnosis.action != Remedy::Nothing {
            attempt = self.start_if_due(environment, &mut diagnosis);
        }
        if should_run && diagnosis.state != TunnelState::Up && self.is_connecting(environment.now) {
            attempt.next_ms = attempt.next_ms.min(CHECK_AFTER_START_MS);
        }
        self.up = match (&diagnosis.url, self.up.take()) {
            (Some(url), Some((known, since))) if *url == known => Some((known, since)),
            (Some(url), _) => Some((url.clone(), environment.now)),
            (None, _) => None,
        };
        if self.up.is_some()
            && self.last_start.is_none_or(|at| environment.now - at >= CHECK_INTERVAL_MS)
        {
            self.failed_starts = 0;
        }
        TunnelCheck {
            has_started_agent: attempt.has_started_agent,
            is_foreign,
            has_token: self.child_has_token,
            is_token_refused: diagnosis.state == TunnelState::Refused
                && self.rejection.as_ref().is_some_and(|rejection| rejection.is_about_token),
            up_since: self.up.as_ref().map(|(_, since)| *since),
            next_ms: attempt.next_ms.min(CHECK_INTERVAL_MS),
            warning: attempt.warning,
            diagnosis,
        }
    }

    /// Starts the agent, unless the backoff after the last start goes on.
    fn start_if_due(
        &mut self,
        environment: WatchdogEnvironment<'_>,
        diagnosis: &mut Diagnosis,
    ) -> Attempt {
        let due = self.next_start(environment.now);
        if due > environment.now {
            return Attempt { next_ms: due - environment.now, ..Attempt::default() };
        }
        let (has_started_agent, warning) = self.start(environment, diagnosis);
        let next_ms = if has_started_agent { CHECK_AFTER_START_MS } else { self.backoff() };
        Attempt { has_started_agent, warning, next_ms }
    }

    /// Returns whether our child was started recently, or lost its connection recently.
    fn is_connecting(&self, now: i64) -> bool {
        let is_recent = |at: i64| (0..CONNECT_TIMEOUT_MS).contains(&(now - at));
        let is_waiting = self.last_start.is_some_and(is_recent)
            || self.disconnected_since.is_some_and(is_recent);
        is_waiting && self.child.is_some()
    }

    /// Resets the rejection and the backoff, so that the next check can start the agent at once.
    pub fn reset_backoff(&mut self) {
        (self.rejection, self.failed_starts) = (None, 0);
        // A running child keeps its time to connect.
        if self.child.is_none() {
            self.last_start = None;
        }
    }

    /// Stops our child and returns whether there was one. Leaves foreign agents alone. Blocks as
    /// [`Child::stop`] does.
    pub fn stop(&mut self) -> bool {
        let Some(child) = self.child.take() else { return false };
        child.stop();
        self.up = None;
        true
    }

    /// Reads the output and the exit of our child.
    fn read_output(&mut self) {
        let Some(child) = &self.child else { return };
        // The exit is read first, so that the last lines are complete when it is set.
        let exit = child.exit_description();
        let lines = child.lines();
        if let Some(rejection) = lines.iter().rev().find_map(|line| self.agent.rejection(line)) {
            self.rejection = Some(rejection);
        }
        if let Some(line) = lines.iter().rev().find(|line| is_error(line)) {
            self.last_error = Some(self.redact(line));
        }
        if let Some(exit) = exit {
            let last = lines.last().map(|line| format!("; its last output: {}", self.redact(line)));
            self.last_exit = Some(format!("{exit}{}", last.unwrap_or_default()));
            self.child = None;
        }
    }

    /// Returns an agent's line, shortened and without tokens. The token may come from the agent's
    /// own configuration, so anything that looks like one is redacted.
    fn redact(&self, line: &str) -> String {
        let line = match &self.token {
            Some(token) => line.replace(token.expose(), "(the token)"),
            None => line.to_owned(),
        };
        let is_word_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
        let mut redacted = String::new();
        for word in line.split_inclusive(|c| !is_word_char(c)) {
            let rest = word.trim_start_matches(is_word_char);
            let word = word.strip_suffix(rest).unwrap_or(word);
            let may_be_token =
                word.len() > MAX_WORD_BYTES && word.contains(|c: char| c.is_ascii_digit());
            redacted.extend([if may_be_token { "(…)" } else { word }, rest]);
        }
        redacted.chars().take(MAX_SHOWN_CHARS).collect()
    }

    /// Collects one observation.
    fn observe(&self, environment: WatchdogEnvironment<'_>) -> Observation {
        let agent = self.agent.status(environment.net, environment.starter);
        let is_missing =
            agent == AgentStatus::NotRunning && self.program(environment.starter).is_none();
        let agent = match (agent, &self.up) {
            // Agents list addresses in any order, so the known address is preferred.
            (AgentStatus::Up(mut urls), Some((known, _))) => {
                urls.sort_by_key(|url| url != known);
                AgentStatus::Up(urls)
            }
            (other, _) => other,
        };
        let url = match &agent {
            AgentStatus::Up(urls) => select_url(&self.settings, urls).cloned(),
            _ => None,
        };
        let local_url = format!("http://127.0.0.1:{}", self.settings.local_port);
        let local_health =
            if url.is_some() { check_health(environment.net, &local_url) } else { Ok(()) };
        let public_health =
            url.filter(|_| local_health.is_ok()).map(|url| (environment.prove)(&url));
        Observation {
            agent,
            missing_program: is_missing.then(|| self.agent.program()),
            has_child: self.child.is_some(),
            exit: self.last_exit.clone(),
            last_error: self.last_error.clone(),
            rejection: self.rejection.clone(),
            local_health,
            public_health,
        }
    }

    /// Returns the backoff after the last start, in milliseconds.
    fn backoff(&self) -> i64 {
        BACKOFF.pause_ms(self.failed_starts.saturating_sub(1))
    }

    /// Returns when the agent may be started again, in Unix milliseconds.
    fn next_start(&self, now: i64) -> i64 {
        // A start in the future was recorded under a wrong clock.
        let after_start =
            self.last_start.filter(|at| *at <= now).map_or(now, |at| at + self.backoff());
        // An agent that lost its connection usually reconnects by itself and keeps its address.
        after_start.max(self.disconnected_since.map_or(now, |at| at + CONNECT_TIMEOUT_MS))
    }

    /// Starts the agent and replaces the current child. Returns whether the agent started, and a
    /// warning for the owner. If the agent did not start, `diagnosis` gets the error.
    fn start(
        &mut self,
        environment: WatchdogEnvironment<'_>,
        diagnosis: &mut Diagnosis,
    ) -> (bool, Option<String>) {
        self.stop();
        (self.last_start, self.disconnected_since) = (Some(environment.now), None);
        self.failed_starts = self.failed_starts.saturating_add(1);
        let launch = self.agent.launch(environment.token, environment.starter);
        match environment.starter.start(&launch) {
            Ok(child) => {
                self.child = Some(child);
                self.disconnected_since = Some(environment.now);
                (self.last_exit, self.last_error, self.rejection) = (None, None, None);
                self.token = environment.token.cloned();
                self.child_has_token = !launch.variables.is_empty();
                self.starts += 1;
                (true, launch.warning)
            }
            Err(error) => {
                diagnosis.message = format!("{} cannot be started: {error}", self.agent.name());
                diagnosis.hint = Some(
                    "check the program that tunnel.binary names, or that is on the daemon's PATH"
                        .into(),
                );
                (false, None)
            }
        }
    }
}

/// Returns whether an agent's line reports an error.
fn is_error(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["lvl=eror", "lvl=crit", "error", " err ", "failed", "fatal", "refused", "denied"]
        .iter()
        .any(|word| line.contains(word))
}

/// Checks that brain answers at `base`.
///
/// # Errors
/// A description of the wrong answer or of the failed request.
pub fn check_health(net: &dyn HttpClient, base: &str) -> Result<(), String> {
    let url =
        Url::parse(&format!("{base}/health")).map_err(|_| "it is not an address".to_owned())?;
    let call = HttpRequest {
        url: &url,
        body: None,
        headers: &[SKIP_BROWSER_WARNING, PROBE_HEADER],
        authorization: None,
        must_be_public: false,
        reason: &Reason::new("tunnel check"),
        is_complete: |_| false,
    };
    let answer = net.call(&call).map_err(|error| error.to_string())?;
    if answer.status != 200 {
        return Err(format!("it answers with status {}", answer.status));
    }
    let reply: Option<serde_json::Value> = serde_json::from_slice(&answer.body).ok();
    let is_brain =
        reply.is_some_and(|reply| reply["status"] == "ok" && reply["engine"].is_string());
    if is_brain { Ok(()) } else { Err("something else answers there".into()) }
}
