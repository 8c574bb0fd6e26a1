//! The persistent connection, held beside the runs: what comes by it is kept as a run keeps it, what came while there was none is
//! searched for. Own posts are watched for their first minute. One thread does all of it; it hears a stop within a second.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use brain_protocol::{Secret, StreamStatus};
use serde_json::{Map, Value, json};
use url::Url;

use super::super::{Brain, Caller};
use super::collect::Ready;
use super::named::Names;
use brain_collector::filtered::{self, Backoff, Ended, Lines, Message, Rules};
use brain_collector::outbound::{self, Watch};
use brain_collector::{
    Arrived, Data, Endpoint, Journal, Line, Noted, Platform, PlatformFault, PostId, Record, Run,
    Settings, Sink, State, Stream, Why, With, compared,
};
use brain_net::{Call, Link, Part};

/// Without a token or an account it is looked again this much later.
const UNREADY: Duration = Duration::from_secs(2);
/// Whether there is another token is looked this often while nothing else is done.
const LOOK: Duration = Duration::from_secs(10);
/// The newest post is written down this often.
const NOTE: Duration = Duration::from_secs(10);
/// Whoever waits looks up this often.
const TICK: Duration = Duration::from_millis(100);
/// An own post is watched when it is at most this old, in milliseconds.
const YOUNG: i64 = 120_000;
/// What this asks of the platform and runs do not.
const OURS: [Endpoint; 3] = [Endpoint::Rules, Endpoint::ChangeRules, Endpoint::Connect];

/// The state of a connection that lacks a token, an account or a usable directory. It is shown as
/// it is when somebody asks: setup may have mended it since.
const NOT_READY: &str = "not_ready";

impl Brain {
    /// Returns how the persistent connection is; `off_because` says what the collector lacks now.
    pub(super) fn stream_status(&self, off_because: Option<&str>) -> Option<StreamStatus> {
        let status = self.collecting.stream().clone()?;
        if status.state != NOT_READY {
            return Some(status);
        }
        let (state, message) = match off_because {
            Some(why) => ("off", why),
            None => ("waiting", "it is about to connect"),
        };
        Some(StreamStatus { state: state.into(), message: message.into(), ..status })
    }

    /// Holds the persistent connection until the daemon ends, if it is switched on. Blocks until then.
    pub fn collector_stream(&self) {
        if !self.config.collector_switches().stream {
            return;
        }
        *self.collecting.stream() = Some(StreamStatus {
            state: "waiting".into(),
            message: "it is about to connect".into(),
            posts: 0,
            connections: 0,
        });
        let (mut backoff, mut watches) = (Backoff::default(), Vec::new());
        while !self.is_stopping() {
            self.stream_once(&mut backoff, &mut watches);
        }
        self.tell_stream("off", "the daemon is stopping");
    }

    /// One connection, from what it needs to the wait after its end.
    fn stream_once(&self, backoff: &mut Backoff, watches: &mut Vec<Watch>) {
        let begun = self.collector_ready().and_then(|ready| {
            let (base, link) = self.platform_link(&ready.settings)?;
            let data = Data::new(&ready.settings.dir);
            let run = self.arrivals(&ready, &base, &*link);
            run.prepare().map_err(|fault| super::data_fault(&fault))?;
            let (state, _) = State::look(&data).map_err(|fault| super::data_fault(&fault))?;
            Ok((ready, base, link, data, state))
        });
        let (ready, base, link, data, state) = match begun {
            Ok(begun) => begun,
            Err(fault) => {
                let hint = fault.hint.as_deref().unwrap_or_default();
                self.tell_stream(NOT_READY, &format!("{}; {hint}", fault.message));
                return self.rest(UNREADY, None, || {});
            }
        };
        let now = || self.clock.now();
        let mut held = Held {
            brain: self,
            run: self.arrivals(&ready, &base, &*link),
            settings: &ready.settings,
            platform: Platform::new(&*link, &base, &ready.token, state.rate_limits, &now),
            with: With { authors: ready.settings.ask_authors, media: ready.settings.ask_media },
            rules: Rules::default(),
            lines: Lines::default(),
            newest: state.stream_newest_id.as_deref().and_then(PostId::parse),
            noted: (None, Instant::now()),
            since: None,
            ending: None,
            watches,
        };
        let (ended, why) = held.connect(&ready.token);
        let lived = held.since.map_or(Duration::ZERO, |since| since.elapsed());
        held.write_down(&data);
        let wait = backoff.after(ended, lived, self.clock.now().div_euclid(1000));
        if self.is_stopping() {
            return;
        }
        let only_the_owner = matches!(
            ended,
            Ended::Refused(
                Why::Unauthorized | Why::PaymentRequired | Why::Forbidden | Why::UsageCapped
            )
        );
        let state = if only_the_owner { "off" } else { "waiting" };
        self.tell_stream(state, &format!("{why}; the next attempt is in {} s", wait.as_secs()));
        tracing::info!(why, ?wait, "the persistent connection has ended");
        self.rest(wait, Some(&ready.token), || held.look());
    }

