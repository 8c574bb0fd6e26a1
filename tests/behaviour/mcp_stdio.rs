//! `brain mcp`: its sessions, and how they survive a restart of the daemon.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use brain_protocol::{Reply, Request, Status};
use brain_tests::{MAX_SHUTDOWN_TIME, TEST_TIMEOUT, TestHome, capture};
use serde_json::{Value, json};

/// Returns a request of the newest revision, which repeats the client's details in each request.
fn modern_request(id: u64, method: &str, params: Value) -> Value {
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

/// A running `brain mcp` and its pipes.
struct McpProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl McpProcess {
    fn start(home: &TestHome) -> Self {
        let mut command = home.command("brain");
        command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Self { child, input, output }
    }

    /// Starts the program and opens a session of the revision before the newest.
    fn with_session(home: &TestHome) -> Self {
        let mut process = Self::start(home);
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let answer = process.ask(&request(0, "initialize", params));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "brain");
        process.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        process
    }

    fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        self.input
            .as_mut()
            .expect("standard input is closed")
            .write_all(bytes)
            .expect("`brain mcp` reads no input");
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output
            .as_mut()
            .expect("standard output is closed")
            .read_line(&mut line)
            .expect("the output is not text");
        serde_json::from_str(&line)
            .unwrap_or_else(|e| panic!("not a message ({e}): {line:?} {}", self.read_stderr()))
    }

    /// Sends a request and returns the next message, which must be its answer.
    fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        let answer = self.receive();
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }

    /// Closes standard input and returns all standard error of the program.
    fn read_stderr(&mut self) -> String {
        let mut text = String::new();
        self.input = None;
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut text);
        }
        text
    }

    /// Closes standard input; returns the remaining messages and the exit code.
    fn finish(mut self) -> (Vec<Value>, i32) {
        self.input = None;
        let lines = self.output.take().expect("standard output is closed").lines();
        let rest = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        (rest, self.wait_for_exit_code())
    }

    fn wait_for_exit_code(&mut self) -> i32 {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < deadline, "`brain mcp` does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for McpProcess {
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
fn both_revisions_are_served_and_the_daemon_is_started() {
    let home = TestHome::new();
    let mut old = McpProcess::with_session(&home);
    let tools = old.ask(&request("a", "tools/list", json!({})));
    assert!(tools["result"]["tools"].as_array().is_some_and(|all| !all.is_empty()), "{tools}");
    home.brain(["capture", "# Lovelace\nThe analytical engine"]).expect(0);
    assert_eq!(first_title(&old.ask(&search(1, "analytical"))), "Lovelace");
    let unknown = old.ask(&request(2, "no/such", json!({})));
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(old.finish(), (vec![], 0), "notifications have no answer");

    let mut new = McpProcess::start(&home);
    let server = new.ask(&modern_request(1, "server/discover", json!({})));
    let versions = server["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.iter().any(|version| version == "2026-07-28"), "{server}");
    let params = json!({ "name": "search", "arguments": { "query": "engine" } });
    let found = new.ask(&modern_request(2, "tools/call", params));
    assert_eq!(
        (first_title(&found), &found["result"]["resultType"]),
        ("Lovelace", &json!("complete"))
    );
    assert_eq!(new.finish(), (vec![], 0));
}

#[test]
fn every_request_is_answered_after_the_end_of_input() {
    let home = TestHome::new();
    let mut process = McpProcess::with_session(&home);
    for id in 1..=200 {
        process.send(&search(id, "nothing"));
    }
    // The last line may lack its newline.
    process.send_bytes(search(201, "nothing").to_string().as_bytes());
    let (answers, code) = process.finish();
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!((ids, code), ((1..=201).collect(), 0));
    assert!(answers.iter().all(|answer| answer["result"].is_object()));
}

#[test]
fn a_killed_daemon_is_replaced_and_the_session_continues() {
    let home = TestHome::new();
    let first = home.daemon();
    home.brain(["capture", "# Lovelace\nThe analytical engine"]).expect(0);
    let mut process = McpProcess::with_session(&home);
    assert_eq!(first_title(&process.ask(&search(1, "analytical"))), "Lovelace");
    first.kill();
    // A client that sends nothing starts no daemon.
    std::thread::sleep(Duration::from_millis(200));
    assert!(home.connect().is_none(), "no daemon was started");
    process.send(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }));
    assert_eq!(
        first_title(&process.ask(&search(2, "analytical"))),
        "Lovelace",
        "another daemon answers"
    );
    for n in 3..6 {
        home.brain(["stop"]).expect(0);
        assert_eq!(first_title(&process.ask(&search(n, "analytical"))), "Lovelace");
    }
    assert_eq!(
        process.finish(),
        (vec![], 0),
        "the client gets no answers about the reopened session"
    );
}

