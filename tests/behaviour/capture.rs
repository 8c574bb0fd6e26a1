//! `brain capture`: inputs, rejected inputs, and output.

use std::fs;

use brain_tests::TestHome;

#[test]
fn the_first_capture_starts_the_daemon() {
    let home = TestHome::new();
    let page = home.json(["capture", "A first thought"]);
    assert_eq!(page["status"], "created");
    let text = fs::read_to_string(page["path"].as_str().unwrap()).unwrap();
    assert!(text.ends_with("A first thought"), "{text}");
}

#[test]
fn text_file_and_standard_input_pages_name_their_origin() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let words = home.json(["capture", "three", "words", "here"]);
    assert_eq!(words["source_uri"], "cli:argument");
    assert_eq!(home.get(words["slug"].as_str().unwrap())["body"], "three words here");
    let piped = home.json_with(["capture", "--stdin"], b"from a pipe\n");
    assert_eq!(piped["source_uri"], "cli:stdin");
    let file = home.outside().join("note.md");
    fs::write(&file, "from a file\n").unwrap();
    let filed = home.json(["capture", "--file", file.to_str().unwrap()]);
    assert_eq!(filed["source_uri"], format!("file://{}", file.display()));
    for page in [&words, &piped, &filed] {
        assert_eq!(page["source_kind"], "capture-cli");
        assert_eq!(page["status"], "created");
        let stored = home.get(page["slug"].as_str().unwrap());
        assert_eq!(stored["source_uri"], page["source_uri"]);
        assert_eq!(stored["source_kind"], "capture-cli");
    }
}

#[test]
fn a_dash_means_standard_input() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for args in [&["capture", "-"][..], &["capture", "--file", "-"], &["capture", "--", "-"]] {
        let page = home.json_with(args, format!("from stdin of {args:?}").as_bytes());
        assert_eq!(page["source_uri"], "cli:stdin", "{args:?}");
        let body = home.get(page["slug"].as_str().unwrap())["body"].clone();
        assert_eq!(body, format!("from stdin of {args:?}"));
    }
    home.json_with(["put", "log", "--file", "-"], b"first line\n");
    home.json_with(["append", "log", "-"], b"second line\n");
    home.json_with(["append", "log", "--file", "-"], b"third line\n");
    let body = home.get("log")["body"].as_str().unwrap().to_owned();
    assert!(body.contains("first") && body.contains("second") && body.contains("third"), "{body}");
    // Among other words, a dash is text.
    let words = home.json(["capture", "tea", "-", "green"]);
    assert_eq!(home.get(words["slug"].as_str().unwrap())["body"], "tea - green");
    assert_eq!(home.fault_with(["capture", "-", "--file", "x"], b"y", 2)["code"], "usage");
}

#[test]
fn two_inputs_at_once_are_a_usage_error() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let file = home.outside().join("note.md");
    fs::write(&file, "x").unwrap();
    let file = file.to_str().unwrap();
    for args in [
        &["capture", "word", "--stdin"][..],
        &["capture", "word", "--file", file],
        &["capture", "--stdin", "--file", file],
    ] {
        assert_eq!(home.fault_with(args, b"y", 2)["code"], "usage", "{args:?}");
    }
    assert_eq!(home.json(["status"])["pages"], 0);
}

#[test]
fn blank_input_exits_with_2_and_lists_all_inputs() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let blank = home.outside().join("blank.md");
    fs::write(&blank, "\u{FEFF} \n\t\r\n\u{3000}").unwrap();
    let cases: [(&[&str], &[u8]); 5] = [
        (&["capture"], b""),
        (&["capture", "  ", "\n\t"], b""),
        (&["capture", "--stdin"], b""),
        (&["capture", "--stdin"], b" \r\n\t \n"),
        (&["capture", "--file", blank.to_str().unwrap()], b""),
    ];
    for (args, stdin) in cases {
        let ran = home.brain_with(args, stdin).expect(2);
        for input in ["words", "--file", "--stdin"] {
            assert!(ran.stderr.contains(input), "{args:?} does not name {input}: {ran:?}");
        }
        assert_eq!(ran.stdout, "");
    }
    assert_eq!(home.json(["status"])["pages"], 0);
}

