//! How a question is read: command lines, excluded words, fields, numbers and quoted phrases.

use brain_tests::{Daemon, TestHome};
use serde_json::Value;

fn home_with_notes() -> (TestHome, Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("howto/plugin", "Install it:\n\n```sh\nnpm install -g obsidian-headless\n```\n");
    home.put("howto/java", "Start it with `java -Xmx2g -jar app.jar` on the server.\n");
    home.put("howto/jars", "A jar of jam, and java beans on the server.\n");
    home.put("life", "# Life without principle\n\nAn essay about life.\n");
    home.put("trust/essay", "# Trust\n\nTrust grows slowly.\n");
    home.put("trust/model", "# Trust in models\n\nTrust as a game with two players.\n");
    home.put(
        "projects/harbour",
        "---\ntype: project\nstatus: active\nlead: Nadia Holt\n---\n# Harbour\n\nMaps of the bay.\n",
    );
    home.put("projects/mill", "---\nstatus: done\n---\n# Mill\n\nAn active mill.\n");
    (home, daemon)
}

fn note(home: &TestHome, question: &str) -> Option<String> {
    home.json(["search", question])["note"].as_str().map(str::to_owned)
}

#[test]
fn options_of_commands_exclude_nothing() {
    let (home, _daemon) = home_with_notes();
    assert_eq!(home.search("npm install -g obsidian-headless")[0], "howto/plugin");
    assert_eq!(note(&home, "npm install -g obsidian-headless"), None);
    // The option looks like an excluded word, but a page has it in such a line.
    assert_eq!(home.search("java -jar app.jar")[0], "howto/java");
    assert_eq!(note(&home, "java -jar app.jar"), None);
    home.put("howto/exif", "`exiftool -all= photo.jpg` removes all data.\n");
    assert_eq!(home.search("exiftool -all")[0], "howto/exif");
    // No page has this one in a line: it excludes.
    assert_eq!(home.search("server -jar"), Vec::<String>::new());
    assert_eq!(home.search("java -jam"), ["howto/java"]);
    assert_eq!(note(&home, "java -jam").unwrap(), "pages with \"jam\" are left out");
}

#[test]
fn words_are_excluded_in_plain_words() {
    let (home, _daemon) = home_with_notes();
    assert_eq!(home.search("trust without game"), ["trust/essay"]);
    assert_eq!(note(&home, "trust without game").unwrap(), "pages with \"game\" are left out");
    assert_eq!(home.search("trust, not models"), ["trust/essay"]);
    // A page has this name, and here every page would be left out.
    assert_eq!(home.search("life without principle")[0], "life");
    assert_eq!(note(&home, "life without principle"), None);
    assert!(home.search("principle without life").contains(&"life".to_owned()));
    assert!(home.search("how do I trust without game").contains(&"trust/model".to_owned()));
}

#[test]
fn exclusions_stand_before_and_after_the_word() {
    let (home, _daemon) = home_with_notes();
    for question in [
        "trust NOT game",
        "trust, game not mentioned",
        "notes on trust in which game does not appear",
        "trust notes which don't mention game",
        "trust, anything but game",
        "Trust, in dem kein game vorkommt",
    ] {
        assert_eq!(home.search(question), ["trust/essay"], "{question}");
    }
    // A name with such a word does not hide the exclusion after it.
    home.put("lives", "# Life without principle, a parody\n\nNo essay about life.\n");
    assert_eq!(home.search("life without principle, not parody"), ["life"]);
    // Tags are excluded as tags.
    home.put("oak", "---\ntags: [tree, old]\n---\nOak.\n");
    home.put("elm", "---\ntags: [tree]\n---\nElm.\n");
    for question in ["notes tagged tree but not old", "tagged tree, not #old", "#tree without #old"]
    {
        assert_eq!(home.search(question)[..1], ["elm"], "{question}");
        assert!(!home.search(question).contains(&"oak".to_owned()), "{question}");
    }
    let mut found = home.search("tagged old or tree");
    found.sort();
    assert_eq!(found[..2], ["elm", "oak"]);
}

#[test]
fn a_long_quotation_with_a_word_left_out_finds_its_page() {
    let (home, _daemon) = home_with_notes();
    let question = "\"trust as a game two players\"";
    assert_eq!(home.search(question)[0], "trust/model");
    let note = note(&home, question).unwrap();
    assert!(note.starts_with("no page has \"trust as a game two players\""), "{note}");
    assert_eq!(home.search("\"game players\""), Vec::<String>::new());
}

#[test]
fn values_of_frontmatter_are_found_and_shown() {
    let (home, _daemon) = home_with_notes();
    let found = home.json(["search", "Nadia Holt"]);
    let hit: &Value = &found["hits"][0];
    assert_eq!(hit["slug"], "projects/harbour");
    assert_eq!(hit["snippet"], "lead: Nadia Holt");
    assert_eq!(home.search("status:active"), ["projects/harbour"]);
    assert_eq!(home.search("status:active bay"), ["projects/harbour"]);
    assert_eq!(home.search("active -status:done"), ["projects/harbour"]);
    assert_eq!(home.search("lead:nadia"), ["projects/harbour"]);
    // No page has this value, so these are words.
    assert!(home.search("status:mill").contains(&"projects/mill".to_owned()));
    let snippet = home.json(["search", "maps of the bay"])["hits"][0]["snippet"].clone();
    assert!(snippet.as_str().unwrap().contains("Maps of the bay"), "{snippet}");
}
