//! Rules, messages and backoff of the persistent connection. Does not open that connection, and
//! never waits for its backoff.

use std::collections::HashMap;
use std::time::Duration;

use brain_base::backoff::Backoff;
use serde_json::{Value, json};

use super::lines::one_line;
use super::{
    Endpoint, FaultReason, Platform, PlatformFault, PostPage, Record, RunSettings, Stream,
};

/// The prefix of tags of our rules. Other rules are never changed.
const TAG_PREFIX: &str = "brain:";
/// Maximum length of the platform's message about a rule, in characters.
const MAX_MESSAGE_CHARS: usize = 240;
/// Maximum number of pages of rules. The platform allows 1000 rules, which is one page.
const MAX_PAGES: usize = 8;
/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 1024 * 1024;
/// Silence after which the connection counts as dead. The platform sends at least an empty line
/// every 20 seconds.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(21);

/// A configured rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRule {
    /// `brain:own`, `brain:mentions` or `brain:search:<n>`.
    pub tag: String,
    /// The query, in the platform's syntax.
    pub value: String,
    /// The stream of the posts that the rule matches.
    pub stream: Stream,
}

impl StreamRule {
    /// Returns the stream of the rule's posts, and the query if the rule is a search.
    #[must_use]
    pub fn destination(&self) -> (Stream, Option<String>) {
        (self.stream, Some(self.value.clone()).filter(|_| self.stream == Stream::Searches))
    }
}

/// Returns the rules of the configuration. Without a handle, only those of searches.
#[must_use]
pub fn configured_rules(settings: &RunSettings) -> Vec<StreamRule> {
    let rule = |tag: String, value: String, stream| StreamRule { tag, value, stream };
    let mut rules = Vec::new();
    if let Some(handle) = &settings.handle {
        rules.push(rule(format!("{TAG_PREFIX}own"), format!("from:{handle}"), Stream::Own));
        rules.push(rule(format!("{TAG_PREFIX}mentions"), format!("@{handle}"), Stream::Mentions));
    }
    for (index, search) in settings.searches.iter().enumerate() {
        rules.push(rule(format!("{TAG_PREFIX}search:{index}"), search.clone(), Stream::Searches));
    }
    rules
}

/// A rule at the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PlatformRule {
    id: String,
    value: String,
    tag: String,
}

/// The changes that make the platform's rules equal to the configured ones.
#[derive(Debug, Default, PartialEq, Eq)]
struct RuleChanges {
    /// Ids of our obsolete rules.
    delete: Vec<String>,
    /// Indices of missing rules.
    add: Vec<usize>,
}

/// Computes the changes. Our rules that are still correct stay. A foreign rule with the value of
/// one of ours is used as it is, because the platform accepts a value only once.
fn plan_changes(configured_rules: &[StreamRule], platform_rules: &[PlatformRule]) -> RuleChanges {
    let is_ours = |tag: &str| {
        tag.strip_prefix(TAG_PREFIX)
            .is_some_and(|rest| matches!(rest, "own" | "mentions") || rest.starts_with("search:"))
    };
    let matches = |rule: &StreamRule, other: &PlatformRule| {
        other.value == rule.value && (other.tag == rule.tag || !is_ours(&other.tag))
    };
    // Two configured rules may have the same value, which the platform accepts only once.
    let is_first = |index: usize| {
        configured_rules[..index].iter().all(|rule| rule.value != configured_rules[index].value)
    };
    let is_current = |other: &PlatformRule| {
        (0..configured_rules.len())
            .any(|index| is_first(index) && matches(&configured_rules[index], other))
    };
    let is_stale = |other: &&PlatformRule| is_ours(&other.tag) && !is_current(other);
    let is_missing = |rule: &StreamRule| !platform_rules.iter().any(|other| matches(rule, other));
    let delete = platform_rules.iter().filter(is_stale).map(|rule| rule.id.clone()).collect();
    let add = (0..configured_rules.len())
        .filter(|&index| is_first(index) && is_missing(&configured_rules[index]))
        .collect();
    RuleChanges { delete, add }
}

/// The current rules at the platform.
#[derive(Debug, Default)]
pub struct StreamRules {
    configured_rules: Vec<StreamRule>,
    /// Index of a configured rule by the platform's rule id.
    by_id: HashMap<String, usize>,
    /// Rules that the platform rejected, with its messages.
    pub rejections: Vec<String>,
}

