//! `config`, `doctor`, `completions`, help and versions.

use std::fs;

use brain_tests::{TestHome, run, texts};

/// The commands whose help is tested.
const COMMANDS: [&str; 53] = [
    "lsp",
    "machines",
    "demo",
    "setup",
    "attach",
    "attachments",
    "capture",
    "put",
    "edit",
    "mv",
    "merge",
    "purge",
    "append",
    "add",
    "diff",
    "get",
    "search",
    "open",
    "brainstorm",
    "lsd",
    "list",
    "delete",
    "restore",
    "history",
    "revert",
    "tags",
    "link",
    "links",
    "backlinks",
    "graph",
    "timeline",
    "import",
    "export",
    "backup",
    "sources",
    "sync",
    "clients",
    "token",
    "audit",
    "jobs",
    "service",
    "config",
    "doctor",
    "model",
    "embed",
    "status",
    "stop",
    "restart",
    "logs",
    "serve",
    "skill",
    "completions",
    "man",
];

#[test]
fn commands_have_help_with_examples_without_a_daemon() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_NO_START".into(), "1".into()));
    let overview = home.brain(["--help"]).expect(0).stdout;
    for command in COMMANDS {
        let help = home.brain([command, "--help"]).expect(0);
        assert!(
            help.stdout.contains("Examples:") && help.stdout.contains("--json"),
            "{command}: {}",
            help.stdout
        );
        assert_eq!(help.stderr, "");
        assert!(
            overview.lines().any(|l| l.trim_start().starts_with(&format!("{command} "))),
            "{command} is not in {overview}"
        );
    }
    assert!(!home.path().exists(), "help creates no home");
}

#[test]
fn all_programs_have_the_same_version_of_four_parts() {
    let home = TestHome::new();
    let version = home.brain(["--version"]).expect(0).stdout;
    assert_eq!(version, format!("brain {}\n", brain_protocol::VERSION));
    assert_eq!(brain_protocol::VERSION.split('.').filter(|p| p.parse::<u16>().is_ok()).count(), 4);
    let mut command = home.command("brain-daemon");
    command.arg("--version");
    assert!(run(command, b"").expect(0).stdout.trim_end().ends_with(brain_protocol::VERSION));
    let _daemon = home.daemon();
    assert_eq!(home.json(["status"])["version"], brain_protocol::VERSION);
}

#[test]
fn config_show_prints_each_value_and_its_origin() {
    let mut home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    let file = home.path().join("config.toml");
    fs::write(&file, "[store]\ncache_mb = 7\nmin_free_mb = 5\n").unwrap();
    home.env.push(("BRAIN_STORE_MIN_FREE_MB".into(), "9".into()));
    let reply = home.json(["config", "show"]);
    let row = |name: &str| {
        let keys = reply["keys"].as_array().unwrap();
        keys.iter()
            .find(|k| k["key"] == name)
            .unwrap_or_else(|| panic!("{name} is not in {reply}"))
            .clone()
    };
    assert_eq!(
        (&row("store.cache_mb")["value"], &row("store.cache_mb")["origin"]),
        (&"7".into(), &file.to_str().unwrap().into())
    );
    let overridden = row("store.min_free_mb");
    assert_eq!(
        (&overridden["value"], &overridden["origin"]),
        (&"9".into(), &"$BRAIN_STORE_MIN_FREE_MB".into())
    );
    assert_eq!(row("daemon.connections")["origin"], "default");
    let text = home.brain(["config", "show"]).expect(0).stdout;
    assert!(text.contains("[store]") && text.contains("cache_mb = 7"), "{text}");
    let copy = home.outside().join("copy.toml");
    fs::write(&copy, &text).unwrap();
    home.brain(["config", "check", copy.to_str().unwrap()]).expect(0);
    assert_eq!(home.brain(["config", "path"]).expect(0).stdout.trim_end(), file.to_str().unwrap());
}

