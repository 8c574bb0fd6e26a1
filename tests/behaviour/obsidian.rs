//! A vault of Obsidian: names, tags, links, embeds, callouts and comments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use brain_tests::{TestHome, run, slugs, texts, vault};
use serde_json::{Value, json};

fn write(dir: &Path, name: &str, content: &str) {
    let file_path = dir.join(name);
    fs::create_dir_all(file_path.parent().unwrap()).unwrap();
    fs::write(file_path, content).unwrap();
}

/// Returns a home that imported `files`, and the directory of the files.
fn vault(files: &[(&str, &str)]) -> (TestHome, PathBuf) {
    let home = TestHome::new();
    let dir = home.outside().join("My Vault");
    for (name, content) in files {
        write(&dir, name, content);
    }
    let import = home.json(["import", dir.to_str().unwrap()]);
    assert_eq!(import["failed_total"], 0, "{import}");
    (home, dir)
}

/// Returns the links of a page: each target as written, with the slug to which it leads or, without
/// a slug, with its status.
fn links(home: &TestHome, slug: &str) -> BTreeMap<String, String> {
    let reply = home.json(["links", slug]);
    let rows = reply["links"].as_array().unwrap();
    rows.iter()
        .map(|row| {
            let text = |field: &str| row[field].as_str().map(str::to_owned);
            (text("target").unwrap(), text("slug").or_else(|| text("status")).unwrap())
        })
        .collect()
}

fn tags(home: &TestHome, slug: &str) -> Value {
    home.json(["tags", slug])["tags"].clone()
}

fn broken_links(home: &TestHome, args: &[&str]) -> Value {
    home.json(["links", "--broken"].into_iter().chain(args.iter().copied()))
}

#[test]
fn links_of_every_form_find_their_pages() {
    let (home, _) = vault(&[
        (
            "Daily Notes/2026-11-21.md",
            "[[Ann Lee]] [[ann lee|the boss]] [[Projects/Big Idea]] [[Big Idea#Why]] [[Big \
             Idea#^block-1]] [[#Here]] [[Countess]]\n\
             ![[Café Notes]] ![[chart.png]] ![[Clip.mp4#t=3]] [[report.pdf]] [[Sheet.xlsx]] \
             ![[board.canvas]]\n\
             [idea](../Projects/Big%20Idea.md) [root](Projects/Big%20Idea.md#Why) \
             [shown](<Projects/Big Idea.md>) [file](files/a%20b.pdf)\n\
             [by name](Ann%20Lee.md) ![](../Projects/Big%20Idea.md) ![photo](chart.png)\n\
             [[What's up? (draft)]] [[日本語 メモ]] [[हिन्दी/टिप्पणी]] [[v1.2]] \
             [out](https://example.org/x.md) <https://example.org>\n",
        ),
        ("People/Ann Lee.md", "---\naliases: [Countess]\n---\nx\n"),
        ("Projects/Big Idea.md", "## Why\n\nbecause ^block-1\n"),
        ("Café Notes.md", "x\n"),
        ("Inbox/What's up? (draft).md", "x\n"),
        ("読書/日本語 メモ.md", "x\n"),
        ("हिन्दी/टिप्पणी.md", "x\n"),
        ("v1.2.md", "x\n"),
        (".obsidian/plugins/note.md", "[[nowhere]]\n"),
        (".trash/Old.md", "[[nowhere]]\n"),
        ("chart.png", "not really"),
    ]);
    let found = links(&home, "daily-notes/2026-11-21");
    let expected = [
        ("Ann Lee", "people/ann-lee"),
        ("Projects/Big Idea", "projects/big-idea"),
        ("Big Idea#Why", "projects/big-idea"),
        ("Countess", "people/ann-lee"),
        ("Café Notes", "café-notes"),
        ("../Projects/Big%20Idea.md", "projects/big-idea"),
        ("Ann%20Lee.md", "people/ann-lee"),
        ("What's up? (draft)", "inbox/whats-up-draft"),
        ("日本語 メモ", "読書/日本語-メモ"),
        ("हिन्दी/टिप्पणी", "हिन्दी/टिप्पणी"),
        ("v1.2", "v1.2"),
    ];
    for (target, slug) in expected {
        assert_eq!(
            found.get(target).map(String::as_str),
            Some(slug),
            "{target} is not in {found:?}"
        );
    }
    for (target, slug) in &found {
        let is_file = target == "Sheet.xlsx";
        assert!(is_file || (slug != "missing" && slug != "ambiguous"), "{target}: {slug}");
    }
    assert!(
        !found
            .keys()
            .any(|t| t.contains(".png") || t.contains(".pdf") || t.contains("example.org")),
        "{found:?}"
    );
    assert_eq!(
        slugs(&home.json(["backlinks", "inbox/whats-up-draft"])["links"]),
        ["daily-notes/2026-11-21"]
    );
    let mut all = slugs(&home.json(["list", "--sort", "slug"])["pages"]);
    all.retain(|slug| slug.contains("obsidian") || slug.contains("trash") || slug.contains("old"));
    assert!(all.is_empty(), "{all:?}");
    let report = broken_links(&home, &[]);
    assert_eq!((&report["links"], &report["missing"]), (&json!([]), &json!(0)), "{report}");
}

