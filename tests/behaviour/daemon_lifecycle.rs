//! The daemon's life cycle: it starts, is the only one of its home, and stops.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brain_protocol::{Get, Import, PageRef, Reply, Request};
use brain_tests::{MAX_SHUTDOWN_TIME, TestHome, capture, expect_reply, run};

#[test]
fn a_second_daemon_ends_at_once_and_names_the_first() {
    let home = TestHome::new();
    let first = home.daemon();
    let second = run(home.command("brain-daemon"), b"").expect(1);
    assert!(second.stderr.contains(&format!("process {}", first.pid())), "{second:?}");
    assert!(second.stderr.contains("in use") && second.stderr.contains("hint:"), "{second:?}");
    assert_eq!(second.stdout, "", "a start error is not printed to standard output");
    assert_eq!(home.json(["status"])["pid"], first.pid(), "the first daemon keeps running");
    assert_eq!(home.json(["capture", "still here"])["status"], "created");
}

#[test]
fn a_stale_socket_file_is_replaced() {
    let home = TestHome::new();
    home.daemon().kill();
    assert!(home.socket().exists(), "a killed daemon leaves its socket");
    assert_eq!(home.fault(["status"], 6)["code"], "unreachable");
    let daemon = home.daemon();
    assert_eq!(home.json(["status"])["pid"], daemon.pid());
}

#[test]
fn a_file_at_the_socket_path_is_left_alone() {
    let home = TestHome::new();
    fs::create_dir_all(home.path().join("run")).unwrap();
    fs::write(home.socket(), "my notes").unwrap();
    let output = home.brain(["capture", "x"]);
    assert_ne!(output.code, 0);
    assert!(
        output.stderr.contains("brain.sock") && output.stderr.contains("not a socket"),
        "{output:?}"
    );
    assert!(
        output.stderr.contains("BRAIN_SOCKET") || output.stderr.contains("move it away"),
        "the hint is missing: {output:?}"
    );
    assert_eq!(fs::read_to_string(home.socket()).unwrap(), "my notes");
}

#[test]
fn sigterm_during_an_import_and_captures_loses_nothing() {
    let home = TestHome::new();
    let vault = home.outside().join("vault");
    fs::create_dir_all(&vault).unwrap();
    for n in 0..4000 {
        fs::write(
            vault.join(format!("page-{n}.md")),
            format!("# Page {n}\n\n{}\n", "Words and words. ".repeat(60)),
        )
        .unwrap();
    }
    let daemon = home.daemon();
    let (acknowledged, import_begun) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let (status, duration) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = home.connect().unwrap();
            import_begun.store(true, Ordering::SeqCst);
            let path = vault.to_str().unwrap().to_owned();
            client.try_ask(&Request::Import(Import {
                path,
                source: None,
                format: None,
                since: None,
                dry_run: false,
                scrub: false,
            }))
        });
        for worker in 0..4 {
            let (home, acknowledged) = (&home, &acknowledged);
            scope.spawn(move || {
                let mut client = home.connect().unwrap();
                for n in 0.. {
                    let text = format!("worker {worker} thought {n}");
                    match client.try_ask(&capture(text.as_str())) {
                        Some(Ok(Reply::Write(written))) => {
                            acknowledged.lock().unwrap().push((written.slug, text));
                        }
                        _ => return,
                    }
                }
            });
        }
        while !import_begun.load(Ordering::SeqCst) || acknowledged.lock().unwrap().len() < 20 {
            std::thread::sleep(Duration::from_millis(5));
        }
        daemon.terminate()
    });
    assert!(status.success(), "{status}");
    assert!(duration < MAX_SHUTDOWN_TIME, "{duration:?}");
    let _daemon = home.daemon();
    let mut client = home.connect().unwrap();
    for (slug, text) in acknowledged.into_inner().unwrap() {
        assert!(home.page_file(slug.as_str()).exists(), "{slug}");
        let get = Get { page: PageRef { source: None, slug }, version: None };
        let page = expect_reply!(client.ask(&Request::Get(get)), Page);
        assert_eq!(page.body, text);
    }
    let again = home.json(["import", vault.to_str().unwrap()]);
    let count = |field: &str| again[field].as_u64().unwrap();
    assert_eq!(
        count("created") + count("unchanged"),
        4000,
        "the import continues where it stopped: {again}"
    );
}

