//! Tests of the command line.

use super::*;
use crate::verbs;
use brain_protocol::{Command as Hinted, Exit, FaultCode, OPERATIONS};

#[test]
fn the_command_tree_is_valid() {
    tree(verbs::ALL).debug_assert();
}

#[test]
fn every_command_has_a_purpose_and_examples() {
    let mut root = tree(verbs::ALL);
    root.build();
    let mut count = 0;
    for command in root.get_subcommands().filter(|c| c.get_name() != "help") {
        let name = command.get_name().to_owned();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(!about.is_empty() && !about.contains('\n'), "{name}");
        let mut command = command.clone();
        let help = command.render_help().to_string();
        let examples = help.split("Examples:\n").nth(1).unwrap_or_default();
        let example_count =
            examples.lines().filter(|l| l.trim_start().contains(&format!("brain {name}"))).count();
        // One for each mode of a command that has several.
        assert!((2..=5).contains(&example_count), "{name} has {example_count} examples");
        for flag in ["--json", "--quiet", "--no-start", "--help"] {
            assert!(help.contains(flag), "{name} lacks {flag}");
        }
        for argument in command.get_arguments() {
            assert!(
                argument.get_help().is_some() || argument.get_id() == "help",
                "{name} {}",
                argument.get_id()
            );
        }
        count += 1;
    }
    assert_eq!(count, verbs::ALL.len());
}

/// Logs and errors name operations by the commands that users type.
#[test]
fn every_operation_is_named_after_a_command() {
    const NO_COMMAND: [&str; 8] = [
        // The telephony provider sends it.
        "voice",
        // `brainstorm --list-runs` and `lsd --list-runs` send it.
        "idea runs",
        // Completion scripts of shells send it.
        "complete",
        // The option `--as-of` of several commands sends it.
        "as of",
        // `brain lsp` sends them.
        "editor links",
        "editor names",
        "editor changes",
        "editor rename",
    ];
    // These commands work without a daemon, or with the operation of another command.
    const NO_OPERATION: [&str; 13] = [
        "demo",
        "setup",
        "serve",
        "service",
        "config",
        "completions",
        "man",
        "add",
        "edit",
        "lsp",
        "restart",
        "logs",
        "skill",
    ];
    let mut root = tree(verbs::ALL);
    root.build();
    let mut unmatched: Vec<&str> = verbs::ALL.iter().map(|row| row.name).collect();
    unmatched.retain(|name| !NO_OPERATION.contains(name));
    for name in OPERATIONS.iter().map(|operation| operation.name) {
        if NO_COMMAND.contains(&name) {
            continue;
        }
        let (verb, action) = name.split_once(' ').unwrap_or((name, ""));
        let command = root.find_subcommand_mut(verb);
        let help = command.map(|command| command.render_long_help().to_string());
        assert!(help.is_some_and(|help| help.contains(action)), "no command `brain {name}`");
        unmatched.retain(|name| *name != verb);
    }
    assert_eq!(unmatched, [""; 0], "commands without an operation");
}

#[test]
fn the_overview_lists_every_command_in_60_columns() {
    let text = overview(verbs::ALL, 60);
    for row in verbs::ALL {
        let listed = text.lines().any(|line| line.starts_with(&format!("  {} ", row.name)));
        assert!(listed, "{}", row.name);
    }
    for line in text.lines() {
        assert!(line.chars().count() <= 60, "{line}");
    }
    // Words and fixed lines are not broken, so a line can exceed 40 columns.
    assert!(
        overview(verbs::ALL, 40).lines().all(|line| line.chars().count() <= 41),
        "{}",
        overview(verbs::ALL, 40)
    );
}

fn usage_error(args: &[&str]) -> Fault {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    match parse(&args, verbs::ALL, verbs::summary::run) {
        CommandLine::Invalid { fault, .. } => fault,
        CommandLine::Print(_) => panic!("{args:?} printed help"),
        CommandLine::Run { context, run } => match run(&Context { no_start: true, ..context }) {
            Err(fault) => fault,
            Ok(_) => panic!("{args:?} ran"),
        },
    }
}

