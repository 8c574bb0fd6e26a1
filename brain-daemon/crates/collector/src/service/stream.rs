//! The persistent connection to the platform, which stays open between the scheduled runs.
//!
//! It stores posts as a run does, searches for posts missed while disconnected, and watches own
//! posts during their first minute. One thread does all of this.

mod own_posts;

use std::cell::RefCell;
use std::time::{Duration, Instant};

use brain_base::leases;
use brain_protocol::{ConnectionStatus, Secret, StreamStatus};
use url::Url;

use super::collect::RunInputs;
use crate::filtered_stream;
use crate::filtered_stream::{
    ConnectionEnd, LineSplitter, ReconnectDelay, StreamMessage, StreamRules,
};
use crate::outbound::Watch;
use crate::service::{CollectorService, StreamView};
use crate::{
    Data, Endpoint, Expansions, FaultReason, IncomingPost, Line, Platform, PlatformFault, PostId,
    Record, Run, RunListener, RunSettings, State, Stream,
};
use brain_net::{HttpRequest, Reason, RetryingClient, StreamEvent};

/// Retry interval while a connection cannot be prepared.
const RETRY_UNREADY: Duration = Duration::from_secs(2);
/// The pause while another machine collects.
const LEASE_CHECK: Duration = Duration::from_secs(10);
/// Interval of checks for a new token, while no connection is open.
const TOKEN_CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Minimum interval between two saves of the newest post.
const SAVE_INTERVAL: Duration = Duration::from_secs(10);
/// Interval of checks for a stop, while no connection is open.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Endpoints that only this connection uses.
const PERSISTENT_CONNECTION_ENDPOINTS: [Endpoint; 3] =
    [Endpoint::Rules, Endpoint::ChangeRules, Endpoint::Connect];

impl CollectorService {
    /// Returns the status of the connection; `None` if it was never enabled. `off_because` is the
    /// reason if the collector is off.
    pub(super) fn stream_status(&self, off_because: Option<&str>) -> Option<StreamStatus> {
        let StreamView { status, is_unready } = self.state.stream().clone()?;
        if !is_unready {
            return Some(status);
        }
        let (state, message) = match off_because {
            Some(why) => (ConnectionStatus::Off, why),
            None => (ConnectionStatus::Waiting, "a connection is being opened"),
        };
        Some(StreamStatus { state, message: message.into(), ..status })
    }

    /// Keeps a connection open, if enabled, until the daemon stops. Blocks.
    pub fn stream(&self) {
        if !self.env.config.stream {
            return;
        }
        let status = StreamStatus {
            state: ConnectionStatus::Waiting,
            message: "a connection is being opened".into(),
            posts: 0,
            connections: 0,
        };
        *self.state.stream() = Some(StreamView { status, is_unready: false });
        let (mut backoff, mut watches) = (ReconnectDelay::default(), Vec::new());
        while !self.env.stop.is_cancelled() {
            self.run_connection(&mut backoff, &mut watches);
        }
        self.set_stream_status(ConnectionStatus::Off, "the daemon is stopping", false);
    }

