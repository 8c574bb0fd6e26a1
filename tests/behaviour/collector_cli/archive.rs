//! `brain import` of the archive of the collected account: its posts in the collector's files.

use std::fs;
use std::path::{Path, PathBuf};

use brain_tests::TestHome;
use serde_json::{Value, json};

use super::Fixture;

fn tweet(id: &str, text: &str) -> Value {
    json!({"tweet": {"id_str": id, "created_at": "Wed Oct 10 20:19:24 +0000 2018",
        "full_text": text, "favorite_count": "3", "retweet_count": "0", "lang": "en",
        "entities": {"hashtags": [{"text": "weir", "indices": ["2", "7"]}]}}})
}

/// Makes an archive of the account with these posts.
fn archive(home: &TestHome, account: &str, posts: &[Value]) -> PathBuf {
    let dir = home.outside().join("archive");
    fs::create_dir_all(dir.join("data")).unwrap();
    let account = json!([{"account": {"username": "ada", "accountId": account}}]);
    let script = |name: &str, value: &Value| format!("window.YTD.{name}.part0 = {value}");
    fs::write(dir.join("data/account.js"), script("account", &account)).unwrap();
    fs::write(dir.join("data/tweets.js"), script("tweets", &json!(posts))).unwrap();
    dir
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn an_archive_fills_the_files_and_a_run_goes_on_from_it() {
    let fixture = Fixture::with_setup("");
    let (home, own) = (&fixture.home, fixture.own_posts_dir());
    let collected = fs::read_dir(&own).unwrap().next().unwrap().unwrap().path();
    let id = collected.file_stem().unwrap().to_str().unwrap().to_owned();
    let before = read(&collected);
    fs::write(home.path().join("collector/data/deletions/12.json"), r#"{"id": "12"}"#).unwrap();
    let state = fs::read(home.path().join("collector/data/state.json")).unwrap();
    let journal = fs::read(home.path().join("collector/journal.jsonl")).unwrap();
    let posts = [tweet("10", "A #weir &amp; more"), tweet("11", "Two"), tweet("12", "Gone")];
    let posts = [&posts[..], &[tweet(&id, "Other words"), tweet("10", "Twice")]].concat();
    let dir = archive(home, &fixture.ada, &posts);
    let path = dir.to_str().unwrap();

    let dry = home.json(["import", path, "--dry-run"]);
    let counts = |reply: &Value| {
        ["added", "present", "deleted"].map(|name| reply["posts"][name].as_u64().unwrap())
    };
    assert_eq!(counts(&dry), [2, 2, 1], "{dry}");
    assert!(!own.join("10.json").exists());

    let text = home.brain(["import", path]).expect(0).stdout;
    let line = "2 added to the collector's posts, 2 there already, 1 recorded as deleted";
    assert!(text.lines().any(|it| it.trim() == line), "{text}");
    let post = read(&own.join("10.json"));
    assert_eq!(
        (&post["text"], &post["created_at"], &post["author_id"], &post["_author"]["username"]),
        (
            &json!("A #weir &amp; more"),
            &json!("2018-10-10T20:19:24.000Z"),
            &json!(fixture.ada),
            &json!("ada")
        ),
        "{post}"
    );
    assert_eq!(post["_archive"], json!(true));
    assert!(post["_collected_at"].is_string() && post["_collected_at"] == post["last_updated"]);
    assert_eq!(read(&collected), before, "a collected post was overwritten");
    assert!(!own.join("12.json").exists(), "a deleted post came back");
    assert_eq!(fs::read(home.path().join("collector/data/state.json")).unwrap(), state);
    assert_eq!(fs::read(home.path().join("collector/journal.jsonl")).unwrap(), journal);

    let again = home.json(["import", path]);
    assert_eq!(counts(&again), [0, 4, 1], "{again}");
    let run = home.json(["collector", "collect"]);
    assert_eq!(run["streams"][0]["new"], 0, "{run:#}");
    // A journal that is made anew from the files has no old posts as news.
    fs::remove_file(home.path().join("collector/journal.jsonl")).unwrap();
    home.brain(["collector", "collect"]).expect(0);
    let journal = fs::read_to_string(home.path().join("collector/journal.jsonl")).unwrap();
    assert!(journal.contains(&id) && !journal.contains("\"10\""), "{journal}");

    let undone = home.json(["import", "--undo", again["id"].as_str().unwrap()]);
    assert_eq!(undone["warnings"], json!([]), "it added no posts: {undone}");
    let imports = home.json(["import", "--report"])["imports"].clone();
    let first = imports.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    let undone = home.brain(["import", "--undo", &first]).expect(0).stderr;
    let kept = undone.lines().find(|line| line.contains("posts of the import stay in"));
    assert!(kept.is_some_and(|line| line.ends_with("/collector")), "{undone}");
    assert!(own.join("10.json").exists());
}

#[test]
fn since_leaves_out_older_posts() {
    let fixture = Fixture::with_setup("");
    let mut newer = tweet("20", "Newer");
    newer["tweet"]["created_at"] = json!("Thu Oct 10 20:19:24 +0000 2019");
    let dir = archive(&fixture.home, &fixture.ada, &[tweet("10", "Old"), newer]);
    let reply = fixture.home.json(["import", dir.to_str().unwrap(), "--since", "2019-01-01"]);
    assert_eq!(reply["posts"]["added"], 1, "{reply}");
    assert!(fixture.own_posts_dir().join("20.json").exists());
}

#[test]
fn the_archive_of_another_account_makes_only_pages() {
    let fixture = Fixture::with_setup("");
    let dir = archive(&fixture.home, "999", &[tweet("10", "Not Ada's")]);
    let reply = fixture.home.json(["import", dir.to_str().unwrap()]);
    assert_eq!((&reply["created"], &reply["posts"]), (&json!(1), &Value::Null), "{reply}");
    let warning = reply["warnings"][0].as_str().unwrap();
    let expected = format!("it is of the account {}, and the archive of 999", fixture.ada);
    assert!(warning.contains(&expected), "{reply}");
    assert!(!fixture.own_posts_dir().join("10.json").exists());
}

#[test]
fn without_a_collector_the_archive_makes_only_pages() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = archive(&home, "5", &[tweet("10", "Mine")]);
    let reply = home.json(["import", dir.to_str().unwrap()]);
    assert_eq!((&reply["created"], &reply["posts"]), (&json!(1), &Value::Null), "{reply}");
    assert_eq!(reply["warnings"], json!([]), "{reply}");
    assert!(!home.path().join("collector/data/tweets").exists());
}