impl StreamRules {
    /// Updates the platform's rules to the configured ones.
    ///
    /// # Errors
    /// The platform's fault. A rejected rule is no error; `rejections` lists it.
    pub fn synchronize(
        platform: &mut Platform<'_>,
        configured_rules: Vec<StreamRule>,
    ) -> Result<Self, PlatformFault> {
        let platform_rules = read_rules(platform)?;
        let RuleChanges { delete, add } = plan_changes(&configured_rules, &platform_rules);
        if !delete.is_empty() {
            let body = json!({"delete": {"ids": delete}});
            platform.request(Endpoint::ChangeRules, &PATH, &[], Some(&body))?;
        }
        let mut rules = Self { configured_rules, by_id: HashMap::new(), rejections: Vec::new() };
        rules.record_ids(&platform_rules);
        if !add.is_empty() {
            let new: Vec<Value> = add
                .iter()
                .map(|&index| {
                    json!({"value": rules.configured_rules[index].value,
                    "tag": rules.configured_rules[index].tag})
                })
                .collect();
            let body = platform.request(
                Endpoint::ChangeRules,
                &PATH,
                &[],
                Some(&json!({ "add": new })),
            )?;
            rules.record_ids(&parse_rules(body.get("data")));
            let errors = body.get("errors").and_then(Value::as_array);
            rules.rejections = errors.into_iter().flatten().map(describe_error).collect();
        }
        Ok(rules)
    }

    fn record_ids(&mut self, platform_rules: &[PlatformRule]) {
        for PlatformRule { id, value, .. } in platform_rules {
            let index = self.configured_rules.iter().position(|rule| rule.value == *value);
            if let Some(index) = index {
                self.by_id.insert(id.clone(), index);
            }
        }
    }

    /// Returns the configured rules.
    #[must_use]
    pub fn configured_rules(&self) -> &[StreamRule] {
        &self.configured_rules
    }

    /// Returns the distinct streams and searches of a post, given the ids and tags of the matching
    /// rules.
    #[must_use]
    pub fn destinations(&self, matching: &[(String, String)]) -> Vec<(Stream, Option<String>)> {
        let mut destinations = Vec::new();
        for (id, tag) in matching {
            let by_tag = || self.configured_rules.iter().position(|rule| rule.tag == *tag);
            let Some(index) = self.by_id.get(id).copied().or_else(by_tag) else { continue };
            // A value that is configured twice is one rule at the platform.
            let value = &self.configured_rules[index].value;
            for destination in self
                .configured_rules
                .iter()
                .filter(|rule| rule.value == *value)
                .map(StreamRule::destination)
            {
                if !destinations.contains(&destination) {
                    destinations.push(destination);
                }
            }
        }
        destinations
    }
}

const PATH: [&str; 4] = ["tweets", "search", "stream", "rules"];

/// Reads the platform's rules.
fn read_rules(platform: &mut Platform<'_>) -> Result<Vec<PlatformRule>, PlatformFault> {
    let (mut all, mut next) = (Vec::new(), None::<String>);
    for _ in 0..MAX_PAGES {
        let mut parameters = vec![("max_results", "1000")];
        parameters.extend(next.as_deref().map(|token| ("pagination_token", token)));
        let body = platform.request(Endpoint::Rules, &PATH, &parameters, None)?;
        // An empty list is valid and has `meta`.
        if let Some(fault) = platform.incompleteness(&body) {
            return Err(fault);
        }
        all.extend(parse_rules(body.get("data")));
        let token =
            body.get("meta").and_then(|meta| meta.get("next_token")?.as_str()).map(str::to_owned);
        if token.is_none() || token == next {
            break;
        }
        next = token;
    }
    Ok(all)
}

fn parse_rules(data: Option<&Value>) -> Vec<PlatformRule> {
    let text = |rule: &Value, name| Some(rule.get(name)?.as_str()?.to_owned());
    let rule = |rule: &Value| {
        let tag = text(rule, "tag").unwrap_or_default();
        Some(PlatformRule { id: text(rule, "id")?, value: text(rule, "value")?, tag })
    };
    data.and_then(Value::as_array).into_iter().flatten().filter_map(rule).collect()
}

/// Formats an error of the platform: a rejected rule, or the end of the connection.
fn describe_error(error: &Value) -> String {
    let text = |name| error.get(name).and_then(Value::as_str);
    let details = error.get("details").and_then(|all| all.get(0)?.as_str());
    let reason = text("detail").or(details).or(text("title")).unwrap_or("not accepted");
    let value = text("value").map(|value| format!("`{value}`: ")).unwrap_or_default();
    one_line(&format!("{value}{reason}"), MAX_MESSAGE_CHARS)
}

/// A message of the connection.
#[derive(Debug, PartialEq)]
pub enum StreamMessage {
    /// A keep-alive.
    Alive,
    /// A post, and id and tag of each matching rule.
    Post(Box<Record>, Vec<(String, String)>),
    /// The platform ends the connection. Has the reason.
    End(String),
    /// Anything else.
    Unknown,
}

