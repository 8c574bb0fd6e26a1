//! Client of the platform's API, version 2.
//!
//! Sends the bearer token to the configured host only. Answers are untrusted. They may use either
//! vocabulary of fields, or be HTML or empty.

mod answer;
mod fault;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use brain_protocol::Secret;
use serde_json::{Map, Value};
use url::Url;

use super::deletion::{Verdict, verdict};
use super::{Account, Endpoint, PostId, Rates, Record, UserId};
use brain_net::{HttpRequest, HttpResponse, Reason, RetryingClient};

pub use fault::{FaultReason, PlatformFault};

/// Posts per page of a timeline or search.
const PAGE_SIZE: &str = "100";
/// Requested fields of a post. The platform answers in the vocabulary of the request.
const POST_FIELDS: &str = "created_at,author_id,public_metrics,conversation_id,in_reply_to_user_id,\
    referenced_tweets,entities,attachments,lang,note_tweet,withheld,edit_controls";
/// Requested fields of authors.
const USER_FIELDS: &str = "username,name,verified,public_metrics";
/// Requested fields of media.
const MEDIA_FIELDS: &str = "url,preview_image_url,type,alt_text";
/// Consecutive lookups without an answer after which lookups end.
const MAX_UNANSWERED_LOOKUPS: u32 = 3;

/// The requested related objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expansions {
    /// Authors, and the posts that reposts repeat: the platform cuts the text of a repost at 140
    /// characters.
    pub authors: bool,
    /// Pictures and videos.
    pub media: bool,
}

/// A page of posts.
#[derive(Debug, Default)]
pub struct PostPage {
    /// The valid posts, with `_author` and `_media` if included.
    pub posts: Vec<Record>,
    /// The token of the next page.
    pub next: Option<String>,
    /// The reason if the page has posts but is incomplete.
    pub incomplete: Option<PlatformFault>,
}

impl PostPage {
    /// Parses a page from a successful answer, or one post of the persistent connection.
    ///
    /// # Errors
    /// [`FaultReason::Unreadable`] if `body` is not an object with posts in `data`, or reports a
    /// failure.
    pub fn read(body: &[u8]) -> Result<Self, PlatformFault> {
        page(parse_object(body)?)
    }
}

impl Expansions {
    /// Returns the query parameters.
    #[must_use]
    pub fn parameters(self) -> Vec<(&'static str, &'static str)> {
        let expansions = match (self.authors, self.media) {
            (true, true) => Some("author_id,referenced_tweets.id,attachments.media_keys"),
            (true, false) => Some("author_id,referenced_tweets.id"),
            (false, true) => Some("attachments.media_keys"),
            (false, false) => None,
        };
        let mut all = vec![("tweet.fields", POST_FIELDS)];
        all.extend(expansions.map(|expansions| ("expansions", expansions)));
        all.extend(self.authors.then_some(("user.fields", USER_FIELDS)));
        all.extend(self.media.then_some(("media.fields", MEDIA_FIELDS)));
        all
    }
}

/// The API client of one run.
pub struct Platform<'a> {
    http_client: &'a dyn RetryingClient,
    base: &'a Url,
    token: &'a Secret,
    /// Rate limits, from `state.json` and later answers.
    pub rates: Rates,
    /// Number of sent requests.
    pub requests: u64,
    /// The current time, in Unix milliseconds.
    now: &'a dyn Fn() -> i64,
    /// Consecutive lookups without an answer.
    unanswered_lookups: u32,
}

impl<'a> Platform<'a> {
    /// Creates a client for `base` that uses `http_client` and `token`.
    #[must_use]
    pub fn new(
        http_client: &'a dyn RetryingClient,
        base: &'a Url,
        token: &'a Secret,
        rates: Rates,
        now: &'a dyn Fn() -> i64,
    ) -> Self {
        Self { http_client, base, token, rates, requests: 0, now, unanswered_lookups: 0 }
    }

    /// `GET /2/users/me`: returns the token's account.
    ///
    /// # Errors
    /// The platform's fault. App tokens get 403 with the problem `unsupported-authentication`.
    pub fn me(&mut self) -> Result<Account, PlatformFault> {
        let body = self.request(Endpoint::Me, &["users", "me"], &[], None)?;
        answer::account(&body).ok_or_else(|| self.no_account(&body))
    }

    /// `GET /2/users/by/username/:username`: returns the account with this handle.
    ///
    /// # Errors
    /// The platform's fault; `NotFound` if the account does not exist.
    pub fn by_username(&mut self, handle: &str) -> Result<Account, PlatformFault> {
        let body =
            self.request(Endpoint::ByUsername, &["users", "by", "username", handle], &[], None)?;
        if let Some(account) = answer::account(&body) {
            return Ok(account);
        }
        match fault::account_fault(&body, handle, self.token.expose()) {
            Some(fault) => Err(PlatformFault { hint: "check `collector.handle`".into(), ..fault }),
            None => Err(self.no_account(&body)),
        }
    }

