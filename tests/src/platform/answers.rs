//! The endpoints of the API.

use serde_json::{Map, Value, json};

use super::limits::Allowance;
use super::objects::{FieldSelection, use_newer_names};
use super::params::{self, Params, is_id};
use super::problems::{self, MissingReason};
use super::query::{self, is_handle, mentions};
use super::world::{Post, World};
use super::{APP_TOKEN, Platform, Request, Response, State, USER_TOKEN, endpoint as at};

/// Maximum length of a timeline.
const MAX_TIMELINE: usize = 3200;
/// Maximum number of mentions.
const MAX_MENTIONS: usize = 800;

/// The client of a request, and the time.
struct Client {
    /// Whether the token belongs to an app, not to a user.
    app: bool,
    now: i64,
}

/// Returns the endpoint of a request and the variable part of its path.
fn route<'a>(request: &Request<'a>) -> Option<(&'static str, &'a str)> {
    let parts: Vec<&str> = request.path.strip_prefix("/2/")?.split('/').collect();
    match (request.method, parts.as_slice()) {
        ("GET", ["users", "me"]) => Some((at::ME, "")),
        ("GET", ["users", "by", "username", name]) => Some((at::BY_USERNAME, name)),
        ("GET", ["users", id, "tweets"]) => Some((at::TIMELINE, id)),
        ("GET", ["users", id, "mentions"]) => Some((at::MENTIONS, id)),
        ("GET", ["tweets", "search", "recent"]) => Some((at::SEARCH, "")),
        ("GET", ["tweets", "search", "stream"]) => Some((at::STREAM, "")),
        ("GET", ["tweets", "search", "stream", "rules"]) => Some((at::RULES, "")),
        ("POST", ["tweets", "search", "stream", "rules"]) => Some((at::CHANGE_RULES, "")),
        ("GET", ["tweets"]) => Some((at::LOOKUPS, "")),
        ("GET", ["tweets", id]) => Some((at::LOOKUP, id)),
        _ => None,
    }
}

impl Platform {
    /// Answers a request.
    #[must_use]
    pub fn answer(&self, request: &Request<'_>) -> Response {
        let now = self.time().now();
        let mut state = self.state();
        let state = &mut *state;
        state.log.push(format!("{} {}?{}", request.method, request.path, request.query));
        let Some((endpoint, part)) = route(request) else {
            return problems::untyped(404, "Not Found");
        };
        *state.counts.entry(endpoint.into()).or_default() += 1;
        let fault = super::faults::take_due(&mut state.planned, endpoint);
        let token = request.authorization.and_then(|value| value.strip_prefix("Bearer "));
        let app = token != Some(USER_TOKEN);
        // A response to an invalid token has no rate-limit fields.
        if ![Some(APP_TOKEN), Some(USER_TOKEN)].contains(&token) {
            return problems::unauthorized();
        }
        let allowance = state.windows.count_request(endpoint, app, now);
        if let Some(answer) =
            fault.as_ref().and_then(|fault| fault.replacement(endpoint, part, allowance, now))
        {
            return answer;
        }
        let mut answer = if allowance.is_allowed {
            state.answer_allowed(endpoint, part, request, &Client { app, now })
        } else {
            problems::too_many()
        };
        if answer.stream.is_none()
            && let Some(schema) = self.inner.schema
            && let Err(mismatch) = schema.validate(endpoint, answer.status, &answer.body)
        {
            state.mismatches.push(format!("{} {}: {mismatch}", request.method, request.path));
        }
        allowance.add_to(&mut answer);
        if answer.status == 200 && request.query.contains(params::NEWER_FIELDS) {
            convert_to_newer_names(&mut answer);
        }
        if state.uses_newer_host {
            let body = String::from_utf8_lossy(&answer.body);
            answer.body = body
                .replace("://api.twitter.com/2/problems/", "://api.x.com/2/problems/")
                .into_bytes();
        }
        match fault {
            Some(fault) => fault.alter(answer),
            None => answer,
        }
    }
}

