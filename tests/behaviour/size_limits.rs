//! A limit on the size of files (`ulimit -f`) is an error with a path and a way out, and ends no
//! program by a signal.

use std::fs;
use std::path::Path;
use std::process::Command;

use brain_tests::{Run, TestHome, program, run};

/// Runs a shell line with `$0` and `$@` in `home`, under a limit of so many blocks of 512 bytes.
fn limited(home: &TestHome, blocks: u32, line: &str, name: &str, args: &[&str]) -> Run {
    let unlimited = home.command(name);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -f {blocks} && {line}")]).arg(program(name)).args(args);
    command.env_clear().envs(unlimited.get_envs().filter_map(|(key, value)| Some((key, value?))));
    run(command, b"")
}

const PLAINLY: &str = "exec \"$0\" \"$@\"";

/// The hint names how the limit is raised.
fn tells_way_out(text: &str) {
    assert!(text.contains("ulimit -f unlimited") && text.contains("LimitFSIZE="), "{text}");
}

/// A brain with more than 4 MB of pages, and a backup of it.
fn large() -> (TestHome, std::path::PathBuf) {
    let home = TestHome::new();
    let daemon = home.daemon();
    for n in 0..4 {
        let text = format!("walrus {n} ").repeat(130_000);
        home.put(&format!("large/{n}"), &text);
    }
    let file = home.outside().join("a.redb");
    home.json(["backup", file.to_str().unwrap()]);
    assert!(daemon.terminate().0.success());
    (home, file)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_restore_under_a_limit_is_refused_and_leaves_no_store() {
    let (_home, file) = large();
    let path = file.to_str().unwrap();
    for (name, args) in [
        ("brain-daemon", &["--restore", path, "--json"][..]),
        ("brain", &["backup", "restore", path, "--json"]),
    ] {
        // Half of it; and too little to begin.
        for blocks in [4000, 20, 0] {
            let fresh = TestHome::new();
            let ran = limited(&fresh, blocks, PLAINLY, name, args).expect(1);
            let error = ran.json()["error"].clone();
            assert_eq!(error["code"], "disk_full", "{name}, {blocks}: {error}");
            let store = fresh.path().join("brain.redb");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("limit on the size of files"), "{name}, {blocks}: {message}");
            assert!(message.contains(store.to_str().unwrap()), "{name}, {blocks}: {message}");
            tells_way_out(error["hint"].as_str().unwrap());
            let left: Vec<_> =
                names(&fresh.path()).into_iter().filter(|name| name.contains("redb")).collect();
            assert_eq!(left, Vec::<String>::new(), "{name}, {blocks}");
            // And without the limit it goes on.
            if blocks == 4000 {
                fresh.json(["backup", "restore", path]);
                let _daemon = fresh.daemon();
                assert_eq!(fresh.json(["status"])["pages"], 4);
            }
        }
    }
}

#[test]
fn a_daemon_that_cannot_make_its_store_under_a_limit_says_so() {
    let home = TestHome::new();
    let store = home.path().join("brain.redb");
    let ran = limited(&home, 100, PLAINLY, "brain", &["capture", "a thought"]).expect(6);
    assert!(ran.stderr.contains("brain-daemon could not start"), "{ran:?}");
    assert!(ran.stderr.contains("limit on the size of files"), "{ran:?}");
    assert!(ran.stderr.contains(store.to_str().unwrap()), "{ran:?}");
    tells_way_out(&ran.stderr);
    let left: Vec<_> =
        names(&home.path()).into_iter().filter(|name| name.contains("redb")).collect();
    assert_eq!(left, Vec::<String>::new());
    home.json(["capture", "a thought"]);
}

#[test]
fn an_export_under_a_limit_is_an_error_with_its_place() {
    let (home, _) = large();
    let mut daemon = home.daemon();
    let limit = rustix::process::Rlimit { current: Some(500_000), maximum: None };
    let pid = rustix::process::Pid::from_raw(i32::try_from(daemon.pid()).unwrap());
    rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).unwrap();
    let out = home.outside().join("out");
    let error = home.fault(["export", out.to_str().unwrap()], 1);
    assert_eq!(error["code"], "disk_full", "{error}");
    assert!(error["message"].as_str().unwrap().contains(out.to_str().unwrap()), "{error}");
    tells_way_out(error["hint"].as_str().unwrap());
    let file = home.outside().join("b.redb");
    let error = home.fault(["backup", file.to_str().unwrap()], 1);
    assert_eq!(error["code"], "disk_full", "{error}");
    assert!(error["message"].as_str().unwrap().contains(file.to_str().unwrap()), "{error}");
    tells_way_out(error["hint"].as_str().unwrap());
    assert!(!file.exists() && daemon.is_running());
}

#[test]
fn output_into_a_file_under_a_limit_is_an_error_of_the_client() {
    let (home, _) = large();
    let _daemon = home.daemon();
    let out = home.outside().join("page.md");
    let line = format!("exec \"$0\" \"$@\" > '{}'", out.display());
    for args in [&["get", "large/0"][..], &["get", "large/0", "--json"], &["list", "--json"]] {
        let blocks = if args[0] == "list" { 0 } else { 100 };
        let ran = limited(&home, blocks, &line, "brain", args).expect(1);
        assert!(ran.stderr.contains("cannot write to standard output: EFBIG"), "{args:?}: {ran:?}");
        tells_way_out(&ran.stderr);
    }
    let ran = limited(&home, 0, &line, "brain-daemon", &["config", "show"]).expect(1);
    assert!(ran.stderr.contains("cannot write to standard output"), "{ran:?}");
    tells_way_out(&ran.stderr);
}

#[test]
fn files_that_the_client_writes_meet_a_limit_without_a_signal() {
    let mut home = TestHome::new();
    home.env.push(("HOME".into(), home.outside().display().to_string()));
    for args in [
        &["completions", "bash", "--install"][..],
        &["man", "--install"],
        &["service", "install", "--no-start"],
    ] {
        let ran = limited(&home, 0, PLAINLY, "brain", args);
        assert_eq!(ran.code, 1, "{args:?}: {ran:?}");
        let place = home.outside().display().to_string();
        assert!(ran.stderr.contains("EFBIG") && ran.stderr.contains(&place), "{args:?}: {ran:?}");
        tells_way_out(&ran.stderr);
    }
    let completions = home.outside().join(".local/share/bash-completion/completions");
    assert_eq!(names(&completions), Vec::<String>::new(), "no half of a file is left");
}
