//! Tests of the data directory.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::parse_metrics;

const T0: i64 = 1_795_257_045_123;

/// Creates a prepared data directory.
fn data() -> (tempfile::TempDir, Data) {
    let dir = tempfile::tempdir().unwrap();
    let data = Data::new(dir.path());
    data.prepare().unwrap();
    (dir, data)
}

fn id(id: &str) -> PostId {
    PostId::parse(id).unwrap()
}

/// Returns a post that was last seen at `last_updated`, in Unix milliseconds.
fn post(id: &str, last_updated: i64) -> Record {
    Record::new(json!({
        "id": id,
        "text": "What I think",
        "author_id": "5",
        "created_at": rfc3339(T0),
        LAST_UPDATED: rfc3339(last_updated),
        COLLECTED_AT: rfc3339(T0),
        "later": {"account_id": 9_007_199_254_740_993_u64, "x": [null, 0.5]},
    }))
    .unwrap()
}

fn metrics(likes: u64) -> Map<String, Value> {
    let metrics = json!({"like_count": likes, "retweet_count": 1, "reply_count": 2,
        "quote_count": 3, "impression_count": 9});
    metrics.as_object().unwrap().clone()
}

/// Returns the relative paths of all files below a directory.
fn relative_paths(root: &Path) -> Vec<String> {
    let mut paths = unsorted_paths(root, root);
    paths.sort();
    paths
}

