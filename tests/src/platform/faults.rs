//! Faults of the platform, observed or plausible.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::limits::Allowance;
use super::objects::use_newer_names;
use super::params::InvalidParameter;
use super::problems::{self, connection, kind, problem, untyped};
use super::{Delivery, Response};

/// A fault of a response.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// 400, as for an outdated parameter.
    BadRequest,
    /// 401, without rate-limit fields.
    Unauthorized,
    /// 402 as of autumn 2026.
    CreditsDepleted,
    /// 402 as of spring 2026, with an account number beyond 2^53.
    CreditsDepletedOlder,
    /// 403 with the type `about:blank`.
    Forbidden,
    /// 403: the app's plan does not include this endpoint.
    ClientForbidden,
    /// 403: the wrong kind of token.
    UnsupportedAuthentication,
    /// 403: the spending limit is reached.
    SpendCap,
    /// 404 with a problem of the type `about:blank`.
    NotFound,
    /// 404 with an empty body.
    NotFoundEmpty,
    /// 409: the stream has no rules.
    Conflict,
    /// 429: no requests remain until the reset.
    TooMany,
    /// 429 in the older form, code 88.
    TooManyOlder,
    /// 429 although the header says that requests remain.
    TooManyWithRemaining,
    /// 429 without rate-limit fields.
    TooManyWithoutFields,
    /// 429: the monthly cap is reached although the header says that thousands of requests remain.
    UsageCapped,
    /// 429: another connection is open.
    TooManyConnections,
    /// A server error with a problem.
    Server(u16),
    /// A server error with an HTML page.
    ServerErrorHtml(u16),
    /// A server error with an empty body.
    ServerEmpty(u16),
    /// 302 to this address.
    Redirect(String),
    /// 200 with a body that is not JSON.
    Garbage,
    /// The first half of the correct JSON, as a complete body.
    Truncated,
    /// 200 with an HTML page.
    HtmlBody,
    /// 200 with an empty body.
    Empty,
    /// 200 with `{}`.
    EmptyObject,
    /// 200 with `null`.
    Null,
    /// 200 with a JSON body of more than this many bytes.
    Large(usize),
    /// 200 with this body.
    Exactly(String),
    /// No response; the connection stays open.
    Silence,
    /// No response; the connection is closed.
    Close,
    /// Half of the correct body, then the connection is closed.
    Cut,
    /// A correct response after this many milliseconds.
    Slow(u64),
    /// A correct response with the type `text/plain`.
    WrongContentType,
    /// A correct response without rate-limit fields.
    WithoutFields,
    /// A correct response with this `x-rate-limit-remaining` and an `x-rate-limit-reset` this many
    /// seconds after the correct one.
    Rates(String, i64),
    /// A correct response with additional unknown fields.
    UnknownFields,
    /// A response with the newer field names, whichever were requested.
    NewerNames,
    /// A response whose token of the next page is always the same.
    SameToken,
    /// A page without posts that has a token for a next page.
    EmptyPage,
    /// A response with each post twice.
    Twice,
    /// A response with post ids as numbers.
    NumericIds,
    /// A response with these ids instead of the posts' own.
    Ids(Vec<String>),
    /// A response with an object instead of a list, or the other way round.
    WrongShape,
    /// A response without `public_metrics`.
    WithoutMetrics,
    /// A response with `meta: null`, `includes: null` and `errors: null`.
    Nulls,
}

/// A planned fault.
#[derive(Debug, Clone)]
pub(super) struct PlannedFault {
    pub(super) endpoint: String,
    /// The number of requests without a fault before the first with it.
    pub(super) good: u64,
    pub(super) fault: Fault,
    /// The number of requests with the fault.
    pub(super) times: u64,
}

/// Returns the fault of this request, if one is due, and counts the request.
pub(super) fn take_due(planned: &mut Vec<PlannedFault>, endpoint: &str) -> Option<Fault> {
    let next = planned.iter_mut().find(|plan| plan.endpoint == endpoint && plan.times > 0)?;
    if next.good > 0 {
        next.good -= 1;
        return None;
    }
    next.times -= 1;
    let fault = next.fault.clone();
    planned.retain(|plan| plan.times > 0);
    Some(fault)
}

