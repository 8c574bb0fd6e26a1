//! `brain ask` without a model over two invented vaults of daily notes, people, meetings, projects
//! and books: each question of a table has the expected list, or none.
//!
//! A row of `questions.tsv` is a question and its expected answer: the lines separated by `;`, after
//! `3:` for a count or `?` for a question back. `-` stands for no answer.

use std::fs;
use std::path::{Path, PathBuf};

use brain_tests::{Daemon, TestHome, texts};
use serde_json::Value;

/// Returns the directory of a vault.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/ask").join(name)
}

/// Returns a home without a model.
fn plain_home() -> TestHome {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_EMBEDDING_PROVIDER".into(), "none".into()));
    home
}

/// Adds the vault as a source and reads it.
fn add_vault(home: &TestHome, name: &str) {
    let vault = fixture(name).join("vault");
    // A sync must not write to the repository.
    let copy = home.outside().join(name);
    copy_tree(&vault, &copy);
    home.json(["sources", "add", name, "--path", copy.to_str().unwrap()]);
    home.json(["sync", "--source", name]);
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Returns the answer in the form of the table.
fn answer(reply: &Value) -> String {
    let Some(text) = reply["answer"].as_str() else { return "-".to_owned() };
    let mut lines: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("- ")).map(plain_line).collect();
    lines.sort_unstable();
    let list = lines.join("; ");
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("Which ") {
        return format!("? {list}");
    }
    let question = reply["question"].as_str().unwrap().to_lowercase();
    let counts = ["how many", "wie viele", "combien", "cuántas"];
    match first.split(' ').find(|word| word.bytes().all(|b| b.is_ascii_digit())) {
        Some(count) if counts.iter().any(|words| question.contains(words)) => {
            format!("{count}: {list}")
        }
        _ => list,
    }
}

/// Returns a line of an answer without its day and citation. A day that is the whole title stays.
fn plain_line(line: &str) -> &str {
    let text = line.rsplit_once(" [").map_or(line, |(text, _)| text);
    match text.split_once("  ") {
        Some((day, text)) if day.len() == "2025-03-04".len() => text,
        _ => text,
    }
}

/// Sorts the expected lines of a row.
fn expected(row: &str) -> String {
    let (mark, list) = match row.split_once([':', '?']) {
        Some((count, list)) if count.bytes().all(|b| b.is_ascii_digit()) => {
            (if count.is_empty() { "? ".into() } else { format!("{count}: ") }, list)
        }
        _ => (String::new(), row),
    };
    let mut lines: Vec<&str> = list.split(';').map(str::trim).collect();
    lines.sort_unstable();
    mark + &lines.join("; ")
}

/// Asks all questions of a vault, and asserts each answer.
fn check_vault(name: &str) {
    let home = plain_home();
    let _daemon = home.daemon();
    add_vault(&home, name);
    let table = fs::read_to_string(fixture(name).join("questions.tsv")).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in table.lines() {
        let (question, row) = row.split_once('\t').unwrap();
        let found = answer(&home.json(["ask", question]));
        count += 1;
        if found != expected(row) {
            wrong.push(format!("{question}\n  expected {}\n  found    {found}", expected(row)));
        }
    }
    assert!(count > 40 && wrong.is_empty(), "{count} questions:\n{}", wrong.join("\n"));
}

#[test]
fn questions_of_the_harbour_vault_are_answered() {
    check_vault("harbour");
}

#[test]
fn questions_of_the_aurora_vault_are_answered() {
    check_vault("aurora");
}

#[test]
fn a_list_names_its_page_and_its_doubts() {
    let home = plain_home();
    let _daemon = home.daemon();
    add_vault(&home, "aurora");
    let reply = home.json(["ask", "who attended the Aurora kickoff?"]);
    let first = reply["answer"].as_str().unwrap().lines().next().unwrap();
    assert_eq!(first, "Aurora Kickoff [1], attendees:");
    assert_eq!(
        texts(&reply["citations"], "slug"),
        ["meetings/2025-02-10-aurora-kickoff", "people/mira-kessler", "people/otto-brandt"]
    );
    let reply = home.json(["ask", "how many meetings with Otto"]);
    assert!(reply["unknown"].as_str().unwrap().contains("Contract Negotiation"), "{reply}");
    let reply = home.json(["ask", "which projects have high priority?"]);
    assert!(reply["unknown"].as_str().unwrap().contains("1 page without \"priority\""), "{reply}");
    let reply = home.json(["ask", "meetings with Mira"]);
    assert!(reply["hint"].as_str().unwrap().contains("Mira Kessler"), "{reply}");
    // The title has the day.
    let reply = home.json(["ask", "last meeting with Mira Kessler"]);
    assert_eq!(reply["answer"].as_str().unwrap().matches("2025-03-14").count(), 1, "{reply}");
}

