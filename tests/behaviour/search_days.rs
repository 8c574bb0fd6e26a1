//! Questions that name days, and questions for the last or the first page.

use brain_tests::{Daemon, TestHome};
use serde_json::Value;

fn home_with_days() -> (TestHome, Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("people/ann", "---\ntitle: Ann Berg\ntype: person\n---\nLikes tea.\n");
    for (slug, frontmatter) in [
        ("meetings/spring", "date: 2025-03-14\n"),
        ("meetings/2025-06-02-pumps", ""),
        ("meetings/autumn", "date: 2024-10-01\n"),
    ] {
        let text = format!(
            "---\ntype: meeting\n{frontmatter}---\n# About pumps\n\nWith [[people/ann]].\n"
        );
        home.put(slug, &text);
    }
    home.put(
        "projects/garden",
        "# Garden\n\nMany plans.\n\n- 2024-01-05 | the fence\n- 2025-03-20 | **roses** came\n",
    );
    for n in 0..10 {
        home.put(&format!("notes/{n}"), "# March\n\nThe march of March 2025, and meetings.\n");
    }
    (home, daemon)
}

fn hits(home: &TestHome, question: &str) -> Vec<Value> {
    home.json(["search", question])["hits"].as_array().unwrap().clone()
}

fn first_slugs(home: &TestHome, question: &str, count: usize) -> Vec<String> {
    let mut found = home.search(question);
    found.truncate(count);
    found
}

#[test]
fn pages_of_the_named_days_come_first() {
    let (home, _daemon) = home_with_days();
    for question in [
        "Which meetings took place in March 2025?",
        "Welche Treffen gab es im März 2025?",
        "reuniones de marzo de 2025",
        "meetings on 2025-03-14",
    ] {
        assert_eq!(first_slugs(&home, question, 1), ["meetings/spring"], "{question}");
    }
    let mut month = first_slugs(&home, "2025-03", 2);
    month.sort();
    assert_eq!(month, ["meetings/spring", "projects/garden"]);
    assert_eq!(first_slugs(&home, "pumps in June 2025", 1), ["meetings/2025-06-02-pumps"]);
    assert_eq!(first_slugs(&home, "meetings before 2025", 1), ["meetings/autumn"]);
    // A filter still applies, and the name of a month alone is no period.
    assert!(home.search("2025-03 type:recipe").is_empty());
    assert!(first_slugs(&home, "march", 1)[0].starts_with("notes/"));
}

#[test]
fn the_snippet_shows_the_line_of_the_named_days() {
    let (home, _daemon) = home_with_days();
    let found = hits(&home, "what happened in the garden in March 2025");
    assert_eq!(found[0]["slug"], "projects/garden");
    let snippet = found[0]["snippet"].as_str().unwrap();
    assert!(snippet.contains("roses") && !snippet.contains("fence"), "{snippet}");
}

#[test]
fn the_last_and_the_first_page_are_found() {
    let (home, _daemon) = home_with_days();
    for (question, slug) in [
        ("When did I last meet Ann Berg?", "meetings/2025-06-02-pumps"),
        ("the latest meeting with Ann Berg", "meetings/2025-06-02-pumps"),
        ("the first meeting with Ann Berg", "meetings/autumn"),
        ("das erste Treffen mit Ann Berg", "meetings/autumn"),
    ] {
        assert_eq!(first_slugs(&home, question, 1), [slug], "{question}");
    }
}