#[test]
fn sigterm_does_not_wait_for_idle_or_silent_clients() {
    use std::io::Write;
    let home = TestHome::new();
    let daemon = home.daemon();
    let _idle = home.connect().unwrap();
    assert!(daemon.terminate().0.success());
    // A stop that is late without a busy worker waited for the client.
    let log = home.log();
    assert!(log.contains("stopping") && !log.contains("busy_workers=\"\""), "{log}");

    let daemon = home.daemon();
    let _silent = std::os::unix::net::UnixStream::connect(home.socket()).unwrap();
    let mut half_sent = home.connect().unwrap();
    half_sent.stream.write_all(&[0, 0, 1, 0, 9]).unwrap();
    let (status, duration) = daemon.terminate();
    assert!(status.success(), "{status}");
    assert!(duration < MAX_SHUTDOWN_TIME, "{duration:?}");
    assert!(!home.socket().exists(), "the socket is removed");
}

#[test]
fn stop_ends_the_daemon_and_a_second_stop_succeeds() {
    let home = TestHome::new();
    let mut daemon = home.daemon();
    let stopped = home.json(["stop"]);
    assert_eq!((&stopped["status"], &stopped["pid"]), (&"stopped".into(), &daemon.pid().into()));
    // The last threads of the daemon may end a moment after it released its home.
    let deadline = std::time::Instant::now() + brain_tests::TEST_TIMEOUT;
    while daemon.is_running() {
        assert!(std::time::Instant::now() < deadline, "the daemon does not end");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(home.json(["stop"])["status"], "not_running");
    assert!(!home.socket().exists());
}

#[test]
fn status_describes_the_daemon_and_never_starts_one() {
    let home = TestHome::new();
    let error = home.fault(["status"], 6);
    assert_eq!(error["code"], "unreachable");
    assert!(error["hint"].as_str().unwrap().contains("brain serve"), "{error}");
    assert!(home.connect().is_none(), "no daemon was started");
    let daemon = home.daemon();
    home.json(["capture", "one"]);
    let status = home.json(["status"]);
    assert_eq!(status["pid"], daemon.pid());
    assert_eq!(status["version"], brain_protocol::VERSION);
    assert_eq!(status["home"], home.path().to_str().unwrap());
    assert_eq!(status["socket"], home.socket().to_str().unwrap());
    assert_eq!(
        (&status["pages"], &status["deleted"], &status["sources"]),
        (&1.into(), &0.into(), &1.into())
    );
    assert_eq!(status["degraded"], serde_json::json!([]));
    assert!(status["schema"].as_u64().unwrap() >= 81);
}

#[test]
fn no_start_is_respected_from_flag_and_environment() {
    let mut home = TestHome::new();
    let error = home.fault(["--no-start", "capture", "x"], 6);
    assert_eq!(error["code"], "unreachable");
    assert!(
        error["hint"].as_str().unwrap().contains("brain-daemon"),
        "the hint names no command that starts the daemon: {error}"
    );
    assert!(error["hint"].as_str().unwrap().starts_with("omit --no-start"), "{error}");
    home.env.push(("BRAIN_NO_START".into(), "1".into()));
    for args in [&["capture", "x"][..], &["list"], &["get", "x"], &["search", "x"]] {
        assert_eq!(home.fault(args, 6)["code"], "unreachable", "{args:?}");
    }
    let doctor = home.brain(["doctor", "--json"]).expect(1);
    assert_eq!(doctor.json()["status"], "unhealthy", "the doctor reports the problem nevertheless");
    assert!(home.connect().is_none());
}

#[test]
fn restart_with_no_start_restarts_only_a_running_daemon() {
    let mut home = TestHome::new();
    let error = home.fault(["restart", "--no-start"], 6);
    assert!(error["message"].as_str().unwrap().contains("--no-start"), "{error}");
    home.env.push(("BRAIN_NO_START".into(), "1".into()));
    assert_eq!(home.fault(["restart"], 6)["code"], "unreachable");
    assert!(home.connect().is_none());
    home.env.pop();
    let first = home.json(["restart"]);
    assert_eq!(first["status"], "started");
    let second = home.json(["restart", "--no-start"]);
    assert_eq!((&second["status"], &second["stopped"]), (&"restarted".into(), &first["pid"]));
}

#[test]
fn starting_the_daemon_prints_a_line_and_another_one_for_a_new_brain() {
    let home = TestHome::new();
    let first = home.brain(["capture", "--json", "x"]).expect(0);
    assert_eq!(first.stderr.lines().count(), 2, "{first:?}");
    assert!(first.stderr.contains("brain-daemon"), "{first:?}");
    assert!(first.stderr.contains("made a new, empty brain in"), "{first:?}");
    let _ = first.json();
    assert_eq!(home.brain(["list"]).expect(0).stderr, "", "only a start prints");
}

#[test]
fn clients_that_start_at_once_all_succeed_with_one_daemon() {
    let home = TestHome::new();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let home = &home;
            scope.spawn(move || {
                assert_eq!(home.json(["capture", &format!("thought {n}")])["status"], "created");
            });
        }
    });
    assert_eq!(home.json(["status"])["pages"], 6);
}

