//! `put`, `get`, `history`, `revert`: one page and its versions.

use std::fs;

use brain_tests::TestHome;
use serde_json::json;

#[test]
fn a_put_page_is_read_back_unchanged_and_has_a_file() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let text = "---\ntype: person\ntitle: Ada Lovelace\ntags: [maths, history]\naliases: \
        [Countess]\nborn: 1815\n---\n\nShe wrote.\n";
    let put = home.put("people/ada", text);
    assert_eq!((&put["status"], &put["source_kind"]), (&json!("created"), &json!("put_page")));
    let page = home.get("people/ada");
    assert_eq!(page["type"], "person");
    assert_eq!(page["title"], "Ada Lovelace");
    assert_eq!(page["tags"], json!(["maths", "history"]));
    assert_eq!(page["aliases"], json!(["Countess"]));
    assert_eq!(page["body"], "She wrote.\n");
    assert_eq!(page["version"], 1);
    assert!(page["frontmatter"].as_str().unwrap().contains("born: 1815"), "{page}");
    let file = fs::read_to_string(home.page_file("people/ada")).unwrap();
    assert_eq!(page["content"], file.as_str());
    assert_eq!(home.brain(["get", "people/ada"]).expect(0).stdout, file);
}

#[test]
fn only_a_put_with_other_content_adds_a_version() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    assert_eq!(home.put("a/b", "one\n")["status"], "created");
    let again = home.put("a/b", "one\n");
    assert_eq!((&again["status"], &again["duplicate"]), (&json!("unchanged"), &json!(true)));
    assert_eq!(home.put("a/b", "two\n")["status"], "updated");
    assert_eq!(
        home.put("a/b", "---\ntitle: T\n---\ntwo\n")["status"],
        "updated",
        "new frontmatter is a change"
    );
    let history = home.json(["history", "a/b"]);
    let versions = history["versions"].as_array().unwrap();
    let numbers: Vec<u64> = versions.iter().map(|v| v["version"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [3, 2, 1], "newest first");
    assert_eq!(versions[0]["current"], true);
    assert_eq!(versions[1]["current"], false);
}

#[test]
fn putting_the_output_of_get_changes_nothing() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for text in [
        "plain\n",
        "---\ntitle: \"T: x\"\n# c\ntags: [a]\n---\n\n\nbody",
        "---\n\n---\nrule first\n",
        "\n\nblank lines\r\n",
    ] {
        home.put("round", text);
        let printed = home.brain(["get", "round"]).expect(0).stdout;
        let before = home.get("round");
        assert_eq!(
            home.put("round", &printed)["status"],
            "unchanged",
            "{text:?} was shown as {printed:?}"
        );
        assert_eq!(home.get("round"), before);
    }
}

#[test]
fn a_put_from_a_file_names_the_file() {
    let home = TestHome::new();
    let file = home.outside().join("page.md");
    fs::write(&file, "# From a file\n").unwrap();
    let put = home.json(["put", "from-file", "--file", file.to_str().unwrap()]);
    assert_eq!(put["source_uri"], format!("file://{}", file.display()));
    assert_eq!(home.get("from-file")["title"], "From a file");
    let error = home.fault(["put", "from-file", "--file", "/no/such.md"], 1);
    assert!(error["message"].as_str().unwrap().contains("ENOENT"), "{error}");
}

#[test]
fn empty_content_needs_the_flag_allow_empty() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("keep", "precious\n");
    for empty in ["", " \n\t\n", "---\n---\n"] {
        let error = home.fault_with(["put", "keep"], empty.as_bytes(), 2);
        assert_eq!(error["code"], "empty_content", "{empty:?}");
        assert!(error["hint"].as_str().unwrap().contains("--allow-empty"), "{error}");
        assert_eq!(home.get("keep")["body"], "precious\n");
    }
    assert_eq!(home.fault_with(["put", "new"], b"", 2)["code"], "empty_content");
    let blank = home.json_with(["put", "keep", "--allow-empty"], b"");
    assert_eq!(blank["status"], "updated");
    assert_eq!(
        home.json(["get", "keep", "--version", "1"])["body"],
        "precious\n",
        "the former version is kept"
    );
}

#[test]
fn versions_keep_title_type_tags_and_frontmatter() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let first = "---\ntype: idea\ntitle: First\ntags: [x, y]\nmood: good\n---\n\nBody one\n";
    home.put("v", first);
    home.put("v", "---\ntype: note\ntitle: Second\n---\n\nBody two\n");
    let first_version = home.json(["get", "v", "--version", "1"]);
    assert_eq!(
        (&first_version["title"], &first_version["type"]),
        (&json!("First"), &json!("idea"))
    );
    assert_eq!(first_version["tags"], json!(["x", "y"]));
    assert_eq!(first_version["body"], "Body one\n");
    assert!(
        first_version["frontmatter"].as_str().unwrap().contains("mood: good"),
        "{first_version}"
    );
    assert_eq!(home.get("v")["title"], "Second");
    let reverted = home.json(["revert", "v", "1"]);
    assert_eq!(reverted["status"], "updated");
    let reverted_page = home.get("v");
    for field in ["title", "type", "tags", "body", "frontmatter", "content_hash"] {
        assert_eq!(reverted_page[field], first_version[field], "{field}");
    }
    assert_eq!(reverted_page["version"], 3);
    assert_eq!(
        home.json(["get", "v", "--version", "2"])["title"],
        "Second",
        "a revert keeps all versions"
    );
    assert_eq!(
        fs::read_to_string(home.page_file("v")).unwrap(),
        reverted_page["content"].as_str().unwrap()
    );
}

