//! `brain lsp`: positions, completion, navigation, outlines and diagnostics.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use brain_tests::editor::{Editor, position, uri, usual_capabilities};
use brain_tests::{TestHome, wait_for};
use serde_json::{Value, json};

/// A home whose daemon watches the directories of sources.
pub(crate) fn watching_home() -> TestHome {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_SOURCES_WATCH".into(), "true".into()));
    home
}

/// Registers a directory with these files as the source "vault".
pub(crate) fn vault(home: &TestHome, files: &[(&str, &str)]) -> PathBuf {
    let vault = home.outside().join("vault");
    fs::create_dir_all(&vault).unwrap();
    for (path, text) in files {
        let file = vault.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    home.json(["sources", "add", "vault", "--path", vault.to_str().unwrap()]);
    home.json(["sync", "--source", "vault"]);
    vault
}

/// Returns whether a command that reads a page succeeds.
pub(crate) fn has_page(home: &TestHome, args: [&str; 2]) -> bool {
    home.brain(args).code == 0
}

fn labels(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["label"].as_str().unwrap()).collect()
}

/// All items replace one range, which is on one line and contains the cursor, and their filter
/// begins with what stands there: so VS Code and Neovim show them.
fn check_items(editor: &Editor, uri: &str, items: &[Value], (line, character): (u64, u64)) {
    let range = &items[0]["textEdit"]["range"];
    let text = editor.text(uri).split('\n').nth(line as usize).unwrap();
    let (start, end) = (&range["start"], &range["end"]);
    assert_eq!((&start["line"], &end["line"]), (&json!(line), &json!(line)));
    let (from, to) = (start["character"].as_u64().unwrap(), end["character"].as_u64().unwrap());
    assert!(from <= character && character <= to, "{range}");
    let units: Vec<u16> = text.encode_utf16().collect();
    let typed = String::from_utf16(&units[from as usize..character as usize]).unwrap();
    for item in items {
        assert_eq!(&item["textEdit"]["range"], range, "{item}");
        let filter = item["filterText"].as_str().unwrap().to_lowercase();
        assert!(filter.starts_with(&typed.to_lowercase()), "{typed:?} {item}");
        assert!(item["additionalTextEdits"].is_null(), "{item}");
    }
}

#[test]
fn changes_and_encodings_are_those_of_the_client() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("Zora.md", "# Zora\n")]);
    let mut capabilities = usual_capabilities();
    capabilities["general"]["positionEncodings"] = json!(["utf-32", "utf-16"]);
    let mut editor = Editor::with(&home, capabilities);
    assert_eq!(editor.server["capabilities"]["positionEncoding"], "utf-32");
    let note = editor.open_as(&uri(&vault.join("n.md")), "🦓 [[Z");
    let at = position(0, 5);
    editor.change(&note, json!([{ "range": { "start": at, "end": at }, "text": "o" }]));
    let items = editor.complete(&note, 0, 6);
    assert_eq!(labels(&items), ["Zora"]);

    let mut editor = Editor::new(&home);
    assert_eq!(editor.server["capabilities"]["positionEncoding"], "utf-16");
    let note = editor.open_as(&uri(&vault.join("n.md")), "one\ntwo\n");
    let range = |a, b| json!({ "start": position(a, 0), "end": position(a, b) });
    editor.change(
        &note,
        json!([
            { "range": range(0, 0), "text": "# zero\n" },
            { "range": range(1, 3), "text": "# ONE" },
        ]),
    );
    let outline =
        editor.request("textDocument/documentSymbol", json!({ "textDocument": { "uri": note } }));
    let names: Vec<_> = outline.as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["zero", "ONE"]);
    assert_eq!(outline[1]["range"]["end"], position(3, 0));
}

#[test]
fn a_position_inside_a_character_is_answered() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("Zora.md", "# Zora\nOf the savannah.\n"), ("a.md", "x\n")]);
    let mut editor = Editor::new(&home);
    let note = editor.open_as(&uri(&vault.join("n.md")), "- 🦓 see [[Zo");
    let items = editor.complete(&note, 0, 13);
    assert_eq!(labels(&items), ["Zora"]);
    check_items(&editor, &note, &items, (0, 13));
    assert_eq!(items[0]["textEdit"]["range"]["start"], position(0, 11));
    for (line, character) in [(0, 3), (0, 99), (7, 0), (0, 0)] {
        for method in ["hover", "definition", "references", "completion", "prepareRename"] {
            editor.at(&format!("textDocument/{method}"), &note, line, character);
        }
    }
    editor.set(&note, "[[Zora]]");
    let hover = editor.at("textDocument/hover", &note, 0, 3);
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.contains("**Zora**") && text.contains("Of the savannah."), "{text}");
}

