//! Deletion rules: which missing posts to look up, and what an answer proves. No I/O.

use brain_protocol::DeletionReason;
use serde_json::{Map, Value};

use super::record::LAST_UPDATED;
use super::{PostId, Record};

/// Maximum age of a post that is looked up, inclusive, in milliseconds.
pub const MAX_AGE_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Maximum time since a post was last seen, inclusive, in milliseconds.
pub const MAX_UNSEEN_MS: i64 = 48 * 60 * 60 * 1000;

/// Problem types that concern the platform and prove nothing about a post.
const PLATFORM_PROBLEMS: [&str; 5] = [
    "resource-unavailable",
    "internal-error",
    "field-hydration-failure",
    "operational-disconnect",
    "usage-capped",
];

/// Returns whether a missing post should be looked up at `now`. The post must have a record, be at
/// most 7 days old, have been seen within 48 hours, and have no recorded deletion. A time in the
/// future counts as now. A missing or invalid time counts as too old.
#[must_use]
pub fn should_look_up(record: Option<&Record>, is_deleted: bool, now: i64) -> bool {
    let Some(record) = record.filter(|_| !is_deleted) else { return false };
    let within = |at: Option<i64>, max: i64| at.is_some_and(|at| now.saturating_sub(at) <= max);
    within(record.created_at(), MAX_AGE_MS) && within(record.instant(LAST_UPDATED), MAX_UNSEEN_MS)
}

/// What an answer to `GET /2/tweets/:id` proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The post exists.
    Alive,
    /// The post is gone.
    Deleted(DeletionReason),
    /// Nothing.
    Unknown,
}

/// Interprets an answer about `id`. Only 404, and 200 without `data`, prove a deletion. `data` of
/// another post and unrelated `errors` prove nothing.
#[must_use]
pub fn verdict(id: &PostId, status: u16, body: &[u8]) -> Verdict {
    match status {
        404 => Verdict::Deleted(DeletionReason::NotFound404),
        200 => serde_json::from_slice(body)
            .map_or(Verdict::Unknown, |body| verdict_of_success(id, &body)),
        _ => Verdict::Unknown,
    }
}

/// Interprets an answer with status 200.
fn verdict_of_success(id: &PostId, body: &Map<String, Value>) -> Verdict {
    match body.get("data") {
        None | Some(Value::Null) => verdict_without_data(id, body),
        Some(Value::Array(posts)) if posts.is_empty() => verdict_without_data(id, body),
        Some(Value::Array(posts)) if posts.iter().any(|post| is_version(id, post)) => {
            Verdict::Alive
        }
        Some(post) if is_version(id, post) => Verdict::Alive,
        Some(_) => Verdict::Unknown,
    }
}

/// Returns whether a post is `id` or an edited version of it.
fn is_version(id: &PostId, post: &Value) -> bool {
    let is_id = |value: &Value| value.as_str() == Some(id.as_str());
    let history = ["edit_history_tweet_ids", "edit_history_post_ids"]
        .iter()
        .filter_map(|name| post.get(*name)?.as_array());
    post.get("id").is_some_and(is_id) || history.flatten().any(is_id)
}

/// Interprets an answer without `data`. Without `errors`, the post is gone. With `errors`, one of
/// them must concern this post.
fn verdict_without_data(id: &PostId, body: &Map<String, Value>) -> Verdict {
    let has_error_status = body
        .get("status")
        .and_then(Value::as_u64)
        .is_some_and(|status| status >= 400 && status != 404);
    let errors: Vec<&Value> =
        body.get("errors").and_then(Value::as_array).into_iter().flatten().collect();
    let text =
        |error: &Value, name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    let kind = |error: &Value| {
        text(error, "type")
            .map(|kind| problem_name(&kind).to_owned())
            .filter(|kind| !kind.is_empty())
    };
    let is_platform_problem =
        |error: &&Value| kind(error).is_some_and(|kind| PLATFORM_PROBLEMS.contains(&kind.as_str()));
    if has_error_status || errors.iter().any(is_platform_problem) {
        return Verdict::Unknown;
    }
    if errors.is_empty() {
        return Verdict::Deleted(DeletionReason::NoData);
    }
    let is_about_post = |error: &&&Value| {
        let subject = ["resource_id", "value"].iter().find_map(|name| text(error, name));
        let section = text(error, "section");
        subject.is_none_or(|subject| subject == id.as_str())
            && section.is_none_or(|section| section == "data")
    };
    let deletion_reason =
        |error: &&Value| match (kind(error).as_deref(), text(error, "title").as_deref()) {
            (Some("resource-not-found"), _) | (None, Some("Not Found Error")) => {
                Some(DeletionReason::NotFound)
            }
            (Some("not-authorized-for-resource"), _) | (None, Some("Authorization Error")) => {
                Some(DeletionReason::NotAuthorized)
            }
            _ => None,
        };
    errors
        .iter()
        .filter(is_about_post)
        .find_map(deletion_reason)
        .map_or(Verdict::Unknown, Verdict::Deleted)
}

