//! Merging of frontmatter, and duplicate captures.

use std::fs;

use brain_tests::TestHome;
use serde_json::Value;

/// Captures `text` from standard input with these flags, and returns the reply.
fn capture(home: &TestHome, text: &str, flags: &[&str]) -> Value {
    let args: Vec<&str> = ["capture", "--stdin"].iter().chain(flags).copied().collect();
    home.json_with(args, text.as_bytes())
}

fn file_of(page: &Value) -> String {
    fs::read_to_string(page["path"].as_str().unwrap()).unwrap()
}

fn count_delimiters(text: &str) -> usize {
    text.lines().filter(|line| *line == "---").count()
}

#[test]
fn frontmatter_keeps_its_order_and_comments() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let text = "---\n# who wrote this\nauthor: Ada   # a comment\nzeta: 1\nalpha: [x, \
        y]\nnested:\n  deep: true\n---\n\nThe body.\n";
    let file = file_of(&capture(&home, text, &[]));
    let expected = "# who wrote this\nauthor: Ada   # a comment\nzeta: 1\nalpha: [x, y]\nnested:\n\
        \x20 deep: true\n";
    assert!(file.contains(expected), "{file}");
    assert_eq!(count_delimiters(&file), 2, "the file has one frontmatter block: {file}");
    assert!(file.ends_with("---\n\nThe body.\n"), "{file}");
    for added in ["type: note", "title: The body.", "captured_at: ", "captured_via: capture-cli"] {
        assert!(file.contains(added), "{added} is missing: {file}");
    }
}

#[test]
fn flags_override_the_file_and_the_file_the_defaults() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let text = |n: u32| {
        format!("---\ntype: observation\ntitle: From the file\ntags: [one]\n---\nBody {n}\n")
    };
    let page = home.get(capture(&home, &text(1), &[])["slug"].as_str().unwrap());
    assert_eq!((&page["type"], &page["title"]), (&"observation".into(), &"From the file".into()));
    assert_eq!(page["tags"], serde_json::json!(["one"]));
    let flags = ["--type", "idea", "--title", "From the flag", "--tag", "two", "--tag", "#One"];
    let page = home.get(capture(&home, &text(2), &flags)["slug"].as_str().unwrap());
    assert_eq!((&page["type"], &page["title"]), (&"idea".into(), &"From the flag".into()));
    assert_eq!(page["tags"], serde_json::json!(["one", "two"]));
    let frontmatter = page["frontmatter"].as_str().unwrap();
    assert_eq!(frontmatter.matches("title:").count(), 1, "{frontmatter}");
    assert_eq!(frontmatter.matches("type:").count(), 1, "{frontmatter}");
    let page = home.get(capture(&home, "Neither flag nor file\n", &[])["slug"].as_str().unwrap());
    assert_eq!((&page["type"], &page["title"]), (&"note".into(), &"Neither flag nor file".into()));
}

#[test]
fn titles_with_yaml_syntax_are_preserved() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for title in [
        "a: b # c",
        "\"quoted\" & 'single'",
        "- list?",
        "yes",
        "2026-11-21",
        "{x: [y]}",
        "tab\there",
        "🦀 emoji",
    ] {
        let page = capture(&home, &format!("body of {title}"), &[&format!("--title={title}")]);
        assert_eq!(
            home.get(page["slug"].as_str().unwrap())["title"],
            title.replace('\t', " ").as_str().to_owned()
        );
    }
}

#[test]
fn captured_at_and_captured_via_of_the_file_are_kept() {
    let home = TestHome::new();
    let text = "---\ncaptured_at: 2020-01-02T03:04:05.678Z\ncaptured_via: phone\n---\nOld note\n";
    let page = capture(&home, text, &[]);
    assert_eq!(page["captured_at"], "2020-01-02T03:04:05.678Z");
    let file = file_of(&page);
    assert!(
        file.contains("captured_via: phone") && !file.contains("captured_via: capture-cli"),
        "{file}"
    );
}