#[test]
fn config_check_names_each_mistake() {
    let home = TestHome::new();
    let file = home.outside().join("c.toml");
    let path = file.to_str().unwrap();
    for (text, expected_parts) in [
        ("[store]\ncache_bm = 3\n", &["cache_bm", "cache_mb"][..]),
        ("[deamon]\nlog = \"info\"\n", &["deamon", "daemon"]),
        ("[daemon]\nlog = \"loud\"\n", &["loud", "debug"]),
        ("[store]\ncache_mb = 0\n", &["cache_mb", "1"]),
        ("[store]\ncache_mb = [1]\n", &["cache_mb", "array"]),
        ("x = \n", &["line 1"]),
    ] {
        fs::write(&file, text).unwrap();
        let error = home.fault(["config", "check", path], 1);
        assert_eq!(error["code"], "invalid_config");
        let error_text = format!("{} {}", error["message"], error["hint"]);
        assert!(
            expected_parts.iter().all(|part| error_text.contains(part))
                && error_text.contains("c.toml"),
            "{text:?}: {error_text}"
        );
    }
    fs::write(&file, "# only a comment\n[search]\nlanguage = \"de\"\n").unwrap();
    assert_eq!(home.json(["config", "check", path])["status"], "ok");
    let missing = home.fault(["config", "check", "/no/such.toml"], 1);
    assert!(missing["message"].as_str().unwrap().contains("/no/such.toml"), "{missing}");
    // Without a path, the configuration of the home is checked.
    assert_eq!(home.json(["config", "check"])["status"], "ok");
    fs::create_dir_all(home.path()).unwrap();
    fs::write(home.path().join("config.toml"), "[store]\ncache_bm = 3\n").unwrap();
    assert_eq!(home.fault(["config", "check"], 1)["code"], "invalid_config");
    home.fault(["config", "nonsense"], 2);
}

#[test]
fn config_set_keeps_comments_and_refuses_wrong_values() {
    let home = TestHome::new();
    let file = home.path().join("config.toml");
    let text = || fs::read_to_string(&file).unwrap();
    home.json(["config", "set", "sources.watch", "true"]);
    assert_eq!(text(), "[sources]\nwatch = true\n");
    fs::write(&file, "# mine\n[store]\ncache_mb = 7 # small\n\n[search]\nlanguage = \"de\"\n")
        .unwrap();
    home.json(["config", "set", "store.cache_mb", "9"]);
    home.json(["config", "set", "backup.every", "12h"]);
    home.json(["config", "set", "sources.exclude", "[\"drafts/\"]"]);
    let start = "# mine\n[store]\ncache_mb = 9 # small\n\n[search]\nlanguage = \"de\"\n";
    assert!(text().starts_with(start), "{}", text());
    assert!(text().contains("[backup]\nevery = \"12h\"\n"), "{}", text());
    assert!(text().contains("exclude = [\"drafts/\"]"), "{}", text());
    let before = text();
    for (key, value, part) in [
        ("store.cache_mb", "many", "cache_mb"),
        ("store.cache_bm", "9", "cache_mb"),
        ("watch", "true", "sources.watch"),
        ("stor.cache_mb", "9", "store.cache_mb"),
        ("sources.wach", "true", "sources.watch"),
        ("x", "y", "there is no key"),
        ("a.b.c", "y", "there is no key"),
    ] {
        let fault = home.fault(["config", "set", key, value], 1);
        assert!(fault.to_string().contains(part), "{fault}");
        assert!(fault["hint"].as_str().unwrap().contains("brain config show"), "{fault}");
    }
    home.fault(["config", "set", "store.cache_mb"], 2);
    assert_eq!(text(), before, "a refused value changes nothing");
}

#[test]
fn a_changed_configuration_is_reported_and_a_restart_uses_it() {
    let home = TestHome::new();
    let daemon = home.daemon();
    assert!(home.status().degraded.is_empty());
    home.json(["config", "set", "store.cache_mb", "9"]);
    let output = home.brain(["status"]).expect(0);
    assert!(output.stderr.contains("config.toml has changed"), "{output:?}");
    let checks = home.json(["doctor"])["checks"].clone();
    let check_named = |name: &str| {
        let checks = checks.as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap().clone()
    };
    assert_eq!(
        (&check_named("configuration")["status"], &check_named("configuration")["hint"]),
        (&"warn".into(), &"brain restart".into())
    );
    let fault = home.fault(["collector", "collect"], 1);
    assert!(fault["hint"].as_str().unwrap().contains("brain restart"), "{fault}");
    // An invalid file does not stop a daemon that works.
    let file = home.path().join("config.toml");
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, "[store]\ncache_bm = 3\n").unwrap();
    assert_eq!(home.fault(["restart"], 1)["code"], "invalid_config");
    assert_eq!(home.status().pid, daemon.pid());
    fs::write(&file, good).unwrap();
    let restarted = home.json(["restart"]);
    assert_eq!(
        (&restarted["status"], &restarted["stopped"]),
        (&"restarted".into(), &daemon.pid().into())
    );
    assert!(home.status().degraded.is_empty(), "{:?}", home.status());
    let log = home.brain(["logs", "-n", "3"]).expect(0).stdout;
    assert!(log.lines().count() <= 3 && log.contains("INFO"), "{log}");
    home.json(["stop"]);
    assert_eq!(home.json(["restart"])["status"], "started");
    home.json(["stop"]);
}

