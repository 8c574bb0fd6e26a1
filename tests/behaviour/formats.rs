//! Formats of lists and graphs; parts of lists; slugs, passages and hyperlinks on terminals.

use std::fs;
use std::time::{Duration, Instant};

use brain_tests::{TEST_TIMEOUT, TestHome, http};
use serde_json::Value;

use crate::terminal::on_a_terminal;

const LONG_SLUG: &str = "meetings/2026/11/a-rather-long-name-of-a-meeting";

fn home_with_pages() -> (TestHome, brain_tests::Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("a", "---\ntitle: \"A, \\\"first\\\" | page\"\ntags: [x]\n---\nwalrus [[b]]\n");
    home.put("b", "---\ntitle: B\n---\nwalrus\n\n- 2026-01-02 | met Ann\n");
    (home, daemon)
}

#[test]
fn listings_have_formats_for_programs() {
    let (home, _daemon) = home_with_pages();
    let stdout_of = |args: &[&str]| home.brain(args).expect(0).stdout;
    let csv = stdout_of(&["list", "--sort", "slug", "--format", "csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "slug,source_id,title,type,tags,created_at,updated_at");
    assert!(lines[1].starts_with("a,default,\"A, \"\"first\"\" | page\",note,x,20"), "{csv}");
    let md = stdout_of(&["search", "walrus", "--format", "md"]);
    assert!(md.starts_with("| slug | source_id | title |") && md.contains("\\| page"), "{md}");
    assert_eq!(
        stdout_of(&["timeline", "--format", "csv"]),
        "date,slug,source_id,text,source\n2026-01-02,b,default,met Ann,\n"
    );
    assert_eq!(stdout_of(&["tags", "--format", "csv"]), "tag,pages\nx,1\n");
    for listing in [
        &["list"][..],
        &["search", "walrus"],
        &["timeline"],
        &["links", "a"],
        &["backlinks", "b"],
        &["links", "--broken"],
        &["tags"],
        &["audit"],
        &["orphans"],
        &["todos"],
    ] {
        let json = stdout_of(&[listing, &["--format", "json"]].concat());
        assert!(json.starts_with('{') && json.ends_with("}\n"), "{listing:?}: {json}");
        assert!(!stdout_of(&[listing, &["--format", "csv"]].concat()).is_empty(), "{listing:?}");
    }
    let refused = home.brain(["tags", "--format", "paths"]).expect(2);
    assert!(refused.stderr.contains("this list has no files"), "{refused:?}");
}

#[test]
fn printed_paths_lead_to_the_files_of_pages() {
    let (home, _daemon) = home_with_pages();
    for args in [&["list"][..], &["search", "walrus"], &["links", "a"], &["timeline"]] {
        let paths = home.brain([args, &["--format", "paths"]].concat()).expect(0).stdout;
        assert!(!paths.is_empty(), "{args:?}");
        for path in paths.lines() {
            assert!(fs::read_to_string(path).is_ok_and(|text| !text.is_empty()), "{path}");
        }
    }
}

#[test]
fn long_lists_are_printed_in_numbered_parts() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for slug in ["a", "b", "c", "d", "e"] {
        home.put(slug, "walrus\n");
    }
    let names_of_part = |args: &[&str]| {
        let run = home.brain([args, &["-q", "--limit", "2"]].concat()).expect(0);
        run.stdout.split_whitespace().collect::<String>()
    };
    let listed =
        ["1", "2", "3", "4"].map(|n| names_of_part(&["list", "--sort", "slug", "--page", n]));
    assert_eq!(listed, ["ab", "cd", "e", ""]);
    let found = ["1", "2", "3"].map(|n| names_of_part(&["search", "walrus", "--page", n]));
    let mut all: Vec<char> = found.concat().chars().collect();
    all.sort_unstable();
    assert_eq!(all, ['a', 'b', 'c', 'd', 'e']);
    for command in [&["list"][..], &["search", "walrus"]] {
        let run = home.brain([command, &["--limit", "2", "--page", "2"]].concat()).expect(0);
        assert!(run.stderr.contains("--page 3"), "{run:?}");
    }
}

#[test]
fn timelines_tasks_orphans_and_calls_have_numbered_parts() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for n in 1..=5 {
        home.put(&format!("n{n}"), &format!("- [ ] task {n}\n- 2026-01-0{n} | line {n}\n"));
    }
    let bearer = format!("Bearer {}", home.token("reader", "read", &[]));
    for n in 1..=5 {
        let path = format!("/pages/n{n}");
        let fields = [("Authorization", bearer.as_str())];
        let _ = http::call(home.http_local(), "GET", &path, &fields, b"").expect(200);
    }
    // The audit records a call shortly after its answer.
    let deadline = Instant::now() + TEST_TIMEOUT;
    while home.json(["audit"])["calls"].as_array().unwrap().len() < 5 {
        assert!(Instant::now() < deadline, "the calls are not recorded");
        std::thread::sleep(Duration::from_millis(20));
    }
    for (list, rows) in [
        (&["timeline"][..], "entries"),
        (&["timeline", "n1"], "entries"),
        (&["todos"], "todos"),
        (&["orphans"], "pages"),
        (&["audit"], "calls"),
    ] {
        let whole = home.json(list);
        let mut parts: Vec<Value> = Vec::new();
        for page in ["1", "2", "3", "4"] {
            let args = [list, &["--limit", "2", "--page", page]].concat();
            let part = home.json(&args);
            let found = part[rows].as_array().unwrap();
            assert!(found.len() <= 2, "{args:?}: {part}");
            parts.extend(found.iter().cloned());
            let is_last = parts.len() == whole[rows].as_array().unwrap().len();
            assert_eq!(part["truncated"], !is_last, "{args:?}: {part}");
        }
        assert_eq!(Value::from(parts), whole[rows], "{list:?}");
        let beyond = home.brain([list, &["--page", "9"]].concat()).expect(0);
        assert!(beyond.stderr.contains("the list has no part 9"), "{beyond:?}");
    }
    for list in ["timeline", "todos", "orphans", "audit"] {
        let second = home.brain([list, "--limit", "2", "--page", "2"]).expect(0);
        assert!(second.stderr.contains("--page 3"), "{second:?}");
    }
}