fn unsorted_paths(root: &Path, dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(unsorted_paths(root, &path));
        } else {
            found.push(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
    found
}

#[test]
fn directories_are_private() {
    let (_dir, data) = data();
    data.prepare().unwrap();
    for dir in ["", "tweets/own", "tweets/mentions", "tweets/searches", "deletions", "engagement"] {
        let mode = fs::metadata(data.root().join(dir)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{dir}");
    }
    data.sync().unwrap();
}

#[test]
fn a_stored_post_keeps_every_field() {
    let (_dir, data) = data();
    assert!(data.post(Stream::Own, &id("17")).unwrap().is_none());
    data.put_post(Stream::Own, &post("17", T0)).unwrap();
    assert_eq!(data.post(Stream::Own, &id("17")).unwrap().unwrap(), post("17", T0));
    assert!(data.post(Stream::Mentions, &id("17")).unwrap().is_none());
    let text = fs::read_to_string(data.root().join("tweets/own/17.json")).unwrap();
    assert!(text.contains("9007199254740993"), "{text}");
}

#[test]
fn the_most_recently_seen_record_is_found() {
    let (_dir, data) = data();
    assert!(data.find_post(&id("17")).unwrap().is_none());
    data.put_post(Stream::Own, &post("17", T0)).unwrap();
    data.put_post(Stream::Mentions, &post("17", T0 + 2)).unwrap();
    data.put_post(Stream::Searches, &post("17", T0 + 1)).unwrap();
    let (record, streams) = data.find_post(&id("17")).unwrap().unwrap();
    assert_eq!((record.instant(LAST_UPDATED), streams), (Some(T0 + 2), Stream::ALL.to_vec()));
}

#[test]
fn a_damaged_file_does_not_hide_intact_ones() {
    let (_dir, data) = data();
    fs::write(data.root().join("tweets/own/17.json"), "{").unwrap();
    data.put_post(Stream::Searches, &post("17", T0)).unwrap();
    let (record, streams) = data.find_post(&id("17")).unwrap().unwrap();
    assert_eq!((record, streams), (post("17", T0), vec![Stream::Searches]));
    fs::write(data.root().join("tweets/searches/17.json"), "{").unwrap();
    assert!(data.find_post(&id("17")).unwrap_err().is_damage());
}

#[test]
fn a_damaged_post_is_moved_aside_and_named() {
    let (_dir, data) = data();
    for damaged in ["", "{\"id\":\"17\"", "[]", "{\"id\":17}", "{\"id\":\"18\"}", "\u{0}\u{0}"] {
        fs::write(data.root().join("tweets/own/17.json"), damaged).unwrap();
        let fault = data.post(Stream::Own, &id("17")).unwrap_err();
        assert!(fault.is_damage() && fault.to_string().contains("own/17.json.damaged"), "{fault}");
        assert_eq!(
            fs::read_to_string(data.root().join("tweets/own/17.json.damaged")).unwrap(),
            damaged
        );
        assert!(data.post(Stream::Own, &id("17")).unwrap().is_none());
    }
    // An I/O error is not damage.
    fs::create_dir(data.root().join("tweets/own/18.json")).unwrap();
    assert!(!data.post(Stream::Own, &id("18")).unwrap_err().is_damage());
}

#[test]
fn leftovers_are_removed_and_are_no_posts() {
    let (_dir, data) = data();
    data.put_post(Stream::Own, &post("17", T0)).unwrap();
    for leftover in [
        "tweets/own/18.json.tmp",
        "state.json.tmp",
        "deletions/1.json.tmp",
        "engagement/1.json.tmp",
    ] {
        fs::write(data.root().join(leftover), "{").unwrap();
    }
    fs::write(data.root().join("tweets/own/note.txt"), "mine").unwrap();
    fs::write(data.root().join("tweets/own/19.json.damaged"), "{").unwrap();
    assert_eq!((data.ids("tweets/own").unwrap(), data.count("tweets/own")), (vec![id("17")], 1));
    data.remove_leftovers();
    assert_eq!(
        relative_paths(data.root()),
        ["tweets/own/17.json", "tweets/own/19.json.damaged", "tweets/own/note.txt"]
    );
    assert_eq!((data.ids("nowhere").unwrap(), data.count("nowhere")), (vec![], 0));
}

#[test]
fn the_last_hundred_snapshots_are_kept() {
    let (_dir, data) = data();
    assert_eq!(
        (data.snapshots(&id("17")).unwrap(), data.last_snapshot(&id("17")).unwrap()),
        (vec![], None)
    );
    for n in 0..105_i64 {
        data.add_snapshot(&id("17"), T0 + n, &metrics(n as u64)).unwrap();
        let all = data.snapshots(&id("17")).unwrap();
        assert_eq!(all.len() as i64, (n + 1).min(100));
        assert_eq!(data.last_snapshot(&id("17")).unwrap().as_ref(), all.last());
        assert_eq!(all.last().unwrap().metrics, parse_metrics(&metrics(n as u64)).unwrap());
        assert_eq!(all[0].timestamp, rfc3339(T0 + (n - 99).max(0)));
    }
    let text = fs::read_to_string(data.root().join("engagement/17.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(all[99], json!({"timestamp": rfc3339(T0 + 104), "metrics": metrics(104)}));
}

#[test]
fn reposts_are_found_under_either_name() {
    let (_dir, data) = data();
    let new = json!({"like_count": 1, "repost_count": 7, "reply_count": 0, "quote_count": 0});
    data.add_snapshot(&id("17"), T0, new.as_object().unwrap()).unwrap();
    let all: Value =
        serde_json::from_slice(&fs::read(data.root().join("engagement/17.json")).unwrap()).unwrap();
    assert_eq!(
        (&all[0]["metrics"]["retweet_count"], &all[0]["metrics"]["repost_count"]),
        (&json!(7), &json!(7))
    );
    assert_eq!(data.last_snapshot(&id("17")).unwrap().unwrap().metrics.retweet_count, 7);
}

#[test]
fn snapshots_in_other_formats_are_read() {
    let (_dir, data) = data();
    let path = data.root().join("engagement/17.json");
    let at = rfc3339(T0);
    let nested = json!({"timestamp": "x", "metrics": {"like_count": 9}});
    for (text, likes) in [
        (json!([{"metrics": {"like_count": 3}, "timestamp": at}]).to_string(), Some(3)),
        (format!("[{{\"timestamp\":\"{at}\",\"metrics\":{{\"like_count\":4}}}}]\n"), Some(4)),
        (
            serde_json::to_string_pretty(&json!([{"timestamp": at, "metrics": {"like_count": 5}}]))
                .unwrap(),
            Some(5),
        ),
        (
            format!(
                "[{{\"timestamp\":\"{at}\",\"metrics\":{{\"like_count\":6,\"later\":{nested}}}}}]"
            ),
            Some(6),
        ),
        (
            format!(
                "[{{\"timestamp\":\"{at}\",\"metrics\":{{\"like_count\":7}}}},{{}},17,\
                    {{\"timestamp\":\"\"}}]"
            ),
            Some(7),
        ),
        ("[]".to_owned(), None),
    ] {
        fs::write(&path, &text).unwrap();
        let last = data.last_snapshot(&id("17")).unwrap();
        assert_eq!(last.map(|last| last.metrics.like_count), likes, "{text}");
    }
    fs::write(&path, "{\"not\": \"a list\"}").unwrap();
    assert!(data.last_snapshot(&id("17")).unwrap_err().is_damage());
    assert!(path.with_file_name("17.json.damaged").exists());
}

#[test]
fn a_deletion_is_the_post_with_time_and_reason() {
    let (_dir, data) = data();
    assert!(!data.is_deleted(&id("17")) && data.deletion(&id("17")).unwrap().is_none());
    data.put_post(Stream::Own, &post("17", T0)).unwrap();
    data.put_deletion(&post("17", T0), T0 + 5, DeletionReason::NotFound, false).unwrap();
    assert!(data.is_deleted(&id("17")));
    let deletion = data.deletion(&id("17")).unwrap().unwrap();
    assert_eq!((deletion.text.as_str(), deletion.author.as_str()), ("What I think", "5"));
    assert_eq!(
        (deletion.detected_at, deletion.reason),
        (rfc3339(T0 + 5), DeletionReason::NotFound.to_string())
    );
    let mut record: Value =
        serde_json::from_slice(&fs::read(data.root().join("deletions/17.json")).unwrap()).unwrap();
    let fields = record.as_object_mut().unwrap();
    assert_eq!(fields.remove(DETECTED_AT), Some(json!(rfc3339(T0 + 5))));
    assert_eq!(fields.remove("reason"), Some(json!("not_found")));
    assert_eq!(fields, post("17", T0).fields(), "the record has the whole post");
    assert_eq!(
        data.post(Stream::Own, &id("17")).unwrap().unwrap(),
        post("17", T0),
        "the stored post stays"
    );
}

/// Stores files of every kind for post 17.
fn store_everywhere(data: &Data) {
    for stream in [Stream::Own, Stream::Searches] {
        data.put_post(stream, &post("17", T0)).unwrap();
    }
    data.add_snapshot(&id("17"), T0, &metrics(1)).unwrap();
    for kind in ATTACHMENT_DIRS {
        data.put_attachment(kind, &id("17"), &json!({"text": "What I think"})).unwrap();
    }
}

#[test]
fn a_redacted_post_keeps_id_and_times_in_every_file() {
    let (_dir, data) = data();
    store_everywhere(&data);
    data.put_post(Stream::Own, &post("18", T0)).unwrap();
    data.put_deletion(&post("17", T0), T0 + 5, DeletionReason::NotFound, true).unwrap();
    let paths = [
        "deletions/17.json",
        "tweets/own/17.json",
        "tweets/own/18.json",
        "tweets/searches/17.json",
    ];
    assert_eq!(relative_paths(data.root()), paths);
    let redacted = json!({"id": "17", "created_at": rfc3339(T0), COLLECTED_AT: rfc3339(T0),
        DETECTED_AT: rfc3339(T0 + 5), "reason": "not_found"});
    for file_path in ["deletions/17.json", "tweets/own/17.json", "tweets/searches/17.json"] {
        let found: Value =
            serde_json::from_slice(&fs::read(data.root().join(file_path)).unwrap()).unwrap();
        assert_eq!(found, redacted, "{file_path}");
    }
    assert_eq!(data.deletion(&id("17")).unwrap().unwrap().text, "");
    assert_eq!(
        data.post(Stream::Own, &id("18")).unwrap().unwrap(),
        post("18", T0),
        "other posts stay"
    );
}

#[test]
fn interrupted_redaction_is_completed() {
    let (_dir, data) = data();
    store_everywhere(&data);
    data.put_deletion(&post("17", T0), T0 + 5, DeletionReason::NotFound, false).unwrap();
    fs::write(data.root().join("tweets/mentions/17.json.damaged"), "{\"text\":\"I think").unwrap();
    data.redact(&id("17")).unwrap();
    data.redact(&id("17")).unwrap();
    for file_path in relative_paths(data.root()) {
        assert!(
            !fs::read_to_string(data.root().join(&file_path)).unwrap().contains("think"),
            "{file_path}"
        );
    }
    assert_eq!(data.count("deletions"), 1);
    // A post without a recorded deletion keeps everything.
    data.put_post(Stream::Own, &post("18", T0)).unwrap();
    data.redact(&id("18")).unwrap();
    assert_eq!(data.post(Stream::Own, &id("18")).unwrap().unwrap(), post("18", T0));
}

#[test]
fn attachments_and_curves_of_posts_are_read() {
    let (_dir, data) = data();
    assert!(data.attachment("ratings", &id("17")).unwrap().is_none());
    data.put_attachment("ratings", &id("17"), &json!({"reach": 3})).unwrap();
    assert_eq!(data.attachment("ratings", &id("17")).unwrap(), Some(json!({"reach": 3})));
    fs::write(data.root().join("ratings/17.json"), "{").unwrap();
    assert!(data.attachment("ratings", &id("17")).unwrap_err().is_damage());
    assert!(data.curve(&id("17")).unwrap().is_none());
    data.put_post(Stream::Own, &post("17", T0)).unwrap();
    data.add_snapshot(&id("17"), T0, &metrics(1)).unwrap();
    let curve = data.curve(&id("17")).unwrap().unwrap();
    assert_eq!(
        (curve.author.as_str(), curve.preview.as_str(), curve.snapshots.len()),
        ("5", "What I think", 1)
    );
}
