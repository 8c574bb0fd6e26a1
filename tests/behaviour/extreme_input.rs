//! Extreme input: huge, deeply nested, or a YAML bomb. The daemon stays available.

use std::fmt::Write;

use brain_tests::TestHome;

fn assert_still_serves(home: &TestHome) {
    assert_eq!(home.put("still/here", "yes\n")["slug"], "still/here");
    assert!(!home.log().contains("panicked"), "{}", home.log());
}

#[test]
fn a_line_of_five_megabytes_is_stored_and_found() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut line = "x".repeat(2_499_990);
    line.push_str(" walrus ");
    line.push_str(&"日本語".repeat(277_000));
    assert!(line.len() > 4_990_000 && line.len() <= 5_000_000);
    let put = home.put("line", &line);
    assert_eq!(put["status"], "created");
    assert_eq!(home.get("line")["body"].as_str().unwrap(), line);
    let hits = home.json(["search", "walrus"]);
    assert_eq!(hits["hits"][0]["slug"], "line");
    assert!(hits["hits"][0]["snippet"].as_str().unwrap().chars().count() <= 240, "{hits}");
    assert!(home.get("line")["title"].as_str().unwrap().chars().count() <= 80);
    assert_still_serves(&home);
}

#[test]
fn pages_with_100000_links_work() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut text = String::new();
    for n in 0..100_000 {
        write!(text, "[[t/{n}]] ").unwrap();
    }
    assert_eq!(home.put("hub", &text)["status"], "created");
    for n in [0, 500, 99_999] {
        let slug = format!("t/{n}");
        home.put(&slug, "x\n");
        let back = home.json(["backlinks", &slug]);
        assert_eq!(back["links"][0]["slug"], "hub", "{n}: {back}");
    }
    let links = home.json(["links", "hub"]);
    assert_eq!(
        (&links["links"][0]["status"], &links["links"][1]["status"]),
        (&"live".into(), &"missing".into())
    );
    assert_eq!(home.json(["graph", "hub"])["nodes"].as_array().unwrap().len(), 4);
    assert_eq!(home.put("hub", "none left\n")["status"], "updated");
    assert_eq!(home.json(["backlinks", "t/99999"])["links"], serde_json::json!([]));
    assert_still_serves(&home);
}

#[test]
fn omitted_links_are_reported() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let text: String = (0..12_000).map(|n| format!("[[t/{n}]] ")).collect();
    home.put("hub", &text);
    let links = home.json(["links", "hub"]);
    assert!(links["links"].as_array().unwrap().len() == 12_000 || links["truncated"] == true);
}

#[test]
fn deep_yaml_is_rejected_with_its_position() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut block = String::new();
    for depth in 0..200 {
        writeln!(block, "{}k:", " ".repeat(depth)).unwrap();
    }
    for yaml in [
        format!("a: {}{}\n", "[".repeat(30_000), "]".repeat(30_000)),
        format!("a: {}1{}\n", "{k: ".repeat(10_000), "}".repeat(10_000)),
        block,
        format!("a:\n  {}x\n", "- ".repeat(20_000)),
    ] {
        let page = format!("---\ntitle: deep\n{yaml}---\nbody\n");
        let error = home.fault_with(["put", "deep"], page.as_bytes(), 1);
        assert_eq!(error["code"], "invalid_frontmatter", "{error}");
        assert!(error["message"].as_str().unwrap().contains("line "), "{error}");
        assert!(error["message"].as_str().unwrap().len() < 1000, "the message is short");
    }
    home.fault(["get", "deep"], 4);
    assert_still_serves(&home);
}

