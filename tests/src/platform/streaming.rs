//! The persistent connection: rules and listeners.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brain_base::clock::rfc3339;
use serde_json::{Value, json};

use super::objects::FieldSelection;
use super::params::{InvalidParameter, Params};
use super::problems::{self, kind};
use super::query::{self, Query};
use super::world::World;
use super::{Platform, Response};

/// Maximum length of a rule in characters.
const MAX_RULE_LENGTH: usize = 1024;
/// Maximum number of rules.
const MAX_RULES: usize = 1000;
/// The default interval of keep-alive bytes.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// A rule.
#[derive(Debug, Clone)]
struct Rule {
    id: u64,
    value: String,
    tag: Option<String>,
    /// The parsed `value`.
    query: Query,
}

impl Rule {
    fn json(&self) -> Value {
        let mut rule = json!({"id": self.id.to_string(), "value": self.value});
        if let Some(tag) = &self.tag {
            rule["tag"] = json!(tag);
        }
        rule
    }
}

/// An item of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamItem {
    /// These bytes.
    Bytes(Vec<u8>),
    /// No item before the wait ended.
    Nothing,
    /// The regular end of the response.
    End,
    /// A broken connection.
    Cut,
}

#[derive(Debug)]
struct Queue {
    items: VecDeque<StreamItem>,
    /// Whether the listener has disconnected.
    is_closed: bool,
    /// When the listener last received an item.
    last_item_at: Instant,
    /// The interval of keep-alive bytes, or `None` for no keep-alive.
    keep_alive: Option<Duration>,
}

/// The items from the platform to a listener.
#[derive(Debug)]
struct Channel {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Channel {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, item: StreamItem) {
        self.queue().items.push_back(item);
        self.changed.notify_all();
    }
}

/// A listener's end of a connection. Dropping it disconnects.
#[derive(Debug)]
pub struct Subscription {
    channel: Arc<Channel>,
}

impl Subscription {
    /// Waits for the next item for at most `max_wait`. Keep-alive bytes are an item.
    #[must_use]
    pub fn next(&self, max_wait: Duration) -> StreamItem {
        let deadline = Instant::now() + max_wait;
        let mut queue = self.channel.queue();
        loop {
            if let Some(item) = queue.items.pop_front() {
                queue.last_item_at = Instant::now();
                return item;
            }
            let now = Instant::now();
            let keep_alive_at = queue.keep_alive.map(|every| queue.last_item_at + every);
            if keep_alive_at.is_some_and(|at| at <= now) {
                queue.last_item_at = now;
                return StreamItem::Bytes(b"\r\n".to_vec());
            }
            if now >= deadline {
                return StreamItem::Nothing;
            }
            let wake_at = keep_alive_at.map_or(deadline, |at| at.min(deadline));
            queue = self
                .channel
                .changed
                .wait_timeout(queue, wake_at - now)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.channel.queue().is_closed = true;
    }
}

struct Listener {
    channel: Arc<Channel>,
    fields: FieldSelection,
}

/// Rules and listeners.
pub(super) struct StreamState {
    rules: Vec<Rule>,
    /// The id of the last created rule.
    last_rule_id: u64,
    listeners: Vec<Listener>,
    /// The interval of keep-alive bytes, or `None` for no keep-alive.
    keep_alive: Option<Duration>,
    /// The number of connections that count although their listener has disconnected.
    stale_connections: usize,
    /// Sent lines that no test has read yet.
    unread_lines: Vec<Value>,
}

impl Default for StreamState {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            last_rule_id: 1_273_026_480_692_322_304,
            listeners: Vec::new(),
            keep_alive: Some(KEEP_ALIVE),
            stale_connections: 0,
            unread_lines: Vec::new(),
        }
    }
}

fn json_response(status: u16, value: &Value) -> Response {
    Response::new(status, "application/json; charset=utf-8", value.to_string())
}

