//! The responses of each endpoint of the API.

use serde_json::{Map, Value, json};

use super::limits::Allowance;
use super::objects::{FieldSelection, use_newer_names};
use super::params::{self, InvalidParameter, Params, is_id};
use super::problems::{self, MissingReason};
use super::query::{self, is_handle, mentions};
use super::world::{Post, World};
use super::{APP_TOKEN, Platform, Request, Response, State, USER_TOKEN, endpoint};

/// Maximum number of posts in a timeline.
const MAX_TIMELINE: usize = 3200;
/// Maximum number of mentions.
const MAX_MENTIONS: usize = 800;

/// The client of a request, and the time of the request.
struct Client {
    /// Whether the token belongs to an app, not to a user.
    is_app: bool,
    /// Unix milliseconds.
    now: i64,
}

/// Returns the endpoint of a request and the variable part of its path.
fn route<'a>(request: &Request<'a>) -> Option<(&'static str, &'a str)> {
    let parts: Vec<&str> = request.path.strip_prefix("/2/")?.split('/').collect();
    match (request.method, parts.as_slice()) {
        ("GET", ["users", "me"]) => Some((endpoint::ME, "")),
        ("GET", ["users", "by", "username", name]) => Some((endpoint::BY_USERNAME, name)),
        ("GET", ["users", id, "tweets"]) => Some((endpoint::TIMELINE, id)),
        ("GET", ["users", id, "mentions"]) => Some((endpoint::MENTIONS, id)),
        ("GET", ["tweets", "search", "recent"]) => Some((endpoint::SEARCH, "")),
        ("GET", ["tweets", "search", "stream"]) => Some((endpoint::STREAM, "")),
        ("GET", ["tweets", "search", "stream", "rules"]) => Some((endpoint::RULES, "")),
        ("POST", ["tweets", "search", "stream", "rules"]) => Some((endpoint::CHANGE_RULES, "")),
        ("GET", ["tweets"]) => Some((endpoint::LOOKUPS, "")),
        ("GET", ["tweets", id]) => Some((endpoint::LOOKUP, id)),
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
        let is_app = token != Some(USER_TOKEN);
        // A response to an invalid token has no rate-limit fields.
        if ![Some(APP_TOKEN), Some(USER_TOKEN)].contains(&token) {
            return problems::unauthorized();
        }
        let allowance = state.windows.count_request(endpoint, is_app, now);
        if let Some(answer) =
            fault.as_ref().and_then(|fault| fault.replacement(endpoint, part, allowance, now))
        {
            return answer;
        }
        let mut answer = if allowance.is_allowed {
            state.answer_allowed(endpoint, part, request, &Client { is_app, now })
        } else {
            problems::too_many()
        };
        if answer.stream.is_none()
            && let Err(mismatch) = self.inner.schema.validate(endpoint, answer.status, &answer.body)
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

/// Replaces field names by the newer names, which no published document has yet.
fn convert_to_newer_names(answer: &mut Response) {
    if let Ok(mut value) = serde_json::from_slice::<Value>(&answer.body) {
        use_newer_names(&mut value);
        answer.body = value.to_string().into_bytes();
    }
}

fn ok(value: &Value) -> Response {
    Response::new(200, "application/json; charset=utf-8", value.to_string())
}

/// Returns a response with status 200 that has no data.
fn only_errors(errors: &[Value]) -> Response {
    ok(&json!({ "errors": errors }))
}

impl State {
    /// Answers a request that the rate limit allows.
    fn answer_allowed(
        &mut self,
        endpoint: &str,
        part: &str,
        request: &Request<'_>,
        client: &Client,
    ) -> Response {
        let is_stream_endpoint =
            [endpoint::RULES, endpoint::CHANGE_RULES, endpoint::STREAM].contains(&endpoint);
        if endpoint == endpoint::ME && client.is_app {
            return problems::app_only();
        }
        if is_stream_endpoint && !client.is_app {
            return problems::user_context();
        }
        let result = params::read(request.query).and_then(|params| {
            params::check(endpoint, &params, &self.world, client.now).map(|()| params)
        });
        let params = match result {
            Ok(params) => params,
            Err(parameter) => return problems::invalid(&parameter),
        };
        let needs_id =
            [endpoint::TIMELINE, endpoint::MENTIONS, endpoint::LOOKUP].contains(&endpoint);
        if (needs_id && !is_id(part)) || (endpoint == endpoint::BY_USERNAME && !is_handle(part)) {
            let (name, pattern) = if needs_id {
                ("id", "^[0-9]{1,19}$")
            } else {
                ("username", "^[A-Za-z0-9_]{1,15}$")
            };
            let message =
                format!("The `{name}` query parameter value [{part}] does not match {pattern}");
            return problems::invalid(&InvalidParameter::new(name, part, message));
        }
        match endpoint {
            endpoint::ME => self.world.token_owner().map_or_else(problems::unauthorized, |own| {
                ok(&json!({"data": FieldSelection::from_params(&params).user(own)}))
            }),
            endpoint::BY_USERNAME => by_username(&self.world, part, &params),
            endpoint::TIMELINE => timeline(&self.world, part, &params, client),
            endpoint::MENTIONS => mentions_of(&self.world, part, &params, client),
            endpoint::SEARCH => search(&self.world, &params, client),
            endpoint::LOOKUP => lookup(&self.world, part, &params, client),
            endpoint::LOOKUPS => lookups(&self.world, &params, client),
            endpoint::RULES => self.streaming.rules(&params, client.now),
            endpoint::CHANGE_RULES => self.streaming.change(request.body, &params, client.now),
            _ => self.streaming.connect(FieldSelection::from_params(&params)),
        }
    }
}

fn by_username(world: &World, name: &str, params: &Params) -> Response {
    match world.by_username(name).filter(|account| !account.is_closed) {
        None => only_errors(&[problems::missing(
            &MissingReason::NotFound,
            "user",
            "username",
            name,
            name,
        )]),
        Some(account) if account.is_suspended => only_errors(&[problems::missing(
            &MissingReason::Suspended,
            "user",
            "username",
            name,
            name,
        )]),
        Some(account) => ok(&json!({"data": FieldSelection::from_params(params).user(account)})),
    }
}

/// Returns `id` as a number if the client may read this account's lists, or an error response.
fn readable_account(world: &World, id: &str, client: &Client) -> Result<u64, Response> {
    let refuse =
        |why: &MissingReason| Err(only_errors(&[problems::missing(why, "user", "id", id, id)]));
    let Some(account) = id.parse().ok().and_then(|number: u64| world.accounts.get(&number)) else {
        return refuse(&MissingReason::NotFound);
    };
    let is_own = !client.is_app && world.token_owner().is_some_and(|own| own.id == account.id);
    match account {
        account if account.is_closed => refuse(&MissingReason::NotFound),
        account if account.is_suspended => refuse(&MissingReason::Suspended),
        account if account.is_protected && !is_own => refuse(&MissingReason::NotAuthorized),
        account => Ok(account.id),
    }
}

fn timeline(world: &World, id: &str, params: &Params, client: &Client) -> Response {
    let author = match readable_account(world, id, client) {
        Ok(author) => author,
        Err(answer) => return answer,
    };
    let excluded_kinds = params.get("exclude").map(String::as_str).unwrap_or_default();
    let posts = newest(world, client, |post| {
        post.author == author
            && !(excluded_kinds.contains("replies") && post.reply_to.is_some())
            && !(excluded_kinds.contains("retweets") && post.reposts.is_some())
    });
    page(
        world,
        endpoint::TIMELINE,
        id,
        &posts.take(MAX_TIMELINE).collect::<Vec<_>>(),
        params,
        client,
    )
}

fn mentions_of(world: &World, id: &str, params: &Params, client: &Client) -> Response {
    let mentioned = match readable_account(world, id, client) {
        Ok(mentioned) => mentioned,
        Err(answer) => return answer,
    };
    let handle = &world.accounts[&mentioned].username;
    let posts =
        newest(world, client, |post| post.author != mentioned && mentions(&post.text, handle));
    page(
        world,
        endpoint::MENTIONS,
        id,
        &posts.take(MAX_MENTIONS).collect::<Vec<_>>(),
        params,
        client,
    )
}

fn search(world: &World, params: &Params, client: &Client) -> Response {
    let text = params.get("query").map(String::as_str).unwrap_or_default();
    let query = match query::parse(text) {
        Ok(query) => query,
        Err(message) => {
            return problems::invalid(&InvalidParameter::new("query", text, message));
        }
    };
    let (oldest, youngest) = (client.now - 7 * 86_400_000, client.now - world.search_lag);
    let posts = newest(world, client, |post| {
        // Searches find only public posts. Since 2026, they find no reposts.
        (oldest..=youngest).contains(&post.created_at)
            && world.is_public(post)
            && post.reposts.is_none()
            && query.matches(world, post)
    });
    page(world, endpoint::SEARCH, text, &posts.collect::<Vec<_>>(), params, client)
}

/// Returns the latest versions of visible posts for which `is_listed` holds, newest first.
fn newest<'a>(
    world: &'a World,
    client: &'a Client,
    is_listed: impl Fn(&Post) -> bool + 'a,
) -> impl Iterator<Item = &'a Post> {
    let is_visible = |post: &&Post| !post.is_superseded() && world.can_see(client.is_app, post);
    world.posts.values().rev().filter(is_visible).filter(move |post| is_listed(post))
}