#[test]
fn a_variable_with_a_wrong_value_is_named_and_stops_the_start() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_STORE_CACHE_MB".into(), "plenty".into()));
    let output = home.brain(["capture", "x"]);
    assert_ne!(output.code, 0);
    assert!(
        output.stderr.contains("BRAIN_STORE_CACHE_MB") && output.stderr.contains("plenty"),
        "{output:?}"
    );
}

#[test]
fn the_doctor_finds_no_problem_in_a_healthy_brain() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for round in 0..2 {
        let doctor = home.json(["doctor"]);
        let checks = doctor["checks"].as_array().unwrap();
        let names = texts(&doctor["checks"], "name");
        for name in [
            "daemon",
            "socket permissions",
            "store integrity",
            "schema version",
            "index",
            "outbox",
            "purge",
            "sources",
            "watcher",
            "disk space",
            "backup",
            "embedding",
            "collector",
            "clock",
        ] {
            assert!(names.iter().any(|n| n == name), "{name} is not in {names:?}");
        }
        for check in checks.iter().filter(|c| c["name"] != "disk space") {
            assert_eq!(check["status"], "ok", "round {round}: {check}");
            assert!(!check["message"].as_str().unwrap().is_empty());
        }
        assert!(doctor["health_score"].as_u64().unwrap() >= 75, "{doctor}");
        assert!(["healthy", "warnings"].contains(&doctor["status"].as_str().unwrap()), "{doctor}");
        home.put("a", "text\n");
        home.json(["capture", "thought"]);
        home.json(["delete", "a"]);
    }
    home.brain(["doctor"]).expect(0);
    let fixed = home.json(["doctor", "--fix"]);
    for check in fixed["checks"].as_array().unwrap().iter().filter(|c| c["name"] != "disk space") {
        assert_eq!(check["status"], "ok", "{check}");
    }
}

#[test]
fn the_doctors_hints_are_commands_that_exist() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("a", "ours\n");
    fs::write(home.page_file("a"), "theirs\n").unwrap();
    home.put("a", "ours again\n");
    let doctor = home.json(["doctor"]);
    let outbox =
        doctor["checks"].as_array().unwrap().iter().find(|c| c["name"] == "outbox").unwrap();
    assert_eq!(outbox["status"], "warn");
    let hint = outbox["hint"].as_str().unwrap();
    // Text and commands alternate.
    let commands: Vec<_> = hint.split('`').skip(1).step_by(2).collect();
    assert_eq!(commands.len(), 3, "{hint}");
    for command in commands.into_iter().filter_map(|command| command.strip_prefix("brain ")) {
        home.brain(command.split(' ')).expect(0);
    }
    daemon.kill();
    let dead = home.brain(["--no-start", "doctor", "--json"]).expect(1).json();
    assert_eq!(dead["checks"][0]["name"], "daemon");
    assert_eq!(dead["checks"][0]["status"], "fail");
    assert!(dead["checks"][0]["hint"].as_str().unwrap().contains("brain serve"), "{dead}");
}

#[test]
fn completions_of_each_shell_name_commands_and_options() {
    let home = TestHome::new();
    for shell in ["elvish", "powershell"] {
        let script = home.brain(["completions", shell]).expect(0).stdout;
        for command in ["capture", "backlinks", "timeline", "--allow-empty"] {
            assert!(script.contains(command), "{shell} lacks {command}");
        }
    }
    // The scripts of these shells run `brain` for the candidates.
    for shell in ["bash", "zsh", "fish"] {
        let script = home.brain(["completions", shell]).expect(0).stdout;
        assert!(script.contains("BRAIN_COMPLETE"), "{shell}: {script}");
        let candidates = |words: &[&str]| {
            let mut command = home.command("brain");
            command.env("BRAIN_COMPLETE", shell);
            command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
            command.args(["--", "brain"]).args(words);
            run(command, b"").expect(0).stdout
        };
        for command in ["capture", "backlinks", "timeline"] {
            assert!(candidates(&[""]).contains(command), "{shell} lacks {command}");
        }
        assert!(candidates(&["put", "--al"]).contains("--allow-empty"), "{shell} lacks options");
    }
    assert_eq!(home.fault(["completions", "tcsh"], 2)["code"], "usage");
    let syntax_check = std::process::Command::new("bash")
        .args(["-n", "-c", &home.brain(["completions", "bash"]).expect(0).stdout])
        .output();
    if let Ok(output) = syntax_check {
        assert!(output.status.success(), "{output:?}");
    }
    let out = home.outside().join("man");
    home.brain(["man", "--out", out.to_str().unwrap()]).expect(0);
    assert!(out.join("brain-capture.1").exists() && out.join("brain.1").exists());
}