/// Replaces field names by the newer ones, which no published document has yet.
fn convert_to_newer_names(answer: &mut Response) {
    if let Ok(mut value) = serde_json::from_slice::<Value>(&answer.body) {
        use_newer_names(&mut value);
        answer.body = value.to_string().into_bytes();
    }
}

fn ok(value: &Value) -> Response {
    Response::new(200, "application/json; charset=utf-8", value.to_string())
}

fn only_errors(errors: &[Value]) -> Response {
    ok(&json!({ "errors": errors }))
}

impl State {
    fn answer_allowed(
        &mut self,
        endpoint: &str,
        part: &str,
        request: &Request<'_>,
        client: &Client,
    ) -> Response {
        let is_streaming = [at::RULES, at::CHANGE_RULES, at::STREAM].contains(&endpoint);
        if endpoint == at::ME && client.app {
            return problems::app_only();
        }
        if is_streaming && !client.app {
            return problems::user_context();
        }
        let checked = params::read(request.query).and_then(|params| {
            params::check(endpoint, &params, &self.world, client.now).map(|()| params)
        });
        let params = match checked {
            Ok(params) => params,
            Err(refused) => return problems::invalid(&refused),
        };
        let needs_id = [at::TIMELINE, at::MENTIONS, at::LOOKUP].contains(&endpoint);
        if (needs_id && !is_id(part)) || (endpoint == at::BY_USERNAME && !is_handle(part)) {
            let (name, pattern) = if needs_id {
                ("id", "^[0-9]{1,19}$")
            } else {
                ("username", "^[A-Za-z0-9_]{1,15}$")
            };
            let why =
                format!("The `{name}` query parameter value [{part}] does not match {pattern}");
            return problems::invalid(&(name.into(), part.into(), why));
        }
        match endpoint {
            at::ME => self.world.token_owner().map_or_else(problems::unauthorized, |own| {
                ok(&json!({"data": FieldSelection::from_params(&params).user(own)}))
            }),
            at::BY_USERNAME => by_username(&self.world, part, &params),
            at::TIMELINE => timeline(&self.world, part, &params, client),
            at::MENTIONS => mentions_of(&self.world, part, &params, client),
            at::SEARCH => search(&self.world, &params, client),
            at::LOOKUP => lookup(&self.world, part, &params, client),
            at::LOOKUPS => lookups(&self.world, &params, client),
            at::RULES => self.streaming.rules(&params, client.now),
            at::CHANGE_RULES => self.streaming.change(request.body, &params, client.now),
            _ => self.streaming.connect(FieldSelection::from_params(&params)),
        }
    }
}

fn by_username(world: &World, name: &str, params: &Params) -> Response {
    match world.by_name(name).filter(|account| !account.gone) {
        None => only_errors(&[problems::missing(
            &MissingReason::NotFound,
            "user",
            "username",
            name,
            name,
        )]),
        Some(account) if account.suspended => only_errors(&[problems::missing(
            &MissingReason::Suspended,
            "user",
            "username",
            name,
            name,
        )]),
        Some(account) => ok(&json!({"data": FieldSelection::from_params(params).user(account)})),
    }
}

/// Returns the account whose posts are requested, or an error response.
fn account(world: &World, id: &str, client: &Client) -> Result<u64, Response> {
    let refuse =
        |why: &MissingReason| Err(only_errors(&[problems::missing(why, "user", "id", id, id)]));
    let Some(account) = id.parse().ok().and_then(|number: u64| world.accounts.get(&number)) else {
        return refuse(&MissingReason::NotFound);
    };
    let is_own = !client.app && world.token_owner().is_some_and(|own| own.id == account.id);
    match account {
        account if account.gone => refuse(&MissingReason::NotFound),
        account if account.suspended => refuse(&MissingReason::Suspended),
        account if account.protected && !is_own => refuse(&MissingReason::NotAuthorized),
        account => Ok(account.id),
    }
}

