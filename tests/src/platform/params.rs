//! The parameters of each endpoint and their limits. A test compares the names with the OpenAPI
//! document.

use std::collections::BTreeMap;

use brain_base::clock::parse_instant;

use super::endpoint as at;
use super::world::World;

/// The parameters of a request.
pub(super) type Params = BTreeMap<String, String>;

/// An invalid parameter: name, value, reason.
pub(super) type InvalidParameter = (String, String, String);

/// The parameters that select fields.
pub(super) const FIELDS: [&str; 6] =
    ["tweet.fields", "expansions", "media.fields", "poll.fields", "user.fields", "place.fields"];
/// The newer name of `tweet.fields`. Both are in use; no published document has the newer one yet.
pub(super) const NEWER_FIELDS: &str = "post.fields";

/// Returns the parameters that an endpoint accepts besides [`FIELDS`].
pub(super) fn accepted(endpoint: &str) -> &'static [&'static str] {
    match endpoint {
        at::TIMELINE => &[
            "since_id",
            "until_id",
            "max_results",
            "pagination_token",
            "exclude",
            "start_time",
            "end_time",
        ],
        at::MENTIONS => {
            &["since_id", "until_id", "max_results", "pagination_token", "start_time", "end_time"]
        }
        at::SEARCH => &[
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
        at::LOOKUPS => &["ids"],
        at::RULES => &["ids", "max_results", "pagination_token"],
        at::CHANGE_RULES => &["dry_run", "delete_all"],
        at::STREAM => &["backfill_minutes", "start_time", "end_time"],
        _ => &[],
    }
}

/// Returns whether an endpoint accepts `name`.
pub(super) fn accepts(endpoint: &str, name: &str) -> bool {
    let fields = match endpoint {
        at::RULES | at::CHANGE_RULES => &[][..],
        at::ME | at::BY_USERNAME => &["user.fields", "expansions", "tweet.fields"],
        _ => &FIELDS,
    };
    let newer = fields.contains(&"tweet.fields") && name == NEWER_FIELDS;
    newer || fields.contains(&name) || accepted(endpoint).contains(&name)
}

/// Reads a query.
///
/// # Errors
/// A repeated parameter.
pub(super) fn read(query: &str) -> Result<Params, InvalidParameter> {
    let mut params = Params::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if params.insert(name.clone().into_owned(), value.clone().into_owned()).is_some() {
            return Err(refuse(&name, &value, "comes twice"));
        }
    }
    Ok(params)
}

fn refuse(name: &str, value: &str, why: &str) -> InvalidParameter {
    (name.into(), value.into(), format!("The `{name}` query parameter value [{value}] {why}"))
}

/// Returns whether `text` is an id.
pub(super) fn is_id(text: &str) -> bool {
    (1..=19).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

/// Checks the parameters of a request.
///
/// # Errors
/// The first invalid parameter.
pub(super) fn check(
    endpoint: &str,
    params: &Params,
    world: &World,
    now: i64,
) -> Result<(), InvalidParameter> {
    for (name, value) in params {
        if !accepts(endpoint, name) {
            let known: Vec<&str> = accepted(endpoint).iter().chain(&FIELDS).copied().collect();
            let why = format!("The query parameter [{name}] is not one of [{}]", known.join(","));
            return Err((name.clone(), value.clone(), why));
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
                parse_instant(value, false).is_none().then(|| "is not RFC 3339".into())
            }
            "exclude" => {
                let known = value.split(',').all(|word| ["replies", "retweets"].contains(&word));
                (!known).then(|| "is not one of [replies,retweets]".into())
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
    for needed in ["query", "ids"] {
        let must = (endpoint, needed) == (at::SEARCH, "query")
            || (endpoint, needed) == (at::LOOKUPS, "ids");
        if must && !params.contains_key(needed) {
            return Err(refuse(needed, "", "can not be empty"));
        }
    }
    let by_id = ["since_id", "until_id"].iter().find(|name| params.contains_key(**name));
    if let (Some(name), true) =
        (by_id, params.contains_key("start_time") || params.contains_key("end_time"))
    {
        return Err(refuse(
            name,
            &params[*name],
            "can not be used together with start_time or end_time",
        ));
    }
    if endpoint == at::SEARCH {
        check_last_week(params, world, now)?;
    }
    Ok(())
}

/// Checks `max_results`.
fn check_max_results(endpoint: &str, value: &str) -> Option<String> {
    let (min, max) = match endpoint {
        at::SEARCH => (10, 100),
        at::RULES => (1, 1000),
        _ => (5, 100),
    };
    let fits = value.parse::<u32>().is_ok_and(|n| (min..=max).contains(&n));
    (!fits).then(|| format!("is not between {min} and {max}"))
}

/// Checks that ids and times of a search are within the last seven days.
fn check_last_week(params: &Params, world: &World, now: i64) -> Result<(), InvalidParameter> {
    let begin = now - 7 * 86_400_000;
    if let Some(start) = params.get("start_time")
        && parse_instant(start, false).is_some_and(|at| at < begin)
    {
        return Err(refuse(
            "start_time",
            start,
            "must be on or after the start of the last seven days",
        ));
    }
    if let Some(since) = params.get("since_id") {
        let known = since.parse().ok().and_then(|id: u64| world.posts.get(&id));
        let at = known
            .map_or_else(|| since.parse().map_or(0, |id: u64| time_of(id)), |post| post.created_at);
        if at < begin {
            let why = "must be a tweet id created after the start of the last seven days";
            return Err((
                "since_id".into(),
                since.clone(),
                format!("'since_id' {why}; use an id that is larger"),
            ));
        }
    }
    Ok(())
}

/// Returns the creation time of an id in Unix milliseconds.
fn time_of(id: u64) -> i64 {
    (id >> 22) as i64 + 1_288_834_974_657
}
