//! The persistent connection and own posts in their first minute, over a loopback port. Time stands
//! still until a test turns it; only waits between two attempts are real.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brain_base::caller::Caller;
use brain_base::clock::parse_instant;
use brain_base::home::Home;
use brain_base::random::SystemRandom;
use brain_config::Config;
use brain_core::{Brain, EventLines, Outside, Silent};
use brain_net::Client;
use brain_protocol::{CollectorStatus, CollectorStatusReply, Reply, Request, StreamStatus};
use brain_tests::PATIENCE;
use brain_tests::lines::Kept;
use brain_tests::platform::{APP_TOKEN, Fault, Platform, Served, Time, endpoint};
use serde_json::{Value, json};

struct Lab {
    platform: Platform,
    ada: String,
    eve: String,
    lines: Arc<Kept>,
    brain: Arc<Brain>,
    holding: Option<JoinHandle<()>>,
    dir: tempfile::TempDir,
    _served: Served,
}

impl Lab {
    /// Ada's brain, which holds the connection, with these settings.
    fn new(settings: &str) -> Self {
        let platform =
            Platform::new(Time::at(parse_instant("2026-11-21T10:00:12Z", false).unwrap()));
        let (ada, eve) = (platform.account("ada"), platform.account("eve"));
        let served = Served::start(&platform, false);
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir_all(home.join("secrets")).unwrap();
        let token = home.join("secrets/platform-bearer-token");
        fs::write(&token, APP_TOKEN).unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
        let settings = format!(
            "[collector]\nplatform_api = \"{}\"\nhandle = \"ada\"\nuser_id = \"{ada}\"\nstream = true\n{settings}\n",
            served.url()
        );
        fs::write(home.join("config.toml"), settings).unwrap();
        let home = Home::at(home);
        let config = Config::load(&home.config(), |_| None).unwrap();
        let lines = Arc::new(Kept::default());
        let outside = Outside {
            random: Arc::new(SystemRandom),
            variables: Box::new(|_| None),
            net: Arc::new(Client::new()),
            lines: Arc::clone(&lines) as Arc<dyn EventLines>,
        };
        let clock = Arc::new(platform.time().clone());
        let brain = Arc::new(Brain::open_with(home, config, clock, 7, outside).unwrap());
        let held = Arc::clone(&brain);
        let holding = Some(std::thread::spawn(move || held.collector.stream()));
        Self { platform, ada, eve, lines, brain, holding, dir, _served: served }
    }

    /// One that listens already.
    fn listening(settings: &str) -> Self {
        let lab = Self::new(settings);
        lab.until("it listens", || {
            lab.platform.listeners() == 1 && lab.stream().state == "connected"
        });
        lab
    }