#[test]
fn a_name_links_to_the_page_at_the_root_first() {
    let (home, _) = vault(&[
        ("Acme.md", "root\n"),
        ("Old/Acme.md", "old\n"),
        ("From.md", "[[Acme]] [[old/acme]]\n"),
    ]);
    assert_eq!(
        links(&home, "from"),
        BTreeMap::from([("Acme".into(), "acme".into()), ("old/acme".into(), "old/acme".into())])
    );
    assert_eq!(slugs(&home.json(["backlinks", "acme"])["links"]), ["from"]);
    home.json(["delete", "acme"]);
    assert_eq!(links(&home, "from")["Acme"], "old/acme");
}

/// The choices that Obsidian makes between several notes of one name.
#[test]
fn a_link_leads_to_the_page_that_obsidian_opens() {
    let text = "[[Note]] [[Plan|the plan]] [[area/Index#Top]] [by path](area/Index.md) [[./Plan]] \
                [[2026/Log]]\n";
    let (home, _) = vault(&[
        ("a/b/Note.md", "x\n"),
        ("zzzzzz/Note.md", "x\n"),
        ("zzzzzz/deep/Start.md", text),
        ("zzzzzz/deep/below/Plan.md", "x\n"),
        ("b/Plan.md", "x\n"),
        ("b/Start.md", text),
        ("long folder/area/Index.md", "x\n"),
        ("old/area/Index.md", "x\n"),
        ("b/2026/Log.md", "x\n"),
        ("a/Start.md", text),
        ("a/2026/Log.md", "x\n"),
    ]);
    let found = |slug: &str| links(&home, slug);
    let deep_links = found("zzzzzz/deep/start");
    // A note in a folder above the page gets no preference; a note in a folder below it does.
    assert_eq!(deep_links["Note"], "a/b/note", "{deep_links:?}");
    assert_eq!(deep_links["Plan"], "zzzzzz/deep/below/plan", "{deep_links:?}");
    assert_eq!(deep_links["area/Index#Top"], "old/area/index", "{deep_links:?}");
    assert_eq!(deep_links["2026/Log"], "a/2026/log", "{deep_links:?}");
    assert_eq!(deep_links["./Plan"], "missing", "{deep_links:?}");
    assert_eq!(found("b/start")["Plan"], "b/plan");
    assert_eq!(found("b/start")["2026/Log"], "b/2026/log");
    assert_eq!(slugs(&home.json(["backlinks", "b/2026/log"])["links"]), ["b/start"]);
    let to_index = home.json(["backlinks", "old/area/index"]);
    assert_eq!(slugs(&to_index["links"]), ["a/start", "b/start", "zzzzzz/deep/start"]);
    assert_eq!(
        to_index["links"].as_array().unwrap().len(),
        3,
        "one backlink for each page: {to_index}"
    );
    let report = broken_links(&home, &[]);
    let broken_targets = texts(&report["links"], "target");
    assert_eq!((broken_targets, &report["ambiguous"]), (vec!["./Plan".to_owned(); 2], &json!(0)));

    // New and deleted pages change the choice.
    home.put("a/note", "beside\n");
    assert_eq!(found("b/start")["Note"], "a/note");
    home.put("note", "at the root\n");
    assert_eq!(found("a/start")["Note"], "note");
    home.json(["delete", "old/area/index"]);
    assert_eq!(found("b/start")["area/Index#Top"], "long-folder/area/index");
    home.json(["delete", "long-folder/area/index"]);
    assert_eq!(broken_links(&home, &[])["missing"], 5, "area/Index in three pages");
    home.put("deep/in/area/index", "back\n");
    assert_eq!(broken_links(&home, &[])["missing"], 2);
}

#[test]
fn a_moved_page_keeps_the_targets_of_its_links() {
    let (home, _) = vault(&[
        ("a/From.md", "[[Twin]] [[Other]]\n"),
        ("a/Twin.md", "x\n"),
        ("b/Twin.md", "x\n"),
        ("Other.md", "x\n"),
    ]);
    assert_eq!(links(&home, "a/from")["Twin"], "a/twin");
    home.json(["mv", "a/from", "b/from"]);
    let after = links(&home, "b/from");
    assert!(after.values().any(|slug| slug == "a/twin"), "{after:?}");
    assert_eq!(after["Other"], "other", "{after:?}");
}

