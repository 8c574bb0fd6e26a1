//! Rules that exclude files of a source from sync, import and watching.

use std::fs;

use brain_tests::TestHome;

use crate::sync::{
    assert_changes, get_note, home_with_notes, listed_slugs, sync, sync_with, write,
};

#[test]
fn generated_directories_and_ignored_files_are_excluded() {
    let (home, _daemon, notes) = home_with_notes();
    for path in [
        "Plan.md",
        "app/README.md",
        "app/node_modules/left-pad/README.md",
        "app/target/doc/README.md",
        "app/.venv/README.md",
        "app/build/x.md",
        "drafts/a.md",
        "private/diary.md",
    ] {
        write(&notes, path, format!("# {path}\n\nText.\n"));
    }
    write(&notes, "app/.gitignore", "build/\n");
    write(&notes, ".ignore", "drafts\n");
    write(&notes, ".brainignore", "private/\n");
    let report = sync(&home);
    assert_changes(&report, &[("added", 2)]);
    assert_eq!(listed_slugs(&home), ["app/readme", "plan"]);
    assert_eq!(report["left_out"]["directories"], 6, "{report}");
    let output = home.brain(["sync", "--source", "notes"]).expect(0).stdout;
    assert!(output.contains("6 excluded by rules: 6 directories (app/.venv/, "), "{output}");
    // The new rules include `target/`, and no longer exclude `private/`.
    write(&notes, ".brainignore", "!target/\n");
    assert_changes(&sync(&home), &[("added", 2)]);
    assert_eq!(
        listed_slugs(&home),
        ["app/readme", "app/target/doc/readme", "plan", "private/diary"]
    );
}

#[test]
fn the_users_git_ignore_rules_apply_in_work_trees() {
    let mut home = TestHome::new();
    let user = home.outside().join("user");
    write(&user, ".gitconfig", "[core]\n\texcludesFile = ~/my-ignores\n");
    write(&user, "my-ignores", "*.tmp.md\n/top.md\n");
    home.env.push(("HOME".into(), user.display().to_string()));
    let _daemon = home.daemon();
    let add = |name: &str, paths: &[&str]| {
        let dir = home.outside().join(name);
        for path in paths {
            write(&dir, path, format!("# {path}\n\nText.\n"));
        }
        home.json(["sources", "add", name, dir.to_str().unwrap()]);
        dir
    };
    let paths = ["plan.md", "x.tmp.md", "kept.tmp.md", "top.md", "docs/top.md", "own.md"];
    let notes = add("notes", &paths);
    write(&notes, ".git/info/exclude", "own.md\n");
    write(&notes, ".gitignore", "!kept.tmp.md\n");
    home.json(["sync", "notes", "--no-pull"]);
    assert_eq!(listed_slugs(&home), ["docs/top", "kept.tmp", "plan"]);
    // These are rules of git, so they do not apply to a directory without git.
    add("plain", &["x.tmp.md"]);
    assert_eq!(home.json(["sync", "plain"])["sources"][0]["added"], 1);
}

#[test]
fn a_page_whose_file_is_ignored_is_hidden_and_comes_back() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "a.md", "# A\n\nText.\n");
    write(&notes, "old/b.md", "# B\n\nText.\n");
    assert_changes(&sync(&home), &[("added", 2)]);
    // brain wrote this page, so the rule does not hide it.
    home.json(["capture", "made here", "--slug", "old/made", "--source", "notes"]);
    home.json(["sources", "set", "notes", "--exclude", "old/"]);
    assert_changes(&sync(&home), &[("removed", 1)]);
    assert_eq!(listed_slugs(&home), ["a", "old/made"]);
    assert!(notes.join("old/b.md").exists(), "the file stays");
    home.json(["sources", "set", "notes", "--exclude", ""]);
    assert_changes(&sync(&home), &[("restored", 1)]);
    assert_eq!(get_note(&home, "old/b")["version"], 1);
}

#[test]
fn patterns_of_a_source_and_of_the_configuration_apply() {
    let home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    let config = "[sources]\nexclude = [\"*.tmp.md\", \"notes:secret/\", \"other:plan.md\"]\n";
    fs::write(home.path().join("config.toml"), config).unwrap();
    let _daemon = home.daemon();
    let notes = home.outside().join("notes");
    for path in ["plan.md", "x.tmp.md", "secret/a.md", "log/b.md", "log/c.mdx"] {
        write(&notes, path, format!("# {path}\n\nText.\n"));
    }
    let path = notes.to_str().unwrap();
    let bad = ["sources", "add", "notes", "--path", path, "--exclude", "[z-a]"];
    let message = home.brain(bad).expect(2).stderr;
    assert!(message.contains("[z-a]") && message.contains(".gitignore"), "{message}");
    let add_args = ["sources", "add", "notes", "--path", path, "--include", "/plan.md"];
    let output = home.brain(add_args.iter().chain(&["--include", "log/"])).expect(0).stdout;
    assert!(output.contains("includes only: /plan.md, log/"), "{output}");
    let report = sync(&home);
    assert_eq!(listed_slugs(&home), ["log/b", "log/c", "plan"]);
    assert_eq!(report["left_out"]["files"], 1, "{report}");
    // Only the patterns for all sources apply to an import.
    let import_report = home.json(["import", path, "--dry-run"]);
    assert_eq!(import_report["files"], 4, "{import_report}");
    assert_eq!(import_report["left_out"]["paths"][0], "x.tmp.md");
    assert_eq!(sync_with(&home, &["--full"], 0)["unchanged"], 3);
}

#[test]
fn the_watcher_applies_a_changed_rule_file() {
    let home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    fs::write(home.path().join("config.toml"), "[sources]\nwatch = true\n").unwrap();
    let _daemon = home.daemon();
    let notes = home.outside().join("notes");
    write(&notes, "node_modules/x/README.md", "quartz in a package\n");
    write(&notes, "draft.md", "quartz in a draft\n");
    write(&notes, ".brainignore", "draft.md\n");
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    write(&notes, "plan.md", "quartz in a plan\n");
    crate::watch::wait_for(&home, "quartz", &["plan"]);
    write(&notes, "node_modules/y.md", "quartz again\n");
    write(&notes, ".brainignore", "# nothing\n");
    crate::watch::wait_for(&home, "quartz", &["draft", "plan"]);
}
