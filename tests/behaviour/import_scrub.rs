//! `import --scrub`: secrets with a well-known form are removed from pages and named.

use std::fs;

use brain_tests::{TestHome, texts};
use serde_json::json;

/// No real secrets.
fn token() -> String {
    format!("ghp_{}", "a1".repeat(18))
}

fn private_key() -> String {
    let line = "MIIEvQ+/".repeat(8);
    format!("-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n-----END RSA PRIVATE KEY-----")
}

/// An export of Claude with one conversation, whose title is its first words.
fn conversations() -> String {
    let message = |sender: &str, text: String| {
        json!({
            "uuid": sender, "sender": sender, "text": text, "created_at": "2026-01-02T03:04:05Z",
            "content": [{"type": "text", "text": text}], "attachments": [], "files": [],
        })
    };
    let question = message("human", format!("{} opens the boathouse", token()));
    let answer = format!("Keep it safe:\n\n```\n{}\n```\n\nTar *and* rope.", private_key());
    let conversation = json!({
        "uuid": "1", "name": "", "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02T03:04:05Z",
        "chat_messages": [question, message("assistant", answer)],
    });
    json!([conversation]).to_string()
}

#[test]
fn secrets_of_conversations_are_removed_and_named() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let file = home.outside().join("conversations.json");
    fs::write(&file, conversations()).unwrap();
    let import = |options: &[&str]| {
        let mut arguments = vec!["import", file.to_str().unwrap()];
        arguments.extend(options);
        home.json(arguments)
    };
    let dry = import(&["--scrub", "--dry-run"]);
    assert_eq!((&dry["secrets"], &dry["created"]), (&json!(3), &json!(1)), "{dry}");

    let reply = import(&["--scrub"]);
    assert_eq!((&reply["secrets"], &reply["failed_total"]), (&json!(3), &json!(0)), "{reply}");
    let named = reply["not_imported"].to_string();
    assert!(named.contains("removed: GitHub token, GitHub token, private key"), "{named}");
    let slugs = texts(&home.json(["list"])["pages"], "slug");
    let [slug] = slugs.as_slice() else { panic!("{slugs:?}") };
    let page = home.get(slug);
    assert_eq!(page["title"], "[removed: GitHub token] opens the boathouse");
    let body = page["body"].as_str().unwrap();
    assert!(body.contains("[removed: GitHub token] opens the boathouse"), "{body}");
    assert!(body.contains("```\n[removed: private key]\n```\n\nTar *and* rope."), "{body}");
    for text in [page.to_string(), reply.to_string()] {
        assert!(!text.contains("a1a1") && !text.contains("MIIEvQ"), "{text}");
    }
    assert!(!fs::read_to_string(home.page_file(slug)).unwrap().contains("a1a1"));
    assert_eq!(import(&["--scrub"])["unchanged"], 1);

    // Without the option, all of it is there.
    let whole = import(&[]);
    assert_eq!(whole["secrets"], 0, "{whole}");
    assert_eq!((&whole["created"], home.status().pages), (&json!(1), 2), "{whole}");
}

#[test]
fn secrets_of_notes_are_removed_and_the_rest_stays() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("notes");
    fs::create_dir(&dir).unwrap();
    let text = "---\ntitle:   Oars   # long\n---\n\nTar &amp; rope\n";
    fs::write(dir.join("oars.md"), text).unwrap();
    fs::write(dir.join("key.md"), format!("---\nkey: {}\n---\n\nA key.\n", token())).unwrap();
    fs::write(dir.join("nested.md"), format!("---\na:\n  b: {}\n---\n\nx\n", token())).unwrap();
    let mut command = home.command("brain");
    command.args(["--json", "import", dir.to_str().unwrap(), "--scrub"]);
    let reply = brain_tests::run(command, b"").expect(1).json();
    assert_eq!((&reply["created"], &reply["secrets"]), (&json!(2), &json!(1)), "{reply}");
    assert!(reply["failed"][0]["reason"].as_str().unwrap().contains("nested values"), "{reply}");
    let oars = home.get("oars")["frontmatter"].as_str().unwrap().to_owned();
    assert!(oars.contains("title:   Oars   # long"), "{oars}");
    let key = home.get("key")["frontmatter"].as_str().unwrap().to_owned();
    assert!(key.contains("[removed: GitHub token]") && !key.contains("ghp_"), "{key}");
}