#[test]
fn a_period_in_the_name_of_a_meeting_belongs_to_the_name() {
    let home = plain_home();
    let _daemon = home.daemon();
    for (slug, name) in [("people/mia-brown", "Mia Brown"), ("people/dan-poe", "Dan Poe")] {
        home.put(slug, &format!("---\ntitle: {name}\ntype: person\n---\nLikes tea.\n"));
    }
    for (quarter, person) in [("Q1", "people/mia-brown"), ("Q2", "people/dan-poe")] {
        home.put(
            &format!("meetings/{}", quarter.to_lowercase()),
            &format!(
                "---\ntitle: Acme Board Meeting {quarter} 2025\ntype: meeting\n---\n\
                 Attendees: [[{person}]]\n"
            ),
        );
    }
    for (question, person) in [
        ("who attended the Acme Board Meeting Q1 2025", "Mia Brown"),
        ("wer war beim Acme Board Meeting Q2 2025", "Dan Poe"),
    ] {
        assert_eq!(answer(&home.json(["ask", question])), person, "{question}");
    }
}

/// Returns a home with pages about a firm, whose meetings name people with and without a page.
fn home_of_a_firm() -> (TestHome, Daemon) {
    let home = plain_home();
    let daemon = home.daemon();
    for (slug, text) in [
        (
            "people/uli-ost",
            "---\ntitle: Uli Ost\ntype: person\n---\nColleagues became early believers \
            in [Quanta](companies/quanta), both as angel investors and as customers.\n",
        ),
        (
            "people/tina-low",
            "---\ntitle: Tina Low\ntype: person\n---\nJoined \
            [Quanta](companies/quanta) as founding engineer.\n",
        ),
        ("people/mia-lee", "---\ntitle: Mia Lee\ntype: person\n---\nLikes tea.\n"),
        ("people/adam-roe", "---\ntitle: Adam Roe\ntype: person\n---\nLikes tea.\n"),
        (
            "companies/quanta",
            "---\ntitle: Quanta\ntype: company\n---\nFounded by \
            [Uli Ost](people/uli-ost). Investors include [Kate Ander](people/kate-ander), who led the \
            round, and [Noah Will](people/noah-will), who joined later.\n",
        ),
        (
            "meetings/board-review",
            "---\ntitle: Board review\ntype: meeting\ndate: 2025-10-15\n---\n\
            It was long. Three members were present: [Uli Ost](people/uli-ost), \
            [Kate Ander](people/kate-ander), and [Noah Will](people/noah-will). They spoke.\n",
        ),
        (
            "meetings/demo-evening",
            "---\ntitle: Demo evening\ntype: meeting\ndate: 2025-11-20\n---\n\
            [Mia Lee](people/mia-lee) attended as an observer. [Adam Roe](people/adam-roe) was also \
            present, though late.\n",
        ),
    ] {
        home.put(slug, text);
    }
    (home, daemon)
}

