//! The persistent connection and own posts in their first minute, over loopback. Tests control the
//! clock; only waits between two attempts are real.

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
use brain_core::{Brain, EventLines, ExternalDependencies, NoProgress};
use brain_net::Client;
use brain_protocol::{CollectorStatus, ConnectionStatus, Request, StreamStatus};
use brain_tests::lines::RecordedLines;
use brain_tests::platform::{APP_TOKEN, Fault, Platform, PlatformServer, Time, endpoint};
use brain_tests::{TEST_TIMEOUT, expect_reply};
use serde_json::{Value, json};

struct Fixture {
    platform: Platform,
    ada: String,
    eve: String,
    lines: Arc<RecordedLines>,
    brain: Arc<Brain>,
    listener: Option<JoinHandle<()>>,
    dir: tempfile::TempDir,
    _server: PlatformServer,
}

impl Fixture {
    /// Opens Ada's brain with these settings and the persistent connection.
    fn new(settings: &str) -> Self {
        let platform = Platform::new(Time::at(parse_instant("2026-11-21T10:00:12Z").unwrap()));
        let (ada, eve) = (platform.create_account("ada"), platform.create_account("eve"));
        let server = PlatformServer::start(&platform, false);
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir_all(home.join("secrets")).unwrap();
        let token = home.join("secrets/platform-bearer-token");
        fs::write(&token, APP_TOKEN).unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
        let settings = format!(
            "[collector]\nplatform_api = \"{}\"\nhandle = \"ada\"\nuser_id = \"{ada}\"\nstream = \
                true\n{settings}\n",
            server.url()
        );
        fs::write(home.join("config.toml"), settings).unwrap();
        let home = Home::at(home);
        let config = Config::load(&home.config(), |_| None).unwrap();
        let lines = Arc::new(RecordedLines::default());
        let dependencies = ExternalDependencies {
            random: Arc::new(SystemRandom),
            variables: Box::new(|_| None),
            net: Arc::new(Client::new()),
            lines: Arc::clone(&lines) as Arc<dyn EventLines>,
            converter: PathBuf::new(),
        };
        let clock = Arc::new(platform.time().clone());
        let brain = Arc::new(Brain::open_with(home, config, clock, 7, dependencies).unwrap());
        let streaming_brain = Arc::clone(&brain);
        let listener = Some(std::thread::spawn(move || streaming_brain.collector.stream()));
        Self { platform, ada, eve, lines, brain, listener, dir, _server: server }
    }

    /// Opens a brain and waits until it is connected.
    fn connected(settings: &str) -> Self {
        let fixture = Self::new(settings);
        fixture.wait_until("the stream is connected", || {
            fixture.platform.listeners() == 1 && fixture.stream().state.as_str() == "connected"
        });
        fixture
    }