#[test]
fn tags_in_the_text_are_tags_of_the_page() {
    let text = "---\ntags: [Front, both]\n---\n\n# Heading #in-heading\n\nWork on #project/alpha \
         and #both, #日本語. \\#escaped #1984\n\
         `#code` https://example.org/#frag [[Page#Heading]] %%#hidden%%\n\n> [!note] Called \
         #callout\n";
    let (home, dir) = vault(&[("A.md", text)]);
    assert_eq!(
        tags(&home, "a"),
        json!(["front", "both", "in-heading", "project/alpha", "日本語", "callout"])
    );
    assert_eq!(home.get("a")["tags"], tags(&home, "a"));
    let mut all = texts(&home.json(["tags"])["tags"], "tag");
    all.sort();
    assert_eq!(all, ["both", "callout", "front", "in-heading", "project/alpha", "日本語"]);
    for tag in ["project/alpha", "日本語", "front"] {
        assert_eq!(slugs(&home.json(["list", "--tag", tag])["pages"]), ["a"], "{tag}");
        assert_eq!(slugs(&home.json(["search", "work", "--tag", tag])["hits"]), ["a"], "{tag}");
    }
    assert!(slugs(&home.json(["list", "--tag", "hidden"])["pages"]).is_empty());
    // The text is unchanged.
    assert_eq!(
        fs::read_to_string(home.page_file("a")).unwrap(),
        fs::read_to_string(dir.join("A.md")).unwrap()
    );
    home.put("a", "---\ntags: [front]\n---\nno more\n");
    assert_eq!(tags(&home, "a"), json!(["front"]));
    assert_eq!(
        home.json(["capture", "a thought #seed", "--tag", "given", "--slug", "t"])["status"],
        "created"
    );
    assert_eq!(tags(&home, "t"), json!(["given", "seed"]));
}

#[test]
fn a_tag_in_the_text_cannot_be_removed_by_a_command() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "---\ntags: [front]\n---\nabout #Work\n");
    let before = home.get("a");
    let error = home.fault(["tags", "a", "--remove", "work", "--add", "x"], 1);
    assert_eq!(error["code"], "conflict");
    assert!(error["message"].as_str().unwrap().contains("is in the text"), "{error}");
    assert!(error["message"].as_str().unwrap().contains("#Work"), "{error}");
    assert_eq!(home.get("a"), before, "a refused change changes nothing");
    assert_eq!(home.json(["tags", "a", "--remove", "front"])["tags"], json!(["work"]));
    assert_eq!(home.json(["tags", "a", "--add", "new"])["tags"], json!(["new", "work"]));
    assert_eq!(home.get("a")["body"], "about #Work\n");
}

#[test]
fn comments_keep_their_text_and_have_no_links() {
    let (home, _) = vault(&[(
        "A.md",
        "[[shown]] %%[[hidden]] [x](hidden.md)%% 100%% [[after]]\n\n> [!tip]- Folded [[called]]\n> \
            ![[embedded]]\n\n%%\nzebra [[hidden too]]\n%%\n\n[[last]]\n",
    )]);
    let found: Vec<String> = links(&home, "a").into_keys().collect();
    assert_eq!(found, ["after", "called", "embedded", "last", "shown"]);
    assert_eq!(home.search("zebra"), ["a"]);
}