#[test]
fn completions_and_man_pages_are_installed_in_the_usual_places() {
    let home = TestHome::new();
    let brain = |args: &[&str]| {
        let mut command = home.command("brain");
        command.args(args).env("XDG_DATA_HOME", home.outside().join("share"));
        command.env("XDG_CONFIG_HOME", home.outside().join("config"));
        run(command, b"")
    };
    for (shell, file_path) in [
        ("bash", "share/bash-completion/completions/brain"),
        ("zsh", "share/zsh/site-functions/_brain"),
        ("fish", "config/fish/completions/brain.fish"),
    ] {
        // A second installation replaces the first.
        for _ in 0..2 {
            let installed = brain(&["completions", shell, "--install", "--json"]).expect(0).json();
            let path = home.outside().join(file_path);
            assert_eq!(installed["path"], path.to_str().unwrap());
            let script = home.brain(["completions", shell]).expect(0).stdout;
            assert_eq!(std::fs::read_to_string(path).unwrap().trim_end(), script.trim_end());
        }
    }
    let refused = brain(&["completions", "elvish", "--install"]).expect(2);
    assert!(refused.stderr.contains("brain completions elvish"), "{refused:?}");
    brain(&["man", "--install"]).expect(0);
    assert!(home.outside().join("share/man/man1/brain-search.1").exists());
    brain(&["man"]).expect(2);
}

#[test]
fn serve_runs_the_daemon_in_the_foreground() {
    let home = TestHome::new();
    let mut command = home.command("brain");
    let mut child = command
        .arg("serve")
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let began = std::time::Instant::now();
    while home.connect().is_none() {
        assert!(began.elapsed() < brain_tests::TEST_TIMEOUT, "the daemon does not answer");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(
        home.json(["status"])["pid"],
        child.id(),
        "`brain serve` becomes the daemon and starts no other process"
    );
    home.json(["stop"]);
    assert!(child.wait().unwrap().success());
}

#[test]
fn json_output_is_one_value_for_success_and_failure() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "[[b]]\n- 2024-01-01 | x\n");
    for args in [
        &["get", "a"][..],
        &["search", "x"],
        &["list"],
        &["history", "a"],
        &["tags"],
        &["tags", "a"],
        &["links", "a"],
        &["backlinks", "a"],
        &["graph", "a"],
        &["timeline"],
        &["status"],
        &["doctor"],
        &["config", "show"],
        &["config", "path"],
        &["completions", "bash"],
        &["link", "a", "c"],
        &["delete", "a"],
        &["restore", "a"],
        &["--help"],
        &["capture", "--help"],
        &["--version"],
        &[],
    ] {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let output = home.brain(&args).expect(0);
        assert!(
            output.json().is_object() && output.stdout.lines().count() == 1,
            "{args:?}: {}",
            output.stdout
        );
    }
    for (args, code) in
        [(&["get", "zz"][..], 4), (&["nonsense"], 2), (&["get"], 2), (&["restore", "a"], 1)]
    {
        let error = home.fault(args, code);
        assert!(error.as_object().unwrap().contains_key("hint"), "{error}");
    }
}

#[test]
fn structured_frontmatter_is_not_flattened() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "---\ncompany: {name: Acme}\ntags: [x, {y: z}]\n---\n\nbody\n");
    let before = home.get("a")["frontmatter"].clone();
    assert_eq!(home.fault(["link", "a", "b", "--kind", "company"], 1)["code"], "conflict");
    assert_eq!(home.fault(["tags", "a", "--add", "w"], 1)["code"], "conflict");
    assert_eq!(home.get("a")["frontmatter"], before);
}

#[test]
fn a_tag_is_removed_from_the_keys_tags_and_tag() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "---\ntags: [a, c]\ntag: b\n---\n\nbody\n");
    assert_eq!(home.json(["tags", "a", "--remove", "b"])["tags"], serde_json::json!(["a", "c"]));
    home.put("d", "---\ntag: b\n---\n\nbody\n");
    assert_eq!(home.json(["tags", "d", "--remove", "b"])["tags"], serde_json::json!([]));
}

#[test]
fn reserved_frontmatter_keys_are_refused_as_kinds_of_links() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "body\n");
    for kind in ["tag", "slug", "title", "captured_at", "source_kind", "Big Kind"] {
        assert_eq!(home.fault(["link", "a", "b", "--kind", kind], 2)["code"], "usage", "{kind}");
    }
}
