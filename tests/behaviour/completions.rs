//! Shell completions with the daemon's values, and the interactive picker.

use std::process::Command;
use std::time::{Duration, Instant};

use brain_protocol::{Complete, CompletionKind, Reply};
use brain_tests::{TestHome, program, run};

use crate::terminal::on_a_terminal_with_input;

/// Returns a home with the sources `default` and `work`, and pages in them.
fn home() -> TestHome {
    let home = TestHome::new();
    let dir = home.outside().join("work");
    std::fs::create_dir_all(&dir).unwrap();
    home.json(["sources", "add", "work", "--path", dir.to_str().unwrap()]);
    home.put("people/ada-lovelace", "---\ntype: person\ntags: [mathematics]\n---\n# Ada\n");
    home.put("people/grace-hopper", "# Grace\n");
    home.put("inbox/2026-01-01-ab", "# The Analytical Engine\n\nA machine.\n");
    home.json_with(["put", "work:people/bob"], b"# Bob\n");
    home
}

/// Returns the completions of these words that `brain` prints for the fish shell.
fn fish_completions(home: &TestHome, words: &[&str]) -> Vec<String> {
    let mut command = home.command("brain");
    command.env("BRAIN_COMPLETE", "fish").arg("--").arg("brain").args(words);
    let answer = run(command, b"").expect(0);
    assert_eq!(answer.stderr, "", "standard error stays empty");
    answer.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn words_are_completed_from_the_daemon() {
    let home = home();
    let _daemon = home.daemon();
    home.json(["clients", "register", "Phone", "--scope", "read"]);
    for (words, expected) in [
        (&["get", "people/a"][..], "people/ada-lovelace\tAda"),
        (&["get", "grace"], "people/grace-hopper\tGrace"),
        (&["get", "engi"], "inbox/2026-01-01-ab\tThe Analytical Engine"),
        (&["show", "people/a"], "people/ada-lovelace\tAda"),
        (&["get", "work:peo"], "work:people/bob\tBob"),
        (&["get", "bo"], "work:people/bob\tBob"),
        (&["link", "people/ada-lovelace", "gra"], "people/grace-hopper\tGrace"),
        (&["list", "--tag", "ma"], "mathematics\t1 page"),
        (&["list", "--type", "per"], "person"),
        (&["clients", "revoke", "Ph"], "Phone\tread"),
    ] {
        assert_eq!(fish_completions(&home, words), [expected], "{words:?}");
    }
    let sources = fish_completions(&home, &["list", "--source", ""]);
    assert!(sources[0].starts_with("default\t") && sources[1].starts_with("work\t"), "{sources:?}");
    let commands = fish_completions(&home, &["back"]);
    assert!(commands[0].starts_with("backlinks\t"), "{commands:?}");
    assert!(
        fish_completions(&home, &["jobs", "sh"])[0].starts_with("show"),
        "actions are completed"
    );
}

#[test]
fn completions_neither_start_a_daemon_nor_fail() {
    let home = home();
    home.brain(["stop"]).expect(0);
    for home in [&home, &TestHome::new()] {
        assert_eq!(fish_completions(home, &["get", "people/a"]), [""; 0]);
        assert!(!home.socket().exists(), "no daemon was started");
    }
    let _daemon = home.daemon();
    assert_eq!(fish_completions(&home, &["get", "people/a"]), ["people/ada-lovelace\tAda"]);
}

#[test]
fn bash_completes_names_with_a_colon() {
    let home = home();
    let _daemon = home.daemon();
    let dir = program("brain").parent().unwrap().to_owned();
    let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap());
    for (words, expected) in [
        (r#"brain get "people/a""#, "people/ada-lovelace"),
        // Bash splits at the colon and replaces only the text after it.
        (r#"brain get work : "peo""#, "people/bob"),
        (r#"brain get work :"#, "people/bob"),
        (r#"brain list --tag = "ma""#, "mathematics"),
    ] {
        let script = format!(
            "source <(brain completions bash); COMP_WORDS=({words}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _brain; echo \"${{COMPREPLY[*]}}\""
        );
        let mut command = Command::new("bash");
        command.arg("-c").arg(script).env("PATH", &path).env("BRAIN_HOME", home.path());
        let answer = run(command, b"").expect(0);
        assert_eq!(answer.stdout.trim(), expected, "{words}: {}", answer.stderr);
    }
}

/// A shell waits for completions after each press of the Tab key.
#[test]
fn completions_of_a_large_brain_are_quick() {
    let home = TestHome::new();
    let notes = home.outside().join("notes");
    std::fs::create_dir_all(&notes).unwrap();
    for n in 0..3000 {
        let text = format!("---\ntags: [tag{}]\n---\n# Title number {n}\n", n % 300);
        std::fs::write(notes.join(format!("page-{n:05}.md")), text).unwrap();
    }
    home.json(["import", notes.to_str().unwrap()]);
    let _daemon = home.daemon();
    let mut client = home.connect().unwrap();
    for (kind, text) in [
        (CompletionKind::Page, "page-01"),
        (CompletionKind::Page, "numb"),
        (CompletionKind::Tag, "tag1"),
        (CompletionKind::Type, ""),
        (CompletionKind::Source, "d"),
        (CompletionKind::Job, ""),
    ] {
        let request = Complete { kind, text: text.into() }.into();
        // Unoptimised programs are several times slower than the 5 ms of the shipped ones.
        let limit = Duration::from_millis(100);
        let (mut best, mut tries) = (Duration::MAX, 0);
        // On a busy machine, other programs interrupt most tries.
        while tries < 10 || best >= limit && tries < 200 {
            tries += 1;
            let start = Instant::now();
            let reply = client.ask(&request);
            best = best.min(start.elapsed());
            let Ok(Reply::Completions(found)) = reply else { panic!("{reply:?}") };
            assert_eq!(found.values.is_empty(), kind == CompletionKind::Job, "{kind:?} {text}");
        }
        println!("{kind:?} {text:?}: {best:?}");
        assert!(best < limit, "{kind:?} {text:?} took {best:?}");
    }
}

#[test]
fn a_page_is_chosen_while_typing() {
    let home = home();
    let _daemon = home.daemon();
    let on_terminal =
        |input: &str, args: &[&str]| on_a_terminal_with_input(&home, 80, input, &[], args);
    let Some((code, shown)) = on_terminal("bob\r", &["search", "-i"]) else { return };
    assert_eq!(code, 0, "{shown}");
    assert!(shown.trim_end().ends_with("# Bob"), "Enter prints the page: {shown}");
    let Some((code, shown)) = on_terminal("analyt\r", &["search", "-i", "-q"]) else { return };
    assert_eq!(code, 0, "{shown}");
    assert!(shown.trim_end().ends_with("default:inbox/2026-01-01-ab"), "{shown}");
    let Some((code, shown)) = on_terminal("\u{1b}", &["search", "-i"]) else { return };
    assert!(code == 1 && shown.contains("\u{1b}[?1049h"), "nothing was chosen: {shown}");
    let refused = home.fault(["search", "-i"], 2);
    assert!(refused["message"].as_str().unwrap().contains("needs a terminal"), "{refused}");
}