#[test]
fn frontmatter_without_content_is_rejected() {
    let home = TestHome::new();
    let error = home.fault_with(["capture", "--stdin"], b"---\ntitle: Only a head\n---\n\n", 2);
    assert_eq!(error["code"], "empty_content");
    assert_eq!(home.json(["status"])["pages"], 0);
}

#[test]
fn a_missing_file_exits_with_1_and_names_the_path() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let ran = home.brain(["capture", "--file", "/no/such/note.md"]).expect(1);
    assert!(ran.stderr.contains("ENOENT") && ran.stderr.contains("/no/such/note.md"), "{ran:?}");
}

#[test]
fn nul_bytes_are_rejected_with_their_offset() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let file = home.outside().join("nul.md");
    fs::write(&file, b"ab\0cd").unwrap();
    let error = home.fault(["capture", "--file", file.to_str().unwrap()], 1);
    assert_eq!(error["code"], "binary_content");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(file.to_str().unwrap()) && message.contains("byte 2"), "{message}");
    let mut long_input = vec![b'a'; 70_000];
    long_input.push(0);
    let error = home.fault_with(["capture", "--stdin"], &long_input, 1);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("standard input") && message.contains("byte 70000"), "{message}");
    assert_eq!(home.json(["status"])["pages"], 0);
}

#[test]
fn invalid_utf8_is_rejected_with_its_offset() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (bytes, offset) in [
        (&b"abc\xff"[..], 3),
        (b"\xed\xa0\x80 lone surrogate", 0),
        ("é".as_bytes().split_at(1).0, 0),
    ] {
        let error = home.fault_with(["capture", "--stdin"], bytes, 1);
        assert_eq!(error["code"], "binary_content");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("standard input") && message.contains(&format!("byte {offset}")),
            "{message}"
        );
    }
    let word = OsString::from_vec(b"na\xefve".to_vec());
    let error = home.fault([OsString::from("capture"), word], 1);
    assert!(error["message"].as_str().unwrap().contains("byte 2"), "{error}");
    assert_eq!(home.json(["status"])["pages"], 0);
}

#[test]
fn the_limit_is_five_million_bytes() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut text = "All work and no play makes a long page indeed. ".repeat(110_000).into_bytes();
    text.truncate(5_000_000);
    text[4_999_999] = b'x';
    let page = home.json_with(["capture", "--stdin"], &text);
    assert_eq!(page["status"], "created");
    let body = home.get(page["slug"].as_str().unwrap());
    assert_eq!(body["body"].as_str().unwrap().as_bytes(), text);
    text.push(b'y');
    let error = home.fault_with(["capture", "--stdin"], &text, 1);
    assert_eq!(error["code"], "too_large");
    let file = home.outside().join("big.md");
    fs::write(&file, &text).unwrap();
    let error = home.fault(["capture", "--file", file.to_str().unwrap()], 1);
    assert_eq!(error["code"], "too_large");
    assert!(error["message"].as_str().unwrap().contains("big.md"), "{error}");
    assert_eq!(home.json(["status"])["pages"], 1);
}

#[test]
fn json_output_has_exactly_the_documented_fields() {
    let home = TestHome::new();
    let page = home.json(["capture", "shape"]);
    let mut fields: Vec<&str> = page.as_object().unwrap().keys().map(String::as_str).collect();
    fields.retain(|f| !["warnings", "version"].contains(f));
    fields.sort_unstable();
    let mut expected = [
        "slug",
        "status",
        "duplicate",
        "chunks",
        "content_hash",
        "written",
        "path",
        "source_id",
        "source_kind",
        "source_uri",
        "captured_at",
    ];
    expected.sort_unstable();
    assert_eq!(fields, expected);
    assert_eq!(page["duplicate"], false);
    assert_eq!(page["written"], true);
    assert_eq!(page["source_id"], "default");
    let hash = page["content_hash"].as_str().unwrap();
    assert!(
        hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
        "{hash}"
    );
    let at = page["captured_at"].as_str().unwrap();
    assert!(at.len() == 24 && at.ends_with('Z') && at.as_bytes()[19] == b'.', "{at}");
    let slug = page["slug"].as_str().unwrap();
    assert_eq!(slug, format!("inbox/{}-{}", &at[..10], &hash[..8]));
    assert_eq!(page["path"], home.page_file(slug).to_str().unwrap());
}