    /// Waits until `condition` holds. `description` is for the message of a failure.
    fn wait_until(&self, description: &str, mut condition: impl FnMut() -> bool) {
        let deadline = Instant::now() + TEST_TIMEOUT;
        while !condition() {
            assert!(Instant::now() < deadline, "{description}: {:?}", self.stream());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn stream(&self) -> StreamStatus {
        let reply = self.brain.answer(
            &Caller::local(0),
            Request::CollectorStatus(CollectorStatus),
            &NoProgress,
        );
        expect_reply!(reply, CollectorStatus).stream.unwrap_or(StreamStatus {
            state: ConnectionStatus::Waiting,
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

    /// Stops the brain.
    fn stop(&mut self) {
        self.brain.begin_stop();
        if let Some(listener) = self.listener.take() {
            listener.join().unwrap();
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.brain.begin_stop();
    }
}

#[test]
fn streamed_posts_are_stored_as_by_a_run() {
    let mut fixture = Fixture::connected("searches = [\"latency\", \"#rust\"]");
    assert_eq!(fixture.platform.rules(), ["from:ada", "@ada", "latency", "#rust"]);
    let own = fixture.platform.post(&fixture.ada, "On latency");
    let mention = fixture.platform.post(&fixture.eve, "Look at @ada");
    let both = fixture.platform.post(&fixture.eve, "latency and #rust");
    let other = fixture.platform.post(&fixture.eve, "of no interest");
    fixture.wait_until("the posts are stored", || {
        [
            ("tweets/own", &own),
            ("tweets/searches", &own),
            ("tweets/mentions", &mention),
            ("tweets/searches", &both),
        ]
        .iter()
        .all(|(dir, id)| fixture.file(dir, id).exists())
            // A run at the same time adds the searches one by one.
            && fixture.json("tweets/searches", &both)["_searches"] == json!(["latency", "#rust"])
    });
    for dir in ["tweets/own", "tweets/mentions", "tweets/searches"] {
        assert!(!fixture.file(dir, &other).exists(), "{dir}");
    }
    let post = fixture.json("tweets/searches", &both);
    assert_eq!(
        (&post["_searches"], &post["_author"]["username"]),
        (&json!(["latency", "#rust"]), &json!("eve"))
    );
    assert_eq!(post["_collected_at"], "2026-11-21T10:00:12.000Z");
    fixture.wait_until("its metrics are stored", || fixture.file("engagement", &both).exists());
    let events: Vec<Value> = fixture.journal();
    assert!(
        events
            .iter()
            .any(|e| e["kind"] == "post" && e["id"] == json!(mention) && e["stream"] == "mentions")
    );
    let status = fixture.stream();
    assert_eq!(
        (status.state.as_str(), status.posts, status.connections),
        ("connected", 3, 1),
        "{status:?}"
    );
    fixture.stop();
    let state: Value = serde_json::from_str(
        &fs::read_to_string(fixture.dir.path().join("home/collector/data/state.json")).unwrap(),
    )
    .unwrap();
    assert_eq!(state["stream_newest_id"], json!(both));
    fixture.platform.sent().expect("the platform sent an undocumented message");
}

#[test]
fn missed_posts_are_searched_after_reconnecting() {
    let fixture = Fixture::connected("searches = [\"latency\"]");
    let first = fixture.platform.post(&fixture.eve, "latency, one");
    fixture.wait_until("the post is stored", || fixture.file("tweets/searches", &first).exists());
    // The next attempt is refused, which gives time to write posts.
    fixture.platform.fault(endpoint::STREAM, Fault::Server(503), 1);
    fixture.platform.cut_streams(false);
    fixture.wait_until("the stream is refused", || fixture.stream().state.as_str() == "waiting");
    let missed = fixture.platform.post(&fixture.eve, "latency, two");
    let mention = fixture.platform.post(&fixture.eve, "hello @ada");
    fixture.platform.time().advance(60_000);
    fixture.wait_until("the gap is filled", || {
        fixture.file("tweets/searches", &missed).exists()
            && fixture.file("tweets/mentions", &mention).exists()
    });
    fixture.wait_until("the stream is connected again", || {
        fixture.stream().state.as_str() == "connected" && fixture.platform.listeners() == 1
    });
    let after = fixture.platform.post(&fixture.eve, "latency, three");
    fixture.wait_until("the post is stored", || fixture.file("tweets/searches", &after).exists());
    assert_eq!(fixture.stream().connections, 2);
    let requests: Vec<String> = fixture.platform.take_log();
    assert!(
        requests
            .iter()
            .any(|line| line.contains("search/recent")
                && line.contains(&format!("since_id={first}"))),
        "{requests:#?}"
    );
}

#[test]
fn disconnects_and_unknown_messages_are_tolerated() {
    let fixture = Fixture::connected("");
    fixture.platform.stream_bytes(b"{\"later\":{\"x\":1}}\r\nno json\r\n\r\n");
    let post = fixture.platform.post(&fixture.ada, "still there");
    fixture.wait_until("the post is stored", || fixture.file("tweets/own", &post).exists());
    assert_eq!(fixture.stream().connections, 1);
    fixture.platform.disconnect();
    fixture.wait_until("the stream is connected again", || fixture.stream().connections == 2);
    let post = fixture.platform.post(&fixture.ada, "and again");
    fixture.wait_until("the post is stored", || fixture.file("tweets/own", &post).exists());
}

#[test]
fn rejected_tokens_stop_the_stream_until_a_new_token() {
    let fixture = Fixture::new("");
    let token = fixture.dir.path().join("home/secrets/platform-bearer-token");
    fixture
        .wait_until("the stream is connected", || fixture.stream().state.as_str() == "connected");
    fs::write(&token, "AAAArevoked").unwrap();
    fixture.platform.cut_streams(false);
    fixture.wait_until("the stream is off", || fixture.stream().state.as_str() == "off");
    let status = fixture.stream();
    assert!(!status.message.contains("AAAA") && status.message.contains("token"), "{status:?}");
    fs::write(&token, APP_TOKEN).unwrap();
    fixture.wait_until("the stream is connected again", || {
        fixture.stream().state.as_str() == "connected"
    });
}

#[test]
fn an_occupied_connection_is_retried() {
    let fixture = Fixture::connected("");
    fixture.platform.cut_streams(true);
    fixture.wait_until("the stream waits", || {
        fixture.stream().state.as_str() == "waiting" && fixture.stream().message.contains("60 s")
    });
    assert!(
        fixture.stream().message.to_lowercase().contains("connection"),
        "{:?}",
        fixture.stream()
    );
}

#[test]
fn stopping_ends_listening_and_waiting() {
    let mut fixture = Fixture::connected("");
    let start = Instant::now();
    fixture.stop();
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "the stop does not wait for the silence timeout"
    );
    assert_eq!(fixture.stream().state.as_str(), "off");
    let mut fixture = Fixture::connected("");
    fixture.platform.cut_streams(true);
    fixture.wait_until("the stream waits", || fixture.stream().message.contains("60 s"));
    let start = Instant::now();
    fixture.stop();
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "the stop does not wait for the reconnect delay"
    );
}

#[test]
fn own_posts_are_refreshed_for_a_minute() {
    let fixture = Fixture::connected("outbound = true");
    let id = fixture.platform.post(&fixture.ada, "A hot take, @eve");
    fixture.wait_until("the post is stored", || fixture.file("tweets/own", &id).exists());
    for (second, replies) in [(15, 2), (30, 6), (45, 8), (60, 10)] {
        fixture.platform.change_post(&id, |post| {
            let counts = post.counts.as_mut().unwrap();
            (counts.likes, counts.replies) = (3, replies);
        });
        fixture.platform.time().advance(15_000);
        fixture.wait_until("the post is refreshed", || {
            fixture.file("outbound", &id).exists()
                && fixture.json("outbound", &id)["looks"]
                    .as_array()
                    .is_some_and(|looks| looks.len() == second / 15)
        });
    }
    let result = fixture.json("outbound", &id);
    assert_eq!(
        result["per_minute"],
        json!({"likes": 3.0, "replies": 10.0, "quotes": 0.0}),
        "{result:#}"
    );
    assert_eq!(result["alerts"][0]["alert"], "reply_ratio");
    assert_eq!(result["mentioned"], json!({"eve": []}));
    let alerts: Vec<Value> =
        fixture.journal().into_iter().filter(|event| event["kind"] == "alert").collect();
    assert_eq!(alerts.len(), 1, "{alerts:#?}");
    assert_eq!((&alerts[0]["alert"], &alerts[0]["author"]), (&json!("reply_ratio"), &json!("ada")));
    assert!(fixture.lines.0.lock().unwrap().iter().all(|line| !line.starts_with("RUN_")));
    // After a minute, the post is no longer watched.
    fixture.platform.time().advance(60_000);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(fixture.json("outbound", &id)["looks"].as_array().unwrap().len(), 4);
}