/// The body of an HTML error page.
const ERROR_PAGE: &str = "<!DOCTYPE html><html><head><title>Over \
    capacity</title></head><body><h1>Something is wrong.</h1></body></html>";

fn html_page(status: u16) -> Response {
    Response::new(status, "text/html; charset=utf-8", ERROR_PAGE)
}

fn json_response(body: impl Into<Vec<u8>>) -> Response {
    Response::new(200, "application/json; charset=utf-8", body)
}

fn with_delivery(delivery: Delivery) -> Response {
    Response { delivery, ..json_response("") }
}

impl Fault {
    /// Returns the response that replaces the correct one, if this fault has one.
    pub(super) fn replacement(
        &self,
        _endpoint: &str,
        part: &str,
        mut allowance: Allowance,
        now: i64,
    ) -> Option<Response> {
        let mut answer = match self {
            Self::BadRequest => {
                let message =
                    "'since_id' must be a tweet id created after the start of the last seven days";
                problems::invalid(&InvalidParameter::new("since_id", "1", message.into()))
            }
            Self::Unauthorized => return Some(problems::unauthorized()),
            Self::CreditsDepleted => problem(
                402,
                &json!({"detail": "credits depleted", "status": 402,
                "title": "Payment Required",
                "type": "https://api.x.com/2/problems/credits-depleted"}),
            ),
            Self::CreditsDepletedOlder => problem(
                402,
                &json!({"account_id": 1_899_372_036_854_775_807_u64,
                "title": "CreditsDepleted", "type": kind("credits"),
                "detail": "Your enrolled account [1899372036854775807] does not have any credits \
                    to fulfill this request."}),
            ),
            Self::Forbidden => untyped(403, "Forbidden"),
            Self::ClientForbidden => problem(
                403,
                &json!({"client_id": "29297213", "title": "Client Forbidden",
                "detail": "When authenticating requests to the Twitter API v2 endpoints, you must \
                           use keys and tokens from a Twitter developer App that is attached to a \
                           Project.",
                "registration_url": "https://developer.twitter.com/en/docs/projects/overview",
                "reason": "client-not-enrolled",
                "required_enrollment": "Appropriate Level of API Access",
                "type": kind("client-forbidden")}),
            ),
            Self::UnsupportedAuthentication => problems::app_only(),
            Self::SpendCap => problem(
                403,
                &json!({"title": "SpendCapReached", "reset_date": "2026-12-01",
                "detail": "Your enrolled account has reached its billing cycle spend cap.",
                "type": kind("credits")}),
            ),
            Self::NotFound => untyped(404, "Not Found"),
            Self::NotFoundEmpty => Response::new(404, "application/json", ""),
            Self::Conflict => connection(409, "RuleConfigurationIssue", "There are no rules."),
            Self::TooMany => {
                allowance = allowance.used_up();
                problems::too_many()
            }
            Self::TooManyOlder => {
                allowance = allowance.used_up();
                Response::new(
                    429,
                    "application/json",
                    r#"{"errors":[{"code":88,"message":"Rate limit exceeded"}]}"#,
                )
            }
            Self::TooManyWithRemaining => {
                allowance.remaining = 14;
                problems::too_many()
            }
            Self::TooManyWithoutFields => return Some(problems::too_many()),
            Self::UsageCapped => {
                (allowance.limit, allowance.remaining) = (40_000, 39_999);
                problem(
                    429,
                    &json!({"account_id": 1_899_372_036_854_775_807_u64,
                        "product_name": "standard-basic",
                    "title": "UsageCapExceeded", "period": "Monthly", "scope": "Product",
                    "detail": "Usage cap exceeded: Monthly product cap",
                    "type": kind("usage-capped")}),
                )
            }
            Self::TooManyConnections => {
                (allowance.limit, allowance.remaining) = (50, 48);
                connection(
                    429,
                    "TooManyConnections",
                    "This stream is currently at the maximum allowed connection limit.",
                )
            }
            Self::Server(status) => untyped(*status, "Service Unavailable"),
            Self::ServerErrorHtml(status) => html_page(*status),
            Self::ServerEmpty(status) => Response::new(*status, "application/json", ""),
            Self::Redirect(to) => {
                let mut answer = Response::new(302, "text/html", "");
                answer.headers.push(("location".into(), to.clone()));
                answer
            }
            Self::Garbage => json_response("{\"data\": [{\"id\": \u{1}"),
            Self::HtmlBody => html_page(200),
            Self::Empty => json_response(""),
            Self::EmptyObject => json_response("{}"),
            Self::Null => json_response("null"),
            Self::Large(bytes) => json_response(
                json!({"data": [], "meta": {"filler": "x".repeat(*bytes)}}).to_string(),
            ),
            Self::Exactly(body) => json_response(body.clone()),
            Self::Silence => with_delivery(Delivery::Silence),
            Self::Close => with_delivery(Delivery::Close),
            Self::EmptyPage => json_response(
                json!({"meta": {"result_count": 0, "next_token": format!("empty{part}{now}")}})
                    .to_string(),
            ),
            _ => return None,
        };
        allowance.add_to(&mut answer);
        Some(answer)
    }

