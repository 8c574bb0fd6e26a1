//! Keeps a tunnel up: looks, judges, and starts or ends its own child, at times that the caller tells. Nothing here reads a clock.

use brain_protocol::Secret;
use url::Url;

use super::watch::{
    AFTER_START_MS, Action, CONNECTING_MS, EVERY_MS, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, Seen,
    Verdict, chosen, judge,
};
use super::{Agent, Child, NO_PAGE, PROBE, Refusal, Says, Settings, Starter};
use brain_net::{Call, Outgoing};

/// A longer word with a digit in it may be a token, in bytes.
const LONGEST_WORD: usize = 30;
/// The longest line of an agent that is shown, in characters.
const SHOWN: usize = 200;

/// What a look needs from outside.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// What goes out over HTTP.
    pub net: &'a dyn Outgoing,
    /// What starts programs.
    pub starter: &'a dyn Starter,
    /// Proves that a public address leads to this brain; says why it does not.
    pub prove: &'a dyn Fn(&str) -> Result<(), String>,
    /// The agent's token, if there is one.
    pub token: Option<&'a Secret>,
    /// Now, in Unix milliseconds.
    pub now: i64,
}

/// What came of a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// What was seen, and what it means. `action` is what was due, done or waited for.
    pub verdict: Verdict,
    /// Whether the agent was started now.
    pub started: bool,
    /// Whether it is somebody else's agent.
    pub adopted: bool,
    /// Whether our last child was given the token: not every agent takes one from us.
    pub handed: bool,
    /// Whether the platform refuses for the token's sake.
    pub token_refused: bool,
    /// Since when the tunnel is up at its address, Unix milliseconds.
    pub up_since: Option<i64>,
    /// When to look again, in milliseconds from now.
    pub next_ms: i64,
    /// What the owner should know of how it was started.
    pub warning: Option<String>,
}

/// The keeper of one tunnel.
pub struct Keeper {
    settings: Settings,
    agent: Box<dyn Agent>,
    child: Option<Box<dyn Child>>,
    /// How the last child ended.
    ended: Option<String>,
    /// The last line of our child that tells an error.
    complaint: Option<String>,
    /// Why the platform refused our last child.
    refusal: Option<Refusal>,
    /// The token that it was started with.
    token: Option<Secret>,
    /// Whether it was given to it.
    handed: bool,
    last_start: Option<i64>,
    /// Since when our child runs without the right tunnel, Unix milliseconds.
    astray: Option<i64>,
    /// Starts since the tunnel was up for a while.
    tries: u32,
    /// Starts of all.
    starts: u64,
    up: Option<(String, i64)>,
}