#[test]
fn a_graph_is_printed_for_dot_and_mermaid() {
    let (home, _daemon) = home_with_pages();
    let graph = |format| home.brain(["graph", "a", "--format", format]).expect(0).stdout;
    assert_eq!(
        graph("dot"),
        "digraph brain {\n  rankdir=LR;\n  \"a\" [label=\"A, \\\"first\\\" | page\"];\n  \
         \"b\" [label=\"B\"];\n  \"a\" -> \"b\" [label=\"mentions\"];\n}\n"
    );
    assert_eq!(
        graph("mermaid"),
        "graph LR\n  n0[\"A, &quot;first&quot; | page\"]\n  n1[\"B\"]\n  \
         n0 -->|\"mentions\"| n1\n"
    );
    assert!(graph("json").starts_with("{\"nodes\":"));
}

#[test]
fn a_printed_page_ends_with_a_line_feed() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.json(["capture", "Buy milk", "--slug", "milk"]);
    assert!(home.brain(["get", "milk"]).expect(0).stdout.ends_with("Buy milk\n"));
    assert!(home.json(["get", "milk"])["content"].as_str().unwrap().ends_with("Buy milk"));
}

#[test]
fn a_terminal_shows_whole_slugs_plain_passages_and_links() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let text =
        "Some **bold** words about [the sea](https://example.org/a/long/address). ".repeat(3);
    home.put(
        LONG_SLUG,
        &format!(
            "---\ntitle: A title that is much too long for this\n---\n{text}The \
        `walrus` [[people/ann|Ann]] saw.\n"
        ),
    );
    let plain = [("FORCE_HYPERLINK", "0"), ("NO_COLOR", "1")];
    for (columns, command) in [
        (60, &["list"][..]),
        (60, &["search", "walrus"]),
        (60, &["links", "--broken"]),
        (40, &["list"]),
        (40, &["links", "--broken"]),
    ] {
        let Some((_, output)) = on_a_terminal(&home, columns, &plain, command) else { return };
        assert!(output.contains(LONG_SLUG), "{columns}: {output}");
        for line in output.lines() {
            assert!(
                line.chars().count() <= columns as usize || line.contains(LONG_SLUG),
                "{output}"
            );
        }
    }
    let Some((_, output)) = on_a_terminal(&home, 60, &plain, &["search", "walrus"]) else { return };
    let passage = output.lines().find(|line| line.contains("walrus")).expect(&output);
    assert!(!passage.contains(['*', '`', '[', ']']), "{output}");

    let linked = [("FORCE_HYPERLINK", "1")];
    let Some((_, output)) = on_a_terminal(&home, 60, &linked, &["list"]) else { return };
    assert!(
        output.contains("\u{1b}]8;;file://") && output.contains(&format!("{LONG_SLUG}.md")),
        "{output}"
    );
}
