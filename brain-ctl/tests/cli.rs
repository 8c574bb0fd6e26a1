//! Tests of the program `brain` with a fake daemon: output, exit statuses, start and stop. The
//! workspace's `tests` crate tests it with the real daemon.
//!
//! Each test has a directory with a copy of `brain` and a `brain-daemon`. This `brain-daemon` is a
//! script that runs this test program as [`fake_daemon`].

#![allow(clippy::expect_used)]

use std::{
    env,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::{
        fs::PermissionsExt,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use brain_protocol::{
    Answer, Event, Fault, FaultCode, HELLO_LEN, Hello, IgnoredFiles, ImportFailure, ImportReply,
    Page, Reply, Request, Slug, SourceId, Stop, StopReply, SyncStatus, TrustLevel, WriteReply,
    WriteStatus, decode, encode, read_frame, write_frame,
};

/// The length of the fake daemon's page: more than the buffer of a pipe.
const PAGE_LENGTH: usize = 3_000_000;

/// A directory with both programs and a home. Dropping it stops the daemon and removes the
/// directory.
struct Installation(PathBuf);

impl Installation {
    /// Creates a directory with both programs; the daemon runs `script`.
    fn with(script: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = env::temp_dir().join(format!("brain-cli-{}-{n}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("directory");
        // A child process writes the files. If this process had them open for writing while another
        // thread forks, running them would fail ("text file busy").
        let status = Command::new("sh")
            .args([
                "-c",
                r#"cp "$1" "$2/brain" &&
                printf '#!/bin/sh\n%s\n' "$3" > "$2/brain-daemon" &&
                chmod 755 "$2"/*"#,
            ])
            .args(["sh", env!("CARGO_BIN_EXE_brain"), &dir.to_string_lossy(), script])
            .status();
        assert!(status.expect("sh").success());
        Self(dir)
    }

    /// Creates a directory whose daemon is [`fake_daemon`].
    fn new() -> Self {
        let program = env::current_exe().expect("this program");
        let program = program.display();
        Self::with(&format!("exec '{program}' --ignored --exact --nocapture fake_daemon"))
    }

    fn brain(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.0.join("brain"));
        command.args(args).stdin(Stdio::null()).env("BRAIN_HOME", self.0.join("home"));
        command.env_remove("BRAIN_SOCKET").env_remove("BRAIN_NO_START");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.brain(args).output().expect("brain runs")
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let _ = self.brain(&["stop", "--quiet"]).output();
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

/// Not a test: the script `brain-daemon` calls this function to run the fake daemon.
#[test]
#[ignore = "it is the daemon of the other tests"]
fn fake_daemon() {
    let home = PathBuf::from(env::var_os("BRAIN_HOME").expect("a home"));
    let store = File::create(home.join("store")).expect("store");
    if store.try_lock().is_err() {
        let _ = io::stderr()
            .write_all(b"brain-daemon: error: the store is in use by another brain-daemon\n");
        std::process::exit(1);
    }
    thread::sleep(Duration::from_millis(100));
    let path = home.join("run/brain.sock");
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("bind");
    for stream in listener.incoming().flatten() {
        let path = path.clone();
        thread::spawn(move || serve(stream, &path));
    }
}

fn serve(mut stream: UnixStream, socket: &Path) {
    let mut greeting = [0; HELLO_LEN];
    if stream.read_exact(&mut greeting).is_err() {
        return;
    }
    let _ = stream.write_all(&Hello::of_this_build(std::process::id()).to_bytes());
    let Ok(frame) = read_frame(&mut stream) else { return };
    let request: Request = decode(&frame).expect("a request");
    let stop = request == Request::Stop(Stop);
    for answer in answers(request) {
        let _ = write_frame(&mut stream, &encode(&answer).expect("fits"));
    }
    if stop {
        let _ = fs::remove_file(socket);
        thread::sleep(Duration::from_millis(150));
        std::process::exit(0);
    }
}

#[allow(clippy::too_many_lines)]
fn answers(request: Request) -> Vec<Answer> {
    let slug = |text: &str| Slug::parse(text).expect("slug");
    vec![match request {
        Request::Stop(Stop) => Answer::Reply(Reply::Stopping(StopReply)),
        Request::Capture(_) => Answer::Reply(Reply::Write(WriteReply {
            slug: slug("inbox/2026-11-21-1a2b3c4d"),
            status: WriteStatus::Created,
            duplicate: false,
            chunks: 1,
            content_hash: "1a2b3c4d".repeat(8),
            written: true,
            path: "/home/x/pages/inbox/2026-11-21-1a2b3c4d.md".into(),
            source_id: SourceId::default(),
            source_kind: Some("capture-cli".into()),
            source_uri: Some("cli:argument".into()),
            captured_at: Some("2026-11-21T04:51:43.123Z".into()),
            warnings: vec!["the type is \u{1b}[31modd".into()],
            version: 1,
        })),
        Request::Get(get) if get.page.slug.as_str() == "big" => Answer::Reply(Reply::Page(Page {
            slug: slug("big"),
            source_id: SourceId::default(),
            page_type: "note".into(),
            title: "Big".into(),
            tags: Vec::new(),
            aliases: Vec::new(),
            frontmatter: String::new(),
            body: String::new(),
            content: "line\u{1b}\n".repeat(PAGE_LENGTH / 6),
            content_hash: String::new(),
            chunks: 1,
            created_at: String::new(),
            updated_at: String::new(),
            source_path: None,
            source_kind: None,
            source_uri: None,
            ingested_via: None,
            ingested_at: None,
            version: 1,
            trust: TrustLevel::Owner,
            outside_lines: Vec::new(),
            copy_of: None,
            id: 0,
        })),
        Request::Import(_) => {
            return vec![
                Answer::Event(Event::Progress { done: 1, total: 2 }),
                Answer::Reply(Reply::Import(ImportReply {
                    status: SyncStatus::Partial,
                    dry_run: false,
                    id: None,
                    older: 0,
                    format: None,
                    files: 2,
                    created: 1,
                    updated: 0,
                    restored: 0,
                    unchanged: 0,
                    skipped: 0,
                    failed: vec![ImportFailure {
                        path: "b.md".into(),
                        reason: "line 2: no YAML".into(),
                    }],
                    failed_total: 1,
                    warnings: Vec::new(),
                    took_ms: 12,
                    left_out: IgnoredFiles::default(),
                    not_imported: Vec::new(),
                    posts: None,
                    secrets: 0,
                })),
            ];
        }
        _ => Answer::Fault(Fault::new(FaultCode::NotFound, "no such page").hint("see: brain list")),
    }]
}

#[test]
fn a_daemon_is_started_reported_once_and_stopped() {
    let installation = Installation::new();
    let refused = installation.run(&["get", "big", "--no-start"]);
    assert_eq!(refused.status.code(), Some(6));
    assert!(err(&refused).contains("brain serve"), "{}", err(&refused));
    let mut command = installation.brain(&["get", "big", "--json"]);
    let refused = command.env("BRAIN_NO_START", "1").output().expect("runs");
    assert_eq!(
        (refused.status.code(), json(&refused)["error"]["code"].as_str()),
        (Some(6), Some("unreachable"))
    );
    for (args, code) in [(["status"], 6), (["stop"], 0)] {
        let output = installation.run(&args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
    }
    assert!(!installation.0.join("home").exists(), "no daemon was started");

    let first = installation.run(&["capture", "hello"]);
    assert_eq!(first.status.code(), Some(0), "{}", err(&first));
    assert_eq!(
        err(&first).lines().filter(|l| l.starts_with("brain: started brain-daemon (pid ")).count(),
        1
    );
    assert!(err(&first).contains("brain: warning: the type is \u{FFFD}[31modd"), "{}", err(&first));
    assert!(out(&first).starts_with("created inbox/2026-11-21-1a2b3c4d\n"), "{}", out(&first));
    let mode = fs::metadata(installation.0.join("home/run")).expect("run").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let second = installation.run(&["capture", "hello", "-q"]);
    assert_eq!(out(&second), "inbox/2026-11-21-1a2b3c4d\n");
    assert!(!err(&second).contains("started"));

    let stopped = installation.run(&["stop"]);
    assert_eq!(stopped.status.code(), Some(0), "{}", err(&stopped));
    assert!(out(&stopped).starts_with("stopped brain-daemon (pid "));
    // A start directly after a stop waits until the store is free.
    assert_eq!(installation.run(&["capture", "again"]).status.code(), Some(0));
}

#[test]
fn concurrent_clients_start_one_daemon() {
    let installation = Installation::new();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let mut command = installation.brain(&["capture", "hello"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("spawn")
        })
        .collect();
    let outputs: Vec<Output> =
        clients.into_iter().map(|c| c.wait_with_output().expect("output")).collect();
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", err(output));
    }
    assert_eq!(outputs.iter().filter(|o| err(o).contains("brain: started")).count(), 1);
}

#[test]
fn the_error_of_a_daemon_that_cannot_start_is_reported() {
    let installation = Installation::with(
        "echo 'starting' >&2; echo 'invalid_config: key colour is unknown' >&2; exit 1",
    );
    let output = installation.run(&["capture", "x", "--json"]);
    assert_eq!(output.status.code(), Some(6));
    assert_eq!(err(&output), "");
    let error = &json(&output)["error"];
    assert_eq!(error["code"], "unreachable");
    let message = error["message"].as_str().expect("message");
    assert!(message.contains("invalid_config: key colour is unknown"), "{message}");
    assert!(error["hint"].as_str().is_some_and(|h| h.contains("daemon.log")));

    let report = installation.run(&["doctor", "--json"]);
    assert_eq!(report.status.code(), Some(1));
    assert_eq!(json(&report)["status"], "unhealthy");
    assert_eq!(json(&report)["checks"][0]["name"], "daemon");
    assert_eq!(json(&report)["checks"][0]["status"], "fail");
}

#[test]
fn large_output_is_complete_and_write_errors_are_reported() {
    let installation = Installation::new();
    let whole = installation.run(&["get", "big"]);
    assert_eq!((whole.status.code(), whole.stdout.len()), (Some(0), PAGE_LENGTH));
    assert!(whole.stdout.starts_with(b"line\x1b\n"), "a pipe gets the page verbatim");

    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    let output = installation.brain(&["get", "big"]).stdout(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("ENOSPC"), "{}", err(&output));

    let mut closed = installation
        .brain(&["get", "big"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("spawn");
    let mut beginning = [0; 10];
    closed.stdout.take().expect("pipe").read_exact(&mut beginning).expect("ten bytes");
    let output = closed.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
}

#[test]
fn json_is_one_value_with_the_fields_of_the_contract() {
    let installation = Installation::new();
    let _ = installation.run(&["capture", "start the daemon"]);
    let output = installation.run(&["capture", "x", "--json"]);
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
    assert_eq!(out(&output).lines().count(), 1);
    let value = json(&output);
    for field in [
        "slug",
        "status",
        "duplicate",
        "chunks",
        "content_hash",
        "written",
        "path",
        "source_id",
        "source_kind",
        "source_uri",
        "captured_at",
    ] {
        assert!(value.get(field).is_some(), "{field}");
    }
    let missing = installation.run(&["--json", "get", "nothing"]);
    assert_eq!((missing.status.code(), err(&missing).as_str()), (Some(4), ""));
    let expected =
        r#"{"error":{"code":"not_found","message":"no such page","hint":"see: brain list"}}"#;
    assert_eq!(out(&missing).trim_end(), expected);
    let usage = installation.run(&["get", "--json", "--sorce", "x"]);
    assert_eq!(
        (usage.status.code(), json(&usage)["error"]["code"].as_str()),
        (Some(2), Some("usage"))
    );
}

#[test]
fn a_partial_import_fails_and_names_the_files() {
    let installation = Installation::new();
    let dir = installation.0.to_string_lossy().into_owned();
    let output = installation.run(&["import", &dir]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("b.md: line 2: no YAML"), "{}", err(&output));
    assert!(
        out(&output).contains("1 created") && out(&output).contains("1 failed"),
        "{}",
        out(&output)
    );
    let output = installation.run(&["import", &dir, "--json"]);
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(1), ""));
    assert_eq!(installation.run(&["import", "/no/such"]).status.code(), Some(1));
}

#[test]
fn input_is_checked_before_the_daemon_starts() {
    let installation = Installation::with("exit 1");
    for (args, code, expected) in [
        (&["capture"][..], 2, "--stdin"),
        (&["capture", "  "], 2, "--file PATH"),
        (&["capture", "--stdin"], 2, "--file PATH"),
        (&["capture", "x", "--stdin"], 2, "only one input"),
        (&["capture", "--file", "/no/such"], 1, "ENOENT"),
        (&["capture", "--file", "/tmp"], 1, "EISDIR"),
        (&["capture", "--file", "/dev/zero"], 1, "5 MB"),
        (&["put", "x", "--file", "/no/such"], 1, "/no/such"),
        (&["get", "No Slug"], 2, "no-slug"),
    ] {
        let output = installation.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(err(&output).contains(expected), "{args:?}: {}", err(&output));
        assert_eq!(out(&output), "");
    }
    assert!(!installation.0.join("home").exists());
}

#[test]
fn a_daemon_of_another_protocol_is_named_and_can_be_stopped() {
    let installation = Installation::new();
    let run = installation.0.join("home/run");
    fs::create_dir_all(&run).expect("run");
    let listener = UnixListener::bind(run.join("brain.sock")).expect("bind");
    let mut sleeper = Command::new("sleep").arg("1000").spawn().expect("sleep");
    let hello = Hello { protocol: 99, version: [9, 8, 7, 6], pid: sleeper.id() };
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(&hello.to_bytes());
        }
    });
    let output = installation.run(&["list", "--json"]);
    assert_eq!(output.status.code(), Some(6));
    assert_eq!(json(&output)["error"]["code"], "protocol_mismatch");
    let message = json(&output)["error"]["message"].to_string();
    assert!(message.contains("9.8.7.6") && message.contains("99"), "{message}");
    assert_eq!(installation.run(&["stop"]).status.code(), Some(0));
    assert!(!sleeper.wait().expect("ended").success());
}

#[test]
fn a_stale_socket_counts_as_no_daemon() {
    let installation = Installation::new();
    let run = installation.0.join("home/run");
    fs::create_dir_all(&run).expect("run");
    drop(UnixListener::bind(run.join("brain.sock")).expect("bind"));
    assert_eq!(installation.run(&["status"]).status.code(), Some(6));
    let output = installation.run(&["capture", "x"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
}