    /// Applies this fault to the correct response.
    pub(super) fn alter(&self, mut answer: Response) -> Response {
        match self {
            Self::Truncated => answer.body.truncate(answer.body.len() / 2),
            Self::Cut => answer.delivery = Delivery::Cut(answer.body.len() / 2),
            Self::Slow(ms) => answer.delivery = Delivery::Slow(Duration::from_millis(*ms)),
            Self::WrongContentType => answer.headers[0].1 = "text/plain".into(),
            Self::WithoutFields => {
                answer.headers.retain(|(name, _)| !name.starts_with("x-rate-limit-"));
            }
            Self::Rates(remaining, delay_secs) => {
                for (name, value) in &mut answer.headers {
                    match name.as_str() {
                        "x-rate-limit-remaining" => value.clone_from(remaining),
                        "x-rate-limit-reset" => {
                            *value = (value.parse::<i64>().unwrap_or(0) + delay_secs).to_string();
                        }
                        _ => {}
                    }
                }
            }
            _ => {
                let mut body = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
                self.change_json(&mut body);
                answer.body = body.to_string().into_bytes();
            }
        }
        answer
    }

    /// Applies this fault to the JSON of the correct response.
    fn change_json(&self, body: &mut Value) {
        match self {
            Self::UnknownFields => {
                body["beyond"] = json!({"the": ["document", 1.5, null]});
                change_each_post(body, |post| post["unheard_of"] = json!({"x": [1, {"y": true}]}));
            }
            Self::NewerNames => use_newer_names(body),
            Self::SameToken => body["meta"]["next_token"] = json!("b26v89c19zqg8o3"),
            Self::Twice => {
                if let Some(posts) = body["data"].as_array_mut() {
                    *posts = posts.iter().flat_map(|post| [post.clone(), post.clone()]).collect();
                }
            }
            Self::NumericIds => change_each_post(body, |post| {
                let id = post["id"].as_str().and_then(|id| id.parse::<u64>().ok());
                post["id"] = json!(id);
            }),
            Self::Ids(ids) => {
                let mut ids = ids.iter();
                change_each_post(body, |post| {
                    if let Some(id) = ids.next() {
                        post["id"] = json!(id);
                    }
                });
            }
            Self::WrongShape => {
                body["data"] = match body["data"].take() {
                    Value::Array(mut list) if !list.is_empty() => list.remove(0),
                    other => json!([other]),
                };
            }
            Self::WithoutMetrics => change_each_post(body, |post| {
                post.as_object_mut().map(|post| post.remove("public_metrics"));
            }),
            Self::Nulls => {
                for name in ["meta", "includes", "errors"] {
                    body[name] = Value::Null;
                }
            }
            _ => {}
        }
    }
}

/// Changes each post of a response.
fn change_each_post(body: &mut Value, mut change: impl FnMut(&mut Value)) {
    match body.get_mut("data") {
        Some(Value::Array(posts)) => posts.iter_mut().for_each(change),
        Some(post @ Value::Object(_)) => change(post),
        _ => {}
    }
}