fn timeline(world: &World, id: &str, params: &Params, client: &Client) -> Response {
    let author = match account(world, id, client) {
        Ok(author) => author,
        Err(answer) => return answer,
    };
    let without = params.get("exclude").map(String::as_str).unwrap_or_default();
    let posts = newest(world, client, |post| {
        post.author == author
            && !(without.contains("replies") && post.reply_to.is_some())
            && !(without.contains("retweets") && post.reposts.is_some())
    });
    page(world, at::TIMELINE, id, &posts.take(MAX_TIMELINE).collect::<Vec<_>>(), params, client)
}

fn mentions_of(world: &World, id: &str, params: &Params, client: &Client) -> Response {
    let of = match account(world, id, client) {
        Ok(of) => of,
        Err(answer) => return answer,
    };
    let handle = &world.accounts[&of].username;
    let posts = newest(world, client, |post| post.author != of && mentions(&post.text, handle));
    page(world, at::MENTIONS, id, &posts.take(MAX_MENTIONS).collect::<Vec<_>>(), params, client)
}

fn search(world: &World, params: &Params, client: &Client) -> Response {
    let text = params.get("query").map(String::as_str).unwrap_or_default();
    let query = match query::parse(text) {
        Ok(query) => query,
        Err(why) => return problems::invalid(&("query".into(), text.into(), why)),
    };
    let (oldest, youngest) = (client.now - 7 * 86_400_000, client.now - world.search_lag);
    let posts = newest(world, client, |post| {
        // Searches find public posts only, and no reposts since 2026.
        (oldest..=youngest).contains(&post.created_at)
            && world.is_public(post)
            && post.reposts.is_none()
            && query.matches(world, post)
    });
    page(world, at::SEARCH, text, &posts.collect::<Vec<_>>(), params, client)
}

/// Returns the listed posts, newest first.
fn newest<'a>(
    world: &'a World,
    client: &'a Client,
    is_listed: impl Fn(&Post) -> bool + 'a,
) -> impl Iterator<Item = &'a Post> {
    let is_visible = |post: &&Post| !post.is_superseded() && world.can_see(client.app, post);
    world.posts.values().rev().filter(is_visible).filter(move |post| is_listed(post))
}

/// Returns a page of a list. The token of the next page names the last post and the list.
fn page(
    world: &World,
    endpoint: &str,
    of: &str,
    posts: &[&Post],
    params: &Params,
    client: &Client,
) -> Response {
    let id = |name: &str| params.get(name).and_then(|id| id.parse::<u64>().ok());
    let time =
        |name: &str| params.get(name).and_then(|at| brain_base::clock::parse_instant(at, false));
    let page_token = ["pagination_token", "next_token"]
        .into_iter()
        .find_map(|name| Some((name, params.get(name)?)));
    let mut before = id("until_id").unwrap_or(u64::MAX);
    if let Some((name, token)) = page_token {
        let Some(last) = last_id(token, endpoint, of) else {
            let why = format!("The `{name}` query parameter value [{token}] is invalid");
            return problems::invalid(&(name.into(), token.clone(), why));
        };
        before = before.min(last);
    }
    let size = params.get("max_results").and_then(|n| n.parse().ok()).unwrap_or(10);
    let within = |post: &&&Post| {
        post.id < before
            && id("since_id").is_none_or(|since| post.id > since)
            && time("start_time").is_none_or(|start| post.created_at >= start)
            && time("end_time").is_none_or(|end| post.created_at < end)
    };
    let mut rest = posts.iter().filter(within).copied();
    let shown: Vec<&Post> = rest.by_ref().take(size).collect();
    let more = rest.next().is_some();

    let mut meta = Map::from_iter([("result_count".to_owned(), json!(shown.len()))]);
    let mut body = Map::new();
    if let (Some(first), Some(last)) = (shown.first(), shown.last()) {
        let fields = FieldSelection::from_params(params);
        let (includes, errors) = fields.includes(world, client.app, &shown);
        body.insert("data".into(), shown.iter().map(|post| fields.tweet(world, post)).collect());
        body.extend(includes.map(|includes| ("includes".to_owned(), includes)));
        if !errors.is_empty() {
            body.insert("errors".into(), Value::Array(errors));
        }
        meta.insert("newest_id".into(), json!(first.id.to_string()));
        meta.insert("oldest_id".into(), json!(last.id.to_string()));
        if more {
            meta.insert("next_token".into(), json!(next_page_token(last.id, endpoint, of)));
        }
    }
    body.insert("meta".into(), Value::Object(meta));
    ok(&Value::Object(body))
}

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 || digits.is_empty() {
        digits.push(DIGITS[(number % 36) as usize] as char);
        number /= 36;
    }
    digits.iter().rev().collect()
}