#[test]
fn malformed_yaml_is_rejected_with_line_and_column() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for yaml in [
        "title: [1, 2\ntype: note\n",
        "title: \"open\ntype: note\n",
        "a: 1\na: 2\n",
        "title: x\n\tbad: tab\n",
    ] {
        let text = format!("---\n{yaml}---\nBody\n");
        let error = home.fault_with(["capture", "--stdin"], text.as_bytes(), 1);
        assert_eq!(error["code"], "invalid_frontmatter", "{yaml:?}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("line ") && message.contains("column "), "{yaml:?}: {message}");
        assert!(message.contains("standard input"), "{message}");
    }
    let text = "---\nfine: 1\nwrong: [1, 2\n---\nBody\n";
    let message =
        home.fault_with(["capture", "--stdin"], text.as_bytes(), 1)["message"].to_string();
    let line: u32 =
        message.split("line ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!((3..=4).contains(&line), "the message has the line number of the file: {message}");
    assert_eq!(home.json(["status"])["pages"], 0);
    assert!(!home.path().join("pages/inbox").exists());
}

#[test]
fn crlf_bom_empty_block_and_rules_in_the_body_are_handled() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let page =
        capture(&home, "\u{FEFF}---\r\ntitle: Windows\r\n---\r\nLine one\r\nLine two\r\n", &[]);
    let stored = home.get(page["slug"].as_str().unwrap());
    assert_eq!(stored["title"], "Windows");
    assert_eq!(stored["body"], "Line one\r\nLine two\r\n", "the text keeps its own characters");
    let page = capture(&home, "---\n---\nAn empty block\n", &[]);
    assert_eq!(home.get(page["slug"].as_str().unwrap())["title"], "An empty block");
    assert_eq!(count_delimiters(&file_of(&page)), 2);
    let body = "---\n\nProse first, then a rule.\n\n---\n\nAnd more.\n";
    let page = capture(&home, body, &[]);
    let stored = home.get(page["slug"].as_str().unwrap());
    assert_eq!(stored["body"], body);
    assert_eq!(stored["title"], "Prose first, then a rule.");
    let page = capture(&home, "Above\n\n---\n\nBelow\n", &[]);
    let file = file_of(&page);
    assert!(file.ends_with("---\n\nAbove\n\n---\n\nBelow\n"), "{file}");
}

#[test]
fn unicode_is_stored_unchanged() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let text = "👩‍👩‍👧‍👦 naïve cafe\u{301} 日本語 ไทย العربية \u{1F1E9}\u{1F1EA} \u{200D} \
        z̴͉̊a̷\n\tend  ";
    let page = capture(&home, text, &[]);
    assert_eq!(home.get(page["slug"].as_str().unwrap())["body"], text);
    assert!(file_of(&page).ends_with(text));
    let plain = home.brain(["get", page["slug"].as_str().unwrap()]).expect(0);
    assert!(plain.stdout.contains(text), "{plain:?}");
}

#[test]
fn a_long_first_line_gives_a_title_of_at_most_80_characters() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for line in ["🦀".repeat(200), "日".repeat(300), format!("# {}", "word ".repeat(60))] {
        let page = capture(&home, &line, &[]);
        let title = home.get(page["slug"].as_str().unwrap())["title"].as_str().unwrap().to_owned();
        assert!((1..=80).contains(&title.chars().count()), "{title}");
        assert!(
            line.trim_start_matches("# ").starts_with(title.trim_end_matches('…').trim_end()),
            "{title}"
        );
    }
    let page = capture(&home, "---\n\n***\n\n", &[]);
    assert_eq!(home.get(page["slug"].as_str().unwrap())["title"], "Capture");
}

#[test]
fn a_new_type_for_the_same_text_makes_a_version() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let first = capture(&home, "The same text", &[]);
    let again = capture(&home, "The same text", &[]);
    assert_eq!(again["status"], "unchanged");
    assert_eq!(again["duplicate"], true);
    assert_eq!(again["captured_at"], first["captured_at"]);
    let other = capture(&home, "The same text", &["--type", "idea"]);
    assert_eq!(other["slug"], first["slug"]);
    assert_eq!(other["status"], "updated");
    let slug = first["slug"].as_str().unwrap();
    assert_eq!(home.get(slug)["type"], "idea");
    let versions = home.json(["history", slug]);
    assert_eq!(versions["versions"].as_array().unwrap().len(), 2);
    assert_eq!(versions["versions"][1]["type"], "note");
    assert_eq!(home.json(["status"])["pages"], 1);
}

