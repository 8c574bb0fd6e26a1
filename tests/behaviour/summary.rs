//! `brain` without a command: a summary of the home, or the first commands.

use brain_tests::TestHome;

#[test]
fn without_a_home_the_first_commands_are_named() {
    let home = TestHome::new();
    let output = home.brain([] as [&str; 0]).expect(0);
    for command in ["brain setup", "brain capture", "brain import", "brain demo"] {
        assert!(output.stdout.contains(command), "{command}: {output:?}");
    }
    assert_eq!(output.stderr, "");
    let reply = home.json([] as [&str; 0]);
    assert_eq!(reply["status"], "no_brain");
    assert!(reply["next"].as_array().unwrap().len() >= 3, "{reply}");
    assert!(!home.path().exists(), "no home is created");
}

#[test]
fn a_home_that_is_a_file_is_an_error() {
    let home = TestHome::new();
    std::fs::write(home.path(), "a file").unwrap();
    let fault = home.fault([] as [&str; 0], 1);
    let message = format!("the home {} is not a directory", home.path().display());
    assert_eq!((&fault["code"], &fault["message"]), (&"io".into(), &message.into()), "{fault}");
    assert!(fault["hint"].as_str().unwrap().contains("BRAIN_HOME"), "{fault}");
}

#[test]
fn with_a_home_newest_pages_and_problems_are_shown() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("ideas/walrus", "# A walrus on the ice\n");
    let output = home.brain([] as [&str; 0]).expect(0);
    assert!(output.stdout.contains("1 page in 1 source"), "{output:?}");
    assert!(output.stdout.contains("ideas/walrus"), "{output:?}");
    assert!(output.stdout.contains("A walrus on the ice"), "{output:?}");
    let missing_dir = home.outside().join("gone");
    std::fs::create_dir(&missing_dir).unwrap();
    home.brain(["sources", "add", "gone", missing_dir.to_str().unwrap()]).expect(0);
    std::fs::remove_dir(&missing_dir).unwrap();
    let reply = home.json([] as [&str; 0]);
    assert_eq!((&reply["status"], &reply["is_checked"]), (&"running".into(), &true.into()));
    assert_eq!(reply["newest"][0]["slug"], "ideas/walrus");
    let attention = reply["attention"].to_string();
    assert!(attention.contains("gone"), "a missing directory needs attention: {reply}");
    let output = home.brain([] as [&str; 0]).expect(0);
    assert!(output.stdout.contains("sources: "), "{output:?}");
    assert_eq!(reply["daemon"]["pages"], 1);

    daemon.terminate();
    let stopped = home.json(["--no-start"]);
    assert_eq!(stopped["status"], "stopped", "{stopped}");
    let started = home.brain([] as [&str; 0]).expect(0);
    assert!(started.stdout.contains("ideas/walrus"), "an existing brain is started: {started:?}");
    assert_eq!(home.brain(["--quiet"]).expect(0).stdout, "running\n");
}