#[test]
fn a_command_right_after_stop_starts_a_new_daemon() {
    let home = TestHome::new();
    for n in 0..3 {
        assert_eq!(home.json(["capture", &format!("round {n}")])["status"], "created");
        home.json(["stop"]);
    }
    assert_eq!(home.json(["list"])["pages"].as_array().unwrap().len(), 3);
}

#[test]
fn two_homes_are_independent() {
    let (one, two) = (TestHome::new(), TestHome::new());
    one.json(["capture", "in the first"]);
    two.json(["capture", "in the second"]);
    assert_ne!(one.json(["status"])["pid"], two.json(["status"])["pid"]);
    assert_eq!(one.search("second"), Vec::<String>::new());
    assert_eq!((one.search("first").len(), two.search("second").len()), (1, 1));
    one.json(["stop"]);
    assert_eq!(two.json(["status"])["pages"], 1, "stopping one daemon leaves the other running");
}

#[test]
fn a_socket_in_another_place_is_found_by_clients() {
    let home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    let expected_path = home.outside().join("own.sock");
    fs::write(
        home.path().join("config.toml"),
        format!("[daemon]\nsocket = {:?}\n", expected_path.to_str().unwrap()),
    )
    .unwrap();
    assert_eq!(home.json(["capture", "x"])["status"], "created");
    let status = home.json(["status"]);
    assert_eq!(status["socket"], expected_path.to_str().unwrap());
    assert!(!home.socket().exists());
    assert_eq!(home.json(["stop"])["pid"], status["pid"]);
    let mut by_variable = TestHome::new();
    let expected_path = by_variable.outside().join("variable.sock");
    by_variable.env.push(("BRAIN_SOCKET".into(), expected_path.to_str().unwrap().into()));
    assert_eq!(by_variable.json(["capture", "y"])["status"], "created");
    assert!(expected_path.exists());
    by_variable.json(["stop"]);
}

#[test]
fn a_home_path_too_long_for_a_socket_is_an_error_with_a_hint() {
    let mut home = TestHome::new();
    let deep = home.outside().join("d".repeat(60)).join("e".repeat(60));
    home.env.push(("BRAIN_HOME".into(), deep.to_str().unwrap().into()));
    let output = home.brain(["capture", "x"]);
    assert_ne!(output.code, 0);
    assert!(output.stderr.contains("BRAIN_SOCKET"), "{output:?}");
    home.env
        .push(("BRAIN_SOCKET".into(), home.outside().join("short.sock").to_str().unwrap().into()));
    assert_eq!(home.json(["capture", "x"])["status"], "created");
    home.json(["stop"]);
}

