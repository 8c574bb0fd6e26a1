//! Exceeding the limit on file sizes (`ulimit -f`) is an error with a path and a hint, and no
//! signal ends a program.

use std::fs;
use std::path::Path;
use std::process::Command;

use brain_tests::{Run, TestHome, program, run};

/// Runs the shell line `line` in `home` with a file size limit of `blocks` blocks of 512 bytes. In
/// the line, `$0` is the path of the program `name`, and `$@` are `args`.
fn run_limited(home: &TestHome, blocks: u32, line: &str, name: &str, args: &[&str]) -> Run {
    let unlimited = home.command(name);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -f {blocks} && {line}")]).arg(program(name)).args(args);
    command.env_clear().envs(unlimited.get_envs().filter_map(|(key, value)| Some((key, value?))));
    run(command, b"")
}

const EXECUTE: &str = "exec \"$0\" \"$@\"";

/// Checks that the hint explains how to raise the limit.
fn assert_hint(text: &str) {
    assert!(text.contains("ulimit -f unlimited") && text.contains("LimitFSIZE="), "{text}");
}

/// Returns a home with more than 4 MB of pages, and a backup of it.
fn large_home() -> (TestHome, std::path::PathBuf) {
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
    let (_home, file) = large_home();
    let path = file.to_str().unwrap();
    for (name, args) in [
        ("brain-daemon", &["--restore", path, "--json"][..]),
        ("brain", &["backup", "restore", path, "--json"]),
    ] {
        // About half of the needed size, and limits that are too small for the first write.
        for blocks in [4000, 20, 0] {
            let new_home = TestHome::new();
            let output = run_limited(&new_home, blocks, EXECUTE, name, args).expect(1);
            let error = output.json()["error"].clone();
            assert_eq!(error["code"], "disk_full", "{name}, {blocks}: {error}");
            let store = new_home.path().join("brain.redb");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("limit on file sizes"), "{name}, {blocks}: {message}");
            assert!(message.contains(store.to_str().unwrap()), "{name}, {blocks}: {message}");
            assert_hint(error["hint"].as_str().unwrap());
            let store_files: Vec<_> =
                names(&new_home.path()).into_iter().filter(|name| name.contains("redb")).collect();
            assert_eq!(store_files, Vec::<String>::new(), "{name}, {blocks}");
            // Without the limit, the restore works.
            if blocks == 4000 {
                new_home.json(["backup", "restore", path]);
                let _daemon = new_home.daemon();
                assert_eq!(new_home.json(["status"])["pages"], 4);
            }
        }
    }
}

#[test]
fn a_daemon_that_cannot_make_its_store_under_a_limit_says_so() {
    let home = TestHome::new();
    let store = home.path().join("brain.redb");
    let output = run_limited(&home, 100, EXECUTE, "brain", &["capture", "a thought"]).expect(6);
    assert!(output.stderr.contains("brain-daemon could not start"), "{output:?}");
    assert!(output.stderr.contains("limit on file sizes"), "{output:?}");
    assert!(output.stderr.contains(store.to_str().unwrap()), "{output:?}");
    assert_hint(&output.stderr);
    let store_files: Vec<_> =
        names(&home.path()).into_iter().filter(|name| name.contains("redb")).collect();
    assert_eq!(store_files, Vec::<String>::new());
    home.json(["capture", "a thought"]);
}

#[test]
fn an_export_or_backup_under_a_limit_is_an_error_with_a_path() {
    let (home, _) = large_home();
    let mut daemon = home.daemon();
    let limit = rustix::process::Rlimit { current: Some(500_000), maximum: None };
    let pid = rustix::process::Pid::from_raw(i32::try_from(daemon.pid()).unwrap());
    rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).unwrap();
    let out = home.outside().join("out");
    let error = home.fault(["export", out.to_str().unwrap()], 1);
    assert_eq!(error["code"], "disk_full", "{error}");
    assert!(error["message"].as_str().unwrap().contains(out.to_str().unwrap()), "{error}");
    assert_hint(error["hint"].as_str().unwrap());
    let file = home.outside().join("b.redb");
    let error = home.fault(["backup", file.to_str().unwrap()], 1);
    assert_eq!(error["code"], "disk_full", "{error}");
    assert!(error["message"].as_str().unwrap().contains(file.to_str().unwrap()), "{error}");
    assert_hint(error["hint"].as_str().unwrap());
    assert!(!file.exists() && daemon.is_running());
}

#[test]
fn output_into_a_file_under_a_limit_is_an_error_of_the_client() {
    let (home, _) = large_home();
    let _daemon = home.daemon();
    let out = home.outside().join("page.md");
    let line = format!("exec \"$0\" \"$@\" > '{}'", out.display());
    for args in [&["get", "large/0"][..], &["get", "large/0", "--json"], &["list", "--json"]] {
        let blocks = if args[0] == "list" { 0 } else { 100 };
        let output = run_limited(&home, blocks, &line, "brain", args).expect(1);
        assert!(
            output.stderr.contains("cannot write to standard output: EFBIG"),
            "{args:?}: {output:?}"
        );
        assert_hint(&output.stderr);
    }
    let output = run_limited(&home, 0, &line, "brain-daemon", &["config", "show"]).expect(1);
    assert!(output.stderr.contains("cannot write to standard output"), "{output:?}");
    assert_hint(&output.stderr);
}

#[test]
fn no_signal_ends_the_client_when_its_files_exceed_a_limit() {
    let mut home = TestHome::new();
    home.env.push(("HOME".into(), home.outside().display().to_string()));
    for args in [
        &["completions", "bash", "--install"][..],
        &["man", "--install"],
        &["service", "install", "--no-start"],
    ] {
        let output = run_limited(&home, 0, EXECUTE, "brain", args);
        assert_eq!(output.code, 1, "{args:?}: {output:?}");
        let directory = home.outside().display().to_string();
        assert!(
            output.stderr.contains("EFBIG") && output.stderr.contains(&directory),
            "{args:?}: {output:?}"
        );
        assert_hint(&output.stderr);
    }
    let completions = home.outside().join(".local/share/bash-completion/completions");
    assert_eq!(names(&completions), Vec::<String>::new(), "no incomplete file is left");
}