#[test]
fn a_typo_is_refused_with_the_nearest_name() {
    for (args, nearest) in [
        (&["brain", "serch", "x"][..], "search"),
        (&["brain", "captur", "x"], "capture"),
        (&["brain", "search", "x", "--limt", "3"], "--limit"),
        (&["brain", "list", "--jsn"], "--json"),
        (&["brain", "--quite", "list"], "--quiet"),
        (&["brain", "list", "--sort", "updatd"], "updated"),
    ] {
        let fault = usage_error(args);
        assert_eq!(fault.code, FaultCode::Usage, "{args:?}");
        assert!(
            fault.hint.as_ref().is_some_and(|h| h.to_string().contains(nearest)),
            "{args:?}: {fault:?}"
        );
    }
}

#[test]
fn invalid_arguments_are_usage_errors() {
    for args in [
        &["brain", "search", "x", "--limit", "0"][..],
        &["brain", "search", "x", "--limit", "201"],
        &["brain", "graph", "x", "--depth", "6"],
        &["brain", "get"],
        &["brain", "revert", "x", "0"],
        &["brain", "list", "--all", "--limit", "3"],
    ] {
        assert_eq!(usage_error(args).code.exit(), Exit::Usage, "{args:?}");
    }
    let dash = usage_error(&["brain", "capture", "- buy milk"]).hint;
    assert!(
        dash.as_ref().is_some_and(|hint| hint.to_string().contains("put `--` before")),
        "{dash:?}"
    );
    for args in [&["brain", "get", "--foo"][..], &["brain", "--quiet", "get", "--source"]] {
        let hint = usage_error(args).hint;
        let names_help =
            hint.as_ref().is_some_and(|hint| hint.to_string().contains("brain get --help"));
        assert!(
            names_help && !hint.as_ref().is_some_and(|hint| hint.to_string().contains("capture")),
            "{hint:?}"
        );
    }
    assert_eq!(usage_error(&["brain", "get", "Not A Slug"]).code, FaultCode::InvalidSlug);
    assert_eq!(
        usage_error(&["brain", "get", "a", "--source", "Bad_Source"]).code,
        FaultCode::InvalidSource
    );
}

#[test]
fn json_flag_is_found_if_parsing_fails() {
    let args = ["brain", "serch", "--json"].map(OsString::from);
    assert!(matches!(
        parse(&args, verbs::ALL, verbs::summary::run),
        CommandLine::Invalid { json: true, .. }
    ));
    let args = ["brain", "captur", "--", "--json"].map(OsString::from);
    assert!(matches!(
        parse(&args, verbs::ALL, verbs::summary::run),
        CommandLine::Invalid { json: false, .. }
    ));
}

/// Splits a line as a POSIX shell does, without expansions.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let Some(word) = words.last_mut() else { break };
        match c {
            '\'' => quoted = !quoted,
            '\\' if !quoted => word.extend(chars.next()),
            ' ' if !quoted => words.push(String::new()),
            c => word.push(c),
        }
    }
    assert!(!quoted, "{line}");
    words
}

#[test]
fn commands_in_hints_exist_and_quote_their_arguments() {
    for sample in ["plain", "two words", "it's", "-dash", "--yes", "\"$HOME\"; `ls`", "ümlaut"] {
        let argument = |field: &str| {
            Some(match field {
                "max_cost" => "0.05".to_owned(),
                "profile" => "brainstorm".to_owned(),
                "version" => "3".to_owned(),
                _ => sample.to_owned(),
            })
        };
        for command in Hinted::all(argument) {
            let line = command.to_string();
            let words = shell_words(line.split(" && ").next().unwrap_or_default());
            let args: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            match parse(&args, verbs::ALL, verbs::summary::run) {
                CommandLine::Run { .. } => {}
                CommandLine::Invalid { fault, .. } => panic!("{line}: {fault}"),
                CommandLine::Print(_) => panic!("{line} prints help"),
            }
        }
    }
}