#[test]
fn people_without_a_page_and_other_people_are_named() {
    let (home, _daemon) = home_of_a_firm();
    for (question, people) in [
        ("who attended the board review?", "Kate Ander; Noah Will; Uli Ost"),
        ("who invested in Quanta?", "Kate Ander; Noah Will"),
        ("who founded Quanta?", "Uli Ost"),
        ("who joined Quanta?", "Noah Will; Tina Low"),
    ] {
        assert_eq!(answer(&home.json(["ask", question])), people, "{question}");
    }
    let reply = home.json(["ask", "who attended the demo evening?"]);
    assert_eq!(answer(&reply), "Mia Lee");
    assert!(reply["unknown"].as_str().unwrap().contains("Adam Roe"), "{reply}");
    // The last meeting lists nobody.
    assert_eq!(answer(&home.json(["ask", "who was at the last meeting?"])), "-");
    home.put(
        "meetings/retreat",
        "---\ntitle: Retreat\ntype: meeting\ndate: 2025-12-01\n---\nPresent: Uli Ost, Bo Fry\n\n\
         [Mia Lee](people/mia-lee) was ill.\n",
    );
    assert_eq!(answer(&home.json(["ask", "who was at the last meeting?"])), "Bo Fry; Uli Ost");
    let reply = home.json(["ask", "how many meetings with Mia Lee?"]);
    assert_eq!(answer(&reply), "1: Demo evening");
    assert!(reply["answer"].as_str().unwrap().starts_with("1 page:"), "{reply}");
    assert!(reply["unknown"].as_str().unwrap().contains("Retreat"), "{reply}");
    // A meeting without a day names other people, too.
    home.put(
        "meetings/roof-talk",
        "---\ntitle: Roof talk\ntype: meeting\n---\n[Mia Lee](people/mia-lee) attended. \
         [Adam Roe](people/adam-roe) spoke.\n",
    );
    let reply = home.json(["ask", "who attended the roof talk?"]);
    assert_eq!(answer(&reply), "Mia Lee");
    assert!(reply["unknown"].as_str().unwrap().contains("Adam Roe"), "{reply}");
}

#[test]
fn films_and_their_days_are_answered() {
    let home = plain_home();
    let _daemon = home.daemon();
    for (slug, text) in [
        ("films/lock", "director: Aino Rasmus\nrating: 5\nseen: 2026-03-21"),
        ("films/moths", "director: Jules Corbin\nrating: 3\nseen: 2026-08-02"),
        ("meetings/mirror-night", "type: meeting\ndate: 2026-02-07\nattendees: [Ann Lee]"),
        ("people/ann-lee", "type: person\nphone: 555 019\ntitle: Ann Lee"),
    ] {
        home.put(slug, &format!("---\n{text}\n---\nWe saw it.\n"));
    }
    home.put(
        "companies/acme",
        "---\ntype: company\n---\nAn investor in the round was [Ann Lee](people/ann-lee).\n",
    );
    for (question, lines) in [
        ("which films did I give 5?", "lock"),
        ("films notés 5", "lock"),
        ("qui a réalisé Lock ?", "Aino Rasmus"),
        ("what's the phone number of Ann Lee?", "555 019"),
        ("when was the mirror night?", "mirror-night"),
        ("which meetings did Ann Lee go to?", "mirror-night"),
        ("who did Ann Lee meet?", "-"),
        ("which companies did Ann Lee invest in?", "acme"),
        ("which companies invested in Ann Lee?", "-"),
        ("which notes mention lock or moths?", "-"),
    ] {
        assert_eq!(answer(&home.json(["ask", question])), lines, "{question}");
    }
    let reply = home.json(["ask", "when was the mirror night?"]);
    assert!(reply["answer"].as_str().unwrap().contains("2026-02-07"), "{reply}");
    assert_eq!(home.search("the last film I saw")[0], "films/moths");
    assert_eq!(home.search("Ann from Acme")[0], "people/ann-lee");
    // The list is read from the words as they are typed: other spellings explain nothing.
    let found = home.json(["search", "films notés 5"]);
    assert_eq!((&found["hits"][0]["slug"], &found["note"]), (&"films/lock".into(), &Value::Null));
}

#[test]
fn a_search_ranks_the_pages_of_a_list_first() {
    let home = plain_home();
    let _daemon = home.daemon();
    add_vault(&home, "aurora");
    for (question, count, slugs) in [
        ("what links to Mira Sandoval", 3, "books/bread-in-winter daily/2025-02-10 projects/novel"),
        (
            "where did I mention the fox logo",
            2,
            "daily/2025-03-14 meetings/2025-04-02-website-review",
        ),
        ("notes tagged evergreen", 2, "notes/kites-for-sensing notes/sourdough"),
        ("latest release", 1, "changelog/2.1.0"),
        ("newest blog post", 1, "blog/on-tools"),
    ] {
        let mut found = home.search(question);
        found.truncate(count);
        found.sort();
        assert_eq!(found.join(" "), slugs, "{question}");
    }
}