#[test]
fn the_report_names_missing_and_ambiguous_links() {
    let (home, _) = vault(&[
        (
            "A.md",
            "---\ncompany: Nowhere Inc\n---\n[[Twin]] [[Missing Page]] [[wrong/Ann]] [[B]] \
                [data](files/data.csv)\n",
        ),
        ("B.md", "[[gone]]\n"),
        ("One.md", "---\naliases: [Twin]\n---\nx\n"),
        ("Two.md", "---\naliases: [Twin]\n---\nx\n"),
        ("People/Ann.md", "[[Missing Page]]\n"),
        ("Missing Page of Ann.md", "x\n"),
    ]);
    let report = broken_links(&home, &[]);
    assert_eq!(
        (&report["missing"], &report["ambiguous"], &report["truncated"]),
        (&json!(5), &json!(1), &json!(false))
    );
    let find = |slug: &str, target: &str| {
        let rows = report["links"].as_array().unwrap();
        rows.iter()
            .find(|l| l["slug"] == slug && l["target"] == target)
            .unwrap_or_else(|| panic!("{target} is not in {report}"))
    };
    let twin = find("a", "Twin");
    assert_eq!(
        (&twin["status"], &twin["candidates"]),
        (&json!("ambiguous"), &json!(["one", "two"]))
    );
    let wrong = find("a", "wrong/Ann");
    assert_eq!(
        (&wrong["status"], &wrong["candidates"]),
        (&json!("missing"), &json!(["people/ann"]))
    );
    assert_eq!(find("a", "Nowhere Inc")["kind"], "company");
    assert_eq!(
        find("people/ann", "Missing Page")["candidates"],
        json!(["missing-page-of-ann"]),
        "a page with a longer name is a candidate"
    );
    assert_eq!(find("b", "gone")["candidates"], json!([]));

    let limited = broken_links(&home, &["--limit", "2"]);
    assert_eq!(
        (limited["links"].as_array().unwrap().len(), &limited["truncated"], &limited["missing"]),
        (2, &json!(true), &json!(5))
    );
    // Deleted pages are not counted.
    home.json(["delete", "a"]);
    let remaining = broken_links(&home, &[]);
    let mut targets = texts(&remaining["links"], "target");
    targets.sort();
    assert_eq!(targets, ["Missing Page", "gone"]);
    home.put("gone", "here now\n");
    assert_eq!(texts(&broken_links(&home, &[])["links"], "target"), ["Missing Page"]);
    assert_eq!(
        home.brain(["links", "--broken", "-q"]).expect(0).stdout,
        "people/ann Missing Page\n"
    );
    for args in
        [&["links"][..], &["links", "a", "--broken"], &["links", "--broken", "--limit", "0"]]
    {
        assert_eq!(home.fault(args, 2)["code"], "usage", "{args:?}");
    }
    assert_eq!(
        home.fault(["links", "--broken", "--source", "nowhere"], 4)["code"],
        "unknown_source"
    );
}

#[test]
fn the_count_of_broken_links_follows_added_and_deleted_pages() {
    let texts: Vec<(String, String)> =
        (0..400).map(|n| (format!("{n:03}.md"), format!("[[Hub]] [[{:03}]]\n", n + 1))).collect();
    let files: Vec<(&str, &str)> =
        texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (home, _) = vault(&files);
    // Returns the number of missing links, the number of listed rows, and the first listed target.
    let counts = |limit: &str| {
        let report = broken_links(&home, &["--limit", limit]);
        let first = report["links"][0]["target"].clone();
        (report["missing"].as_u64().unwrap(), report["links"].as_array().unwrap().len(), first)
    };
    assert_eq!(counts("20"), (401, 20, json!("Hub")));
    home.put("hub", "all link to it\n");
    assert_eq!(counts("20"), (1, 1, json!("400")));
    home.json(["delete", "007"]);
    assert_eq!(counts("20"), (2, 2, json!("007")));
    home.put("400", "the end\n");
    home.json(["delete", "hub"]);
    assert_eq!(counts("1"), (400, 1, json!("Hub")));
    home.json(["restore", "hub"]);
    home.json(["restore", "007"]);
    assert_eq!(counts("20"), (0, 0, json!(null)));
}

#[test]
fn the_report_keeps_sources_apart() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let work = home.outside().join("work");
    fs::create_dir_all(&work).unwrap();
    home.json(["sources", "add", "work", "--path", work.to_str().unwrap()]);
    home.put("a", "[[only here]] [[work:there]] [[work:nowhere/there]]\n");
    home.put("only-here", "x\n");
    home.json_with(["put", "there", "--source", "work"], b"[[only here]]\n");
    let all = broken_links(&home, &[]);
    assert_eq!(texts(&all["links"], "target"), ["work:nowhere/there", "only here"], "{all}");
    assert_eq!(all["links"][0]["candidates"], json!(["there"]));
    assert_eq!(
        all["links"][1]["candidates"],
        json!([]),
        "the page of that name is in another source"
    );
    assert_eq!(texts(&broken_links(&home, &["--source", "work"])["links"], "source_id"), ["work"]);
    let mut command = home.command("brain");
    command.args(["links", "--broken"]);
    let text = run(command, b"").expect(0).stdout;
    assert!(text.contains("work:there") && text.contains("missing"), "{text}");
}

#[test]
fn only_links_to_missing_notes_of_a_vault_are_broken() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("vault");
    vault::write(&dir);
    home.json(["import", dir.to_str().unwrap()]);
    let report = broken_links(&home, &["--limit", "1000"]);
    for link in report["links"].as_array().unwrap() {
        assert_eq!(link["status"], "missing", "{link}");
    }
    let targets: BTreeSet<String> = texts(&report["links"], "target").into_iter().collect();
    assert_eq!(targets, vault::MISSING.map(str::to_owned).into());
    assert_eq!(report["ambiguous"], 0);
}