/// Parses a line without its line end.
#[must_use]
pub fn parse_message(line: &[u8]) -> StreamMessage {
    let line = line.trim_ascii();
    if line.is_empty() {
        return StreamMessage::Alive;
    }
    let Ok(Value::Object(body)) = serde_json::from_slice(line) else {
        return StreamMessage::Unknown;
    };
    if body.contains_key("data")
        && let Some(post) = PostPage::read(line).ok().and_then(|mut page| page.posts.pop())
    {
        let text = |rule: &Value, name| {
            let value = rule.get(name)?;
            value.as_str().map(str::to_owned).or_else(|| value.as_u64().map(|id| id.to_string()))
        };
        let rules = body.get("matching_rules").and_then(Value::as_array).into_iter().flatten();
        let rules = rules
            .filter_map(|rule| Some((text(rule, "id")?, text(rule, "tag").unwrap_or_default())));
        return StreamMessage::Post(Box::new(post), rules.collect());
    }
    // With a post, errors concern related objects. Without one, they concern the connection.
    match body.get("errors").and_then(|errors| errors.get(0)) {
        Some(error) => StreamMessage::End(describe_error(error)),
        None => StreamMessage::Unknown,
    }
}

/// Splits received bytes into lines. Skips lines that are too long.
#[derive(Debug, Default)]
pub struct LineSplitter {
    /// The beginning of a line whose end has not arrived.
    partial: Vec<u8>,
    /// Whether the current line is too long and is skipped.
    is_skipping: bool,
}

impl LineSplitter {
    /// Returns the lines that `bytes` complete.
    pub fn split(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            if !self.is_skipping {
                self.partial.extend_from_slice(part);
            }
            if self.partial.len() > MAX_LINE_BYTES {
                self.partial = Vec::new();
                self.is_skipping = true;
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.partial);
                if !std::mem::take(&mut self.is_skipping) {
                    lines.push(line);
                }
            }
        }
        lines
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// It broke, fell silent, or the platform ended it.
    Network,
    /// The platform refused it, for this reason.
    Refused(FaultReason),
}

/// Computes the delay before the next attempt, as the platform's documentation requires.
#[derive(Debug, Default)]
pub struct ReconnectDelay {
    /// The last delay after a network error.
    network: Duration,
    /// The number of HTTP errors.
    http_errors: u32,
    /// The number of rate limits.
    rate_limits: u32,
}

impl ReconnectDelay {
    /// The first delay after a network error, by which each further one is longer, and the longest.
    const NETWORK: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(16));
    const HTTP: Backoff = Backoff::new(Duration::from_secs(5), Duration::from_secs(320));
    const LIMITED: Backoff = Backoff::new(Duration::from_secs(60), Self::MAX_LIMITED);
    const MAX_LIMITED: Duration = Duration::from_secs(960);
    /// Delay after a refusal that only the owner can resolve.
    const HOUR: Duration = Duration::from_secs(60 * 60);
    /// A connection of this length resets the backoff.
    const STABLE_DURATION: Duration = Duration::from_secs(20);

    /// Returns the delay after an attempt that ended with `end` after `duration`. `now` is Unix
    /// seconds.
    pub fn after(&mut self, end: ConnectionEnd, duration: Duration, now: i64) -> Duration {
        let was_stable = duration >= Self::STABLE_DURATION;
        if was_stable {
            *self = Self::default();
        }
        let next_pause = |backoff: Backoff, count: &mut u32| {
            let earlier = *count;
            *count = count.saturating_add(1);
            backoff.pause(earlier)
        };
        match end {
            ConnectionEnd::Network if was_stable => Duration::ZERO,
            ConnectionEnd::Network => {
                self.network = (self.network + Self::NETWORK.0).min(Self::NETWORK.1);
                self.network
            }
            ConnectionEnd::Refused(FaultReason::Unreachable) => {
                self.after(ConnectionEnd::Network, Duration::ZERO, now)
            }
            ConnectionEnd::Refused(FaultReason::RateLimited(reset)) => {
                let until = u64::try_from(reset.saturating_sub(now)).unwrap_or(0);
                let until = Duration::from_secs(until).min(Self::MAX_LIMITED);
                next_pause(Self::LIMITED, &mut self.rate_limits).max(until)
            }
            ConnectionEnd::Refused(FaultReason::TooManyConnections) => {
                next_pause(Self::LIMITED, &mut self.rate_limits)
            }
            ConnectionEnd::Refused(
                FaultReason::Unauthorized
                | FaultReason::PaymentRequired
                | FaultReason::Forbidden
                | FaultReason::UsageCapped,
            ) => Self::HOUR,
            ConnectionEnd::Refused(
                FaultReason::NotFound
                | FaultReason::InvalidRequest
                | FaultReason::ServerError
                | FaultReason::Unreadable,
            ) => next_pause(Self::HTTP, &mut self.http_errors),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