    /// Runs one connection, including the delay after it.
    fn run_connection(&self, backoff: &mut ReconnectDelay, watches: &mut Vec<Watch>) {
        if !self.env.leases.holds(leases::COLLECTOR) {
            let message = "another machine collects, or this one must not now";
            self.set_stream_status(ConnectionStatus::Off, message, false);
            return self.pause(LEASE_CHECK, None, || {});
        }
        let inputs = self.run_inputs().and_then(|run_inputs| {
            let (base, http_client) = self.platform_client(&run_inputs.settings)?;
            let data = Data::new(&run_inputs.settings.dir);
            let run = self.new_run(&run_inputs, &base, &*http_client);
            run.prepare().map_err(|fault| super::data_fault(&fault))?;
            let (state, _) = State::peek(&data).map_err(|fault| super::data_fault(&fault))?;
            Ok((run_inputs, base, http_client, data, state))
        });
        let (run_inputs, base, http_client, data, state) = match inputs {
            Ok(inputs) => inputs,
            Err(fault) => {
                let hint = fault.hint.clone().unwrap_or_default();
                let message = format!("{}; {hint}", fault.message);
                self.set_stream_status(ConnectionStatus::Waiting, &message, true);
                return self.pause(RETRY_UNREADY, None, || {});
            }
        };
        let now = || self.env.clock.now();
        let mut connection = StreamConnection {
            service: self,
            run: self.new_run(&run_inputs, &base, &*http_client),
            settings: &run_inputs.settings,
            platform: Platform::new(
                &*http_client,
                &base,
                &run_inputs.token,
                state.rate_limits,
                &now,
            ),
            expansions: Expansions {
                authors: run_inputs.settings.request_authors,
                media: run_inputs.settings.request_media,
            },
            rules: StreamRules::default(),
            lines: LineSplitter::default(),
            newest: state.stream_newest_id.as_deref().and_then(PostId::parse),
            saved_newest: None,
            saved_at: Instant::now(),
            connected_at: None,
            end_reason: None,
            watches,
        };
        let (end, reason) = connection.connect(&run_inputs.token);
        let duration = connection.connected_at.map_or(Duration::ZERO, |at| at.elapsed());
        connection.save_state(&data);
        let wait = backoff.after(end, duration, self.env.clock.now().div_euclid(1000));
        if self.env.stop.is_cancelled() {
            return;
        }
        self.report_end(end, &reason, wait);
        self.pause(wait, Some(&run_inputs.token), || connection.check_watches());
    }

    /// Shows and logs that a connection ended, and when the next attempt is.
    fn report_end(&self, end: ConnectionEnd, reason: &str, wait: Duration) {
        let needs_owner = matches!(
            end,
            ConnectionEnd::Refused(
                FaultReason::Unauthorized
                    | FaultReason::PaymentRequired
                    | FaultReason::Forbidden
                    | FaultReason::UsageCapped
            )
        );
        let state = if needs_owner { ConnectionStatus::Off } else { ConnectionStatus::Waiting };
        let message = format!("{reason}; the next attempt is in {} s", wait.as_secs());
        self.set_stream_status(state, &message, false);
        tracing::info!(reason, ?wait, "persistent connection ended");
    }

    fn new_run<'a>(
        &'a self,
        run_inputs: &'a RunInputs,
        base: &'a Url,
        http_client: &'a dyn RetryingClient,
    ) -> Run<'a> {
        Run {
            settings: &run_inputs.settings,
            base,
            http_client,
            token: &run_inputs.token,
            clock: &*self.env.clock,
        }
    }

    /// Sets state and message, if the connection is enabled, and whether the message says why the
    /// collector is not ready.
    fn set_stream_status(&self, state: ConnectionStatus, message: &str, is_unready: bool) {
        if let Some(view) = self.state.stream().as_mut() {
            view.is_unready = is_unready;
            view.status.state = state;
            view.status.message = message.into();
        }
    }

    /// Waits for `wait`, but ends early if the daemon stops or `token` is replaced. Calls `tick`
    /// every [`POLL_INTERVAL`].
    fn pause(&self, wait: Duration, token: Option<&Secret>, mut tick: impl FnMut()) {
        let (until, mut last_check) = (Instant::now() + wait, Instant::now());
        while !self.env.stop.is_cancelled() {
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return;
            }
            std::thread::sleep(remaining.min(POLL_INTERVAL));
            tick();
            if last_check.elapsed() >= TOKEN_CHECK_INTERVAL {
                last_check = Instant::now();
                if let (Some(token), Ok(Some(found))) = (token, self.platform_token())
                    && found.secret != *token
                {
                    return;
                }
            }
        }
    }
}

/// Forwards event lines, and remembers the new posts among those stored.
struct StreamListener<'a> {
    service: &'a CollectorService,
    new_posts: RefCell<Vec<Record>>,
}

impl RunListener for StreamListener<'_> {
    fn line(&self, line: &Line) {
        self.service.env.lines.emit(&line.to_string());
    }

    fn new_post(&self, _: Stream, post: &Record) {
        self.new_posts.borrow_mut().push(post.clone());
    }

    fn should_continue(&self, _: u64, _: u64) -> bool {
        !self.service.env.stop.is_cancelled()
    }
}