    fn arrivals<'a>(&'a self, ready: &'a Ready, base: &'a Url, link: &'a dyn Link) -> Run<'a> {
        Run { settings: &ready.settings, base, link, token: &ready.token, clock: &*self.clock }
    }

    fn tell_stream(&self, state: &str, message: &str) {
        if let Some(status) = self.collecting.stream().as_mut() {
            status.state = state.into();
            status.message = message.into();
        }
    }

    /// Waits, until the daemon ends or there is another token than `token`.
    fn rest(&self, wait: Duration, token: Option<&Secret>, mut tick: impl FnMut()) {
        let (until, mut looked) = (Instant::now() + wait, Instant::now());
        while !self.is_stopping() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(TICK));
            tick();
            if looked.elapsed() >= LOOK {
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

/// Hears of what is kept.
struct Heard<'a> {
    brain: &'a Brain,
    new: RefCell<Vec<Record>>,
}

impl Sink for Heard<'_> {
    fn line(&self, line: &Line) {
        self.brain.lines.emit(&line.to_string());
    }

    fn new_post(&self, _: Stream, post: &Record) {
        self.new.borrow_mut().push(post.clone());
    }

    fn goes_on(&self, _: u64, _: u64) -> bool {
        !self.brain.is_stopping()
    }
}

/// A connection, with all that it needs.
struct Held<'a> {
    brain: &'a Brain,
    run: Run<'a>,
    settings: &'a Settings,
    platform: Platform<'a>,
    with: With,
    rules: Rules,
    lines: Lines,
    /// The newest post that was kept, and the one that is written down, since when.
    newest: Option<PostId>,
    noted: (Option<PostId>, Instant),
    /// Since when there is a connection.
    since: Option<Instant>,
    /// Why it is to end.
    ending: Option<String>,
    watches: &'a mut Vec<Watch>,
}

