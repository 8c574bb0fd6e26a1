//! `brain mcp`: what a client on this machine sees of it, and what it sees when the daemon is
//! another one.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use brain_protocol::{Reply, Request, Status};
use brain_tests::{PATIENCE, TestHome, capture};
use serde_json::{Value, json};

/// The newest revision says everything with each request.
fn modern(id: u64, method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[allow(clippy::needless_pass_by_value)]
fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

fn search(id: u64, query: &str) -> Value {
    request(id, "tools/call", json!({ "name": "search", "arguments": { "query": query } }))
}

/// A `brain mcp` and its pipes.
struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Talk {
    fn begin(home: &TestHome) -> Self {
        let mut command = home.command("brain");
        command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Self { child, input, output }
    }

    /// With an open session of the revision before the newest.
    fn opened(home: &TestHome) -> Self {
        let mut talk = Self::begin(home);
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let answer = talk.ask(&request(0, "initialize", params));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "brain");
        talk.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        talk
    }

    fn say(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("open").write_all(bytes).expect("it reads");
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.as_mut().expect("open").read_line(&mut line).expect("text");
        serde_json::from_str(&line)
            .unwrap_or_else(|e| panic!("not a message ({e}): {line:?} {}", self.complaint()))
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.say(message);
        let answer = self.hear();
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }

    /// What it says on standard error until its end.
    fn complaint(&mut self) -> String {
        let mut text = String::new();
        self.input = None;
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut text);
        }
        text
    }

    /// Says that nothing more comes. What is heard until its end, and how it ends.
    fn finish(mut self) -> (Vec<Value>, i32) {
        self.input = None;
        let lines = self.output.take().expect("open").lines();
        let rest = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        (rest, self.code())
    }

    fn code(&mut self) -> i32 {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn first_title(answer: &Value) -> &str {
    answer["result"]["structuredContent"]["results"][0]["title"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn both_eras_are_served_and_the_daemon_is_started() {
    let home = TestHome::new();
    let mut old = Talk::opened(&home);
    let tools = old.ask(&request("a", "tools/list", json!({})));
    assert!(tools["result"]["tools"].as_array().is_some_and(|all| !all.is_empty()), "{tools}");
    home.brain(["capture", "# Lovelace\nThe analytical engine"]).expect(0);
    assert_eq!(first_title(&old.ask(&search(1, "analytical"))), "Lovelace");
    let unknown = old.ask(&request(2, "no/such", json!({})));
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(old.finish(), (vec![], 0), "notifications have no answer");

    let mut new = Talk::begin(&home);
    let server = new.ask(&modern(1, "server/discover", json!({})));
    let versions = server["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.iter().any(|version| version == "2026-07-28"), "{server}");
    let params = json!({ "name": "search", "arguments": { "query": "engine" } });
    let found = new.ask(&modern(2, "tools/call", params));
    assert_eq!(
        (first_title(&found), &found["result"]["resultType"]),
        ("Lovelace", &json!("complete"))
    );
    assert_eq!(new.finish(), (vec![], 0));
}

#[test]
fn everything_is_answered_after_the_end_of_input() {
    let home = TestHome::new();
    let mut talk = Talk::opened(&home);
    for id in 1..=200 {
        talk.say(&search(id, "nothing"));
    }
    // The last line need not be ended.
    talk.raw(search(201, "nothing").to_string().as_bytes());
    let (answers, code) = talk.finish();
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!((ids, code), ((1..=201).collect(), 0));
    assert!(answers.iter().all(|answer| answer["result"].is_object()));
}

#[test]
fn a_daemon_that_is_killed_is_replaced_and_the_session_goes_on() {
    let home = TestHome::new();
    let first = home.daemon();
    home.brain(["capture", "# Lovelace\nThe analytical engine"]).expect(0);
    let mut talk = Talk::opened(&home);
    assert_eq!(first_title(&talk.ask(&search(1, "analytical"))), "Lovelace");
    first.kill();
    // A client that says nothing starts no daemon.
    std::thread::sleep(Duration::from_millis(200));
    assert!(home.connect().is_none(), "nobody asked for one");
    talk.say(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }));
    assert_eq!(first_title(&talk.ask(&search(2, "analytical"))), "Lovelace", "with another daemon");
    for n in 3..6 {
        home.brain(["stop"]).expect(0);
        assert_eq!(first_title(&talk.ask(&search(n, "analytical"))), "Lovelace");
    }
    assert_eq!(talk.finish(), (vec![], 0), "the second opening of the session was not heard");
}

#[test]
fn what_was_under_way_is_answered_when_the_daemon_dies() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let mut talk = Talk::opened(&home);
    let pid = rustix::process::Pid::from_raw(daemon.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    // It takes a moment until the last of its threads stands still.
    std::thread::sleep(Duration::from_millis(300));
    talk.say(&search(1, "a"));
    talk.say(&search(2, "a"));
    talk.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } }));
    talk.say(&request("last", "tools/list", json!({})));
    // What they wrote is with the daemon, which cannot answer.
    std::thread::sleep(Duration::from_millis(300));
    daemon.kill();
    for id in [json!(1), json!("last")] {
        let answer = talk.hear();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(-32603)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("restarted"), "{answer}");
    }
    assert!(talk.ask(&search(3, "a"))["result"].is_object(), "and it goes on");
    assert_eq!(talk.finish(), (vec![], 0), "what was called off has no answer");
}

