//! `link`, `links`, `backlinks` and `graph`.

use brain_tests::{TestHome, slugs, texts};
use serde_json::json;

#[test]
fn links_of_every_form_are_found_except_in_code() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("people/ada", "Ada\n");
    home.put(
        "from",
        "---\ncompany: \"[[companies/acme]]\"\nattendees: [people/ada]\n---\n[Ada](people/ada) \
         [[people/bob|Bob]] [[people/ada]]\n\
         ![[media]] [out](https://example.org) \
         `[[code]]`\n\n```\n[[fenced]]\n```\n[file](people/cyd.md)\n",
    );
    let links = home.json(["links", "from"]);
    let found: Vec<(String, String, String)> = links["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| {
            let text = |f: &str| l[f].as_str().unwrap_or_default().to_owned();
            (text("target"), text("kind"), text("status"))
        })
        .collect();
    let has = |target: &str, kind: &str, status: &str| {
        found.contains(&(target.into(), kind.into(), status.into()))
    };
    assert!(has("companies/acme", "company", "missing"), "{found:?}");
    assert!(has("people/ada", "attendees", "live"), "{found:?}");
    assert!(has("people/ada", "mentions", "live"), "{found:?}");
    assert!(has("people/bob", "mentions", "missing"), "{found:?}");
    assert!(found.iter().any(|(t, ..)| t.starts_with("people/cyd")), "{found:?}");
    for absent in ["code", "fenced", "https://example.org"] {
        assert!(!found.iter().any(|(t, ..)| t == absent), "{absent} in {found:?}");
    }
    assert_eq!(
        found.iter().filter(|(t, k, _)| t == "people/ada" && k == "mentions").count(),
        1,
        "one row for each pair of pages"
    );
}

#[test]
fn a_link_becomes_live_or_missing_with_its_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("from", "see [[to/come]]\n");
    assert_eq!(home.json(["links", "from"])["links"][0]["status"], "missing");
    let missing = &home.json(["backlinks", "to/come"])["links"][0];
    assert_eq!(
        (&missing["status"], &missing["sentence"]),
        (&json!("missing"), &json!("see to/come"))
    );
    let printed = home.brain(["backlinks", "to/come"]).expect(0).stdout;
    assert!(printed.contains("SENTENCE") && printed.contains("see to/come"), "{printed}");
    home.put("to/come", "---\ntitle: Here now\n---\nx\n");
    let link = home.json(["links", "from"])["links"][0].clone();
    assert_eq!(
        (&link["status"], &link["slug"], &link["title"]),
        (&json!("live"), &json!("to/come"), &json!("Here now"))
    );
    assert_eq!(slugs(&home.json(["backlinks", "to/come"])["links"]), ["from"]);
    assert_eq!(texts(&home.json(["backlinks", "to/come"])["links"], "status"), ["live"]);
    home.json(["delete", "to/come"]);
    assert_eq!(home.json(["links", "from"])["links"][0]["status"], "missing");
    home.json(["restore", "to/come"]);
    assert_eq!(slugs(&home.json(["backlinks", "to/come"])["links"]), ["from"]);
    home.put("from", "no links any more\n");
    assert_eq!(home.json(["backlinks", "to/come"])["links"], json!([]));
    let run = home.brain(["link", "from", "nowhere", "--remove"]).expect(0);
    assert_eq!(
        (run.stdout.trim(), run.stderr.as_str()),
        ("unchanged from → nowhere (related)", "")
    );
}

#[test]
fn a_bare_name_links_to_a_file_or_a_unique_alias() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("from", "[[acme]] and [[Countess]]\n");
    home.put("companies/acme", "x\n");
    home.put("people/ada", "---\naliases: [Countess]\n---\nx\n");
    let rows = home.json(["links", "from"]);
    assert_eq!(texts(&rows["links"], "status"), ["live", "live"], "{rows}");
    assert_eq!(slugs(&rows["links"]), ["companies/acme", "people/ada"]);
    // Among several files, the link means the one with the shortest path. Among several aliases, it
    // is ambiguous.
    home.put("old/acme", "another\n");
    home.put("people/bea", "---\naliases: [Countess]\n---\nx\n");
    let rows = home.json(["links", "from"]);
    assert_eq!(texts(&rows["links"], "status"), ["live", "ambiguous"], "{rows}");
    assert_eq!(slugs(&home.json(["backlinks", "old/acme"])["links"]), ["from"]);
    assert_eq!(home.json(["backlinks", "companies/acme"])["links"], json!([]));
    home.json(["delete", "old/acme"]);
    home.json(["delete", "people/bea"]);
    assert_eq!(texts(&home.json(["links", "from"])["links"], "status"), ["live", "live"]);
    assert_eq!(slugs(&home.json(["backlinks", "companies/acme"])["links"]), ["from"]);
}