impl StreamState {
    /// Answers a request for the rules.
    pub(super) fn rules(&self, params: &Params, now: i64) -> Response {
        let requested_ids: Option<Vec<u64>> =
            params.get("ids").map(|ids| ids.split(',').filter_map(|id| id.parse().ok()).collect());
        let rules: Vec<Value> = self
            .rules
            .iter()
            .filter(|rule| requested_ids.as_ref().is_none_or(|ids| ids.contains(&rule.id)))
            .map(Rule::json)
            .collect();
        let mut body = json!({"meta": {"sent": rfc3339(now), "result_count": rules.len()}});
        if !rules.is_empty() {
            body["data"] = Value::Array(rules);
        }
        json_response(200, &body)
    }

    /// Answers a request that adds or deletes rules. With `dry_run`, the rules do not change.
    pub(super) fn change(&mut self, body: &[u8], params: &Params, now: i64) -> Response {
        let is_dry_run = params.get("dry_run").is_some_and(|value| value == "true");
        let rules_before = is_dry_run.then(|| self.rules.clone());
        let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let response = if let Some(add) = body["add"].as_array() {
            self.add(add, now)
        } else if body["delete"].is_object() {
            self.delete(&body["delete"], now)
        } else {
            let message = "'add' or 'delete' is required".into();
            problems::invalid(&InvalidParameter::new("add", "", message))
        };
        if let Some(rules) = rules_before {
            self.rules = rules;
        }
        response
    }

    fn add(&mut self, new_rules: &[Value], now: i64) -> Response {
        let (mut created_rules, mut errors, mut invalid_count) = (Vec::new(), Vec::new(), 0);
        for new_rule in new_rules {
            let value = new_rule["value"].as_str().unwrap_or_default();
            if let Some(known) = self.rules.iter().find(|rule| rule.value == value) {
                errors.push(
                    json!({"value": value, "id": known.id.to_string(), "title": "DuplicateRule",
                    "type": kind("duplicate-rules")}),
                );
                continue;
            }
            let query = if value.is_empty() || value.chars().count() > MAX_RULE_LENGTH {
                Err("Rule length must be in range 1 to 1024.".to_owned())
            } else {
                query::parse(value)
            };
            let result = if self.rules.len() >= MAX_RULES {
                Err(("RulesCapExceeded", "rule-cap", String::new()))
            } else {
                query.map_err(|why| ("UnprocessableEntity", "invalid-rules", why))
            };
            match result {
                Err((title, type_name, why)) => {
                    invalid_count += 1;
                    errors.push(json!({"title": title, "detail": why, "type": kind(type_name)}));
                }
                Ok(query) => {
                    self.last_rule_id += 1;
                    let tag = new_rule["tag"].as_str().map(str::to_owned);
                    let rule = Rule { id: self.last_rule_id, value: value.into(), tag, query };
                    created_rules.push(rule.json());
                    self.rules.push(rule);
                }
            }
        }
        let created = created_rules.len();
        let mut body = json!({"meta": {"sent": rfc3339(now), "summary": {"created": created,
            "not_created": errors.len(), "valid": new_rules.len() - invalid_count,
            "invalid": invalid_count}}});
        if !created_rules.is_empty() {
            body["data"] = Value::Array(created_rules);
        }
        if !errors.is_empty() {
            body["errors"] = Value::Array(errors);
        }
        json_response(if created == 0 { 200 } else { 201 }, &body)
    }

