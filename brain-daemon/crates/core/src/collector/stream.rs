//! The persistent connection, beside the runs.
//!
//! Stores posts as a run does, searches for posts missed while disconnected, and watches own posts
//! during their first minute. One thread does all of it and reacts to a stop within a second.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use brain_protocol::{Secret, StreamStatus};
use serde_json::{Map, Value, json};
use url::Url;

use super::collect::RunInputs;
use super::name_index::NameIndex;
use crate::{Caller, CollectorService};
use brain_collector::filtered_stream::{
    self, Backoff, ConnectionEnd, LineSplitter, Message, Rules,
};
use brain_collector::outbound::{self, Watch};
use brain_collector::{
    Data, Endpoint, Expansions, IncomingPost, Journal, JournalEvent, Line, Platform, PlatformFault,
    PostId, Record, Run, RunListener, Settings, State, Stream, Why, post_metrics,
};
use brain_net::{HttpRequest, RetryingClient, StreamEvent};

/// Retry interval without a token or account.
const RETRY_UNREADY: Duration = Duration::from_secs(2);
/// Interval of checks for a new token.
const TOKEN_CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Interval at which the newest post is saved.
const SAVE_INTERVAL: Duration = Duration::from_secs(10);
/// Poll interval while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum age of an own post to be watched, in milliseconds.
const MAX_WATCH_AGE_MS: i64 = 120_000;
/// Endpoints that only this connection uses.
const STREAM_ENDPOINTS: [Endpoint; 3] = [Endpoint::Rules, Endpoint::ChangeRules, Endpoint::Connect];

/// State without a token, account or usable directory. Its message is computed on request, because
/// setup may have fixed the cause.
const NOT_READY: &str = "not_ready";

impl CollectorService {
    /// Returns the status of the connection; `off_because` says what the collector lacks now.
    pub(super) fn stream_status(&self, off_because: Option<&str>) -> Option<StreamStatus> {
        let status = self.state.stream().clone()?;
        if status.state != NOT_READY {
            return Some(status);
        }
        let (state, message) = match off_because {
            Some(why) => ("off", why),
            None => ("waiting", "it is about to connect"),
        };
        Some(StreamStatus { state: state.into(), message: message.into(), ..status })
    }

    /// Holds the connection, if enabled, until the daemon stops. Blocks.
    pub fn stream(&self) {
        if !self.env.config.collector.stream {
            return;
        }
        *self.state.stream() = Some(StreamStatus {
            state: "waiting".into(),
            message: "it is about to connect".into(),
            posts: 0,
            connections: 0,
        });
        let (mut backoff, mut watches) = (Backoff::default(), Vec::new());
        while !self.env.stop.is_cancelled() {
            self.stream_once(&mut backoff, &mut watches);
        }
        self.tell_stream("off", "the daemon is stopping");
    }

    /// Runs one connection, including the delay after it.
    fn stream_once(&self, backoff: &mut Backoff, watches: &mut Vec<Watch>) {
        let begun = self.collector_ready().and_then(|ready| {
            let (base, link) = self.platform_link(&ready.settings)?;
            let data = Data::new(&ready.settings.dir);
            let run = self.arrivals(&ready, &base, &*link);
            run.prepare().map_err(|fault| super::data_fault(&fault))?;
            let (state, _) = State::peek(&data).map_err(|fault| super::data_fault(&fault))?;
            Ok((ready, base, link, data, state))
        });
        let (ready, base, link, data, state) = match begun {
            Ok(begun) => begun,
            Err(fault) => {
                let hint = fault.hint.as_deref().unwrap_or_default();
                self.tell_stream(NOT_READY, &format!("{}; {hint}", fault.message));
                return self.rest(RETRY_UNREADY, None, || {});
            }
        };
        let now = || self.env.clock.now();
        let mut held = Connection {
            brain: self,
            run: self.arrivals(&ready, &base, &*link),
            settings: &ready.settings,
            platform: Platform::new(&*link, &base, &ready.token, state.rate_limits, &now),
            with: Expansions {
                authors: ready.settings.ask_authors,
                media: ready.settings.ask_media,
            },
            rules: Rules::default(),
            lines: LineSplitter::default(),
            newest: state.stream_newest_id.as_deref().and_then(PostId::parse),
            noted: (None, Instant::now()),
            since: None,
            ending: None,
            watches,
        };
        let (ended, why) = held.connect(&ready.token);
        let lived = held.since.map_or(Duration::ZERO, |since| since.elapsed());
        held.save_state(&data);
        let wait = backoff.after(ended, lived, self.env.clock.now().div_euclid(1000));
        if self.env.stop.is_cancelled() {
            return;
        }
        let only_the_owner = matches!(
            ended,
            ConnectionEnd::Refused(
                Why::Unauthorized | Why::PaymentRequired | Why::Forbidden | Why::UsageCapped
            )
        );
        let state = if only_the_owner { "off" } else { "waiting" };
        self.tell_stream(state, &format!("{why}; the next attempt is in {} s", wait.as_secs()));
        tracing::info!(why, ?wait, "the persistent connection has ended");
        self.rest(wait, Some(&ready.token), || held.look());
    }

