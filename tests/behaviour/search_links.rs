//! Questions that name a page and ask for other pages are answered by links.

use brain_tests::{Daemon, TestHome, slugs};
use serde_json::Value;

/// Returns a home with two companies, their people, a meeting, and notes that only repeat the
/// questions.
fn home_with_companies() -> (TestHome, Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put(
        "companies/acme",
        "---\ntitle: Acme - Robots for Warehouses\ntype: company\ninvestors:\n  - \
         people/ida-holm\n---\n\
         Acme was founded by [[people/mia-brown]]. The seed round was led by \
         [Chris](/people/chris-lee.md), who invested early. A portrait was painted by \
         [[people/dan-poe]].\n",
    );
    home.put(
        "companies/beta",
        "---\ntitle: Beta\ntype: company\n---\nBeta makes soup. [[people/mia-brown]] advises it.\n",
    );
    for (slug, name) in [
        ("people/mia-brown", "Mia Brown"),
        ("people/chris-lee", "Chris Lee"),
        ("people/dan-poe", "Dan Poe"),
        ("people/ida-holm", "Ida Holm"),
    ] {
        home.put(slug, &format!("---\ntitle: {name}\ntype: person\n---\nLikes tea.\n"));
    }
    home.put(
        "meetings/kickoff",
        "---\ntitle: Kickoff\ntype: meeting\n---\n## Attendees\n\n- [[people/mia-brown]]\n- \
         [[people/dan-poe]]\n\n## Notes\n\nOver lunch [[people/ida-holm]] was mentioned. It was \
         about [[companies/acme]].\n",
    );
    for n in 0..30 {
        home.put(
            &format!("notes/{n}"),
            &format!(
                "---\ntitle: Clip {n}\n---\nWho invested in Acme? Acme investors, people at \
                Acme, who attended the Kickoff {n}.\n"
            ),
        );
    }
    (home, daemon)
}

/// Returns the first `count` results, sorted by slug.
fn first_slugs(home: &TestHome, question: &str, count: usize) -> Vec<String> {
    let mut found = home.search(question);
    found.truncate(count);
    found.sort();
    found
}

#[test]
fn a_question_for_other_pages_is_answered_by_links() {
    let (home, _daemon) = home_with_companies();
    let investors = ["people/chris-lee", "people/ida-holm"];
    assert_eq!(
        first_slugs(&home, "Who invested in Acme?", 2),
        investors,
        "links in a sentence and in the frontmatter"
    );
    assert_eq!(first_slugs(&home, "investors of Acme", 2), investors);
    assert_eq!(first_slugs(&home, "Acme's investors", 2), investors);
    assert_eq!(home.search("who founded Acme")[0], "people/mia-brown");
    assert_eq!(
        first_slugs(&home, "who attended the Kickoff", 2),
        ["people/dan-poe", "people/mia-brown"]
    );
    assert_eq!(first_slugs(&home, "Kickoff attendees", 2), ["people/dan-poe", "people/mia-brown"]);
    assert_eq!(
        first_slugs(&home, "attendees of Kickoff", 2),
        ["people/dan-poe", "people/mia-brown"]
    );
    assert_eq!(home.search("what meetings did Mia Brown attend")[0], "meetings/kickoff");
    assert_eq!(
        first_slugs(&home, "Which companies does Mia Brown know?", 2),
        ["companies/acme", "companies/beta"]
    );
    assert_eq!(home.search("which companies does Mia Brown advise")[0], "companies/beta");
    let people = ["people/chris-lee", "people/dan-poe", "people/ida-holm", "people/mia-brown"];
    assert_eq!(first_slugs(&home, "people at Acme", 4), people);
    assert_eq!(first_slugs(&home, "welche Personen kennt Acme", 4), people);
}

#[test]
fn questions_about_the_page_itself_find_the_page() {
    let (home, _daemon) = home_with_companies();
    for question in
        ["Mia Brown", "who is Mia Brown", "tell me about Mia Brown", "what is Mia Brown like"]
    {
        assert_eq!(home.search(question)[0], "people/mia-brown", "{question}");
    }
    assert_eq!(home.search("Kickoff")[0], "meetings/kickoff");
    for question in ["notes from the Kickoff", "minutes of the Kickoff", "summary of Kickoff"] {
        assert_eq!(home.search(question)[0], "meetings/kickoff", "{question}");
    }
    assert_eq!(
        home.search("who wrote about soup")[0],
        "companies/beta",
        "the question names no page"
    );
}

#[test]
fn explain_names_the_sentence_and_its_page() {
    let (home, _daemon) = home_with_companies();
    let found = home.json(["search", "who invested in Acme", "--explain"]);
    let hit =
        found["hits"].as_array().unwrap().iter().find(|h| h["slug"] == "people/chris-lee").unwrap();
    assert!(hit["matched"].as_array().unwrap().contains(&Value::from("link")), "{hit}");
    let parts = hit["explain"].as_array().unwrap();
    let link = parts.iter().find(|p| p["reason"].as_str().unwrap().starts_with("link")).unwrap();
    let reason = link["reason"].as_str().unwrap();
    assert!(
        reason.contains("companies/acme") && reason.contains("The seed round was led by Chris"),
        "{reason}"
    );
    let sum: f64 = parts.iter().map(|p| p["score"].as_f64().unwrap()).sum();
    assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-2, "the parts are the score: {hit}");
    assert!(found["degraded"].is_null(), "search without a provider is not degraded: {found}");
    let investor =
        found["hits"].as_array().unwrap().iter().find(|h| h["slug"] == "people/ida-holm").unwrap();
    assert!(investor["explain"].to_string().contains("investors"), "{investor}");
}

#[test]
fn pages_found_by_links_obey_the_filters() {
    let (home, _daemon) = home_with_companies();
    assert_eq!(home.search("who invested in Acme type:company"), ["companies/acme"]);
    assert!(
        home.search("who invested in Acme -tea").iter().all(|slug| !slug.starts_with("people/"))
    );
    let found = home.json(["search", "who invested in Acme", "--type", "person"]);
    assert_eq!(slugs(&found["hits"])[..2].iter().filter(|s| s.starts_with("people/")).count(), 2);
    home.brain(["delete", "people/chris-lee"]).expect(0);
    assert!(
        !home.search("who invested in Acme").contains(&"people/chris-lee".to_owned()),
        "a deleted page is not found"
    );
}

#[test]
fn a_word_for_time_is_a_part_of_the_score() {
    let (home, _daemon) = home_with_companies();
    home.put("log/a", "---\ntitle: Harbour one\n---\nThe harbour crane moves.\n");
    home.put("log/b", "---\ntitle: Harbour two\n---\nThe harbour crane moves.\n");
    let found = home.json(["search", "latest harbour crane", "--explain"]);
    let hits = found["hits"].as_array().unwrap();
    let explained = hits[0]["explain"].to_string();
    assert!(explained.contains("latest") && explained.contains("days ago"), "{found}");
    let plain = home.json(["search", "harbour crane", "--explain"]);
    assert!(!plain["hits"].to_string().contains("days ago"), "{plain}");
}