    fn no_account(&self, body: &Map<String, Value>) -> PlatformFault {
        PlatformFault::unreadable_with_message("it contains no account", body, self.token.expose())
    }

    /// Returns a page of `GET /2/users/:id/tweets`; `next` is the token from the previous page.
    ///
    /// # Errors
    /// The platform's fault.
    pub fn timeline(
        &mut self,
        user: &UserId,
        with: Expansions,
        next: Option<&str>,
    ) -> Result<PostPage, PlatformFault> {
        self.user_page(Endpoint::Timeline, user, "tweets", with, next)
    }

    /// Returns a page of `GET /2/users/:id/mentions`; `next` as in [`Platform::timeline`].
    ///
    /// # Errors
    /// The platform's fault.
    pub fn mentions(
        &mut self,
        user: &UserId,
        with: Expansions,
        next: Option<&str>,
    ) -> Result<PostPage, PlatformFault> {
        self.user_page(Endpoint::Mentions, user, "mentions", with, next)
    }

    /// Returns a page of `GET /2/tweets/search/recent`, limited to posts after `since` if given;
    /// `next` as in [`Platform::timeline`].
    ///
    /// # Errors
    /// The platform's fault.
    pub fn search(
        &mut self,
        query: &str,
        with: Expansions,
        since: Option<&PostId>,
        next: Option<&str>,
    ) -> Result<PostPage, PlatformFault> {
        let mut parameters = vec![("query", query), ("max_results", PAGE_SIZE)];
        parameters.extend(with.parameters());
        parameters.extend(since.map(|id| ("since_id", id.as_str())));
        parameters.extend(next.map(|token| ("next_token", token)));
        let body =
            self.request(Endpoint::Search, &["tweets", "search", "recent"], &parameters, None)?;
        self.complete_page(body)
    }

    /// `GET /2/tweets/:id`: checks whether a post exists.
    ///
    /// # Errors
    /// If further lookups would fail, too: the endpoint is exhausted, the run must end, the app has
    /// no access, or several lookups in a row got no answer. Other failures are
    /// [`Verdict::Unknown`].
    pub fn lookup(&mut self, id: &PostId) -> Result<Verdict, PlatformFault> {
        let url = self.url(&["tweets", id.as_str()], &[]);
        let answer = match self.send(Endpoint::Lookup, &url, None) {
            Ok(answer) => answer,
            Err(fault)
                if fault.reason == FaultReason::Unreachable
                    && self.unanswered_lookups < MAX_UNANSWERED_LOOKUPS - 1 =>
            {
                self.unanswered_lookups += 1;
                return Ok(Verdict::Unknown);
            }
            Err(fault) if fault.reason == FaultReason::Unreadable => return Ok(Verdict::Unknown),
            Err(fault) => return Err(fault),
        };
        self.unanswered_lookups = 0;
        match answer.status {
            200 | 404 => Ok(verdict(id, answer.status, &answer.body)),
            _ => {
                let fault = self.refusal(Endpoint::Lookup, &answer);
                let affects_all = matches!(
                    fault.reason,
                    FaultReason::RateLimited(_)
                        | FaultReason::UsageCapped
                        | FaultReason::TooManyConnections
                ) || fault.reason.ends_the_run()
                    || fault::affects_all_requests(&fault);
                if affects_all { Err(fault) } else { Ok(Verdict::Unknown) }
            }
        }
    }

    /// `GET /2/tweets/:id`: returns the post with current metrics; `None` if it is gone.
    ///
    /// # Errors
    /// The platform's fault.
    pub fn post(&mut self, id: &PostId) -> Result<Option<Record>, PlatformFault> {
        let url = self.url(&["tweets", id.as_str()], &Expansions::default().parameters());
        let answer = self.send(Endpoint::Lookup, &url, None)?;
        match (answer.status, verdict(id, answer.status, &answer.body)) {
            (200 | 404, Verdict::Deleted(_)) => Ok(None),
            (200, Verdict::Alive) => Ok(PostPage::read(&answer.body)?.posts.pop()),
            (200, _) => Err(PlatformFault::unreadable(
                "it neither contains the post nor says that it is gone",
            )),
            _ => Err(self.refusal(Endpoint::Lookup, &answer)),
        }
    }

    fn user_page(
        &mut self,
        endpoint: Endpoint,
        user: &UserId,
        collection: &str,
        with: Expansions,
        next: Option<&str>,
    ) -> Result<PostPage, PlatformFault> {
        let mut parameters = vec![("max_results", PAGE_SIZE)];
        parameters.extend(with.parameters());
        parameters.extend(next.map(|token| ("pagination_token", token)));
        let body =
            self.request(endpoint, &["users", user.as_str(), collection], &parameters, None)?;
        // Without data, the errors say what is wrong with the account.
        if !body.contains_key("data")
            && let Some(fault) = fault::account_fault(&body, user.as_str(), self.token.expose())
        {
            return Err(fault);
        }
        self.complete_page(body)
    }