#[test]
fn a_daemon_that_stops_answers_what_is_under_way() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let mut talk = Talk::opened(&home);
    for id in 1..=50 {
        talk.say(&search(id, "a"));
    }
    let first = talk.hear();
    let (status, took) = daemon.terminate();
    assert!(status.success() && took < Duration::from_secs(5), "{status} after {took:?}");
    let mut answers = vec![first];
    while answers.len() < 50 {
        answers.push(talk.hear());
    }
    // Each once, be it with what was asked for or with the advice to ask again.
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=50).collect::<Vec<_>>());
    assert_eq!(talk.finish(), (vec![], 0));
}

#[test]
fn junk_and_lines_without_end_harm_nothing_else() {
    let home = TestHome::new();
    let mut talk = Talk::opened(&home);
    for (junk, code, id) in [
        (&b"junk"[..], -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",", -32700, Value::Null),
        (b"\xff\xfe\x00", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (b"7", -32600, Value::Null),
        (b"{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}", -32600, json!(5)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":6}", -32600, json!(6)),
    ] {
        talk.raw(&[junk, b"\n\n  \r\n"].concat());
        let answer = talk.hear();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{answer}");
    }
    let long = "x".repeat(9 * 1024 * 1024);
    let huge =
        request("huge", "tools/call", json!({ "name": "search", "arguments": { "query": long } }));
    let answer = talk.ask(&huge);
    assert_eq!(answer["error"]["code"], -32600);
    assert!(answer["error"]["message"].as_str().unwrap().contains("8388608"), "{answer}");
    // One that just fits comes to the daemon, which says what it thinks of it.
    let long = "x".repeat(8 * 1024 * 1024 - 200);
    let large = talk.ask(&request(
        7,
        "tools/call",
        json!({ "name": "search", "arguments": { "query": long } }),
    ));
    assert!(large["result"].is_object() || large["error"].is_object(), "{large}");
    assert!(talk.ask(&search(8, "a"))["result"].is_object());
    assert_eq!(talk.finish(), (vec![], 0));
}

#[test]
fn without_a_daemon_the_client_and_people_are_told() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_NO_START".into(), "1".into()));
    let mut talk = Talk::begin(&home);
    let answer = talk.ask(&modern(1, "tools/list", json!({})));
    assert_eq!(answer["error"]["code"], -32603);
    assert!(answer["error"]["message"].as_str().unwrap().contains("brain serve"), "{answer}");
    assert_eq!(talk.code(), 6);
    assert!(talk.complaint().contains("brain serve"));
    // Nothing but messages on standard output, whatever the flags.
    let ran = home.brain(["--json", "mcp"]).expect(6);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("no daemon answers"), "{ran:?}");
}

#[test]
fn a_client_that_reads_no_more_ends_it() {
    let home = TestHome::new();
    let mut talk = Talk::opened(&home);
    talk.output = None;
    talk.say(&search(1, "a"));
    assert_eq!(talk.code(), 0);
}

#[test]
fn streams_with_nothing_to_do_make_room() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_DAEMON_CONNECTIONS".into(), "4".into()));
    let _daemon = home.daemon();
    let mut talks: Vec<Talk> = (0..4).map(|_| Talk::opened(&home)).collect();
    for talk in &mut talks {
        assert!(talk.ask(&search(1, "a"))["result"].is_object());
    }
    // Every place is taken by a stream; a command gets one all the same.
    home.brain(["capture", "# Lovelace\nThe analytical engine"]).expect(0);
    for talk in &mut talks {
        assert_eq!(
            first_title(&talk.ask(&search(2, "analytical"))),
            "Lovelace",
            "and nobody noticed"
        );
    }
    for talk in talks {
        assert_eq!(talk.finish(), (vec![], 0));
    }
}

#[test]
fn many_requests_of_one_stream_do_not_keep_others_out() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut talk = Talk::opened(&home);
    let mut input = talk.input.take().unwrap();
    let feeder = std::thread::spawn(move || {
        for id in 1..=3000 {
            input.write_all(format!("{}\n", search(id, "a b c d")).as_bytes()).unwrap();
        }
        input
    });
    let mut client = home.connect().unwrap();
    for n in 0..20 {
        let written = client.ask(&capture(format!("thought {n}")));
        assert!(matches!(written, Ok(Reply::Write(_))), "{written:?}");
        assert!(client.ask(&Request::Status(Status)).is_ok());
    }
    for _ in 1..=3000 {
        assert!(talk.hear()["result"].is_object());
    }
    talk.input = Some(feeder.join().unwrap());
    assert_eq!(talk.finish(), (vec![], 0));
}
