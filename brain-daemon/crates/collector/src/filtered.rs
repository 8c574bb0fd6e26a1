//! The persistent connection: which rules it has at the platform, what its lines mean, and how long to wait before it is tried again.
//! Holding it is somebody else's; nothing here waits.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::lines::one_line;
use super::{Endpoint, Page, Platform, PlatformFault, Record, Settings, Stream, Why};

/// Our rules have tags that begin so. Others' are never touched.
const OURS: &str = "brain:";
/// The most characters of what the platform says of a rule.
const MOST_SAID: usize = 240;
/// The most pages of rules: the platform has at most 1000 rules, which is one page.
const MOST_PAGES: usize = 8;
/// The longest line that is read, in bytes.
const LONGEST: usize = 1024 * 1024;
/// Nothing for so long, and the connection is dead: the platform sends at least an empty line every 20 seconds.
pub const SILENCE: Duration = Duration::from_secs(21);

/// A rule that there should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// `brain:own`, `brain:mentions` or `brain:search:<n>`.
    pub tag: String,
    /// What it finds, in the platform's syntax.
    pub value: String,
    /// Where the posts that it finds belong.
    pub stream: Stream,
}

impl Rule {
    /// The stream of its posts, and the search that finds them where it is one.
    #[must_use]
    pub fn place(&self) -> (Stream, Option<String>) {
        (self.stream, Some(self.value.clone()).filter(|_| self.stream == Stream::Searches))
    }
}

/// The rules that the configuration asks for. Without a handle there are only those of the searches.
#[must_use]
pub fn wanted(settings: &Settings) -> Vec<Rule> {
    let rule = |tag: String, value: String, stream| Rule { tag, value, stream };
    let mut rules = Vec::new();
    if let Some(handle) = &settings.handle {
        rules.push(rule(format!("{OURS}own"), format!("from:{handle}"), Stream::Own));
        rules.push(rule(format!("{OURS}mentions"), format!("@{handle}"), Stream::Mentions));
    }
    for (nth, search) in settings.searches.iter().enumerate() {
        rules.push(rule(format!("{OURS}search:{nth}"), search.clone(), Stream::Searches));
    }
    rules
}

/// A rule that the platform has.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    id: String,
    value: String,
    tag: String,
}

/// What is to be done so that the platform has the rules that are wanted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Rules of ours that nobody wants any more, by id.
    delete: Vec<String>,
    /// Indices of wanted rules that are missing.
    add: Vec<usize>,
}

/// Ours that are as they are wanted stay. Somebody else's rule of the same value does for ours: the platform takes a value once.
fn plan(wanted: &[Rule], known: &[Known]) -> Plan {
    let is_ours = |tag: &str| {
        tag.strip_prefix(OURS)
            .is_some_and(|rest| matches!(rest, "own" | "mentions") || rest.starts_with("search:"))
    };
    let same = |rule: &Rule, known: &Known| {
        known.value == rule.value && (known.tag == rule.tag || !is_ours(&known.tag))
    };
    // A search may be what another rule is: the platform takes a value once.
    let first = |nth: usize| wanted[..nth].iter().all(|rule| rule.value != wanted[nth].value);
    let stands =
        |known: &Known| (0..wanted.len()).any(|nth| first(nth) && same(&wanted[nth], known));
    let stale = |known: &&Known| is_ours(&known.tag) && !stands(known);
    let missing = |rule: &Rule| !known.iter().any(|known| same(rule, known));
    let delete = known.iter().filter(stale).map(|known| known.id.clone()).collect();
    let add = (0..wanted.len()).filter(|&nth| first(nth) && missing(&wanted[nth])).collect();
    Plan { delete, add }
}

/// The rules as the platform has them now.
#[derive(Debug, Default)]
pub struct Rules {
    wanted: Vec<Rule>,
    /// Which of them a rule of the platform is, by its id.
    by_id: HashMap<String, usize>,
    /// What the platform did not take, each in words.
    pub refused: Vec<String>,
}