/// Returns the last segment of a problem's `type`, because the host varies. Empty for
/// `about:blank`.
pub(super) fn problem_name(kind: &str) -> &str {
    kind.rsplit_once('/').map_or("", |(_, ending)| ending)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use brain_base::clock::rfc3339;

    const NOW: i64 = 1_795_257_045_123;
    const HOUR: i64 = 60 * 60 * 1000;

    fn stored(created: i64, seen: i64) -> Record {
        Record::new(
            json!({"id": "17", "created_at": rfc3339(created), "last_updated": rfc3339(seen)}),
        )
        .unwrap()
    }

    #[test]
    fn lookup_bounds_are_exact() {
        for (age, seen, looked_up) in [
            (0, 0, true),
            (MAX_AGE_MS, 0, true),
            (MAX_AGE_MS + 1, 0, false),
            (HOUR, MAX_UNSEEN_MS, true),
            (HOUR, MAX_UNSEEN_MS + 1, false),
            (MAX_AGE_MS, MAX_UNSEEN_MS, true),
            // The platform's clock is ahead of ours.
            (-HOUR, -HOUR, true),
        ] {
            let record = stored(NOW - age, NOW - seen);
            assert_eq!(
                should_look_up(Some(&record), false, NOW),
                looked_up,
                "{age} old, seen {seen} ago"
            );
            assert!(!should_look_up(Some(&record), true, NOW));
        }
        assert!(!should_look_up(None, false, NOW));
        for bad in [
            json!({"id": "17", "created_at": rfc3339(NOW)}),
            json!({"id": "17", "last_updated": rfc3339(NOW)}),
            json!({"id": "17", "last_updated": rfc3339(NOW), "created_at": "yesterday"}),
            json!({"id": "17", "last_updated": 1, "created_at": rfc3339(NOW)}),
        ] {
            assert!(!should_look_up(Record::new(bad.clone()).as_ref(), false, NOW), "{bad}");
        }
    }

    #[test]
    #[allow(clippy::too_many_lines)]
    fn verdicts_follow_from_status_and_body() {
        let error = |kind: &str, more: Value| {
            let mut error = json!({"type": format!("https://api.x.com/2/problems/{kind}"),
                "resource_id": "17", "value": "17"});
            error.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"errors": [error]})
        };
        let (gone, alive) = (Verdict::Deleted, Verdict::Alive);
        for (body, expected) in [
            (json!({}), gone(DeletionReason::NoData)),
            (json!({"data": null}), gone(DeletionReason::NoData)),
            (json!({"data": []}), gone(DeletionReason::NoData)),
            (error("resource-not-found", json!({})), gone(DeletionReason::NotFound)),
            (
                error("not-authorized-for-resource", json!({"section": "data"})),
                gone(DeletionReason::NotAuthorized),
            ),
            (
                error("not-authorized-for-resource", json!({"section": "includes"})),
                Verdict::Unknown,
            ),
            (error("resource-not-found", json!({"resource_id": "18"})), Verdict::Unknown),
            (error("something-new", json!({})), Verdict::Unknown),
            (json!({"errors": []}), gone(DeletionReason::NoData)),
            (json!({"errors": [{"title": "Not Found Error"}]}), gone(DeletionReason::NotFound)),
            (
                json!({"errors": [{"title": "Authorization Error", "value": "17"}]}),
                gone(DeletionReason::NotAuthorized),
            ),
            (json!({"errors": [{"title": "Forbidden", "value": "17"}]}), Verdict::Unknown),
            (json!({"errors": [{"message": "Over capacity", "code": 130}]}), Verdict::Unknown),
            (json!({"errors": ["no"]}), Verdict::Unknown),
            (error("resource-unavailable", json!({})), Verdict::Unknown),
            (
                json!({"title": "Service Unavailable", "status": 503, "type": "about:blank"}),
                Verdict::Unknown,
            ),
            (json!({"data": {"id": "17", "withheld": {"country_codes": ["DE"]}}}), alive),
            (json!({"data": [{"id": "17"}]}), alive),
            (
                json!({"data": {"id": "17"},
                    "errors": [{"resource_id": "5", "section": "includes"}]}),
                alive,
            ),
            (json!({"data": {"id": "18", "edit_history_tweet_ids": ["17", "18"]}}), alive),
            (json!({"data": {"id": "18", "edit_history_post_ids": ["17", "18"]}}), alive),
            (json!({"data": {"id": "18"}}), Verdict::Unknown),
            (json!({"data": {"id": 17}}), Verdict::Unknown),
            (json!({"data": "17"}), Verdict::Unknown),
            (json!([]), Verdict::Unknown),
            (json!(null), Verdict::Unknown),
        ] {
            let id = PostId::parse("17").unwrap();
            assert_eq!(verdict(&id, 200, body.to_string().as_bytes()), expected, "{body}");
            assert_eq!(
                verdict(&id, 404, body.to_string().as_bytes()),
                gone(DeletionReason::NotFound404)
            );
            for status in [204, 301, 400, 401, 402, 403, 408, 429, 500, 503] {
                assert_eq!(
                    verdict(&id, status, body.to_string().as_bytes()),
                    Verdict::Unknown,
                    "{status} {body}"
                );
            }
        }
        for garbage in ["", "<html>ok</html>", "{\"data\":{\"id\":\"17", "\u{0}"] {
            assert_eq!(
                verdict(&PostId::parse("17").unwrap(), 200, garbage.as_bytes()),
                Verdict::Unknown
            );
        }
    }

    /// No data (4), the post itself (3), and other values.
    const DATA: &[&str] = &[
        "",
        r#""data":null,"#,
        r#""data":[],"#,
        r#""later":{"id":"17"},"#,
        r#""data":{"id":"17"},"#,
        r#""data":[{"id":"18"},{"id":"17"}],"#,
        r#""data":{"id":"18","edit_history_tweet_ids":["17","18"]},"#,
        r#""data":{"id":"18"},"#,
        r#""data":{"id":17},"#,
        r#""data":{},"#,
        r#""data":"17","#,
        r#""data":17,"#,
    ];
    const ERRORS: &[&str] = &[
        r#"{"type":"https://api.x.com/2/problems/resource-not-found","resource_id":"17"}"#,
        r#"{"type":"https://api.twitter.com/2/problems/not-authorized-for-resource",
            "resource_id":"5","section":"includes"}"#,
        r#"{"type":"about:blank","value":"17"}"#,
        r#"{"type":"https://api.x.com/2/problems/resource-unavailable"}"#,
        "null",
    ];

    proptest! {
        #[test]
        fn only_404_and_success_without_data_prove_a_deletion(
            status in prop::sample::select(vec![200u16, 200, 200, 404, 201, 204, 301, 400, 401, 402,
                403, 408, 429, 500, 503]),
            data in prop::sample::select(DATA),
            errors in prop::sample::subsequence(ERRORS, 0..=ERRORS.len()),
            cut in prop::option::of(1usize..10),
        ) {
            let errors = match errors.is_empty() {
                true => String::new(),
                false => format!(r#""errors":[{}],"#, errors.join(",")),
            };
            let body = format!(r#"{{{errors}{data}"meta":{{}}}}"#);
            let body = &body[..body.len() - cut.unwrap_or(0)];
            let no_data = DATA[..4].contains(&data);
            let expected = match status {
                404 => "gone",
                200 if cut.is_some() => "unknown",
                200 if no_data && errors.contains("resource-unavailable") => "unknown",
                // Only one of them concerns the post; without `errors`, there is no post.
                200 if no_data && !errors.is_empty() && !errors.contains("resource-not-found") =>
                    "unknown",
                200 if no_data => "gone",
                200 if DATA[4..7].contains(&data) => "alive",
                _ => "unknown",
            };
            let actual = match verdict(&PostId::parse("17").unwrap(), status, body.as_bytes()) {
                Verdict::Alive => "alive",
                Verdict::Deleted(_) => "gone",
                Verdict::Unknown => "unknown",
            };
            prop_assert_eq!(actual, expected, "{} {}", status, body);
        }

        #[test]
        fn only_recent_posts_are_looked_up(age in -2 * MAX_AGE_MS..2 * MAX_AGE_MS,
            seen in -2 * MAX_UNSEEN_MS..2 * MAX_UNSEEN_MS) {
            let looked_up = should_look_up(Some(&stored(NOW - age, NOW - seen)), false, NOW);
            prop_assert_eq!(looked_up, age <= 7 * 24 * HOUR && seen <= 48 * HOUR);
        }
    }
}