/// Waits until SIGSTOP has reached all threads of a process.
fn wait_until_stopped(pid: u32) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    let is_stopped = |thread: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(thread.unwrap().path().join("stat"));
        stat.map_or(true, |stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
    };
    while !std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().all(is_stopped) {
        assert!(Instant::now() < deadline, "the daemon goes on after SIGSTOP");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn pending_requests_are_answered_when_the_daemon_dies() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let mut process = McpProcess::with_session(&home);
    let pid = rustix::process::Pid::from_raw(daemon.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    wait_until_stopped(daemon.pid());
    process.send(&search(1, "a"));
    process.send(&search(2, "a"));
    process.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 2 } }));
    process.send(&request("last", "tools/list", json!({})));
    // Time for the requests to reach the daemon, which cannot answer.
    std::thread::sleep(Duration::from_secs(2));
    daemon.kill();
    for id in [json!(1), json!("last")] {
        let answer = process.receive();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(-32603)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("restarted"), "{answer}");
    }
    assert!(process.ask(&search(3, "a"))["result"].is_object(), "the session continues");
    assert_eq!(process.finish(), (vec![], 0), "a cancelled request has no answer");
}

#[test]
fn a_stopping_daemon_answers_pending_requests() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let mut process = McpProcess::with_session(&home);
    for id in 1..=50 {
        process.send(&search(id, "a"));
    }
    let first = process.receive();
    let (status, took) = daemon.terminate();
    assert!(status.success() && took < MAX_SHUTDOWN_TIME, "{status} after {took:?}");
    let mut answers = vec![first];
    while answers.len() < 50 {
        answers.push(process.receive());
    }
    // Each request has exactly one answer.
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=50).collect::<Vec<_>>());
    assert_eq!(process.finish(), (vec![], 0));
}

#[test]
fn junk_and_endless_lines_do_not_disturb_the_session() {
    let home = TestHome::new();
    let mut process = McpProcess::with_session(&home);
    for (junk, code, id) in [
        (&b"junk"[..], -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",", -32700, Value::Null),
        (b"\xff\xfe\x00", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (b"7", -32600, Value::Null),
        (b"{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}", -32600, json!(5)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":6}", -32600, json!(6)),
    ] {
        process.send_bytes(&[junk, b"\n\n  \r\n"].concat());
        let answer = process.receive();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{answer}");
    }
    let long = "x".repeat(9 * 1024 * 1024);
    let huge =
        request("huge", "tools/call", json!({ "name": "search", "arguments": { "query": long } }));
    let answer = process.ask(&huge);
    assert_eq!(answer["error"]["code"], -32600);
    assert!(answer["error"]["message"].as_str().unwrap().contains("8388608"), "{answer}");
    // A line just below the limit reaches the daemon, which answers it.
    let long = "x".repeat(8 * 1024 * 1024 - 200);
    let large = process.ask(&request(
        7,
        "tools/call",
        json!({ "name": "search", "arguments": { "query": long } }),
    ));
    assert!(large["result"].is_object() || large["error"].is_object(), "{large}");
    assert!(process.ask(&search(8, "a"))["result"].is_object());
    assert_eq!(process.finish(), (vec![], 0));
}

#[test]
fn a_missing_daemon_is_reported_to_the_client_and_on_stderr() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_NO_START".into(), "1".into()));
    let mut process = McpProcess::start(&home);
    let answer = process.ask(&modern_request(1, "tools/list", json!({})));
    assert_eq!(answer["error"]["code"], -32603);
    assert!(answer["error"]["message"].as_str().unwrap().contains("brain serve"), "{answer}");
    assert_eq!(process.wait_for_exit_code(), 6);
    assert!(process.read_stderr().contains("brain serve"));
    // With `--json`, standard output has no error object: it is for messages only.
    let result = home.brain(["--json", "mcp"]).expect(6);
    assert_eq!(result.stdout, "");
    assert!(result.stderr.contains("no daemon answers"), "{result:?}");
}