#[test]
fn duplicates_add_new_fields_once() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let first = capture(&home, "Growing note", &["--tag", "one"]);
    let slug = first["slug"].as_str().unwrap();
    let tagged = capture(&home, "Growing note", &["--tag", "two"]);
    assert_eq!((&tagged["slug"], &tagged["status"]), (&first["slug"], &"updated".into()));
    assert_eq!(home.get(slug)["tags"], serde_json::json!(["one", "two"]));
    assert_eq!(
        tagged["captured_at"], first["captured_at"],
        "a tag does not change the time of the capture"
    );
    assert_eq!(capture(&home, "Growing note", &["--tag", "two"])["status"], "unchanged");
    let titled = capture(&home, "---\ntitle: A better title\nmood: fine\n---\nGrowing note", &[]);
    assert_eq!(titled["status"], "updated");
    let page = home.get(slug);
    assert_eq!(page["title"], "A better title");
    assert!(page["frontmatter"].as_str().unwrap().contains("mood: fine"), "{page}");
    assert_eq!(capture(&home, "Growing note", &[])["status"], "unchanged");
    assert_eq!(
        home.get(slug)["title"],
        "A better title",
        "a derived title does not undo a given one"
    );
}

#[test]
fn duplicates_are_recognised_after_a_crash() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let first = capture(&home, "Remember me", &[]);
    daemon.kill();
    let _daemon = home.daemon();
    let again = capture(&home, "Remember me", &[]);
    assert_eq!((&again["status"], &again["slug"]), (&"unchanged".into(), &first["slug"]));
    assert_eq!(again["captured_at"], first["captured_at"]);
}

#[test]
fn the_hash_is_equal_for_all_interfaces_and_spellings() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let hash = capture(&home, "Café au lait\nsecond line", &[])["content_hash"].clone();
    let same = [
        "Cafe\u{301} au lait\nsecond line",
        "Café au lait\r\nsecond line\r\n",
        "Café au lait\rsecond line",
        "\u{FEFF}\n  Café au lait\nsecond line  \n\n",
        "---\ntitle: Other\n---\nCafé au lait\nsecond line\n",
    ];
    for text in same {
        assert_eq!(capture(&home, text, &[])["content_hash"], hash, "{text:?}");
    }
    assert_eq!(home.put("doors/put", same[1])["content_hash"], hash);
    let dir = home.outside().join("vault");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("imported.md"), same[0]).unwrap();
    home.json(["import", dir.to_str().unwrap()]);
    assert_eq!(home.get("imported")["content_hash"], hash);
    assert_ne!(
        capture(&home, "café au lait\nsecond line", &[])["content_hash"],
        hash,
        "the hash depends on upper and lower case"
    );
    let page = home.get("imported");
    assert_eq!(page["body"], same[0], "the stored text keeps its own characters");
}

#[test]
fn texts_over_2500_characters_have_two_chunks() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let sentence = "The quick brown fox jumps over the lazy dog near the quiet river bank. ";
    for (length, chunks) in [(300, 1), (1999, 1), (2500, 2), (3000, 2), (4000, 2)] {
        let text: String = sentence.chars().cycle().take(length - 1).chain(['.']).collect();
        assert_eq!(capture(&home, &text, &[])["chunks"], chunks, "{length} characters");
    }
    let thai: String = "ภาษาไทยไม่มีช่องว่างระหว่างคำ".chars().cycle().take(2600).collect();
    assert_eq!(capture(&home, &thai, &[])["chunks"], 2, "counted in characters, not bytes");
}

#[test]
fn slug_collisions_never_overwrite_a_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let text = "A text whose slug is taken";
    let probe = capture(&home, text, &["--slug", "probe"]);
    let hash = probe["content_hash"].as_str().unwrap();
    let date = &probe["captured_at"].as_str().unwrap()[..10];
    let taken_slug = format!("inbox/{date}-{}", &hash[..8]);
    home.put(&taken_slug, "I was here first");
    let page = capture(&home, text, &[]);
    assert_eq!(page["slug"], format!("inbox/{date}-{}", &hash[8..16]));
    assert_eq!(page["status"], "created");
    assert_eq!(home.get(&taken_slug)["body"], "I was here first");
    let again = capture(&home, text, &[]);
    assert_eq!((&again["slug"], &again["status"]), (&page["slug"], &"unchanged".into()));
}

#[test]
fn capturing_a_deleted_page_restores_it() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let page = capture(&home, "Gone and back", &[]);
    let slug = page["slug"].as_str().unwrap();
    home.json(["delete", slug]);
    let restored = capture(&home, "Gone and back", &[]);
    assert_eq!((&restored["status"], &restored["slug"]), (&"restored".into(), &page["slug"]));
    assert_eq!(home.get(slug)["body"], "Gone and back");
    assert!(home.page_file(slug).exists());
}