#[test]
fn a_link_may_name_its_source() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("to", "x\n");
    home.put("from", "[[default:to]] and [[elsewhere:to]]\n");
    let rows = home.json(["links", "from"]);
    assert_eq!(texts(&rows["links"], "status"), ["live", "missing"], "{rows}");
    assert_eq!(slugs(&home.json(["backlinks", "to"])["links"]), ["from"]);
}

#[test]
fn links_are_added_to_and_removed_from_the_frontmatter() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "---\n# note\nmood: fine\n---\nbody\n");
    let added = home.json(["link", "a", "b"]);
    assert_eq!(
        (&added["status"], &added["live"], &added["kind"]),
        (&json!("added"), &json!(false), &json!("related"))
    );
    assert_eq!(home.json(["link", "a", "b"])["status"], "unchanged");
    home.put("b", "x\n");
    assert_eq!(home.json(["link", "a", "b", "--kind", "company"])["live"], true);
    let back = home.json(["backlinks", "b"]);
    let mut kinds = texts(&back["links"], "kind");
    kinds.sort();
    assert_eq!(kinds, ["company", "related"]);
    let page = home.get("a");
    assert!(page["frontmatter"].as_str().unwrap().contains("# note\nmood: fine\n"), "{page}");
    assert_eq!(page["body"], "body\n");
    assert_eq!(
        std::fs::read_to_string(home.page_file("a")).unwrap(),
        page["content"].as_str().unwrap()
    );
    assert_eq!(home.json(["link", "a", "b", "--remove"])["status"], "removed");
    assert_eq!(home.json(["link", "a", "b", "--remove"])["status"], "unchanged");
    assert_eq!(texts(&home.json(["backlinks", "b"])["links"], "kind"), ["company"]);
    for kind in ["title", "tags", "Big", "two words"] {
        assert_eq!(home.fault(["link", "a", "b", "--kind", kind], 2)["code"], "usage", "{kind}");
    }
}

#[test]
fn the_graph_has_each_page_and_each_link_once() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "[[b]] [[c]] [[nowhere]]\n");
    home.put("b", "[[c]] [[a]]\n");
    home.put("c", "[[d]]\n");
    home.put("d", "end\n");
    home.put("alone", "x\n");
    let direct = home.json(["graph", "a"]);
    let mut nodes = slugs(&direct["nodes"]);
    assert_eq!((nodes[0].as_str(), &direct["nodes"][0]["depth"]), ("a", &json!(0)));
    nodes.sort();
    assert_eq!(nodes, ["a", "b", "c"]);
    let two_steps = home.json(["graph", "a", "--depth", "2"]);
    assert_eq!(two_steps["nodes"].as_array().unwrap().len(), 4);
    let slug_at = |i: &serde_json::Value| {
        two_steps["nodes"][i.as_u64().unwrap() as usize]["slug"].as_str().unwrap().to_owned()
    };
    let mut edges: Vec<(String, String)> = two_steps["edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (slug_at(&e["from"]), slug_at(&e["to"])))
        .collect();
    edges.sort();
    let expected = [("a", "b"), ("a", "c"), ("b", "a"), ("b", "c"), ("c", "d")];
    assert_eq!(edges, expected.map(|(x, y)| (x.to_owned(), y.to_owned())));
    let limited = home.json(["graph", "a", "--limit", "2"]);
    assert_eq!(
        (limited["nodes"].as_array().unwrap().len(), &limited["truncated"]),
        (2, &json!(true))
    );
    let back = home.json(["graph", "d"]);
    assert_eq!(
        back["nodes"].as_array().unwrap().len(),
        2,
        "a graph also follows backlinks: {back}"
    );
    assert_eq!(home.fault(["graph", "a", "--depth", "6"], 2)["code"], "usage");
}

#[test]
fn the_text_of_a_graph_lists_a_pair_once_with_all_kinds() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("companies/acme", "# Acme\n");
    home.put("people/ann", "---\ncompany: \"[[companies/acme]]\"\n---\nAt [[companies/acme]].\n");
    let graph = home.json(["graph", "people/ann"]);
    let mut kinds = texts(&graph["edges"], "kind");
    kinds.sort();
    assert_eq!(kinds, ["company", "mentions"], "{graph}");
    let text = home.brain(["graph", "people/ann"]).expect(0).stdout;
    let pairs = text.lines().filter(|line| {
        line.trim_start().starts_with("people/ann ") && line.contains("companies/acme")
    });
    let pairs: Vec<&str> = pairs.collect();
    assert_eq!(pairs.len(), 1, "{text}");
    assert!(kinds.iter().all(|kind| pairs[0].contains(kind.as_str())), "{text}");
    assert!(pairs[0].contains(", "), "{text}");
}

#[test]
fn a_link_to_a_page_in_a_folder_does_not_link_the_folder() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("projects", "the folder's page\n");
    home.put("from", "[[projects/secret]]\n");
    assert_eq!(home.json(["backlinks", "projects"])["links"], json!([]));
    assert_eq!(home.json(["links", "from"])["links"].as_array().unwrap().len(), 1);
}