#[test]
fn the_program_ends_when_its_client_stops_reading() {
    let home = TestHome::new();
    let mut process = McpProcess::with_session(&home);
    process.output = None;
    process.send(&search(1, "a"));
    assert_eq!(process.wait_for_exit_code(), 0);
}

#[test]
fn every_message_of_a_mix_is_answered() {
    let home = TestHome::new();
    let mut process = McpProcess::with_session(&home);
    let broken = |id: u64| {
        [
            "{".to_owned(),
            "[1]".into(),
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.into(),
            r#"{"jsonrpc":"2.0","method":"notifications/nosuch","params":5}"#.into(),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","result":{{}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize"}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"notifications/initialized"}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":[]}}"#),
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{}}}}"#
            ),
        ]
    };
    let mut lines = String::new();
    for id in 1..=300_u64 {
        let all = broken(1_000 + id);
        lines += &format!("{}\n{}\n", all[id as usize % all.len()], search(id, "a"));
    }
    let mut input = process.input.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    let (answers, exit) = process.finish();
    writer.join().unwrap();
    assert_eq!(exit, 0);
    for id in 1..=300 {
        let results = answers.iter().filter(|it| it["id"] == id && it["result"].is_object());
        assert_eq!(results.count(), 1, "{id}");
        let is_request = (id % 10) >= 5;
        let refusals = answers.iter().filter(|it| it["id"] == 1_000 + id);
        assert_eq!(refusals.count(), usize::from(is_request), "{id}");
    }
    let null_ids = answers.iter().filter(|it| it["id"].is_null() && it["error"].is_object());
    assert_eq!(null_ids.count(), 120, "four kinds of messages have no id, 30 of each");
    let initialize = answers.iter().find(|it| it["id"] == 1_006).unwrap();
    assert_eq!(initialize["error"]["code"], -32602, "{initialize}");
    let message = initialize["error"]["message"].as_str().unwrap();
    assert!(message.contains("protocolVersion"), "{message}");
}

/// The daemon does not run on until the program has ended. So the program cannot read all requests,
/// and does not see the end of its input behind them.
#[test]
fn the_program_ends_with_its_client_although_the_daemon_hangs() {
    let home = TestHome::new();
    let mut process = McpProcess::with_session(&home);
    let pid = rustix::process::Pid::from_raw(home.status().pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    for id in 1..=40 {
        process.send(&search(id, "a"));
    }
    process.input = None;
    let deadline = Instant::now() + Duration::from_secs(90);
    let mut ended = None;
    while ended.is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(100));
        ended = process.child.try_wait().unwrap();
    }
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert!(ended.is_some(), "`brain mcp` outlived its client");
    let answers: Vec<Value> = process
        .output
        .take()
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert!(answers.len() >= 16 && answers.iter().all(|it| it["error"].is_object()));
}

#[test]
fn idle_streams_are_closed_to_admit_commands() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_DAEMON_CONNECTIONS".into(), "4".into()));
    let _daemon = home.daemon();
    let mut processes: Vec<McpProcess> = (0..4).map(|_| McpProcess::with_session(&home)).collect();
    for process in &mut processes {
        assert!(process.ask(&search(1, "a"))["result"].is_object());
    }
    // The four streams use all connections; a command still gets one.
    home.brain(["capture", "# Lovelace\nThe analytical engine"]).expect(0);
    for process in &mut processes {
        assert_eq!(
            first_title(&process.ask(&search(2, "analytical"))),
            "Lovelace",
            "the client sees no error"
        );
    }
    for process in processes {
        assert_eq!(process.finish(), (vec![], 0));
    }
}

#[test]
fn many_requests_of_one_stream_do_not_block_others() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut process = McpProcess::with_session(&home);
    let mut input = process.input.take().unwrap();
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
        assert!(process.receive()["result"].is_object());
    }
    process.input = Some(feeder.join().unwrap());
    assert_eq!(process.finish(), (vec![], 0));
}