impl Rules {
    /// Brings the platform's rules in step with those that are wanted.
    ///
    /// # Errors
    /// Why it cannot be done. A rule that the platform does not take is none: it is in `refused`.
    pub fn keep_in_step(
        platform: &mut Platform<'_>,
        wanted: Vec<Rule>,
    ) -> Result<Self, PlatformFault> {
        let known = known(platform)?;
        let Plan { delete, add } = plan(&wanted, &known);
        if !delete.is_empty() {
            let body = json!({"delete": {"ids": delete}});
            platform.ask(Endpoint::ChangeRules, &PATH, &[], Some(&body))?;
        }
        let mut rules = Self { wanted, by_id: HashMap::new(), refused: Vec::new() };
        rules.note(&known);
        if !add.is_empty() {
            let new: Vec<Value> = add
                .iter()
                .map(|&nth| json!({"value": rules.wanted[nth].value, "tag": rules.wanted[nth].tag}))
                .collect();
            let body =
                platform.ask(Endpoint::ChangeRules, &PATH, &[], Some(&json!({ "add": new })))?;
            rules.note(&read(body.get("data")));
            let errors = body.get("errors").and_then(Value::as_array);
            rules.refused = errors.into_iter().flatten().map(in_words).collect();
        }
        Ok(rules)
    }

    fn note(&mut self, known: &[Known]) {
        for Known { id, value, .. } in known {
            if let Some(nth) = self.wanted.iter().position(|rule| rule.value == *value) {
                self.by_id.insert(id.clone(), nth);
            }
        }
    }

    /// The rules that are wanted.
    #[must_use]
    pub fn wanted(&self) -> &[Rule] {
        &self.wanted
    }

    /// Where a post belongs that these rules found, each given by its id and tag; each place once.
    #[must_use]
    pub fn places(&self, matching: &[(String, String)]) -> Vec<(Stream, Option<String>)> {
        let mut places = Vec::new();
        for (id, tag) in matching {
            let by_tag = || self.wanted.iter().position(|rule| rule.tag == *tag);
            let Some(nth) = self.by_id.get(id).copied().or_else(by_tag) else { continue };
            // What is wanted twice is one rule there.
            let value = &self.wanted[nth].value;
            for place in self.wanted.iter().filter(|rule| rule.value == *value).map(Rule::place) {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        places
    }
}

const PATH: [&str; 4] = ["tweets", "search", "stream", "rules"];

/// The rules that the platform has.
fn known(platform: &mut Platform<'_>) -> Result<Vec<Known>, PlatformFault> {
    let (mut all, mut next) = (Vec::new(), None::<String>);
    for _ in 0..MOST_PAGES {
        let mut parameters = vec![("max_results", "1000")];
        parameters.extend(next.as_deref().map(|token| ("pagination_token", token)));
        let body = platform.ask(Endpoint::Rules, &PATH, &parameters, None)?;
        // No rules is an answer, too, and has `meta`.
        if let Some(fault) = platform.incomplete(&body) {
            return Err(fault);
        }
        all.extend(read(body.get("data")));
        let token =
            body.get("meta").and_then(|meta| meta.get("next_token")?.as_str()).map(str::to_owned);
        if token.is_none() || token == next {
            break;
        }
        next = token;
    }
    Ok(all)
}

fn read(data: Option<&Value>) -> Vec<Known> {
    let text = |rule: &Value, name| Some(rule.get(name)?.as_str()?.to_owned());
    let rule = |rule: &Value| {
        let tag = text(rule, "tag").unwrap_or_default();
        Some(Known { id: text(rule, "id")?, value: text(rule, "value")?, tag })
    };
    data.and_then(Value::as_array).into_iter().flatten().filter_map(rule).collect()
}

/// What the platform says of a rule that it does not take.
fn in_words(error: &Value) -> String {
    let text = |name| error.get(name).and_then(Value::as_str);
    let details = error.get("details").and_then(|all| all.get(0)?.as_str());
    let what = text("detail").or(details).or(text("title")).unwrap_or("not taken");
    let value = text("value").map(|value| format!("`{value}`: ")).unwrap_or_default();
    one_line(&format!("{value}{what}"), MOST_SAID)
}

/// What a line says.
#[derive(Debug, PartialEq)]
pub enum Message {
    /// That the connection lives.
    Alive,
    /// A post, and the rules that found it: id and tag of each.
    Post(Box<Record>, Vec<(String, String)>),
    /// That the platform ends the connection, and why.
    Ending(String),
    /// Something else.
    Unknown,
}

/// What a line without its end says.
#[must_use]
pub fn message(line: &[u8]) -> Message {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Message::Alive;
    }
    let Ok(Value::Object(body)) = serde_json::from_slice(line) else { return Message::Unknown };
    if body.contains_key("data")
        && let Some(post) = Page::read(line).ok().and_then(|mut page| page.posts.pop())
    {
        let text = |rule: &Value, name| {
            let value = rule.get(name)?;
            value.as_str().map(str::to_owned).or_else(|| value.as_u64().map(|id| id.to_string()))
        };
        let rules = body.get("matching_rules").and_then(Value::as_array).into_iter().flatten();
        let rules = rules
            .filter_map(|rule| Some((text(rule, "id")?, text(rule, "tag").unwrap_or_default())));
        return Message::Post(Box::new(post), rules.collect());
    }
    // What is wrong beside a post was none of its own; without one, it is the connection's.
    match body.get("errors").and_then(|errors| errors.get(0)) {
        Some(error) => Message::Ending(in_words(error)),
        None => Message::Unknown,
    }
}

/// Makes lines of what comes. One that is too long is left out.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
    skipping: bool,
}

