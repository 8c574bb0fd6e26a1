//! Tests of the command line of `brain-daemon`. As an integration test, this file also makes
//! `cargo test` build the program, which the behaviour tests start.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn daemon(home: &std::path::Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brain-daemon"))
        .args(args)
        .env_clear()
        .env("BRAIN_HOME", home)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn version_and_help_are_printed() {
    let dir = tempfile::tempdir().unwrap();
    let version = daemon(dir.path(), &["--version"]);
    assert_eq!(text(&version.stdout), format!("brain-daemon {}\n", brain_protocol::VERSION));
    let help = daemon(dir.path(), &["--help"]);
    assert!(text(&help.stdout).contains("config"), "{help:?}");
    assert_eq!(daemon(dir.path(), &["--serve"]).status.code(), Some(2));
}

#[test]
fn config_show_prints_a_valid_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let printed = text(&daemon(dir.path(), &["config", "show"]).stdout);
    let file = dir.path().join("copy.toml");
    std::fs::write(&file, printed).unwrap();
    let checked = daemon(dir.path(), &["config", "check", file.to_str().unwrap()]);
    assert!(checked.status.success(), "{checked:?}");
    let path = text(&daemon(dir.path(), &["config", "path"]).stdout);
    assert_eq!(path.trim(), dir.path().join("config.toml").to_str().unwrap());
}

#[test]
fn the_documentation_lists_every_key() {
    let dir = tempfile::tempdir().unwrap();
    let printed = text(&daemon(dir.path(), &["config", "show", "--json"]).stdout);
    let value: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let docs = include_str!("../../docs/configuration.md");
    for key in value["keys"].as_array().unwrap() {
        let name = key["key"].as_str().unwrap();
        assert!(docs.contains(&format!("| `{name}` |")), "{name} is not in docs/configuration.md");
    }
}

#[test]
fn a_wrong_configuration_prevents_the_start() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("config.toml"), "[store]\ncache = 3\n").unwrap();
    let output = daemon(dir.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("\"cache\"") && stderr.contains("cache_mb"), "{stderr}");
    assert!(!dir.path().join("brain.redb").exists());
}