/// Returns four letters that bind a token to its list.
fn list_prefix(endpoint: &str, of: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = endpoint.bytes().chain(of.bytes()).fold(0xcbf2_9ce4_8422_2325, step);
    base36(46_656 + hash % 1_000_000)[..4].to_owned()
}

fn next_page_token(id: u64, endpoint: &str, of: &str) -> String {
    format!("{}{}", list_prefix(endpoint, of), base36(id))
}

fn last_id(token: &str, endpoint: &str, of: &str) -> Option<u64> {
    u64::from_str_radix(token.strip_prefix(list_prefix(endpoint, of).as_str())?, 36).ok()
}

/// Returns the post's id, or why the client may not see it.
fn visible_post(world: &World, id: &str, client: &Client) -> Result<u64, MissingReason> {
    let known = id.parse().ok().and_then(|number: u64| world.posts.get(&number));
    let Some(post) = known.filter(|post| !post.deleted && !world.accounts[&post.author].gone)
    else {
        return Err(MissingReason::NotFound);
    };
    if world.can_see(client.app, post) { Ok(post.id) } else { Err(MissingReason::NotAuthorized) }
}

fn lookup(world: &World, id: &str, params: &Params, client: &Client) -> Response {
    match visible_post(world, id, client) {
        Err(why) => only_errors(&[problems::missing(&why, "tweet", "id", id, id)]),
        Ok(number) => {
            let (post, fields) = (&world.posts[&number], FieldSelection::from_params(params));
            let (includes, errors) = fields.includes(world, client.app, &[post]);
            let mut body = json!({"data": fields.tweet(world, post)});
            if let Some(includes) = includes {
                body["includes"] = includes;
            }
            if !errors.is_empty() {
                body["errors"] = Value::Array(errors);
            }
            ok(&body)
        }
    }
}

fn lookups(world: &World, params: &Params, client: &Client) -> Response {
    let (fields, mut posts, mut errors) =
        (FieldSelection::from_params(params), Vec::new(), Vec::new());
    for id in params["ids"].split(',') {
        match visible_post(world, id, client) {
            Ok(number) => posts.push(&world.posts[&number]),
            Err(why) => errors.push(problems::missing(&why, "tweet", "ids", id, id)),
        }
    }
    let (includes, more) = fields.includes(world, client.app, &posts);
    errors.extend(more);
    let mut body = Map::new();
    if !posts.is_empty() {
        body.insert("data".into(), posts.iter().map(|post| fields.tweet(world, post)).collect());
    }
    body.extend(includes.map(|includes| ("includes".to_owned(), includes)));
    if !errors.is_empty() {
        body.insert("errors".into(), Value::Array(errors));
    }
    ok(&Value::Object(body))
}

impl Allowance {
    /// Returns the allowance with no requests remaining.
    pub(super) fn used_up(self) -> Self {
        Self { remaining: 0, ..self }
    }
}