    fn until(&self, what: &str, mut is: impl FnMut() -> bool) {
        let patience = Instant::now() + PATIENCE;
        while !is() {
            assert!(Instant::now() < patience, "{what}: {:?}", self.stream());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn stream(&self) -> StreamStatus {
        let reply = self
            .brain
            .answer(&Caller::local(0), Request::CollectorStatus(CollectorStatus), &Silent)
            .unwrap();
        let Reply::CollectorStatus(CollectorStatusReply { stream, .. }) = reply else { panic!() };
        stream.unwrap_or(StreamStatus {
            state: "none".into(),
            message: String::new(),
            posts: 0,
            connections: 0,
        })
    }

    fn file(&self, dir: &str, id: &str) -> PathBuf {
        self.dir.path().join(format!("home/collector/data/{dir}/{id}.json"))
    }

    fn json(&self, dir: &str, id: &str) -> Value {
        let text = fs::read_to_string(self.file(dir, id)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn journal(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.dir.path().join("home/collector/journal.jsonl"))
            .unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The daemon ends.
    fn stop(&mut self) {
        self.brain.begin_stop();
        if let Some(holding) = self.holding.take() {
            holding.join().unwrap();
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.brain.begin_stop();
    }
}

#[test]
fn posts_come_as_they_are_written_and_are_kept_as_a_run_keeps_them() {
    let mut lab = Lab::listening("searches = [\"latency\", \"#rust\"]");
    assert_eq!(lab.platform.rules(), ["from:ada", "@ada", "latency", "#rust"]);
    let own = lab.platform.post(&lab.ada, "On latency");
    let mention = lab.platform.post(&lab.eve, "Look at @ada");
    let both = lab.platform.post(&lab.eve, "latency and #rust");
    let other = lab.platform.post(&lab.eve, "of no interest");
    lab.until("they are stored", || {
        [
            ("tweets/own", &own),
            ("tweets/searches", &own),
            ("tweets/mentions", &mention),
            ("tweets/searches", &both),
        ]
        .iter()
        .all(|(dir, id)| lab.file(dir, id).exists())
    });
    for dir in ["tweets/own", "tweets/mentions", "tweets/searches"] {
        assert!(!lab.file(dir, &other).exists(), "{dir}");
    }
    let post = lab.json("tweets/searches", &both);
    assert_eq!(
        (&post["_searches"], &post["_author"]["username"]),
        (&json!(["latency", "#rust"]), &json!("eve"))
    );
    assert_eq!(post["_collected_at"], "2026-11-21T10:00:12.000Z");
    lab.until("its numbers are kept", || lab.file("engagement", &both).exists());
    let noted: Vec<Value> = lab.journal();
    assert!(
        noted
            .iter()
            .any(|n| n["kind"] == "post" && n["id"] == json!(mention) && n["stream"] == "mentions")
    );
    let status = lab.stream();
    assert_eq!(
        (status.state.as_str(), status.posts, status.connections),
        ("connected", 3, 1),
        "{status:?}"
    );
    lab.stop();
    let state: Value = serde_json::from_str(
        &fs::read_to_string(lab.dir.path().join("home/collector/data/state.json")).unwrap(),
    )
    .unwrap();
    assert_eq!(state["stream_newest_id"], json!(both));
    lab.platform.sent().expect("what the platform sent is what it documents");
}

#[test]
fn what_came_without_a_connection_is_searched_for() {
    let lab = Lab::listening("searches = [\"latency\"]");
    let first = lab.platform.post(&lab.eve, "latency, one");
    lab.until("it is stored", || lab.file("tweets/searches", &first).exists());
    // The next attempt is refused, so there is time to write.
    lab.platform.fault(endpoint::STREAM, Fault::Server(503), 1);
    lab.platform.cut_streams(false);
    lab.until("it is refused", || lab.stream().state == "waiting");
    let missed = lab.platform.post(&lab.eve, "latency, two");
    let mention = lab.platform.post(&lab.eve, "hello @ada");
    lab.platform.time().pass(60_000);
    lab.until("the gap is filled", || {
        lab.file("tweets/searches", &missed).exists()
            && lab.file("tweets/mentions", &mention).exists()
    });
    lab.until("it listens again", || {
        lab.stream().state == "connected" && lab.platform.listeners() == 1
    });
    let after = lab.platform.post(&lab.eve, "latency, three");
    lab.until("it is stored", || lab.file("tweets/searches", &after).exists());
    assert_eq!(lab.stream().connections, 2);
    let asked: Vec<String> = lab.platform.take_log();
    assert!(
        asked
            .iter()
            .any(|line| line.contains("search/recent")
                && line.contains(&format!("since_id={first}"))),
        "{asked:#?}"
    );
}

#[test]
fn the_platform_may_end_it_and_say_what_nobody_knows() {
    let lab = Lab::listening("");
    lab.platform.stream_bytes(b"{\"later\":{\"x\":1}}\r\nno json\r\n\r\n");
    let post = lab.platform.post(&lab.ada, "still there");
    lab.until("it is stored", || lab.file("tweets/own", &post).exists());
    assert_eq!(lab.stream().connections, 1);
    lab.platform.disconnect();
    lab.until("it listens again", || lab.stream().connections == 2);
    let post = lab.platform.post(&lab.ada, "and again");
    lab.until("it is stored", || lab.file("tweets/own", &post).exists());
}

#[test]
fn one_that_the_owner_must_mend_is_off_until_there_is_another_token() {
    let lab = Lab::new("");
    let token = lab.dir.path().join("home/secrets/platform-bearer-token");
    lab.until("it listens", || lab.stream().state == "connected");
    fs::write(&token, "AAAArevoked").unwrap();
    lab.platform.cut_streams(false);
    lab.until("it is off", || lab.stream().state == "off");
    let status = lab.stream();
    assert!(!status.message.contains("AAAA") && status.message.contains("token"), "{status:?}");
    fs::write(&token, APP_TOKEN).unwrap();
    lab.until("it listens again", || lab.stream().state == "connected");
}

#[test]
fn a_place_that_is_still_taken_is_waited_for() {
    let lab = Lab::listening("");
    lab.platform.cut_streams(true);
    lab.until("it waits", || {
        lab.stream().state == "waiting" && lab.stream().message.contains("60 s")
    });
    assert!(lab.stream().message.to_lowercase().contains("connection"), "{:?}", lab.stream());
}

#[test]
fn a_stop_is_heard_while_it_listens_and_while_it_waits() {
    let mut lab = Lab::listening("");
    let began = Instant::now();
    lab.stop();
    assert!(began.elapsed() < Duration::from_secs(20), "the silence is longer");
    assert_eq!(lab.stream().state, "off");
    let mut lab = Lab::listening("");
    lab.platform.cut_streams(true);
    lab.until("it waits", || lab.stream().message.contains("60 s"));
    let began = Instant::now();
    lab.stop();
    assert!(began.elapsed() < Duration::from_secs(30), "the wait is longer");
}

#[test]
fn own_posts_are_watched_for_a_minute() {
    let lab = Lab::listening("outbound = true");
    let id = lab.platform.post(&lab.ada, "A hot take, @eve");
    lab.until("it is stored", || lab.file("tweets/own", &id).exists());
    for (second, replies) in [(15, 2), (30, 6), (45, 8), (60, 10)] {
        lab.platform.change(&id, |post| {
            let counts = post.counts.as_mut().unwrap();
            (counts.likes, counts.replies) = (3, replies);
        });
        lab.platform.time().pass(15_000);
        lab.until("it is looked at", || {
            lab.file("outbound", &id).exists()
                && lab.json("outbound", &id)["looks"]
                    .as_array()
                    .is_some_and(|looks| looks.len() == second / 15)
        });
    }
    let result = lab.json("outbound", &id);
    assert_eq!(
        result["per_minute"],
        json!({"likes": 3.0, "replies": 10.0, "quotes": 0.0}),
        "{result:#}"
    );
    assert_eq!(result["alerts"][0]["alert"], "reply_ratio");
    assert_eq!(result["mentioned"], json!({"eve": []}));
    let alerts: Vec<Value> =
        lab.journal().into_iter().filter(|noted| noted["kind"] == "alert").collect();
    assert_eq!(alerts.len(), 1, "{alerts:#?}");
    assert_eq!((&alerts[0]["alert"], &alerts[0]["author"]), (&json!("reply_ratio"), &json!("ada")));
    assert!(lab.lines.0.lock().unwrap().iter().all(|line| !line.starts_with("RUN_")));
    // And no longer.
    lab.platform.time().pass(60_000);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(lab.json("outbound", &id)["looks"].as_array().unwrap().len(), 4);
}