#[test]
fn pages_are_completed_in_the_style_of_the_note() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(
        &home,
        &[
            ("meeting.md", "# Meeting\n"),
            ("Project plan.md", "---\naliases: [roadmap]\n---\nx\n"),
            ("a/same.md", "x\n"),
            ("b/same.md", "x\n"),
            ("C# tips.md", "x\n"),
        ],
    );
    let mut editor = Editor::new(&home);
    let note = editor.open_as(&uri(&vault.join("n.md")), "");
    let wiki = "see [[C# tips]]\n";
    let markdown = "see [x](other.md)\n";
    for (before, expected) in [(wiki, "[[Meeting]]"), (markdown, "[Meeting](meeting.md)")] {
        for close in ["]]", "]", ""] {
            let text = format!("{before}[[Me{close}\n");
            editor.set(&note, &text);
            let items = editor.complete(&note, 1, 4);
            check_items(&editor, &note, &items, (1, 4));
            let accepted = editor.accepted(&note, &items[0]);
            assert_eq!(accepted, format!("{before}{expected}\n"), "{text}");
        }
    }
    // The text, then what stands between the brackets.
    for (text, accepted) in [
        ("[[proj", "[[Project plan]]"),
        ("[[roadm", "[[Project plan|roadmap]]"),
        ("| [[roadm", "| [[Project plan\\|roadmap]]"),
        ("[[a/sa", "[[a/same|same]]"),
        ("[[metting", "[[Meeting]]"),
        ("[x](mee", "[x](meeting.md)"),
        ("[x](tips", "[x](C%23%20tips.md)"),
    ] {
        editor.set(&note, text);
        let cursor = text.encode_utf16().count() as u64;
        let items = editor.complete(&note, 0, cursor);
        check_items(&editor, &note, &items, (0, cursor));
        let found: Vec<String> = items.iter().map(|item| editor.accepted(&note, item)).collect();
        assert!(found.contains(&accepted.to_owned()), "{text}: {found:?}");
    }
}

#[test]
fn a_lone_bracket_gets_an_empty_list_that_is_asked_for_again() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("Plan.md", "x\n")]);
    let mut editor = Editor::new(&home);
    let triggers = &editor.server["capabilities"]["completionProvider"]["triggerCharacters"];
    assert!(triggers.as_array().unwrap().iter().all(|it| it.as_str().unwrap().len() == 1));
    let note = editor.open_as(&uri(&vault.join("n.md")), "[");
    let list = editor.at("textDocument/completion", &note, 0, 1);
    assert_eq!(list, json!({ "isIncomplete": true, "items": [] }));
    editor.set(&note, "[[");
    assert!(labels(&editor.complete(&note, 0, 2)).contains(&"Plan"));
    editor.set(&note, "[[P");
    assert_eq!(labels(&editor.complete(&note, 0, 3)), ["Plan"]);
}

#[test]
fn headings_blocks_tags_footnotes_and_frontmatter_are_completed() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(
        &home,
        &[("plan.md", "---\ntype: plan\ntags: [work]\n---\n# Goals\ntext ^abc\n## More goals\n")],
    );
    let mut editor = Editor::new(&home);
    let note = editor.open_as(&uri(&vault.join("n.md")), "");
    for (text, accepted) in [
        ("[[plan#goa", "[[plan#Goals]]"),
        ("[x](plan.md#more", "[x](plan.md#more-goals)"),
        ("[[plan#^a", "[[plan#^abc]]"),
        ("# Own\n[[#O", "# Own\n[[#Own]]"),
        ("a #wo", "a #work"),
        ("[^n]: note\n\nx[^", "[^n]: note\n\nx[^n]"),
        ("---\nti", "---\ntitle: "),
        ("---\ntype: p", "---\ntype: plan"),
        ("---\ntags:\n  - w", "---\ntags:\n  - work"),
    ] {
        editor.set(&note, text);
        let line = text.matches('\n').count() as u64;
        let cursor = text.rsplit('\n').next().unwrap().encode_utf16().count() as u64;
        let items = editor.complete(&note, line, cursor);
        assert!(!items.is_empty(), "{text}");
        check_items(&editor, &note, &items, (line, cursor));
        let found: Vec<String> = items.iter().map(|item| editor.accepted(&note, item)).collect();
        assert!(found.contains(&accepted.to_owned()), "{text}: {found:?}");
    }
}

