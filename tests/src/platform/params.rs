//! The parameters of each endpoint and their limits. A test compares the names with the OpenAPI
//! document.

use std::collections::BTreeMap;

use brain_base::clock::parse_instant;

use super::endpoint;
use super::world::World;

/// The parameters of a request.
pub(super) type Params = BTreeMap<String, String>;

/// An invalid parameter.
#[derive(Debug)]
pub(super) struct InvalidParameter {
    pub(super) name: String,
    pub(super) value: String,
    /// The platform's error message.
    pub(super) message: String,
}

impl InvalidParameter {
    pub(super) fn new(name: &str, value: &str, message: String) -> Self {
        Self { name: name.into(), value: value.into(), message }
    }
}

/// The parameters that select fields.
pub(super) const FIELDS: [&str; 6] =
    ["tweet.fields", "expansions", "media.fields", "poll.fields", "user.fields", "place.fields"];
/// The newer name of `tweet.fields`. Both are in use; no published document has the newer one yet.
pub(super) const NEWER_FIELDS: &str = "post.fields";

/// Returns the parameters that an endpoint accepts besides [`FIELDS`].
pub(super) fn accepted(endpoint: &str) -> &'static [&'static str] {
    match endpoint {
        endpoint::TIMELINE => &[
            "since_id",
            "until_id",
            "max_results",
            "pagination_token",
            "exclude",
            "start_time",
            "end_time",
        ],
        endpoint::MENTIONS => {
            &["since_id", "until_id", "max_results", "pagination_token", "start_time", "end_time"]
        }
        endpoint::SEARCH => &[
            "query",
            "start_time",
            "end_time",
            "since_id",
            "until_id",
            "max_results",
            "next_token",
            "pagination_token",
            "sort_order",
        ],
        endpoint::LOOKUPS => &["ids"],
        endpoint::RULES => &["ids", "max_results", "pagination_token"],
        endpoint::CHANGE_RULES => &["dry_run", "delete_all"],
        endpoint::STREAM => &["backfill_minutes", "start_time", "end_time"],
        _ => &[],
    }
}

/// Returns whether an endpoint accepts `name`.
pub(super) fn accepts(endpoint: &str, name: &str) -> bool {
    let fields = match endpoint {
        endpoint::RULES | endpoint::CHANGE_RULES => &[][..],
        endpoint::ME | endpoint::BY_USERNAME => &["user.fields", "expansions", "tweet.fields"],
        _ => &FIELDS,
    };
    let newer = fields.contains(&"tweet.fields") && name == NEWER_FIELDS;
    newer || fields.contains(&name) || accepted(endpoint).contains(&name)
}

/// Parses the query of a URL.
///
/// # Errors
/// When a parameter is repeated.
pub(super) fn read(query: &str) -> Result<Params, InvalidParameter> {
    let mut params = Params::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if params.insert(name.clone().into_owned(), value.clone().into_owned()).is_some() {
            return Err(refuse(&name, &value, "occurs twice"));
        }
    }
    Ok(params)
}

fn refuse(name: &str, value: &str, why: &str) -> InvalidParameter {
    let message = format!("The `{name}` query parameter value [{value}] {why}");
    InvalidParameter::new(name, value, message)
}