#[test]
fn yaml_bombs_are_rejected() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let mut yaml = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for n in 1..12 {
        let refs = vec![format!("*a{}", n - 1); 9].join(", ");
        writeln!(yaml, "a{n}: &a{n} [{refs}]").unwrap();
    }
    let error =
        home.fault_with(["capture", "--stdin"], format!("---\n{yaml}---\nbody\n").as_bytes(), 1);
    assert_eq!(error["code"], "invalid_frontmatter", "{error}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let peak = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    let peak_kb: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak_kb < 300_000, "{peak}");
    assert_still_serves(&home);
}

#[test]
fn frontmatter_over_its_limit_is_rejected() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let page = |length: usize| format!("---\nlong: {}\n---\nbody\n", "x".repeat(length));
    assert_eq!(home.put("fits", &page(60_000))["status"], "created");
    let error = home.fault_with(["put", "over"], page(70_000).as_bytes(), 1);
    assert!(error["message"].as_str().unwrap().contains("65536"), "{error}");
    let mut many_keys = String::from("---\n");
    for n in 0..6000 {
        writeln!(many_keys, "k{n}: {n}").unwrap();
    }
    let output =
        home.brain_with(["put", "many", "--json"], format!("{many_keys}---\nbody\n").as_bytes());
    assert!(
        output.code == 0 || output.json()["error"]["code"] == "invalid_frontmatter",
        "{output:?}"
    );
    assert_still_serves(&home);
}

#[test]
fn deeply_nested_markdown_is_stored() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (name, text) in [
        ("quotes", format!("{} deep walrus\n", ">".repeat(200_000))),
        ("brackets", format!("{}walrus{}\n", "[".repeat(100_000), "]".repeat(100_000))),
        ("wiki", "[[".repeat(100_000) + " walrus\n"),
        ("stars", format!("{}walrus\n", "*a **b ".repeat(60_000))),
        ("links", "[a](".repeat(50_000) + "walrus\n"),
        (
            "ticks",
            format!("{} walrus\n", (1..900).map(|n| "`".repeat(n)).collect::<Vec<_>>().join(" ")),
        ),
        ("list", format!("{}walrus\n", "- ".repeat(50_000))),
        ("comments", format!("{} walrus\n", "<!--".repeat(50_000))),
    ] {
        let put = home.put(&format!("nest/{name}"), &text);
        assert_eq!(put["status"], "created", "{name}");
        assert_eq!(home.get(&format!("nest/{name}"))["body"].as_str().unwrap(), text, "{name}");
    }
    assert_still_serves(&home);
}

#[test]
fn long_tags_titles_and_queries_work() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let tags: Vec<String> = (0..3000).map(|n| format!("t{n}")).collect();
    let put = home.put("tagged", &format!("---\ntags: [{}]\n---\nbody\n", tags.join(", ")));
    assert_eq!(put["status"], "created");
    assert_eq!(home.json(["tags", "tagged"])["tags"].as_array().unwrap().len(), 3000);
    home.put("titled", &format!("---\ntitle: {}\n---\nbody\n", "Long ".repeat(5000)));
    home.brain(["list"]).expect(0);
    home.brain(["search", "long"]).expect(0);
    home.json(["search", "--", &"walrus ".repeat(15_000)]);
    home.json(["search", "--", &"(\"".repeat(10_000)]);
    home.json(["search", "--", &"a* ".repeat(2000)]);
    let error = home.fault(["get", &"a".repeat(600)], 2);
    assert_eq!(error["code"], "invalid_slug");
    let long_slug = format!("{}/{}", "d".repeat(200), "f".repeat(200));
    assert_eq!(home.put(&long_slug, "x\n")["written"], true);
    assert_still_serves(&home);
}

#[test]
fn pages_are_stored_if_their_file_names_are_too_long() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    // Slugs have up to 512 bytes, file names up to 255.
    let slug = "n".repeat(400);
    let put = home.put(&slug, "walrus\n");
    assert_eq!(home.get(&slug)["body"], "walrus\n");
    assert_eq!(home.search("walrus"), [slug]);
    assert!(put["written"] == true || !put["warnings"].as_array().unwrap().is_empty(), "{put}");
}