#[test]
fn workspace_symbols_have_what_matched_in_their_names() {
    let home = watching_home();
    let _daemon = home.daemon();
    vault(
        &home,
        &[(
            "platform.md",
            "---\ntitle: Container platform\naliases: [k8s]\n---\nRoll back with care.\n",
        )],
    );
    let mut editor = Editor::new(&home);
    let mut names = |query: &str| -> Vec<String> {
        let found = editor.request("workspace/symbol", json!({ "query": query }));
        found.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("k8s"), ["Container platform (k8s)"]);
    assert_eq!(names("container"), ["Container platform"]);
    assert_eq!(names("roll back"), ["Container platform (roll back)"]);
    assert_eq!(names(""), ["Container platform"]);
    let hits = editor.execute("brain.search", json!(["roll back"]));
    assert_eq!(hits[0]["title"], "Container platform");
    assert_eq!(hits[0]["range"]["start"]["line"], 4);
}

#[test]
fn spellings_of_one_uri_are_one_document() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("C# tips.md", "# Tips\n"), ("a (b).md", "old\n")]);
    let mut editor = Editor::new(&home);
    let spelled = format!("file://{}/a%20(b).md", vault.display());
    editor.open_as(&spelled, "[t](C%23%20tips.md) [[C# tips]]");
    let other = format!("file://{}/a%20%28b%29.md", vault.display());
    let target = editor.at("textDocument/definition", &other, 0, 6);
    let expected = format!("file://{}/C%23%20tips.md", vault.display());
    assert_eq!(target[0]["uri"], expected.as_str());
    let back = editor.at("textDocument/references", &other, 0, 6);
    assert_eq!(back, json!([]), "the unsaved links are of no stored page");
    fs::write(vault.join("a (b).md"), "[t](C%23%20tips.md)\n").unwrap();
    wait_for("the sync of the link", || {
        !home.json(["backlinks", "vault:c-tips"])["links"].as_array().unwrap().is_empty()
    });
    let back = editor.at("textDocument/references", &other, 0, 6);
    assert_eq!(back[0]["uri"], spelled.as_str(), "the client's own spelling: {back}");
    assert_eq!(back.as_array().unwrap().len(), 1);
}

#[test]
fn an_escaped_bar_in_a_table_is_no_part_of_the_name() {
    let home = watching_home();
    let _daemon = home.daemon();
    let text = "| a | b |\n|---|---|\n| [[2026-01-05\\|Mon]] | x |\n";
    let vault = vault(&home, &[("2026-01-05.md", "Monday\n"), ("n.md", text)]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("n.md"));
    let target = editor.at("textDocument/definition", &note, 2, 8);
    assert_eq!(target[0]["uri"], uri(&vault.join("2026-01-05.md")).as_str());
    editor.wait("diagnostics", |editor| editor.diagnostics.contains_key(&note));
    assert_eq!(editor.diagnostics[&note], json!([]));
    editor.rename(&note, (2, 8), "2026-01-06");
    assert!(editor.text(&note).contains("| [[2026-01-06\\|Mon]] | x |"), "{}", editor.text(&note));
    wait_for("the rename", || has_page(&home, ["get", "vault:2026-01-06"]));
}

#[test]
fn an_outline_has_no_empty_name_and_no_range_outside() {
    fn check(symbols: &Value, names: &mut Vec<String>) {
        for symbol in symbols.as_array().unwrap() {
            let place = |range: &Value| {
                let at = |end: &str| {
                    let at = &range[end];
                    (at["line"].as_u64().unwrap(), at["character"].as_u64().unwrap())
                };
                (at("start"), at("end"))
            };
            let (whole, own) = (place(&symbol["range"]), place(&symbol["selectionRange"]));
            assert!(whole.0 <= own.0 && own.1 <= whole.1 && own.0 <= own.1, "{symbol}");
            names.push(symbol["name"].as_str().unwrap().to_owned());
            check(&symbol["children"], names);
        }
    }
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[]);
    let mut editor = Editor::new(&home);
    let note = editor.open_as(
        &uri(&vault.join("n.md")),
        "# \n## Real\ntext\n## \n##\nSetext\n---\r\nx\n# At the end",
    );
    let params = json!({ "textDocument": { "uri": note } });
    let outline = editor.request("textDocument/documentSymbol", params.clone());
    let mut names = Vec::new();
    check(&outline, &mut names);
    let unnamed = "(no heading text)";
    assert_eq!(names, [unnamed, "Real", unnamed, unnamed, "Setext", "At the end"]);
    let folds = editor.request("textDocument/foldingRange", params);
    assert!(folds.as_array().unwrap().iter().any(|it| it["startLine"] == 1 && it["endLine"] == 2));
}

