//! `brain setup` at a terminal: its questions, and signals.

use super::*;

/// Runs `brain` with `args` on a terminal where `typed` is typed. Returns the exit code and the
/// output, or `None` if python3 is not installed.
fn on_a_terminal(user: &User, args: &[&str], typed: &str) -> Option<(i32, String)> {
    let path = format!("{}:/usr/bin:/bin", user.path("bin").display());
    let home = user.path("home").display().to_string();
    let env = [("PATH", path.as_str()), ("HOME", home.as_str()), ("NO_COLOR", "1")];
    crate::terminal::on_a_terminal_with_input(&user.brain, 100, typed, &env, args)
}

#[test]
fn wrong_answers_repeat_the_question() {
    let user = User::with_clients();
    user.write_file("home/notes/a.md", "# A\n");
    let typed = format!(
        "{}\n\nmaybe\nno\n/no/such\n~/notes\nemacs\ngemini\ncursor\nhuge\nnone\n",
        user.path("home/.cursor/mcp.json").display()
    );
    let Some((code, screen)) = on_a_terminal(&user, &["setup"], &typed) else { return };
    assert_eq!(code, 0, "{screen}");
    for part in [
        "is not a directory",
        "\"maybe\" is neither yes nor no",
        "cannot read /no/such",
        "\"emacs\" is no client",
        "Gemini CLI is not installed",
        "\"huge\" is no model",
        "Cursor is connected",
        "is the source \"notes\"",
    ] {
        assert!(screen.contains(part), "{part:?} is missing: {screen}");
    }
    assert!(user.read("home/.cursor/mcp.json").contains("\"brain\""));
    assert_eq!(user.read("home/.config/zed/settings.json"), ZED);
}

#[test]
fn the_end_of_the_input_changes_nothing() {
    let user = User::with_clients();
    for typed in ["\u{4}", "\nno\n\u{4}", "\nno\nnone\nall\n\u{4}"] {
        let Some((code, screen)) = on_a_terminal(&user, &["setup"], typed) else { return };
        assert_eq!(code, 0, "{screen}");
        assert!(screen.contains("nothing was changed"), "{screen}");
        user.assert_untouched();
        assert!(!user.brain.path().exists());
        assert_eq!(user.calls("claude"), Vec::<String>::new());
    }
}

#[test]
fn ctrl_c_at_a_question_changes_nothing() {
    let user = User::with_clients();
    let path = format!("{}:/usr/bin:/bin", user.path("bin").display());
    let home = user.path("home").display().to_string();
    let env = [("PATH", path.as_str()), ("HOME", home.as_str()), ("NO_COLOR", "1")];
    let typed = ("1 of 5", "\u{3}");
    let result = on_a_terminal_with_input_after(&user.brain, 100, typed, &env, &["setup"]);
    let Some((code, screen)) = result else { return };
    assert_eq!(code as u8 as i8, -2, "SIGINT: {screen}");
    assert!(screen.ends_with("\nbrain: nothing was changed\n"), "{screen}");
    user.assert_untouched();
    assert!(!user.brain.path().exists());
}

#[test]
fn a_signal_during_a_change_waits_for_it_and_undo_reverses_it() {
    let user = User::with_clients();
    let slow = r#"case "$*" in
        'mcp add '*) sleep 1; echo '{"mcpServers":{"brain":{"command":"x"}}}' > "$HOME/.claude.json";;
        'mcp remove '*) echo '{}' > "$HOME/.claude.json";;
        esac"#;
    user.add_program("claude", slow);
    let args =
        ["setup", "--yes", "--service=no", "--connect", "claude-code", "--connect", "cursor"];
    let mut command = user.command(&args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    let log = user.path("claude.log");
    while !fs::read_to_string(&log).is_ok_and(|calls| calls.contains("mcp add")) {
        assert!(Instant::now() < deadline, "claude was not called");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.ends_with("to reverse it: brain setup --undo\n"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert_eq!(user.read("home/.cursor/mcp.json"), CURSOR, "the next change did not begin");
    let undone = user.run(&["setup", "--undo", "--json"]).expect(0).json();
    assert_eq!(User::status(&undone, "claude-code"), "undone");
}

#[test]
fn a_foreign_entry_is_asked_about_on_a_terminal() {
    let user = User::with_clients();
    let foreign = "{\"mcpServers\": {\"brain\": {\"url\": \"https://brain.example/mcp\"}}}";
    user.write_file("home/.cursor/mcp.json", foreign);
    let keep = "\nno\nnone\ncursor\n\nnone\n";
    let Some((_, screen)) = on_a_terminal(&user, &["setup"], keep) else { return };
    assert!(screen.contains("has another \"brain\""), "{screen}");
    assert_eq!(user.read("home/.cursor/mcp.json"), foreign);
    let (code, screen) =
        on_a_terminal(&user, &["setup"], "\nno\nnone\ncursor\nyes\nnone\n").unwrap();
    assert_eq!(code, 0, "{screen}");
    assert!(!user.read("home/.cursor/mcp.json").contains("brain.example"));
}