/// Returns a page of the list of `subject`: the account's id, or the query. The token of the next
/// page names the last post and the list.
fn page(
    world: &World,
    endpoint: &str,
    subject: &str,
    posts: &[&Post],
    params: &Params,
    client: &Client,
) -> Response {
    let id = |name: &str| params.get(name).and_then(|id| id.parse::<u64>().ok());
    let time = |name: &str| params.get(name).and_then(|at| brain_base::clock::parse_instant(at));
    let page_token = ["pagination_token", "next_token"]
        .into_iter()
        .find_map(|name| Some((name, params.get(name)?)));
    let mut before = id("until_id").unwrap_or(u64::MAX);
    if let Some((name, token)) = page_token {
        let Some(last) = last_id(token, endpoint, subject) else {
            let message = format!("The `{name}` query parameter value [{token}] is invalid");
            return problems::invalid(&InvalidParameter::new(name, token, message));
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
        let (includes, errors) = fields.includes(world, client.is_app, &shown);
        body.insert("data".into(), shown.iter().map(|post| fields.tweet(world, post)).collect());
        body.extend(includes.map(|includes| ("includes".to_owned(), includes)));
        if !errors.is_empty() {
            body.insert("errors".into(), Value::Array(errors));
        }
        meta.insert("newest_id".into(), json!(first.id.to_string()));
        meta.insert("oldest_id".into(), json!(last.id.to_string()));
        if more {
            meta.insert("next_token".into(), json!(next_page_token(last.id, endpoint, subject)));
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

/// Returns four base-36 digits that bind a token to its list: a hash (FNV-1a) in `36³..36⁴`.
fn list_prefix(endpoint: &str, subject: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = endpoint.bytes().chain(subject.bytes()).fold(0xcbf2_9ce4_8422_2325, step);
    base36(46_656 + hash % 1_000_000)[..4].to_owned()
}

fn next_page_token(id: u64, endpoint: &str, subject: &str) -> String {
    format!("{}{}", list_prefix(endpoint, subject), base36(id))
}

/// Returns the post id in a token if the token belongs to this list.
fn last_id(token: &str, endpoint: &str, subject: &str) -> Option<u64> {
    u64::from_str_radix(token.strip_prefix(list_prefix(endpoint, subject).as_str())?, 36).ok()
}

/// Returns `id` as a number if the client may see this post, or why it may not.
fn visible_post(world: &World, id: &str, client: &Client) -> Result<u64, MissingReason> {
    let post = id.parse().ok().and_then(|number: u64| world.posts.get(&number));
    let Some(post) =
        post.filter(|post| !post.is_deleted && !world.accounts[&post.author].is_closed)
    else {
        return Err(MissingReason::NotFound);
    };
    if world.can_see(client.is_app, post) { Ok(post.id) } else { Err(MissingReason::NotAuthorized) }
}

fn lookup(world: &World, id: &str, params: &Params, client: &Client) -> Response {
    match visible_post(world, id, client) {
        Err(why) => only_errors(&[problems::missing(&why, "tweet", "id", id, id)]),
        Ok(number) => {
            let (post, fields) = (&world.posts[&number], FieldSelection::from_params(params));
            let (includes, errors) = fields.includes(world, client.is_app, &[post]);
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
    let (includes, more) = fields.includes(world, client.is_app, &posts);
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
