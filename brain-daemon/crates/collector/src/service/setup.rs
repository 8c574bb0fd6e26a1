//! `brain collector setup`: seven steps; a failed step ends the setup. It can be repeated.

use brain_protocol::{
    CollectorDigest, CollectorRun, CollectorSetup, CollectorSetupReply, Command, Fault, FaultCode,
    RunStatus, Secret, StepStatus, hint,
};
use serde_json::json;

use super::collect::RunInputs;
use super::{TOKEN, data_fault};
use crate::service::CollectorService;
use crate::{
    Account, Data, Endpoint, FaultReason, Platform, PlatformFault, RunSettings, State, Stream,
    UserId,
};
use brain_base::caller::Caller;
use brain_base::clock::rfc3339;
use brain_service::Progress;
use brain_service::steps::{StepFailure, StepResult, Steps, fail, pass, warn};

/// Maximum length of a search with most plans of the platform, in characters.
const MAX_QUERY_CHARS: usize = 512;
/// Maximum number of posts in the trial digest.
const TRIAL_DIGEST_POSTS: u32 = 100;

/// Forwards the progress of a run, without its event lines.
struct ProgressOnly<'a>(&'a dyn Progress);

impl Progress for ProgressOnly<'_> {
    fn at(&self, done: u64, total: u64) -> bool {
        self.0.at(done, total)
    }
}

/// The result of the first step.
struct CheckedToken {
    token: Secret,
    /// The account that the check found, if any.
    account: Option<Account>,
}

/// Converts a platform fault into a failed step.
fn failed_request(description: &str, fault: PlatformFault) -> StepFailure {
    StepFailure::new(fault.message, fault.hint).with_context(description)
}

fn is_handle_of(handle: &str, account: &Account) -> bool {
    handle.eq_ignore_ascii_case(&account.username)
}

impl CollectorService {
    /// Runs the steps. The reply lists the steps that were reached. What passed steps stored stays.
    ///
    /// # Errors
    /// `usage` for an invalid handle; `busy` during a run or another setup; otherwise the fault of
    /// reading the collector's state.
    pub fn setup(
        &self,
        request: &CollectorSetup,
        progress: &dyn Progress,
    ) -> Result<CollectorSetupReply, Fault> {
        let requested = request.handle.as_deref().map(|text| {
            brain_config::parse_handle(text).ok_or_else(|| {
                let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
                Fault::new(FaultCode::Usage, format!("\"{shown}\" is not a handle")).hint(
                    "a handle has 1 to 15 letters, digits and underscores, for example \
                     --handle ada_lovelace",
                )
            })
        });
        let requested = requested.transpose()?;
        let _guard = self.state.begin("the setup", self.env.clock.now())?;
        let mut steps = Steps { clock: &*self.env.clock, results: Vec::new() };
        let mut run = SetupRun::begin(self, requested, progress)?;
        let has_passed = run.all_steps(request.token.as_ref(), &mut steps).is_some();
        Ok(CollectorSetupReply {
            status: if has_passed { StepStatus::Passed } else { StepStatus::Failed },
            user_id: run.state.user.map(|user| user.id),
            steps: steps.results,
        })
    }
}

/// A setup in progress.
struct SetupRun<'a> {
    service: &'a CollectorService,
    progress: &'a dyn Progress,
    /// The configured settings.
    settings: RunSettings,
    data: Data,
    state: State,
    /// A description of the damage, if the state was damaged.
    damage: Option<String>,
    /// The handle that the request names.
    requested_handle: Option<String>,
}

impl<'a> SetupRun<'a> {
    fn begin(
        service: &'a CollectorService,
        requested_handle: Option<&str>,
        progress: &'a dyn Progress,
    ) -> Result<Self, Fault> {
        let settings = service.collector_settings();
        let data = Data::new(&settings.dir);
        let (state, damage) = State::load(&data).map_err(|f| data_fault(&f))?;
        let requested_handle = requested_handle.map(str::to_owned);
        Ok(Self { service, progress, settings, data, state, damage, requested_handle })
    }