/// Returns whether `text` has the form of an id.
pub(super) fn is_id(text: &str) -> bool {
    (1..=19).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

/// Checks the parameters of a request.
///
/// # Errors
/// When a parameter is unknown, invalid or missing. Names the first such parameter.
pub(super) fn check(
    endpoint: &str,
    params: &Params,
    world: &World,
    now: i64,
) -> Result<(), InvalidParameter> {
    for (name, value) in params {
        if !accepts(endpoint, name) {
            let known: Vec<&str> = accepted(endpoint).iter().chain(&FIELDS).copied().collect();
            let message =
                format!("The query parameter [{name}] is not one of [{}]", known.join(","));
            return Err(InvalidParameter::new(name, value, message));
        }
        if value.is_empty() {
            return Err(refuse(name, value, "can not be empty"));
        }
        let why = match name.as_str() {
            "max_results" => check_max_results(endpoint, value),
            "backfill_minutes" => Some("needs another product".into()),
            "since_id" | "until_id" => {
                (!is_id(value)).then(|| "does not match ^[0-9]{1,19}$".into())
            }
            "start_time" | "end_time" => {
                parse_instant(value).is_none().then(|| "is not RFC 3339".into())
            }
            "exclude" => {
                let all_known =
                    value.split(',').all(|word| ["replies", "retweets"].contains(&word));
                (!all_known).then(|| "is not one of [replies,retweets]".into())
            }
            "sort_order" => (!["recency", "relevancy"].contains(&value.as_str()))
                .then(|| "is not one of [recency,relevancy]".into()),
            "query" => (value.chars().count() > super::query::MAX_LENGTH)
                .then(|| format!("is longer than {} characters", super::query::MAX_LENGTH)),
            "dry_run" | "delete_all" => {
                (!["true", "false"].contains(&value.as_str())).then(|| "is not a boolean".into())
            }
            "ids" => {
                let ids: Vec<&str> = value.split(',').collect();
                (ids.len() > 100 || !ids.iter().all(|id| is_id(id)))
                    .then(|| "is not 1 to 100 ids".into())
            }
            _ => None,
        };
        if let Some(why) = why {
            return Err(refuse(name, value, &why));
        }
    }
    for name in ["query", "ids"] {
        let is_required = (endpoint, name) == (endpoint::SEARCH, "query")
            || (endpoint, name) == (endpoint::LOOKUPS, "ids");
        if is_required && !params.contains_key(name) {
            return Err(refuse(name, "", "can not be empty"));
        }
    }
    let id_limit = ["since_id", "until_id"].iter().find(|name| params.contains_key(**name));
    if let (Some(name), true) =
        (id_limit, params.contains_key("start_time") || params.contains_key("end_time"))
    {
        return Err(refuse(
            name,
            &params[*name],
            "can not be used together with start_time or end_time",
        ));
    }
    if endpoint == endpoint::SEARCH {
        check_last_week(params, world, now)?;
    }
    Ok(())
}

/// Returns what is wrong with `max_results`, if anything.
fn check_max_results(endpoint: &str, value: &str) -> Option<String> {
    let (min, max) = match endpoint {
        endpoint::SEARCH => (10, 100),
        endpoint::RULES => (1, 1000),
        _ => (5, 100),
    };
    let is_in_range = value.parse::<u32>().is_ok_and(|n| (min..=max).contains(&n));
    (!is_in_range).then(|| format!("is not between {min} and {max}"))
}

/// Checks that `start_time` and `since_id` of a search are within the last seven days.
///
/// # Errors
/// When one of them is older. Names the first such parameter.
fn check_last_week(params: &Params, world: &World, now: i64) -> Result<(), InvalidParameter> {
    let begin = now - 7 * 86_400_000;
    if let Some(start) = params.get("start_time")
        && parse_instant(start).is_some_and(|at| at < begin)
    {
        return Err(refuse(
            "start_time",
            start,
            "must be on or after the start of the last seven days",
        ));
    }
    if let Some(since) = params.get("since_id") {
        let post = since.parse().ok().and_then(|id: u64| world.posts.get(&id));
        let created_at = post
            .map_or_else(|| since.parse().map_or(0, |id: u64| time_of(id)), |post| post.created_at);
        if created_at < begin {
            let message = "'since_id' must be a tweet id created after the start of the last seven \
                days; use an id that is larger";
            return Err(InvalidParameter::new("since_id", since, message.into()));
        }
    }
    Ok(())
}

/// Returns the creation time in a post id, in Unix milliseconds. The bits from 22 on count
/// milliseconds since `EPOCH` of `world.rs`.
fn time_of(id: u64) -> i64 {
    (id >> 22) as i64 + 1_288_834_974_657
}