impl Keeper {
    /// For these settings. Does nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            agent: super::agent(&settings),
            settings,
            child: None,
            ended: None,
            complaint: None,
            refusal: None,
            token: None,
            handed: false,
            last_start: None,
            astray: None,
            tries: 0,
            starts: 0,
            up: None,
        }
    }

    /// The agent's name, as people type it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.agent.name()
    }

    /// The agent's program, if it is there.
    pub fn program(&self, starter: &dyn Starter) -> Option<std::path::PathBuf> {
        starter.find(&self.agent.program())
    }

    /// How often an agent was started.
    #[must_use]
    pub fn starts(&self) -> u64 {
        self.starts
    }

    /// Looks once. What is to be done is done when its time has come, unless the tunnel is not `wanted`.
    pub fn look(&mut self, world: World<'_>, wanted: bool) -> Looked {
        self.hear();
        if self.refusal.is_some() && self.token.as_ref() != world.token {
            // Somebody has changed what was refused.
            self.forget();
        }
        let seen = self.see(world);
        let mut verdict = judge(&self.settings, self.agent.name(), &seen);
        if verdict.url.is_some() {
            // What was wrong before is not what will be wrong next.
            (self.refusal, self.ended, self.complaint) = (None, None, None);
        }
        self.astray = match self.child.is_some() && verdict.url.is_none() {
            true => self.astray.filter(|at| *at <= world.now).or(Some(world.now)),
            false => None,
        };
        let adopted = self.child.is_none() && matches!(seen.agent, Says::Up(_) | Says::NoTunnel(_));
        let (mut started, mut warning) = (false, None);
        let mut next_ms = EVERY_MS;
        if !wanted {
            if verdict.url.is_none() {
                verdict.state = "stopped";
                verdict.message = format!("stopped by `brain tunnel stop`: {}", verdict.message);
                verdict.hint = Some("`brain tunnel start` starts it".into());
            }
            verdict.action = Action::Nothing;
        } else if verdict.action != Action::Nothing {
            let due = self.due(world.now);
            if due > world.now {
                next_ms = due - world.now;
            } else {
                (started, warning) = self.start(world, &mut verdict);
                next_ms = if started { AFTER_START_MS } else { self.pause() };
            }
        }
        let fresh = |at: i64| (0..CONNECTING_MS).contains(&(world.now - at));
        let soon = self.last_start.is_some_and(fresh) || self.astray.is_some_and(fresh);
        if soon && wanted && !matches!(verdict.state, "up") && self.child.is_some() {
            next_ms = next_ms.min(AFTER_START_MS);
        }
        self.up = match (&verdict.url, self.up.take()) {
            (Some(url), Some((known, since))) if *url == known => Some((known, since)),
            (Some(url), _) => Some((url.clone(), world.now)),
            (None, _) => None,
        };
        if self.up.is_some() && self.last_start.is_none_or(|at| world.now - at >= EVERY_MS) {
            self.tries = 0;
        }
        Looked {
            started,
            adopted,
            handed: self.handed,
            token_refused: verdict.state == "refused"
                && self.refusal.as_ref().is_some_and(|refusal| refusal.token),
            up_since: self.up.as_ref().map(|(_, since)| *since),
            next_ms: next_ms.min(EVERY_MS),
            warning,
            verdict,
        }
    }

    /// Forgets why it did not work, and its pauses: somebody wants it tried at once.
    pub fn forget(&mut self) {
        (self.refusal, self.tries) = (None, 0);
        // One that runs still has its time to connect.
        if self.child.is_none() {
            self.last_start = None;
        }
    }

    /// Ends our child, if there is one; somebody else's agent is left alone. Blocks until it is gone. Whether there was one.
    pub fn stop(&mut self) -> bool {
        let Some(child) = self.child.take() else { return false };
        child.stop();
        self.up = None;
        true
    }

    /// Reads what our child has said, and whether it has ended.
    fn hear(&mut self) {
        let Some(child) = &self.child else { return };
        // Asked first: what it said at its end is there when it has ended.
        let ended = child.ended();
        let lines = child.lines();
        if let Some(refusal) = lines.iter().rev().find_map(|line| self.agent.refusal(line)) {
            self.refusal = Some(refusal);
        }
        if let Some(line) = lines.iter().rev().find(|line| is_error(line)) {
            self.complaint = Some(self.harmless(line));
        }
        if let Some(how) = ended {
            let last =
                lines.last().map(|line| format!("; its last words: {}", self.harmless(line)));
            self.ended = Some(format!("{how}{}", last.unwrap_or_default()));
            self.child = None;
        }
    }

    /// A line of the agent without the token, which some agents repeat, and not too long. A token may be the agent's own, from its
    /// configuration: so nothing is told that looks like one.
    fn harmless(&self, line: &str) -> String {
        let line = match &self.token {
            Some(token) => line.replace(token.expose(), "(the token)"),
            None => line.to_owned(),
        };
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
        let mut told = String::new();
        for word in line.split_inclusive(|c| !inner(c)) {
            let rest = word.trim_start_matches(inner);
            let word = word.strip_suffix(rest).unwrap_or(word);
            let token = word.len() > LONGEST_WORD && word.contains(|c: char| c.is_ascii_digit());
            told.extend([if token { "(…)" } else { word }, rest]);
        }
        told.chars().take(SHOWN).collect()
    }

    /// One look at everything.
    fn see(&self, world: World<'_>) -> Seen {
        let agent = self.agent.ask(world.net, world.starter);
        let missing = agent == Says::Nothing && self.program(world.starter).is_none();
        let agent = match (agent, &self.up) {
            // Of several that will do, the one that is known: agents list them in any order.
            (Says::Up(mut urls), Some((known, _))) => {
                urls.sort_by_key(|url| url != known);
                Says::Up(urls)
            }
            (other, _) => other,
        };
        let url = match &agent {
            Says::Up(urls) => chosen(&self.settings, urls).cloned(),
            _ => None,
        };
        let here = format!("http://127.0.0.1:{}", self.settings.forward);
        let local_health = if url.is_some() { is_healthy(world.net, &here) } else { Ok(()) };
        let public_health = url.filter(|_| local_health.is_ok()).map(|url| (world.prove)(&url));
        Seen {
            agent,
            missing: missing.then(|| self.agent.program()),
            child: self.child.is_some(),
            ended: self.ended.clone(),
            complaint: self.complaint.clone(),
            refusal: self.refusal.clone(),
            local_health,
            public_health,
        }
    }

    /// The pause after the last start.
    fn pause(&self) -> i64 {
        (FIRST_PAUSE_MS << self.tries.saturating_sub(1).min(20)).min(LONGEST_PAUSE_MS)
    }

    /// When the agent may be started again.
    fn due(&self, now: i64) -> i64 {
        // A start in the future was noted by a clock that was wrong.
        let after_start =
            self.last_start.filter(|at| *at <= now).map_or(now, |at| at + self.pause());
        // One that has lost its connection finds it again by itself as a rule, and keeps its address.
        after_start.max(self.astray.map_or(now, |at| at + CONNECTING_MS))
    }

    /// Starts the agent, in the place of the child that there is.
    fn start(&mut self, world: World<'_>, verdict: &mut Verdict) -> (bool, Option<String>) {
        self.stop();
        (self.last_start, self.astray) = (Some(world.now), None);
        self.tries = self.tries.saturating_add(1);
        let launch = self.agent.launch(world.token, world.starter);
        match world.starter.start(&launch) {
            Ok(child) => {
                self.child = Some(child);
                self.astray = Some(world.now);
                (self.ended, self.complaint, self.refusal) = (None, None, None);
                self.token = world.token.cloned();
                self.handed = !launch.variables.is_empty();
                self.starts += 1;
                (true, launch.warning)
            }
            Err(error) => {
                verdict.message = format!("{} cannot be started: {error}", self.agent.name());
                verdict.hint = Some(
                    "look at the program that tunnel.binary names, or that is on the daemon's PATH"
                        .into(),
                );
                (false, None)
            }
        }
    }
}

/// Whether a line of an agent tells an error, by the words that agents use for it.
fn is_error(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["lvl=eror", "lvl=crit", "error", " err ", "failed", "fatal", "refused", "denied"]
        .iter()
        .any(|word| line.contains(word))
}

/// Whether brain answers at this address.
///
/// # Errors
/// What answered instead, or that nobody did.
pub fn is_healthy(net: &dyn Outgoing, base: &str) -> Result<(), String> {
    let url = Url::parse(&format!("{base}/health")).map_err(|_| "it is no address".to_owned())?;
    let call = Call {
        url: &url,
        body: None,
        headers: &[NO_PAGE, PROBE],
        authorization: None,
        public: false,
        enough: |_| false,
    };
    let answer = net.call(&call).map_err(|trouble| trouble.to_string())?;
    if answer.status != 200 {
        return Err(format!("it answers with status {}", answer.status));
    }
    let said: Option<serde_json::Value> = serde_json::from_slice(&answer.body).ok();
    let ours = said.is_some_and(|said| said["status"] == "ok" && said["engine"].is_string());
    if ours { Ok(()) } else { Err("something else answers there".into()) }
}