impl Held<'_> {
    /// Connects, and listens until it ends; how it ended, and why in words.
    fn connect(&mut self, token: &Secret) -> (Ended, String) {
        let refused = |fault: PlatformFault| {
            let why = format!("{}; {}", fault.message, fault.hint);
            (Ended::Refused(fault.why), why)
        };
        self.rules = match Rules::keep_in_step(&mut self.platform, filtered::wanted(self.settings))
        {
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
        let call = Call {
            url: &url,
            body: None,
            headers: &[("accept", "application/json")],
            authorization: Some(&bearer),
            public: false,
            enough: |_| false,
        };
        let link = self.run.link;
        let followed = link.follow(&call, filtered::SILENCE, &mut |part| self.hear(part));
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
                (Ended::Network, why)
            }
            Err(trouble) => (Ended::Network, format!("the connection broke: {trouble}")),
        }
    }

    /// Something of the connection; whether it is to go on.
    fn hear(&mut self, part: Part<'_>) -> bool {
        match part {
            Part::Nothing => {}
            Part::Head => {
                self.since = Some(Instant::now());
                if let Some(status) = self.brain.collecting.stream().as_mut() {
                    status.connections += 1;
                }
                let refused = match self.rules.refused.first() {
                    Some(why) => format!("; a rule is not taken: {why}"),
                    None => String::new(),
                };
                self.brain.tell_stream("connected", &format!("it listens{refused}"));
                self.fill_the_gap();
            }
            Part::Bytes(bytes) => {
                let mut posts = Vec::new();
                for line in self.lines.take(bytes) {
                    match filtered::message(&line) {
                        Message::Post(post, matching) => {
                            let places = self.rules.places(&matching);
                            posts.push(Arrived { post: *post, places });
                        }
                        Message::Ending(why) => {
                            self.ending = Some(format!("the platform ends it: {why}"))
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
        if self.noted.1.elapsed() >= NOTE {
            self.write_down(&Data::new(&self.settings.dir));
        }
        self.ending.is_none() && !self.brain.is_stopping()
    }

    /// Keeps posts. Those that others' rules found are nobody's here.
    fn keep(&mut self, mut posts: Vec<Arrived>) {
        posts.retain(|post| !post.places.is_empty());
        if posts.is_empty() {
            return;
        }
        let (count, newest) =
            (posts.len() as u64, posts.iter().map(|post| post.post.id().clone()).max());
        let heard = Heard { brain: self.brain, new: RefCell::default() };
        if let Err(fault) = self.run.arrived(&heard, posts) {
            self.ending = Some(fault.to_string());
            return;
        }
        self.newest = newest.max(self.newest.take());
        if let Some(status) = self.brain.collecting.stream().as_mut() {
            status.posts += count;
        }
        let new = heard.new.into_inner();
        if !new.is_empty() {
            self.brain.collecting.collected.notify_one();
        }
        for post in new {
            self.watch(&post);
        }
    }

    /// Searches for what came since the newest post that is known, by each rule.
    fn fill_the_gap(&mut self) {
        // The first connection has missed nothing: runs have what was before.
        let Some(newest) = self.newest.clone() else { return };
        let mut since = Some(newest);
        for rule in self.rules.wanted().to_vec() {
            let (mut next, mut page) = (None::<String>, 0);
            while page < self.settings.max_pages.max(1)
                && self.ending.is_none()
                && !self.brain.is_stopping()
            {
                match self.platform.search(&rule.value, self.with, since.as_ref(), next.as_deref())
                {
                    Ok(found) => {
                        let place = |post| Arrived { post, places: vec![rule.place()] };
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
                    // Too long ago for a search: what there is of a week.
                    Err(fault) if fault.why == Why::InvalidRequest && since.take().is_some() => {
                        next = None
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

    /// Writes down the newest post and what the platform says of its endpoints, if either is new.
    fn write_down(&mut self, data: &Data) {
        self.noted.1 = Instant::now();
        if self.noted.0 == self.newest && self.since.is_some_and(|since| since.elapsed() >= NOTE) {
            return;
        }
        let changed = State::change(data, |state| {
            state.stream_newest_id = self.newest.as_ref().map(ToString::to_string);
            state.rate_limits.take(&OURS, &self.platform.rates);
        });
        match changed {
            Ok(_) => self.noted.0 = self.newest.clone(),
            Err(fault) => tracing::warn!(%fault, "the newest post is not written down"),
        }
    }

    /// An own post that has just come is watched.
    fn watch(&mut self, post: &Record) {
        let now = self.brain.clock.now();
        let own =
            self.settings.user_id.as_ref().is_some_and(|id| post.author_id() == Some(id.as_str()));
        let young = post.created_at().is_none_or(|at| now - at <= YOUNG);
        let known = self.watches.iter().any(|watch| watch.id == *post.id());
        if self.brain.config.collector_switches().outbound && own && young && !known {
            // Its minute begins when it was written, however long it took to come.
            let came = post.created_at().map_or(now, |at| at.min(now));
            self.watches.push(Watch::new(post.id().clone(), mentions(post), came));
        }
    }

    /// Looks at own posts whose time has come.
    fn look(&mut self) {
        let now = self.brain.clock.now();
        let (mut watches, rest) =
            std::mem::take(self.watches).into_iter().partition::<Vec<_>, _>(|w| w.is_due(now));
        *self.watches = rest;
        for watch in &mut watches {
            let seen = self.platform.post(&watch.id);
            let metrics = match &seen {
                Ok(post) => post.as_ref().and_then(compared),
                Err(fault) => {
                    tracing::debug!(why = fault.message, id = %watch.id, "an own post was not looked at");
                    None
                }
            };
            let author = self.settings.handle.clone().unwrap_or_default();
            let alerts = watch.saw(now, metrics).into_iter().map(|alert| Noted::Alert {
                alert: alert.name.into(),
                id: watch.id.to_string(),
                author: author.clone(),
                message: alert.message,
            });
            let alerts: Vec<Noted> = alerts.collect();
            let accounts =
                if watch.is_over() { self.brain.accounts(&watch.mentions) } else { Value::Null };
            let written = Journal::new(&self.settings.dir).append(now, &alerts).and_then(|()| {
                Data::new(&self.settings.dir).put_beside(
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

impl Brain {
    /// The pages about accounts, by handle.
    fn accounts(&self, handles: &[String]) -> Value {
        if handles.is_empty() {
            return json!({});
        }
        let caller = Caller::local(rustix::process::geteuid().as_raw());
        let found = self.store.read(caller.view()).map_err(Into::into).and_then(|reader| {
            let names = Names::read(&reader)?;
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

/// The handles that a post mentions, each once.
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