    /// Parses a page of a timeline or search. Without `meta` it is incomplete: the platform also
    /// answers 200 with only `errors` or `{}`, which does not mean "no posts".
    ///
    /// # Errors
    /// [`FaultReason::Unreadable`] if the page is incomplete and has no posts.
    fn complete_page(&self, body: Map<String, Value>) -> Result<PostPage, PlatformFault> {
        let incomplete = self.incompleteness(&body);
        let page = page(body)?;
        match incomplete {
            Some(fault) if page.posts.is_empty() => Err(fault),
            incomplete => Ok(PostPage { incomplete, ..page }),
        }
    }

    /// Returns why an answer with status 200 is an incomplete list.
    #[must_use]
    pub fn incompleteness(&self, body: &Map<String, Value>) -> Option<PlatformFault> {
        fault::incompleteness(body, self.token.expose())
    }

    /// Builds the URL of a path below `/2`.
    #[must_use]
    pub fn url(&self, path: &[&str], parameters: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("2").extend(path);
        }
        let encoded = |text: &str| -> String {
            // A space is `%20`, never `+`. Commas between field names stay.
            form_urlencoded::byte_serialize(text.as_bytes())
                .collect::<String>()
                .replace('+', "%20")
                .replace("%2C", ",")
        };
        let query: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        url.set_query(Some(&query.join("&")).filter(|query| !query.is_empty()).map(String::as_str));
        url
    }

    /// Requests an object; with a body, by `POST`.
    ///
    /// # Errors
    /// The platform's fault.
    pub fn request(
        &mut self,
        endpoint: Endpoint,
        path: &[&str],
        parameters: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Map<String, Value>, PlatformFault> {
        let url = self.url(path, parameters);
        let answer = self.send(endpoint, &url, body)?;
        match answer.status {
            200 => parse_object(&answer.body),
            201 if body.is_some() => parse_object(&answer.body),
            _ => Err(self.refusal(endpoint, &answer)),
        }
    }

    /// Sends a request if the reserve allows it, and records the rate limit of the answer.
    fn send(
        &mut self,
        endpoint: Endpoint,
        url: &Url,
        body: Option<&Value>,
    ) -> Result<HttpResponse, PlatformFault> {
        self.check_reserve(endpoint)?;
        self.requests += 1;
        let body = body.map(Value::to_string);
        // `content-type` is sent only with a body.
        let header_count = if body.is_some() { 2 } else { 1 };
        let bearer = Secret::new(format!("Bearer {}", self.token.expose()));
        let call = HttpRequest {
            url,
            body: body.as_ref().map(String::as_bytes),
            headers: &[("accept", "application/json"), ("content-type", "application/json")]
                [..header_count],
            authorization: Some(&bearer),
            must_be_public: false,
            reason: &Reason::new("collector"),
            is_complete: |_| false,
        };
        let host = self.base.host_str().unwrap_or_default();
        let answer = self
            .http_client
            .call(&call)
            .map_err(|error| PlatformFault::from_network(host, &error))?;
        self.record_rate_limit(endpoint, &answer);
        Ok(answer)
    }

    /// Checks that the reserve allows a request.
    ///
    /// # Errors
    /// [`FaultReason::RateLimited`] if only the reserve is left.
    pub fn check_reserve(&self, endpoint: Endpoint) -> Result<(), PlatformFault> {
        let allowed = self.rates.check(endpoint, (self.now)().div_euclid(1000));
        allowed.map_err(|reset| PlatformFault::at_reserve(endpoint.as_str(), reset))
    }

    /// Records the rate limit of an answer.
    pub fn record_rate_limit(&mut self, endpoint: Endpoint, answer: &HttpResponse) {
        self.rates.record(
            endpoint,
            answer.header("x-rate-limit-remaining"),
            answer.header("x-rate-limit-reset"),
        );
        self.rates.clamp_resets((self.now)().div_euclid(1000));
    }

    /// Interprets a refusal. A rate limit blocks the endpoint, even if the headers say that
    /// requests remain.
    pub fn refusal(&mut self, endpoint: Endpoint, answer: &HttpResponse) -> PlatformFault {
        let now = (self.now)().div_euclid(1000);
        let fault = PlatformFault::from_response(answer, now, self.token.expose());
        match fault.reason {
            FaultReason::RateLimited(_) => PlatformFault {
                reason: FaultReason::RateLimited(self.rates.record_exhausted(endpoint, now)),
                ..fault
            },
            _ => fault,
        }
    }
}

/// Parses the object of a successful answer.
fn parse_object(body: &[u8]) -> Result<Map<String, Value>, PlatformFault> {
    answer::object(body).ok_or_else(|| PlatformFault::unreadable("it is not a JSON object"))
}

/// Parses a page. A body that reports a failure is an error, whatever its HTTP status.
fn page(body: Map<String, Value>) -> Result<PostPage, PlatformFault> {
    if !body.contains_key("data")
        && body.get("status").and_then(Value::as_u64).is_some_and(|status| status >= 400)
    {
        return Err(PlatformFault::unreadable("it reports a failure with status 200"));
    }
    answer::page(body).ok_or_else(|| PlatformFault::unreadable("`data` is not a list of posts"))
}