    fn delete(&mut self, delete: &Value, now: i64) -> Response {
        let texts = |name: &str| -> Vec<String> {
            let list = delete[name].as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let (ids, values) = (texts("ids"), texts("values"));
        let count_before = self.rules.len();
        self.rules
            .retain(|rule| !ids.contains(&rule.id.to_string()) && !values.contains(&rule.value));
        let deleted = count_before - self.rules.len();
        let not_deleted = ids.len() + values.len() - deleted;
        json_response(
            200,
            &json!({"meta": {"sent": rfc3339(now),
                "summary": {"deleted": deleted, "not_deleted": not_deleted}}}),
        )
    }

    /// Answers a request for the persistent connection.
    pub(super) fn connect(&mut self, fields: FieldSelection) -> Response {
        self.listeners.retain(|listener| !listener.channel.queue().is_closed);
        if self.rules.is_empty() {
            return problems::connection(
                409,
                "RuleConfigurationIssue",
                "There are no rules for this stream.",
            );
        }
        if self.listeners.len() + self.stale_connections > 0 {
            let detail = "This stream is currently at the maximum allowed connection limit.";
            return problems::connection(429, "TooManyConnections", detail);
        }
        let queue = Queue {
            items: VecDeque::new(),
            is_closed: false,
            last_item_at: Instant::now(),
            keep_alive: self.keep_alive,
        };
        let channel = Arc::new(Channel { queue: Mutex::new(queue), changed: Condvar::new() });
        self.listeners.push(Listener { channel: Arc::clone(&channel), fields });
        Response {
            stream: Some(Subscription { channel }),
            ..Response::new(200, "application/json; charset=utf-8", "")
        }
    }

    /// Sends a public post to all listeners if a rule matches it.
    pub(super) fn notify(&mut self, world: &World, id: u64) {
        let post = &world.posts[&id];
        let matching: Vec<Value> = self
            .rules
            .iter()
            .filter(|rule| world.is_public(post) && rule.query.matches(world, post))
            .map(|rule| {
                let rule = rule.json();
                json!({"id": rule["id"],
                    "tag": rule.get("tag").cloned().unwrap_or_else(|| json!(""))})
            })
            .collect();
        if matching.is_empty() {
            return;
        }
        self.listeners.retain(|listener| !listener.channel.queue().is_closed);
        for listener in &self.listeners {
            let mut line =
                json!({"data": listener.fields.tweet(world, post), "matching_rules": matching});
            if let Some(includes) = listener.fields.includes(world, true, &[post]).0 {
                line["includes"] = includes;
            }
            listener.channel.send(StreamItem::Bytes(format!("{line}\r\n").into_bytes()));
            self.unread_lines.push(line);
        }
    }

    fn send_to_all(&self, item: &StreamItem) {
        self.listeners.iter().for_each(|listener| listener.channel.send(item.clone()));
    }
}

impl Platform {
    /// Returns the values of the rules.
    #[must_use]
    pub fn rules(&self) -> Vec<String> {
        self.state().streaming.rules.iter().map(|rule| rule.value.clone()).collect()
    }

    /// Returns the number of listeners.
    #[must_use]
    pub fn listeners(&self) -> usize {
        let mut state = self.state();
        state.streaming.listeners.retain(|listener| !listener.channel.queue().is_closed);
        state.streaming.listeners.len()
    }

    /// Sets the interval of keep-alive bytes; `None` disables them.
    pub fn keep_alive(&self, every: Option<Duration>) {
        let mut state = self.state();
        state.streaming.keep_alive = every;
        for listener in &state.streaming.listeners {
            listener.channel.queue().keep_alive = every;
            listener.channel.changed.notify_all();
        }
    }

    /// Sends these bytes over all connections.
    pub fn stream_bytes(&self, bytes: &[u8]) {
        self.state().streaming.send_to_all(&StreamItem::Bytes(bytes.to_vec()));
    }

    /// Ends all connections with an error line, as the platform does when it restarts.
    pub fn disconnect(&self) {
        let line = json!({"errors": [{"title": "operational-disconnect",
            "disconnect_type": "UpstreamOperationalDisconnect",
            "detail": "This stream has been disconnected upstream for operational reasons.",
            "type": kind("operational-disconnect")}]});
        let state = self.state();
        state.streaming.send_to_all(&StreamItem::Bytes(format!("{line}\r\n").into_bytes()));
        state.streaming.send_to_all(&StreamItem::End);
    }

    /// Breaks all connections. With `stale`, one connection still counts as open until
    /// [`Platform::free_stale`].
    pub fn cut_streams(&self, stale: bool) {
        let mut state = self.state();
        state.streaming.send_to_all(&StreamItem::Cut);
        state.streaming.stale_connections += usize::from(stale);
    }

    /// Stops counting broken connections as open.
    pub fn free_stale(&self) {
        self.state().streaming.stale_connections = 0;
    }

    /// Returns the lines sent since the last call, validated against the document.
    ///
    /// # Errors
    /// When a line does not match: a description of the first violation.
    pub fn sent(&self) -> Result<Vec<Value>, String> {
        let sent = std::mem::take(&mut self.state().streaming.unread_lines);
        sent.iter().try_for_each(|line| self.inner.schema.validate_line(line))?;
        Ok(sent)
    }
}