    fn arrivals<'a>(
        &'a self,
        ready: &'a RunInputs,
        base: &'a Url,
        link: &'a dyn RetryingClient,
    ) -> Run<'a> {
        Run { settings: &ready.settings, base, link, token: &ready.token, clock: &*self.env.clock }
    }

    fn tell_stream(&self, state: &str, message: &str) {
        if let Some(status) = self.state.stream().as_mut() {
            status.state = state.into();
            status.message = message.into();
        }
    }

    /// Waits until the daemon stops or the token changes.
    fn rest(&self, wait: Duration, token: Option<&Secret>, mut tick: impl FnMut()) {
        let (until, mut looked) = (Instant::now() + wait, Instant::now());
        while !self.env.stop.is_cancelled() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(POLL_INTERVAL));
            tick();
            if looked.elapsed() >= TOKEN_CHECK_INTERVAL {
                looked = Instant::now();
                if let (Some(token), Ok(Some(found))) = (token, self.platform_token())
                    && found.secret != *token
                {
                    return;
                }
            }
        }
    }
}

/// Receives stored posts.
struct StreamListener<'a> {
    brain: &'a CollectorService,
    new: RefCell<Vec<Record>>,
}

impl RunListener for StreamListener<'_> {
    fn line(&self, line: &Line) {
        self.brain.env.lines.emit(&line.to_string());
    }

    fn new_post(&self, _: Stream, post: &Record) {
        self.new.borrow_mut().push(post.clone());
    }

    fn goes_on(&self, _: u64, _: u64) -> bool {
        !self.brain.env.stop.is_cancelled()
    }
}

/// An open connection.
struct Connection<'a> {
    brain: &'a CollectorService,
    run: Run<'a>,
    settings: &'a Settings,
    platform: Platform<'a>,
    with: Expansions,
    rules: Rules,
    lines: LineSplitter,
    /// The newest stored post, the saved one, and when it was saved.
    newest: Option<PostId>,
    noted: (Option<PostId>, Instant),
    /// When the connection was established.
    since: Option<Instant>,
    /// Why it should end.
    ending: Option<String>,
    watches: &'a mut Vec<Watch>,
}

