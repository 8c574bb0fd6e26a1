//! Generates the collector's files: posts, curves, a deletion, the journal and the state.
//! `docs/collector.md` describes the files.

use brain_protocol::{CollectedStream, CollectorRun, Fault};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{random::Random, world::World};

/// The handle of the invented account.
const HANDLE: &str = "harbourlabs";
/// The account's id.
const ACCOUNT: &str = "4821";
/// The time between two runs of the collector, in minutes.
const RUN_MINUTES: i64 = 30;
/// Minutes from a post to the run that collects it.
const COLLECTION_DELAY: i64 = 4;
/// Maximum number of snapshots of a post: two days. The collector keeps up to 100.
const MAX_SNAPSHOTS: i64 = 96;
/// Ages of the first own posts in hours, newest first. The others follow in growing steps.
const AGES: [i64; 5] = [3, 9, 31, 44, 70];
/// The index of the post that spread fast.
const FAST_POST: usize = 2;
/// The index of the post that was deleted.
const DELETED_POST: usize = 4;

/// The files of the collector.
pub(super) struct Posts {
    /// Paths below the collector's directory, and contents.
    pub(super) files: Vec<(String, String)>,
    /// The id of the post that spread fast.
    pub(super) fast_post: String,
}

/// Generates the files as of `now`.
///
/// # Errors
/// As [`World::load`].
pub(super) fn write(seed: u64, now: Timestamp) -> Result<Posts, Fault> {
    let world = World::load()?;
    let mut random = Random::new(seed);
    let mut posts = Posts { files: Vec::new(), fast_post: String::new() };
    let mut journal: Vec<(Timestamp, Value)> = Vec::new();
    let mut own_ids = Vec::new();
    for (index, text) in world.posts.iter().enumerate() {
        let age = own_age(index);
        let at = before(now, age * 60 + i64::from(index as u8) * 7);
        let (id, author) = (post_id(at, index), (ACCOUNT, HANDLE, "Harbour Labs"));
        let curve = curve(&mut random, index == FAST_POST, at, now);
        let mut record = record(&id, author, text, at, &curve, now);
        posts.add(format!("data/tweets/own/{id}.json"), &record);
        posts.add_curve(&id, &curve);
        journal.push((
            later(at, COLLECTION_DELAY),
            json!({"kind": "post", "id": id, "stream": "own", "author_id": ACCOUNT}),
        ));
        if index == FAST_POST {
            journal.push(alert(&id, &curve, at));
            posts.fast_post.clone_from(&id);
        }
        if index == DELETED_POST {
            let detected = later(at, 26 * 60);
            record["detected_at"] = json!(rfc3339(detected));
            record["reason"] = json!("not_found");
            posts.add(format!("data/deletions/{id}.json"), &record);
            journal.push((detected, json!({"kind": "deletion", "id": id})));
        }
        own_ids.push(id);
    }
    let mentions = add_mentions(&mut posts, &mut journal, &world, &mut random, now);
    journal.sort_by_key(|(at, _)| *at);
    let lines: String = journal.iter().map(|(at, event)| journal_line(*at, event)).collect();
    posts.files.push(("journal.jsonl".into(), lines));
    let state = state(now, &own_ids, &mentions);
    posts.add("data/state.json".into(), &state);
    Ok(posts)
}

impl Posts {
    fn add(&mut self, path: String, value: &Value) {
        self.files.push((path, value.to_string()));
    }

    /// Adds the snapshots of a post, each with its time first, as the collector writes them.
    fn add_curve(&mut self, id: &str, curve: &[Value]) {
        let snapshot = |it: &Value| {
            format!("{{\"timestamp\":{},\"metrics\":{}}}", it["timestamp"], it["metrics"])
        };
        let snapshots: Vec<String> = curve.iter().map(snapshot).collect();
        let text = format!("[{}]", snapshots.join(","));
        self.files.push((format!("data/engagement/{id}.json"), text));
    }
}

/// Returns the age of an own post in hours.
fn own_age(index: usize) -> i64 {
    let step = i64::try_from(index.saturating_sub(AGES.len() - 1)).unwrap_or(0);
    AGES.get(index).copied().unwrap_or(70 + step * step * 34)
}

/// Adds the mentions. Returns their ids.
fn add_mentions(
    posts: &mut Posts,
    journal: &mut Vec<(Timestamp, Value)>,
    world: &World,
    random: &mut Random,
    now: Timestamp,
) -> Vec<String> {
    let mut ids = Vec::new();
    for (index, text) in world.mentions.iter().enumerate() {
        let at = before(now, 95 + i64::from(index as u8) * 407);
        // The first people appear in the tour, so others write the mentions.
        let person_index = 5 + random.below(world.people.len().saturating_sub(5));
        let person = &world.people[person_index];
        let (id, author_id) = (post_id(at, 100 + index), format!("{}", 7000 + person_index));
        let curve = curve(random, false, at, now);
        let text = text.replace("{own}", &format!("@{HANDLE}"));
        let author = (author_id.as_str(), person.handle.as_str(), person.name.as_str());
        let record = record(&id, author, &text, at, &curve, now);
        posts.add(format!("data/tweets/mentions/{id}.json"), &record);
        posts.add_curve(&id, &curve);
        journal.push((
            later(at, COLLECTION_DELAY),
            json!({
                "kind": "post", "id": id, "stream": "mentions", "author_id": author_id,
            }),
        ));
        ids.push(id);
    }
    ids
}