/// One connection, from its preparation to its end.
struct StreamConnection<'a> {
    service: &'a CollectorService,
    run: Run<'a>,
    settings: &'a RunSettings,
    platform: Platform<'a>,
    expansions: Expansions,
    rules: StreamRules,
    lines: LineSplitter,
    /// The newest post stored by this or an earlier connection.
    newest: Option<PostId>,
    /// The newest post that this connection saved in the state.
    saved_newest: Option<PostId>,
    /// When the last save was attempted; before that, when the connection was prepared.
    saved_at: Instant,
    /// When the platform accepted the connection.
    connected_at: Option<Instant>,
    /// Why the connection should end.
    end_reason: Option<String>,
    /// Own posts in their first minute. They outlive the connection.
    watches: &'a mut Vec<Watch>,
}

impl StreamConnection<'_> {
    /// Connects and listens until the end. Returns how it ended, with a description.
    fn connect(&mut self, token: &Secret) -> (ConnectionEnd, String) {
        let refused = |fault: PlatformFault| {
            let why = format!("{}; {}", fault.message, fault.hint);
            (ConnectionEnd::Refused(fault.reason), why)
        };
        self.rules = match StreamRules::synchronize(
            &mut self.platform,
            filtered_stream::configured_rules(self.settings),
        ) {
            Ok(rules) => rules,
            Err(fault) => return refused(fault),
        };
        for why in &self.rules.rejections {
            tracing::warn!(why, "rule of the persistent connection rejected by the platform");
        }
        if let Err(fault) = self.platform.check_reserve(Endpoint::Connect) {
            return refused(fault);
        }
        let url = self.platform.url(&["tweets", "search", "stream"], &self.expansions.parameters());
        let bearer = Secret::new(format!("Bearer {}", token.expose()));
        let call = HttpRequest {
            url: &url,
            body: None,
            headers: &[("accept", "application/json")],
            authorization: Some(&bearer),
            must_be_public: false,
            reason: &Reason::new("collector"),
            is_complete: |_| false,
        };
        let http_client = self.run.http_client;
        let result = http_client
            .stream(&call, filtered_stream::IDLE_TIMEOUT, &mut |event| self.handle_event(event));
        match result {
            Ok(answer) if self.connected_at.is_none() && answer.status != 200 => {
                self.platform.record_rate_limit(Endpoint::Connect, &answer);
                refused(self.platform.refusal(Endpoint::Connect, &answer))
            }
            Ok(answer) => {
                self.platform.record_rate_limit(Endpoint::Connect, &answer);
                let why = self
                    .end_reason
                    .take()
                    .unwrap_or_else(|| "the platform ended the connection".into());
                (ConnectionEnd::Network, why)
            }
            Err(error) => (ConnectionEnd::Network, format!("the connection broke: {error}")),
        }
    }

    /// Handles an event of the stream. Returns whether the connection should stay open.
    fn handle_event(&mut self, event: StreamEvent<'_>) -> bool {
        match event {
            StreamEvent::Idle => {}
            StreamEvent::Head => {
                self.connected_at = Some(Instant::now());
                if let Some(view) = self.service.state.stream().as_mut() {
                    view.status.connections += 1;
                }
                let refused = match self.rules.rejections.first() {
                    Some(why) => format!("; a rule was rejected: {why}"),
                    None => String::new(),
                };
                self.service.set_stream_status(
                    ConnectionStatus::Connected,
                    &format!("posts arrive as they are written{refused}"),
                    false,
                );
                self.search_missed_posts();
            }
            StreamEvent::Bytes(bytes) => {
                let mut posts = Vec::new();
                for line in self.lines.split(bytes) {
                    match filtered_stream::parse_message(&line) {
                        StreamMessage::Post(post, matching) => {
                            let destinations = self.rules.destinations(&matching);
                            posts.push(IncomingPost { post: *post, destinations });
                        }
                        StreamMessage::End(why) => {
                            self.end_reason =
                                Some(format!("the platform ends the connection: {why}"));
                        }
                        StreamMessage::Alive => {}
                        StreamMessage::Unknown => {
                            tracing::debug!("unknown message of the persistent connection");
                        }
                    }
                }
                self.store_posts(posts);
            }
        }
        self.check_watches();
        if self.saved_at.elapsed() >= SAVE_INTERVAL {
            self.save_state(&Data::new(&self.settings.dir));
        }
        // The connection of a lost lease ends: another machine opens its own.
        self.end_reason.is_none()
            && !self.service.env.stop.is_cancelled()
            && self.service.env.leases.holds(leases::COLLECTOR)
    }

    /// Stores posts. Skips posts that matched only rules of other programs.
    fn store_posts(&mut self, mut posts: Vec<IncomingPost>) {
        posts.retain(|post| !post.destinations.is_empty());
        if posts.is_empty() {
            return;
        }
        let (count, newest) =
            (posts.len() as u64, posts.iter().map(|post| post.post.id().clone()).max());
        let listener = StreamListener { service: self.service, new_posts: RefCell::default() };
        if let Err(fault) = self.run.store_incoming(&listener, posts) {
            self.end_reason = Some(fault.to_string());
            return;
        }
        self.newest = newest.max(self.newest.take());
        if let Some(view) = self.service.state.stream().as_mut() {
            view.status.posts += count;
        }
        let new_posts = listener.new_posts.into_inner();
        if !new_posts.is_empty() {
            self.service.state.new_posts.notify_one();
        }
        for post in new_posts {
            self.watch_own_post(&post);
        }
    }

    /// Searches by each rule for posts that are newer than the newest stored one.
    fn search_missed_posts(&mut self) {
        // Without an earlier connection, scheduled runs have collected the earlier posts.
        let Some(newest) = self.newest.clone() else { return };
        let mut since = Some(newest);
        for rule in self.rules.configured_rules().to_vec() {
            let (mut next, mut page) = (None::<String>, 0);
            while page < self.settings.max_pages.max(1)
                && self.end_reason.is_none()
                && !self.service.env.stop.is_cancelled()
            {
                match self.platform.search(
                    &rule.value,
                    self.expansions,
                    since.as_ref(),
                    next.as_deref(),
                ) {
                    Ok(found) => {
                        let incoming =
                            |post| IncomingPost { post, destinations: vec![rule.destination()] };
                        self.store_posts(found.posts.into_iter().map(incoming).collect());
                        page += 1;
                        if let Some(fault) = found.incomplete {
                            tracing::warn!(
                                why = fault.message,
                                rule = rule.value,
                                "posts missed before this connection cannot be found"
                            );
                        }
                        next = found.next;
                        if next.is_none() {
                            break;
                        }
                    }
                    // The newest post may be too old for a search. Then search all posts that the
                    // platform offers.
                    Err(fault)
                        if fault.reason == FaultReason::InvalidRequest
                            && since.take().is_some() =>
                    {
                        next = None;
                    }
                    Err(fault) => {
                        tracing::warn!(
                            why = fault.message,
                            rule = rule.value,
                            "posts missed before this connection cannot be found"
                        );
                        if matches!(
                            fault.reason,
                            FaultReason::RateLimited(_) | FaultReason::UsageCapped
                        ) || fault.reason.ends_the_run()
                        {
                            return;
                        }
                        break;
                    }
                }
            }
        }
    }

    /// Saves the newest post and the rate limits. Skips this if the newest post is already saved
    /// and the connection has lasted for [`SAVE_INTERVAL`].
    fn save_state(&mut self, data: &Data) {
        self.saved_at = Instant::now();
        if self.saved_newest == self.newest
            && self.connected_at.is_some_and(|at| at.elapsed() >= SAVE_INTERVAL)
        {
            return;
        }
        let changed = State::change(data, |state| {
            state.stream_newest_id = self.newest.as_ref().map(ToString::to_string);
            state.rate_limits.merge(&PERSISTENT_CONNECTION_ENDPOINTS, &self.platform.rates);
        });
        match changed {
            Ok(_) => self.saved_newest = self.newest.clone(),
            Err(fault) => tracing::warn!(%fault, "newest post not saved"),
        }
    }
}