impl Connection<'_> {
    /// Connects and listens until the end. Returns how it ended, with a description.
    fn connect(&mut self, token: &Secret) -> (ConnectionEnd, String) {
        let refused = |fault: PlatformFault| {
            let why = format!("{}; {}", fault.message, fault.hint);
            (ConnectionEnd::Refused(fault.why), why)
        };
        self.rules = match Rules::synchronize(
            &mut self.platform,
            filtered_stream::configured_rules(self.settings),
        ) {
            Ok(rules) => rules,
            Err(fault) => return refused(fault),
        };
        for why in &self.rules.refused {
            tracing::warn!(why, "the platform does not take a rule of the persistent connection");
        }
        if let Err(fault) = self.platform.may(Endpoint::Connect) {
            return refused(fault);
        }
        let url = self.platform.url(&["tweets", "search", "stream"], &self.with.parameters());
        let bearer = Secret::new(format!("Bearer {}", token.expose()));
        let call = HttpRequest {
            url: &url,
            body: None,
            headers: &[("accept", "application/json")],
            authorization: Some(&bearer),
            public: false,
            is_complete: |_| false,
        };
        let link = self.run.link;
        let followed =
            link.stream(&call, filtered_stream::SILENCE, &mut |part| self.handle_part(part));
        match followed {
            Ok(answer) if self.since.is_none() && answer.status != 200 => {
                self.platform.note(Endpoint::Connect, &answer);
                refused(self.platform.refused(Endpoint::Connect, &answer))
            }
            Ok(answer) => {
                self.platform.note(Endpoint::Connect, &answer);
                let why = self
                    .ending
                    .take()
                    .unwrap_or_else(|| "the platform ended the connection".into());
                (ConnectionEnd::Network, why)
            }
            Err(trouble) => (ConnectionEnd::Network, format!("the connection broke: {trouble}")),
        }
    }

    /// Handles a part of the stream. Returns whether to continue.
    fn handle_part(&mut self, part: StreamEvent<'_>) -> bool {
        match part {
            StreamEvent::Idle => {}
            StreamEvent::Head => {
                self.since = Some(Instant::now());
                if let Some(status) = self.brain.state.stream().as_mut() {
                    status.connections += 1;
                }
                let refused = match self.rules.refused.first() {
                    Some(why) => format!("; a rule is not taken: {why}"),
                    None => String::new(),
                };
                self.brain.tell_stream("connected", &format!("it listens{refused}"));
                self.search_missed_posts();
            }
            StreamEvent::Bytes(bytes) => {
                let mut posts = Vec::new();
                for line in self.lines.take(bytes) {
                    match filtered_stream::message(&line) {
                        Message::Post(post, matching) => {
                            let places = self.rules.destinations(&matching);
                            posts.push(IncomingPost { post: *post, places });
                        }
                        Message::Ending(why) => {
                            self.ending = Some(format!("the platform ends it: {why}"));
                        }
                        Message::Alive => {}
                        Message::Unknown => {
                            tracing::debug!(
                                "a line of the persistent connection says nothing known"
                            );
                        }
                    }
                }
                self.keep(posts);
            }
        }
        self.look();
        if self.noted.1.elapsed() >= SAVE_INTERVAL {
            self.save_state(&Data::new(&self.settings.dir));
        }
        self.ending.is_none() && !self.brain.env.stop.is_cancelled()
    }

    /// Stores posts. Skips posts that only foreign rules matched.
    fn keep(&mut self, mut posts: Vec<IncomingPost>) {
        posts.retain(|post| !post.places.is_empty());
        if posts.is_empty() {
            return;
        }
        let (count, newest) =
            (posts.len() as u64, posts.iter().map(|post| post.post.id().clone()).max());
        let heard = StreamListener { brain: self.brain, new: RefCell::default() };
        if let Err(fault) = self.run.arrived(&heard, posts) {
            self.ending = Some(fault.to_string());
            return;
        }
        self.newest = newest.max(self.newest.take());
        if let Some(status) = self.brain.state.stream().as_mut() {
            status.posts += count;
        }
        let new = heard.new.into_inner();
        if !new.is_empty() {
            self.brain.state.collected.notify_one();
        }
        for post in new {
            self.watch(&post);
        }
    }

    /// Searches by each rule for posts since the newest known one.
    fn search_missed_posts(&mut self) {
        // The first connection missed nothing: runs cover the time before.
        let Some(newest) = self.newest.clone() else { return };
        let mut since = Some(newest);
        for rule in self.rules.configured_rules().to_vec() {
            let (mut next, mut page) = (None::<String>, 0);
            while page < self.settings.max_pages.max(1)
                && self.ending.is_none()
                && !self.brain.env.stop.is_cancelled()
            {
                match self.platform.search(&rule.value, self.with, since.as_ref(), next.as_deref())
                {
                    Ok(found) => {
                        let place = |post| IncomingPost { post, places: vec![rule.destination()] };
                        self.keep(found.posts.into_iter().map(place).collect());
                        page += 1;
                        if let Some(fault) = found.incomplete {
                            tracing::warn!(
                                why = fault.message,
                                rule = rule.value,
                                "the gap before a connection stays"
                            );
                        }
                        next = found.next;
                        if next.is_none() {
                            break;
                        }
                    }
                    // Too old for a search, so take what a week has.
                    Err(fault) if fault.why == Why::InvalidRequest && since.take().is_some() => {
                        next = None;
                    }
                    Err(fault) => {
                        tracing::warn!(
                            why = fault.message,
                            rule = rule.value,
                            "the gap before a connection stays"
                        );
                        if matches!(fault.why, Why::RateLimited(_) | Why::UsageCapped)
                            || fault.why.ends_the_run()
                        {
                            return;
                        }
                        break;
                    }
                }
            }
        }
    }

    /// Saves the newest post and the rate limits, if changed.
    fn save_state(&mut self, data: &Data) {
        self.noted.1 = Instant::now();
        if self.noted.0 == self.newest
            && self.since.is_some_and(|since| since.elapsed() >= SAVE_INTERVAL)
        {
            return;
        }
        let changed = State::change(data, |state| {
            state.stream_newest_id = self.newest.as_ref().map(ToString::to_string);
            state.rate_limits.take(&STREAM_ENDPOINTS, &self.platform.rates);
        });
        match changed {
            Ok(_) => self.noted.0 = self.newest.clone(),
            Err(fault) => tracing::warn!(%fault, "the newest post is not written down"),
        }
    }

    /// Starts watching a recent own post.
    fn watch(&mut self, post: &Record) {
        let now = self.brain.env.clock.now();
        let own =
            self.settings.user_id.as_ref().is_some_and(|id| post.author_id() == Some(id.as_str()));
        let young = post.created_at().is_none_or(|at| now - at <= MAX_WATCH_AGE_MS);
        let known = self.watches.iter().any(|watch| watch.id == *post.id());
        if self.brain.env.config.collector.outbound && own && young && !known {
            // Its minute begins when it was written, not when it arrived.
            let came = post.created_at().map_or(now, |at| at.min(now));
            self.watches.push(Watch::new(post.id().clone(), mentions(post), came));
        }
    }

    /// Checks watched posts that are due.
    fn look(&mut self) {
        let now = self.brain.env.clock.now();
        let (mut watches, rest) =
            std::mem::take(self.watches).into_iter().partition::<Vec<_>, _>(|w| w.is_due(now));
        *self.watches = rest;
        for watch in &mut watches {
            let seen = self.platform.post(&watch.id);
            let metrics = match &seen {
                Ok(post) => post.as_ref().and_then(post_metrics),
                Err(fault) => {
                    tracing::debug!(why = fault.message, id = %watch.id, "an own post was not looked at");
                    None
                }
            };
            let author = self.settings.handle.clone().unwrap_or_default();
            let alerts =
                watch.record_check(now, metrics).into_iter().map(|alert| JournalEvent::Alert {
                    alert: alert.name.into(),
                    id: watch.id.to_string(),
                    author: author.clone(),
                    message: alert.message,
                });
            let alerts: Vec<JournalEvent> = alerts.collect();
            let accounts =
                if watch.is_over() { self.brain.accounts(&watch.mentions) } else { Value::Null };
            let written = Journal::new(&self.settings.dir).append(now, &alerts).and_then(|()| {
                Data::new(&self.settings.dir).put_attachment(
                    outbound::KIND,
                    &watch.id,
                    &watch.result(&accounts),
                )
            });
            if let Err(fault) = written {
                tracing::warn!(%fault, id = %watch.id, "what was seen of an own post is not written down");
            }
        }
        self.watches.extend(watches.into_iter().filter(|watch| !watch.is_over()));
    }
}