#[test]
fn quiet_prints_only_the_slug() {
    let home = TestHome::new();
    let first = home.brain(["capture", "hush", "--quiet"]).expect(0);
    let slug = first.stdout.trim_end();
    assert!(slug.starts_with("inbox/") && first.stdout == format!("{slug}\n"), "{first:?}");
    assert_eq!(first.stderr, "", "even starting the daemon is silent");
    assert_eq!(home.brain(["capture", "-q", "hush"]).expect(0).stdout, first.stdout);
}

#[test]
fn an_unregistered_source_exits_with_4_and_a_hint() {
    let home = TestHome::new();
    let error = home.fault(["capture", "x", "--source", "work"], 4);
    assert_eq!(error["code"], "unknown_source");
    let message = format!("{} {}", error["message"], error["hint"]);
    assert!(
        message.contains("work") && message.contains("brain sources add work --path DIR"),
        "{message}"
    );
    assert!(
        message.contains("register it first") && message.contains("default"),
        "the registered ones are listed: {message}"
    );
    assert_eq!(home.fault(["capture", "x", "--source", "Bad_Source"], 2)["code"], "invalid_source");
}

#[test]
fn unusual_types_give_a_warning_and_invalid_types_fail() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let ran = home.brain(["capture", "x marks", "--type", "recipe"]).expect(0);
    assert!(ran.stderr.contains("warning") && ran.stderr.contains("recipe"), "{ran:?}");
    let page = home.json(["capture", "y marks", "--type", "recipe"]);
    assert!(page["warnings"][0].as_str().unwrap().contains("recipe"), "{page}");
    for page_type in ["note", "idea", "observation"] {
        let page = home.json(["capture", &format!("usual {page_type}"), "--type", page_type]);
        assert_eq!(page["warnings"], serde_json::json!([]));
        assert_eq!(home.get(page["slug"].as_str().unwrap())["type"], page_type);
    }
    for bad in ["Big Idea", "", "Ä"] {
        assert_eq!(home.fault(["capture", "z", "--type", bad], 2)["code"], "usage", "{bad}");
    }
}

#[test]
fn a_given_slug_is_used_and_an_invalid_one_rejected() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let page = home.json(["capture", "mine", "--slug", "ideas/my-own"]);
    assert_eq!(page["slug"], "ideas/my-own");
    assert!(home.page_file("ideas/my-own").exists());
    let error = home.fault(["capture", "mine", "--slug", "Ideas/My Own"], 2);
    assert_eq!(error["code"], "invalid_slug");
    assert!(error["hint"].as_str().unwrap().contains("ideas/my-own"), "{error}");
    for bad in [
        "../etc/passwd",
        "/abs",
        "a//b",
        "a/./b",
        "a%2fb",
        "a\\b",
        "a\u{202E}b",
        "a\u{0}b".trim_end_matches('\0'),
    ] {
        if bad.contains('\0') {
            continue;
        }
        assert_eq!(
            home.fault(["capture", "x", "--slug", bad], 2)["code"],
            "invalid_slug",
            "{bad:?}"
        );
    }
}

#[test]
fn a_pipe_is_captured_without_a_flag() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let reply = home.json_with(["capture", "--slug", "piped"], b"The word is obsidian.\n");
    assert_eq!(reply["status"], "created");
    assert_eq!(home.search("obsidian"), ["piped"]);
    // If words are given, a pipe is ignored.
    home.json_with(["capture", "only words", "--slug", "words"], b"ignored quartz\n");
    assert!(home.search("quartz").is_empty());
}