    /// Runs the steps in order. Returns `None` after a failed step.
    fn all_steps(&mut self, token: Option<&Secret>, steps: &mut Steps<'_>) -> Option<()> {
        let checked = steps.run("token", || self.token(token))?;
        let account = steps.run("user", || self.user(&checked))?;
        let settings = steps.run("directories", || self.directories(account))?;
        let inputs = RunInputs { settings, token: checked.token };
        steps.run("collect", || self.collect(&inputs))?;
        steps.run("enrichment", || self.enrichment())?;
        steps.run("schedule", || self.schedule())?;
        steps.run("heartbeat", || self.heartbeat())
    }

    /// Sends a request to the platform and records the rate limits in `self.state`.
    fn call<T>(
        &mut self,
        token: &Secret,
        request: impl FnOnce(&mut Platform<'_>) -> Result<T, PlatformFault>,
    ) -> Result<Result<T, PlatformFault>, StepFailure> {
        let (base, http_client) = self.service.platform_client(&self.settings)?;
        let now = || self.service.env.clock.now();
        let mut platform =
            Platform::new(&*http_client, &base, token, self.state.rate_limits.clone(), &now);
        let answer = request(&mut platform);
        self.state.rate_limits = platform.rates;
        Ok(answer)
    }

    /// Returns the first known handle: the requested, the configured or the stored one.
    fn handle(&self) -> Option<String> {
        let stored = || self.state.user.as_ref().map(|user| user.username.clone());
        self.requested_handle.clone().or_else(|| self.settings.handle.clone()).or_else(stored)
    }

    /// Step 1: checks the token with the platform, then stores it if the request has it.
    fn token(&mut self, requested_token: Option<&Secret>) -> StepResult<CheckedToken> {
        let (token, token_origin) = match requested_token {
            Some(token) => (token.clone(), "the token".to_owned()),
            None => {
                let found = self
                    .service
                    .platform_token()?
                    .ok_or_else(|| self.service.missing_token_fault())?;
                (found.secret, format!("the token of {}", found.origin))
            }
        };
        let (account, message) = self.check_token(&token, &token_origin)?;
        let checked = CheckedToken { token, account };
        match requested_token {
            Some(_) => self.store_token(checked, &message),
            None => pass(checked, message),
        }
    }

    /// Checks the token with the platform. Returns its account, if that can be known, and what was
    /// found.
    // The argument must accept any lifetime, so a method path does not compile.
    #[allow(clippy::redundant_closure_for_method_calls)]
    fn check_token(
        &mut self,
        token: &Secret,
        token_origin: &str,
    ) -> Result<(Option<Account>, String), StepFailure> {
        let not_checked = |fault: PlatformFault| {
            failed_request(&format!("{token_origin} could not be checked"), fault)
        };
        let fault = match self.call(token, |platform| platform.me())? {
            Ok(account) => {
                let message = format!("{token_origin} is valid; it acts for @{}", account.username);
                return Ok((Some(account), message));
            }
            Err(fault) => fault,
        };
        // App tokens and invalid tokens both fail here; looking up an account tells them apart.
        if !matches!(fault.reason, FaultReason::Unauthorized | FaultReason::Forbidden) {
            return Err(not_checked(fault));
        }
        let Some(handle) = self.handle() else {
            return Err(StepFailure::new(
                format!(
                    "{token_origin} does not name its account (GET /2/users/me: {}); an app's own \
                     token never does",
                    fault.message
                ),
                hint!(
                    "name the account; looking it up checks the token, too: {}",
                    Command::CollectorSetupHandle { handle: None }
                ),
            ));
        };
        let lookup = self.call(token, |platform| platform.by_username(&handle))?;
        let message = format!(
            "{token_origin} is valid: an app's own token may not call GET /2/users/me, so the \
             lookup of @{handle} was the check"
        );
        match lookup {
            Ok(account) => Ok((Some(account), message)),
            Err(fault) if fault.reason == FaultReason::NotFound => Ok((None, message)),
            Err(fault) if fault.reason == FaultReason::Unauthorized => Err(StepFailure::new(
                format!("the platform does not take {token_origin}: {}", fault.message),
                hint!(
                    "it must be the app's bearer token (not its API key or secret) or a user's \
                     access token; create one in the platform's developer console, then {}",
                    Command::CollectorSetupToken
                ),
            )),
            Err(fault) => Err(not_checked(fault)),
        }
    }

    /// Stores the requested token, and checks that it is the one that is used from now on.
    fn store_token(&self, checked: CheckedToken, message: &str) -> StepResult<CheckedToken> {
        let path = self.service.env.secrets.store(TOKEN, &checked.token).map_err(Fault::from)?;
        let message = format!("{message}; stored in {}", path.display());
        match self.service.platform_token() {
            Ok(Some(found)) if found.secret == checked.token => pass(checked, message),
            Ok(Some(found)) => {
                let warning = format!(
                    "{} has another token, which takes precedence: remove that token",
                    found.origin
                );
                warn(checked, message, warning)
            }
            Ok(None) => fail(format!("{message}, but it was not found there"), "run setup again"),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Step 2: looks up the account's id.
    fn user(&mut self, checked: &CheckedToken) -> StepResult<Account> {
        let (requested, configured) =
            (self.requested_handle.as_deref(), self.settings.handle.as_deref());
        if let (Some(requested), Some(configured)) = (requested, configured)
            && !requested.eq_ignore_ascii_case(configured)
        {
            return fail(
                format!("--handle is @{requested}, but collector.handle is @{configured}"),
                hint!(
                    "change collector.handle in config.toml ({}), restart the daemon, and run \
                     setup again",
                    Command::ConfigPath
                ),
            );
        }
        let handle = self.handle();
        let account = match (handle, &checked.account) {
            (None, Some(own)) => own.clone(),
            (Some(handle), Some(known)) if is_handle_of(&handle, known) => known.clone(),
            (None, None) => {
                return fail(
                    "there is no handle to look up",
                    Command::CollectorSetupHandle { handle: None },
                );
            }
            (Some(handle), _) => self.look_up(&checked.token, &handle)?,
        };
        if UserId::parse(&account.id).is_none() {
            return fail("the platform sent an invalid account id", "try again later");
        }
        match &self.settings.user_id {
            Some(id) if id.as_str() != account.id => fail(
                format!(
                    "@{} has the id {}, but collector.user_id is {id}",
                    account.username, account.id
                ),
                "correct or remove collector.user_id in config.toml, restart the daemon, and run \
                 setup again",
            ),
            _ => {
                let message = format!("@{} has the id {}", account.username, account.id);
                pass(account, message)
            }
        }
    }

    /// Looks up the account with this handle.
    fn look_up(&mut self, token: &Secret, handle: &str) -> Result<Account, StepFailure> {
        self.call(token, |platform| platform.by_username(handle))?.map_err(|fault| {
            match fault.reason {
                FaultReason::NotFound => StepFailure::new(
                    format!(
                        "the platform has no account @{handle}, or it is suspended: {}",
                        fault.message
                    ),
                    hint!(
                        "check the spelling in {} and collector.handle",
                        Command::CollectorSetupHandle { handle: None }
                    ),
                ),
                _ => failed_request(&format!("@{handle} could not be looked up"), fault),
            }
        })
    }

    /// Step 3: creates the directories, saves the account, and checks the searches.
    fn directories(&mut self, account: Account) -> StepResult<RunSettings> {
        self.data.prepare().map_err(|f| data_fault(&f))?;
        let rates = self.state.rate_limits.clone();
        let changed = State::change(&self.data, |state| {
            if state.user.as_ref().is_some_and(|user| user.id != account.id) {
                // Posts of the former account must not count as missing.
                for stream in [Stream::Own, Stream::Mentions] {
                    state.streams.remove(stream.as_str());
                }
            }
            state.rate_limits.merge(&[Endpoint::Me, Endpoint::ByUsername], &rates);
            state.user = Some(account);
        });
        self.state = changed.map_err(|f| data_fault(&f))?;
        let settings = CollectorService::with_account(self.settings.clone(), &self.state);
        let searches = &settings.searches;
        let message = match searches.len() {
            0 => "no searches: `searches = [\"…\"]` in [collector] of config.toml adds searches"
                .to_owned(),
            1 => "1 search".to_owned(),
            n => format!("{n} searches"),
        };
        let message = format!("{} is ready; {message}", self.data.root().display());
        let too_long = searches.iter().position(|query| query.chars().count() > MAX_QUERY_CHARS);
        let too_long = too_long.map(|n| {
            format!(
                "search {} is longer than the {MAX_QUERY_CHARS} characters that most plans allow",
                n + 1
            )
        });
        let warnings: Vec<String> = self.damage.take().into_iter().chain(too_long).collect();
        if warnings.is_empty() {
            pass(settings, message)
        } else {
            warn(settings, message, warnings.join("; "))
        }
    }

    /// Step 4: runs the collector and checks that own posts are stored.
    fn collect(&self, inputs: &RunInputs) -> StepResult<()> {
        let progress = ProgressOnly(self.progress);
        let run = self.service.run_collector(inputs, &progress, false)?;
        if run.status == RunStatus::Failed {
            return fail(
                format!("the run failed: {}", run.why().unwrap_or_default()),
                "solve that, then run setup again; collected posts are kept",
            );
        }
        let own = self.data.count("tweets/own");
        let skipped = skipped_streams(&run);
        if own == 0 {
            let id = inputs.settings.user_id.as_ref().map(ToString::to_string).unwrap_or_default();
            let skipped = if skipped.is_empty() {
                String::new()
            } else {
                format!("; {}", skipped.join("; "))
            };
            return fail(
                format!("no posts of the own timeline were collected{skipped}"),
                format!(
                    "check three things: is {id} the account's numeric id; is the token valid for \
                     its timeline; is the account protected? A protected account needs a user's \
                     access token (OAuth 2.0 user context), not an app's own token. An account \
                     without posts has nothing to collect: write a post, then run setup again"
                ),
            );
        }
        let message = format!(
            "{own} {} in {}; {} seen in this run with {} requests",
            if own == 1 { "post" } else { "posts" },
            self.data.root().join("tweets/own").display(),
            run.tweets_stored,
            run.requests
        );
        let warnings: Vec<String> = skipped.into_iter().chain(run.warnings).collect();
        if warnings.is_empty() { pass((), message) } else { warn((), message, warnings.join("; ")) }
    }

    /// Step 5: makes a trial digest, because agents enrich pages from digests.
    fn enrichment(&self) -> StepResult<()> {
        let me = Caller::local(rustix::process::geteuid().as_raw());
        let request = CollectorDigest { since: None, limit: TRIAL_DIGEST_POSTS, after: None };
        let digest = self.service.digest(&me, &request)?;
        let posts: usize = digest.authors.iter().map(|author| author.posts.len()).sum();
        let more = if digest.next.is_some() { " and more" } else { "" };
        pass(
            (),
            format!(
                "the digest has {posts} posts{more} by {} accounts; let an agent read it two or \
                 three times a day (`{}`, or the MCP tool), and then run `{}`",
                digest.authors.len(),
                Command::CollectorDigestJson,
                Command::CollectorEnrich
            ),
        )
    }

    /// Step 6: checks that runs are scheduled.
    fn schedule(&self) -> StepResult<()> {
        let task = self.service.env.task;
        if !self.service.env.config.enabled {
            return warn(
                (),
                "no runs are scheduled: collector.enabled is false",
                hint!(
                    "set it to true in config.toml and restart the daemon, or let another program \
                     run {}",
                    Command::CollectorCollect
                ),
            );
        }
        let next = rfc3339(task.next_start(self.service.env.clock.now()));
        let interval = task.interval();
        pass((), format!("the next run begins at {next}, and then one every {interval}"))
    }

    /// Step 7: writes the heartbeat that marks a completed setup.
    fn heartbeat(&self) -> StepResult<()> {
        let details = json!({ "user_id": self.state.user.as_ref().map(|user| &user.id) });
        self.service.heartbeat("setup_complete", "ok", &details)?;
        pass((), "setup_complete was written to integrations/collector/heartbeat.jsonl")
    }
}

/// Returns a message for each skipped stream, with the reason.
fn skipped_streams(run: &CollectorRun) -> Vec<String> {
    let skipped =
        run.streams.iter().filter_map(|stream| Some((&stream.stream, stream.skipped.as_ref()?)));
    skipped.map(|(stream, skipped)| format!("{stream} was skipped: {}", skipped.message)).collect()
}