/// Returns the snapshots of a post, one every half hour. Its likes grow more and more slowly; those
/// of a fast post grow fastest around the 17th snapshot.
fn curve(random: &mut Random, is_fast: bool, at: Timestamp, now: Timestamp) -> Vec<Value> {
    let scale = if is_fast { 1900.0 } else { 30.0 + random.below(140) as f64 };
    let pace = if is_fast { 0.42 } else { 0.05 + random.below(10) as f64 / 100.0 };
    let mut likes = 0_u64;
    let mut snapshots = Vec::new();
    for run in 0..MAX_SNAPSHOTS {
        let time = later(at, COLLECTION_DELAY + run * RUN_MINUTES);
        if time > now {
            break;
        }
        let x = run as f64;
        let share = match is_fast {
            true => 1.0 / (1.0 + (-(x - 16.0) * pace).exp()),
            false => 1.0 - (-x * pace).exp(),
        };
        let noise = random.below(3) as u64;
        likes = likes.max((scale * share) as u64 + noise);
        let metrics = json!({
            "like_count": likes, "retweet_count": likes / 6, "reply_count": likes / 14,
            "quote_count": likes / 40, "bookmark_count": likes / 20,
            "impression_count": likes * 61 + 200,
        });
        snapshots.push(json!({"timestamp": rfc3339(time), "metrics": metrics}));
    }
    snapshots
}

fn record(
    id: &str,
    (author_id, handle, name): (&str, &str, &str),
    text: &str,
    at: Timestamp,
    curve: &[Value],
    now: Timestamp,
) -> Value {
    let metrics = curve.last().map_or(json!({}), |snapshot| snapshot["metrics"].clone());
    json!({
        "id": id, "text": text, "created_at": rfc3339(at), "author_id": author_id, "lang": "en",
        "public_metrics": metrics,
        "_author": {"id": author_id, "username": handle, "name": name},
        "_collected_at": rfc3339(later(at, COLLECTION_DELAY)), "last_updated": rfc3339(now),
    })
}

/// Returns the alert at the steepest half hour of a curve.
fn alert(id: &str, curve: &[Value], at: Timestamp) -> (Timestamp, Value) {
    let likes = |snapshot: &Value| snapshot["metrics"]["like_count"].as_u64().unwrap_or(0);
    let steps = curve.windows(2).map(|pair| (likes(&pair[0]), likes(&pair[1])));
    let (step, (old, new)) = steps
        .enumerate()
        .max_by_key(|(_, (old, new))| new.saturating_sub(*old))
        .unwrap_or((0, (0, 0)));
    let minutes = COLLECTION_DELAY + (i64::try_from(step).unwrap_or(0) + 1) * RUN_MINUTES;
    let message = format!("VELOCITY_ALERT:{id}:likes:{old}->{new}:{RUN_MINUTES}min");
    let event = json!({"kind": "alert", "alert": "velocity", "id": id, "author": HANDLE,
        "message": message});
    (later(at, minutes), event)
}

fn journal_line(at: Timestamp, event: &Value) -> String {
    let mut line = event.clone();
    line["at"] = json!(rfc3339(at));
    format!("{line}\n")
}

fn state(now: Timestamp, own: &[String], mentions: &[String]) -> Value {
    let (started, finished) = (rfc3339(before(now, 5)), rfc3339(before(now, 4)));
    let stream = |name: &str, ids: &[String]| CollectedStream {
        stream: name.into(),
        total: ids.len() as u64,
        new: 0,
        skipped: None,
    };
    let report = CollectorRun {
        status: "complete".into(),
        reason: None,
        message: None,
        started_at: started.clone(),
        finished_at: finished.clone(),
        streams: vec![stream("own", own), stream("mentions", mentions)],
        tweets_stored: (own.len() + mentions.len()) as u64,
        deletions: 0,
        velocity_alerts: 0,
        unverified: 0,
        requests: 3,
        warnings: Vec::new(),
    };
    let pull = |ids: &[String]| json!({"ids": ids, "completed_at": finished});
    json!({
        "user": {"id": ACCOUNT, "username": HANDLE},
        "last_run": finished, "last_started": started, "last_report": report,
        "streams": {"own": pull(own), "mentions": pull(mentions)},
    })
}

/// Returns an id like those of the platform: the milliseconds since the platform's epoch, shifted
/// by 22 bits, so that ids are in the order of time.
fn post_id(at: Timestamp, index: usize) -> String {
    const EPOCH_MS: i64 = 1_288_834_974_657;
    let id = ((at.as_millisecond() - EPOCH_MS) << 22) + i64::try_from(index).unwrap_or(0);
    id.max(1).to_string()
}

fn before(time: Timestamp, minutes: i64) -> Timestamp {
    later(time, -minutes)
}

fn later(time: Timestamp, minutes: i64) -> Timestamp {
    time.saturating_add(SignedDuration::from_mins(minutes)).unwrap_or(time)
}

/// Formats a time as the collector does: UTC with milliseconds.
fn rfc3339(time: Timestamp) -> String {
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_writes_the_same_files_without_future_events() {
        let now: Timestamp = "2026-11-25T10:00:00Z".parse().expect("a time");
        let posts = write(7, now).expect("the word lists are valid");
        let again = write(7, now).expect("valid");
        assert_eq!(posts.files, again.files);
        let journal = posts.files.iter().find(|(path, _)| path == "journal.jsonl");
        let lines: Vec<Value> = journal
            .map(|(_, text)| text.lines().flat_map(serde_json::from_str).collect())
            .unwrap_or_default();
        assert!(lines.len() > 28, "{lines:?}");
        assert!(lines.iter().all(|line| line["at"].as_str() <= Some("2026-11-25T10:00:00.000Z")));
        let kinds: Vec<&str> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
        assert!(kinds.contains(&"alert") && kinds.contains(&"deletion"), "{kinds:?}");
        let curve = format!("data/engagement/{}.json", posts.fast_post);
        assert!(
            posts
                .files
                .iter()
                .any(|(path, text)| *path == curve && text.contains("like_count\":19"))
        );
    }
}