#[test]
fn the_target_of_a_link_and_the_links_to_it_are_found() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(
        &home,
        &[
            ("plan.md", "# Plan\n## Goals\nx #work\n"),
            (
                "a.md",
                "one\nsee [[plan#Goals|g]] and [p](plan.md)\n[r]\n\n[r]: plan.md#goals\n#work\n",
            ),
            ("b.md", "![[plan]]\n"),
        ],
    );
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("a.md"));
    let plan = uri(&vault.join("plan.md"));
    for ((line, character), start) in [((1, 8), 1), ((1, 32), 0), ((2, 1), 1), ((4, 7), 1)] {
        let target = editor.at("textDocument/definition", &note, line, character);
        assert_eq!(target[0]["uri"], plan.as_str(), "{line}:{character}");
        assert_eq!(target[0]["range"]["start"]["line"], start, "{line}:{character}");
    }
    let found = editor.at("textDocument/references", &note, 1, 8);
    let lines: Vec<(&str, u64)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let name = it["uri"].as_str().unwrap().rsplit('/').next().unwrap();
            (name, it["range"]["start"]["line"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(lines, [("a.md", 1), ("a.md", 1), ("a.md", 2), ("b.md", 0)]);
    let tagged = editor.at("textDocument/definition", &note, 5, 2);
    assert_eq!(tagged.as_array().unwrap().len(), 2, "{tagged}");
    let links =
        editor.request("textDocument/documentLink", json!({ "textDocument": { "uri": note } }));
    assert_eq!(links.as_array().unwrap().len(), 3, "{links}");
    assert!(links.as_array().unwrap().iter().all(|it| it["target"] == plan.as_str()));
}

#[test]
fn diagnostics_say_what_is_wrong_and_actions_mend_it() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(
        &home,
        &[
            ("plan.md", "# Plan\n"),
            ("p.md", "---\naliases: [same]\n---\nx\n"),
            ("q.md", "---\naliases: [same]\n---\nx\n"),
            ("a.sync-conflict-20261128-211825-ABCDEFG.md", "copy\n"),
            ("a.md", "[[plam]] [[same]] [[plan#Nothing]] [pic](x.png)\nthe plan is here\n"),
        ],
    );
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("a.md"));
    editor.wait("diagnostics", |editor| editor.diagnostics.contains_key(&note));
    let found = editor.diagnostics[&note].clone();
    let codes: Vec<_> = found.as_array().unwrap().iter().map(|it| it["code"].clone()).collect();
    assert_eq!(codes, ["conflict-copy", "missing-page", "ambiguous-name", "missing-heading"]);
    let actions = |editor: &mut Editor, range: &Value| {
        let params = json!({
            "textDocument": { "uri": note }, "range": range, "context": { "diagnostics": [] },
        });
        editor.request("textDocument/codeAction", params).as_array().unwrap().clone()
    };
    let find = |actions: &[Value], start: &str| -> Value {
        let found = actions.iter().find(|it| it["title"].as_str().unwrap().starts_with(start));
        found.unwrap_or_else(|| panic!("{start}: {actions:?}")).clone()
    };
    let missing = actions(&mut editor, &found[1]["range"]);
    let meant = find(&missing, "Did you mean");
    editor.apply(&meant["edit"]);
    assert!(editor.text(&note).starts_with("[[plan]] [[same]]"), "{}", editor.text(&note));
    let exact = find(&actions(&mut editor, &found[2]["range"]), "Link to q.md");
    editor.apply(&exact["edit"]);
    assert!(editor.text(&note).starts_with("[[plan]] [[q]]"), "{}", editor.text(&note));
    let cursor = json!({ "start": position(1, 6), "end": position(1, 6) });
    let mention = find(&actions(&mut editor, &cursor), "Link \"plan\"");
    editor.apply(&mention["edit"]);
    assert!(editor.text(&note).contains("the [[plan]] is here"), "{}", editor.text(&note));
    let create = find(&missing, "Create the page")["command"].clone();
    editor.execute(create["command"].as_str().unwrap(), create["arguments"].clone());
    assert_eq!(fs::read_to_string(vault.join("plam.md")).unwrap(), "# plam\n");

    editor.set(&note, "---\ntitle: x\nbad: [\n---\ntext\n");
    editor.wait("the frontmatter", |editor| editor.diagnostics[&note][0]["code"] == "frontmatter");
    assert_eq!(editor.diagnostics[&note][0]["severity"], 1);
    assert_ne!(editor.diagnostics[&note][0]["range"]["start"]["line"], 0);
}

#[test]
fn open_documents_get_new_diagnostics_when_the_disk_changes() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("a.md", "[[b]]\n")]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("a.md"));
    editor.wait("the missing page", |editor| {
        editor.diagnostics.get(&note).is_some_and(|found| found[0]["code"] == "missing-page")
    });
    editor.listen(Duration::from_millis(300));
    fs::write(vault.join("b.md"), "here\n").unwrap();
    editor.wait("the page", |editor| editor.diagnostics[&note] == json!([]));
}