#[test]
fn a_missing_version_ends_with_exit_code_4() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("v", "one\n");
    assert_eq!(home.fault(["get", "v", "--version", "7"], 4)["code"], "unknown_version");
    assert_eq!(home.fault(["revert", "v", "7"], 4)["code"], "unknown_version");
    assert_eq!(
        home.fault(["revert", "v", "1"], 1)["code"],
        "conflict",
        "version 1 is the current version"
    );
    assert_eq!(home.fault(["revert", "v", "zero"], 2)["code"], "usage");
    assert_eq!(home.fault(["revert", "v", "0"], 2)["code"], "usage");
}

#[test]
fn commands_on_a_missing_page_end_with_exit_code_4() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for args in [
        &["get", "no/such"][..],
        &["history", "no/such"],
        &["revert", "no/such", "1"],
        &["delete", "no/such"],
        &["restore", "no/such"],
        &["tags", "no/such"],
        &["tags", "no/such", "--add", "x"],
        &["link", "no/such", "other"],
        &["links", "no/such"],
        &["backlinks", "no/such"],
        &["graph", "no/such"],
        &["timeline", "no/such"],
    ] {
        let error = home.fault(args, 4);
        assert_eq!(error["code"], "not_found", "{args:?}");
        assert!(error["message"].as_str().unwrap().contains("no/such"), "{error}");
        assert!(
            error["hint"].as_str().is_some_and(|h| h.contains("brain ")),
            "{args:?} has no hint with a command: {error}"
        );
    }
}

#[test]
fn commands_on_an_unknown_source_end_with_exit_code_4() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside();
    for args in [
        &["get", "x"][..],
        &["put", "x"],
        &["history", "x"],
        &["delete", "x"],
        &["restore", "x"],
        &["list"],
        &["search", "x"],
        &["tags"],
        &["links", "x"],
        &["backlinks", "x"],
        &["graph", "x"],
        &["timeline"],
        &["import", dir.to_str().unwrap()],
    ] {
        let args: Vec<&str> = args.iter().copied().chain(["--source", "elsewhere"]).collect();
        assert_eq!(home.fault_with(&args, b"content", 4)["code"], "unknown_source", "{args:?}");
    }
}

#[test]
fn wrong_slugs_commands_and_flags_end_with_exit_code_2() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_NO_START".into(), "1".into()));
    assert_eq!(home.fault(["get", "Not A Slug"], 2)["code"], "invalid_slug");
    assert_eq!(home.fault(["get", "../../etc/passwd"], 2)["code"], "invalid_slug");
    let error = home.fault(["serch", "x"], 2);
    assert!(error["hint"].as_str().unwrap().contains("search"), "{error}");
    let error = home.fault(["list", "--limt", "3"], 2);
    assert!(error["hint"].as_str().unwrap().contains("--limit"), "{error}");
    assert_eq!(home.fault(["list", "--limit", "0"], 2)["code"], "usage");
    assert_eq!(home.fault(["list", "--limit", "1001"], 2)["code"], "usage");
    assert_eq!(home.brain(["get"]).expect(2).stdout, "");
}

#[test]
fn invalid_content_leaves_the_page_unchanged() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("p", "good\n");
    assert_eq!(home.fault_with(["put", "p"], b"bad\0", 1)["code"], "binary_content");
    assert_eq!(
        home.fault_with(["put", "p"], b"---\na: [1\n---\nx", 1)["code"],
        "invalid_frontmatter"
    );
    assert_eq!(home.get("p")["body"], "good\n");
    assert_eq!(home.json(["history", "p"])["versions"].as_array().unwrap().len(), 1);
}

#[test]
fn slugs_in_other_scripts_are_kept_unchanged() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for slug in ["日本/東京", "заметки/день", "café/été", "ไทย/ภาษา"]
    {
        home.put(slug, "text\n");
        assert_eq!(home.get(slug)["slug"], slug);
        assert!(home.page_file(slug).exists(), "{slug}");
    }
}

#[test]
fn a_slug_can_be_a_page_and_a_folder_of_pages() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("projects", "the list\n");
    home.put("projects/one", "the first\n");
    home.put("projects.md/odd", "looks like a file\n");
    assert_eq!(home.put("projects", "the list\n")["written"], true);
    assert_eq!(home.get("projects")["body"], "the list\n");
    assert_eq!(home.get("projects/one")["body"], "the first\n");
    assert_eq!(home.get("projects.md/odd")["body"], "looks like a file\n");
}