impl Lines {
    /// The lines that `bytes` end.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            if !self.skipping {
                self.begun.extend_from_slice(part);
            }
            if self.begun.len() > LONGEST {
                self.begun = Vec::new();
                self.skipping = true;
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                if !std::mem::take(&mut self.skipping) {
                    lines.push(line);
                }
            }
        }
        lines
    }
}

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It broke, fell silent, or the platform ended it.
    Network,
    /// The platform refused it, for this reason.
    Refused(Why),
}

/// How long to wait before the next attempt, as the platform's documentation asks.
#[derive(Debug, Default)]
pub struct Backoff {
    network: Duration,
    http: Duration,
    limited: Duration,
}

impl Backoff {
    const NETWORK: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(16));
    const HTTP: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(320));
    const LIMITED: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(960));
    /// A refusal that only the owner can mend is tried again this much later.
    const HOUR: Duration = Duration::from_secs(60 * 60);
    /// A connection that lasted this long was a good one: whatever comes next begins anew, and at once.
    const GOOD: Duration = Duration::from_secs(20);

    /// The wait after an attempt that ended so, and whose connection lasted `lived`. `now` is Unix seconds.
    pub fn after(&mut self, ended: Ended, lived: Duration, now: i64) -> Duration {
        let was_good = lived >= Self::GOOD;
        if was_good {
            *self = Self::default();
        }
        let doubled =
            |wait: Duration, (least, most): (Duration, Duration)| (wait * 2).clamp(least, most);
        match ended {
            Ended::Network if was_good => Duration::ZERO,
            Ended::Network => {
                self.network = (self.network + Self::NETWORK.0).min(Self::NETWORK.1);
                self.network
            }
            Ended::Refused(Why::Unreachable) => self.after(Ended::Network, Duration::ZERO, now),
            Ended::Refused(Why::RateLimited(reset)) => {
                self.limited = doubled(self.limited, Self::LIMITED);
                let until = u64::try_from(reset.saturating_sub(now)).unwrap_or(0);
                self.limited.max(Duration::from_secs(until).min(Self::LIMITED.1))
            }
            Ended::Refused(Why::TooManyConnections) => {
                self.limited = doubled(self.limited, Self::LIMITED);
                self.limited
            }
            Ended::Refused(
                Why::Unauthorized | Why::PaymentRequired | Why::Forbidden | Why::UsageCapped,
            ) => Self::HOUR,
            Ended::Refused(
                Why::NotFound | Why::InvalidRequest | Why::ServerError | Why::Unreadable,
            ) => {
                self.http = doubled(self.http, Self::HTTP);
                self.http
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