#[test]
fn a_relative_home_is_relative_to_the_clients_directory() {
    let home = TestHome::new();
    let brain = |args: &[&str]| {
        let mut command = home.command("brain");
        command.args(args).arg("--json").env("BRAIN_HOME", "rel/home").current_dir(home.outside());
        run(command, b"")
    };
    let page = brain(&["capture", "here"]).expect(0).json();
    let expected_path = home.outside().join("rel/home");
    assert!(page["path"].as_str().unwrap().starts_with(expected_path.to_str().unwrap()), "{page}");
    assert_eq!(brain(&["status"]).expect(0).json()["home"], expected_path.to_str().unwrap());
    brain(&["stop"]).expect(0);
}

#[test]
fn a_missing_home_variable_is_an_error_with_a_hint() {
    let home = TestHome::new();
    let mut command = home.command("brain");
    command.args(["list"]).env_remove("BRAIN_HOME");
    let output = run(command, b"");
    assert!(output.code != 0 && output.stderr.contains("BRAIN_HOME"), "{output:?}");
    let mut command = home.command("brain");
    command.args(["capture", "x", "--json"]).env_remove("BRAIN_HOME").env("HOME", home.outside());
    let page = run(command, b"").expect(0).json();
    let expected_path = home.outside().join(".brain");
    assert!(page["path"].as_str().unwrap().starts_with(expected_path.to_str().unwrap()), "{page}");
    let mut command = home.command("brain");
    command.args(["stop"]).env_remove("BRAIN_HOME").env("HOME", home.outside());
    run(command, b"").expect(0);
}

#[test]
fn a_wrong_configuration_stops_the_start_with_the_reason() {
    let home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    let config = home.path().join("config.toml");
    for (text, expected_parts) in [
        ("[store]\ncache_bm = 3\n", &["cache_bm", "cache_mb"][..]),
        ("[stor]\ncache_mb = 3\n", &["[stor]", "store"]),
        ("[store]\ncache_mb = \"lots\"\n", &["cache_mb", "lots"]),
        ("[daemon]\nlog = \"info\"\n[store\n", &["config.toml", "line 3"]),
    ] {
        fs::write(&config, text).unwrap();
        let output = home.brain(["capture", "x"]);
        assert_ne!(output.code, 0, "{text}");
        for part in expected_parts {
            assert!(output.stderr.contains(part), "{part} is missing for {text:?}: {output:?}");
        }
        let daemon = run(home.command("brain-daemon"), b"").expect(1);
        assert!(expected_parts.iter().all(|part| daemon.stderr.contains(part)), "{daemon:?}");
    }
    fs::remove_file(&config).unwrap();
    assert_eq!(
        home.json(["capture", "x"])["status"],
        "created",
        "the corrected configuration works"
    );
}

#[test]
fn of_daemons_started_at_once_for_one_home_one_serves() {
    for _ in 0..10 {
        let home = TestHome::new();
        let mut children: Vec<_> = (0..4)
            .map(|_| {
                let mut command = home.command("brain-daemon");
                let null = std::process::Stdio::null;
                command.stdin(null()).stdout(null()).stderr(null()).spawn().unwrap()
            })
            .collect();
        let deadline = std::time::Instant::now() + brain_tests::TEST_TIMEOUT;
        let mut ended = 0;
        while ended < 3 {
            assert!(std::time::Instant::now() < deadline, "only {ended} of 4 daemons ended");
            ended = children.iter_mut().filter_map(|child| child.try_wait().unwrap()).count();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let page = home.json(["capture", "written to the daemon that serves"]);
        let store_files: Vec<_> = std::fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("brain.redb"))
            .collect();
        assert_eq!(store_files, ["brain.redb"]);
        for child in &mut children {
            let _ = child.kill();
            child.wait().unwrap();
        }
        assert_eq!(
            home.get(page["slug"].as_str().unwrap())["body"],
            "written to the daemon that serves"
        );
    }
}