impl CollectorService {
    /// Returns the pages about accounts, by handle.
    fn accounts(&self, handles: &[String]) -> Value {
        if handles.is_empty() {
            return json!({});
        }
        let caller = Caller::local(rustix::process::geteuid().as_raw());
        let found = self.store.read(caller.visibility()).map_err(Into::into).and_then(|reader| {
            let names = NameIndex::read(&reader)?;
            let mut all = Map::new();
            for handle in handles {
                let pages = names.told(&names.subjects(Some(handle)));
                all.insert(handle.clone(), json!(pages));
            }
            Ok::<_, brain_protocol::Fault>(Value::Object(all))
        });
        found.unwrap_or_else(|fault| {
            tracing::warn!(%fault, "mentioned accounts are not looked up");
            Value::Null
        })
    }
}

/// Returns the distinct handles that a post mentions.
fn mentions(post: &Record) -> Vec<String> {
    let all =
        post.fields().get("entities").and_then(|entities| entities.get("mentions")?.as_array());
    let mut handles = Vec::new();
    for mention in all.into_iter().flatten() {
        if let Some(handle) = mention.get("username").and_then(Value::as_str)
            && !handles.iter().any(|known: &String| known.eq_ignore_ascii_case(handle))
        {
            handles.push(handle.to_owned());
        }
    }
    handles
}
