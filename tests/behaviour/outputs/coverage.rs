//! The help of all commands, and a check that each command and each action is in a transcript.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use brain_tests::TestHome;

use super::compare;

/// Commands without a transcript, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("mcp", "it speaks a protocol"),
    ("lsp", "it speaks a protocol"),
    ("serve", "it runs until it is ended"),
];

/// Returns the names of all commands, from `brain --help`.
fn commands(home: &TestHome) -> Vec<String> {
    let overview = home.brain(["--help"]).expect(0).stdout;
    let lines = overview.lines().take_while(|line| *line != "Options:");
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the actions in the help of a command: the possible values of its argument `ACTION`, or
/// the words after `[OPTIONS]` in its usage.
fn actions(help: &str) -> BTreeSet<String> {
    let is_action = |line: &str| ["<ACTION>", "[ACTION]"].contains(&line.trim());
    let argument = help.lines().skip_while(|line| !is_action(line)).skip(1);
    let argument = argument.take_while(|line| line.is_empty() || line.starts_with("    "));
    let values = argument.filter_map(|line| line.trim().strip_prefix("- ")?.split(':').next());
    let usage = help.lines().filter_map(|line| line.split_once("[OPTIONS] ")?.1.split(' ').next());
    let usage = usage.filter(|word| word.starts_with(char::is_lowercase));
    values.chain(usage).map(str::to_owned).collect()
}

/// Returns the pairs of words after each `brain` in the transcripts: command and action.
fn recorded() -> BTreeSet<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("behaviour/snapshots");
    let mut pairs = BTreeSet::new();
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    // The help has every command.
    for path in paths.filter(|path| !path.ends_with("help.snap")) {
        let text = fs::read_to_string(path).unwrap();
        for line in text.lines().filter_map(|line| line.strip_prefix("$ ")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            for (n, _) in words.iter().enumerate().filter(|(_, word)| **word == "brain") {
                let word = |n: usize| words.get(n).copied().unwrap_or_default().to_owned();
                pairs.insert((word(n + 1), word(n + 2)));
            }
        }
    }
    pairs
}

#[test]
fn every_command_and_action_is_in_a_transcript() {
    let home = TestHome::new();
    let (commands, recorded) = (commands(&home), recorded());
    assert!(commands.len() > 60, "{commands:?}");
    let is_exception = |name: &str| EXCEPTIONS.iter().any(|(command, _)| *command == name);
    let mut missing = Vec::new();
    for command in commands.iter().filter(|command| !is_exception(command)) {
        if !recorded.iter().any(|(name, _)| name == command) {
            missing.push(command.clone());
        }
        let help = home.brain([command, "--help"]).expect(0).stdout;
        for action in actions(&help) {
            if !recorded.contains(&(command.clone(), action.clone())) {
                missing.push(format!("{command} {action}"));
            }
        }
    }
    assert!(missing.is_empty(), "add these to a transcript: {missing:#?}");
    for (name, _) in EXCEPTIONS {
        assert!(commands.iter().any(|command| command == name), "there is no command {name}");
    }
}

#[test]
fn help() {
    let home = TestHome::new();
    let mut text = format!("$ brain --help\n{}", home.brain(["--help"]).expect(0).stdout);
    for command in commands(&home) {
        let help = home.brain([&command, "--help"]).expect(0).stdout;
        let _ = write!(text, "\n$ brain {command} --help\n{help}");
    }
    compare("help", &text, &[]);
}
