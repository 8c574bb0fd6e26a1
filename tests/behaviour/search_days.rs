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

fn home_with_texts() -> (TestHome, Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("journal/2021-10-05", "Repaired the bicycle.\n");
    home.put("thoughts/kiln", "---\ndate: 2021-10-20\n---\n# Kiln\n\nThe glaze ran.\n");
    home.put("journal/2021-11-02", "Painted the fence.\n");
    home.put("things/editor", "# Editor\n\nReleased on 24 May 2020, with tabs.\n");
    home.put("things/radio", "# Radio\n\nGebaut am 3. März 2018.\n");
    home.put("things/visa", "# Visa\n\nSigned 07/08/2019.\n");
    for n in 0..8 {
        home.put(
            &format!("talk/{n}"),
            "# Talk\n\nNotes: what did I write in October? The notes from October 2021 are lost, \
             and so are the entries of May, 24 in all, from 2020.\n",
        );
    }
    (home, daemon)
}

#[test]
fn words_for_any_page_do_not_outweigh_the_days() {
    let (home, _daemon) = home_with_texts();
    for question in [
        "notes from October 2021",
        "What did I write in October 2021?",
        "Was habe ich im Oktober 2021 geschrieben?",
        "mes notes d'octobre 2021",
        "10/2021",
    ] {
        let mut found = first_slugs(&home, question, 2);
        found.sort();
        assert_eq!(found, ["journal/2021-10-05", "thoughts/kiln"], "{question}");
    }
    assert_eq!(first_slugs(&home, "notes about glaze, October 2021", 1), ["thoughts/kiln"]);
}

#[test]
fn a_day_in_the_text_is_found_in_every_form() {
    let (home, _daemon) = home_with_texts();
    for question in ["24 May 2020", "May 24, 2020", "2020-05-24", "24. Mai 2020", "2020-05"] {
        assert_eq!(first_slugs(&home, question, 1), ["things/editor"], "{question}");
    }
    assert_eq!(first_slugs(&home, "2018-03-03", 1), ["things/radio"]);
    assert_eq!(first_slugs(&home, "7 August 2019", 1), ["things/visa"]);
    assert_eq!(first_slugs(&home, "July 8, 2019", 1), ["things/visa"]);
    let found = hits(&home, "2020-05-24");
    assert!(found[0]["snippet"].as_str().unwrap().contains("Released on"), "{found:?}");
}

#[test]
fn a_day_that_does_not_exist_is_no_other_day() {
    let (home, _daemon) = home_with_texts();
    home.put("journal/2021-02-03", "Snow.\n");
    home.put("log", "# Log\n\nOn 2021-02-28 and 2020-02-30, more snow.\n");
    let answer = home.json(["search", "2021-02-30"]);
    assert_eq!(answer["hits"].as_array().unwrap().len(), 0, "{answer}");
    assert_eq!(answer["note"], "2021-02-30 is not a day of the calendar");
    assert_eq!(home.search("2020-02-30"), ["log"]);
    assert_eq!(first_slugs(&home, "glaze on 30 February 2021", 1), ["thoughts/kiln"]);
}

#[test]
fn a_note_says_which_year_was_taken() {
    let (home, _daemon) = home_with_texts();
    let note = |question: &str| home.json(["search", question])["note"].clone();
    let read = note("what did I write in October");
    assert!(read.as_str().unwrap().starts_with("\"in October\" was read as October 20"), "{read}");
    assert_eq!(note("notes from October 2021"), Value::Null);
}

#[test]
fn a_page_of_a_day_comes_before_a_line_of_a_timeline() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("meetings/one", "---\ntype: meeting\ndate: 2025-02-14\n---\n# Sync\n\nPumps.\n");
    home.put("journal/2024-05-17", "---\ntype: journal\n---\nThe lighthouse.\n");
    home.put("journal/2024-05-29", "---\ntype: journal\n---\nBought rope.\n");
    home.put("meetings/old", "---\ntype: meeting\ndate: 2025-05-17\n---\n# Talk\n\nPumps.\n");
    for n in 0..8 {
        home.put(
            &format!("companies/{n}"),
            "# Firm\n\nWe may write.\n\n- **2025-02-14** | meeting of the board, Treffen\n\
             - **2024-05-17** | the fence\n",
        );
    }
    for question in ["14.02.2025", "14.02.25", "meetings Feb 2025", "Treffen im Februar 2025"] {
        assert_eq!(first_slugs(&home, question, 1), ["meetings/one"], "{question}");
    }
    let mut written = first_slugs(&home, "what did I write in May 2024", 2);
    written.sort();
    assert_eq!(written, ["journal/2024-05-17", "journal/2024-05-29"]);
    assert_eq!(first_slugs(&home, "journal 17th of May", 1), ["journal/2024-05-17"]);
}

#[test]
fn values_with_days_are_put_in_order() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (name, day) in [("gravel", "2024-02-11"), ("salt", "2025-08-02"), ("orchard", "2026-09-30")]
    {
        let text = format!("---\ntype: book\nfinished: {day}\n---\n# {name}\n\nI finished it.\n");
        home.put(&format!("books/{name}"), &text);
    }
    for (question, slug) in [
        ("last book I finished", "books/orchard"),
        ("first book I finished", "books/gravel"),
        ("the oldest book I finished", "books/gravel"),
    ] {
        assert_eq!(first_slugs(&home, question, 1), [slug], "{question}");
        let reply = home.json(["ask", question]);
        assert_eq!(reply["citations"][0]["slug"], slug, "{reply}");
    }
}
