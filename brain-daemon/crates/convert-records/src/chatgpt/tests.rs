use brain_convert_testing::{Converted, directory};
use serde_json::{Value, json};

use crate::FORMATS;

fn convert(text: &str) -> Converted {
    let directory = directory(&[("conversations.json", text)]);
    Converted::of(&FORMATS, &directory.path().join("conversations.json"))
}

/// A conversation of messages: id, parent, children, message.
fn conversation(title: &str, current: &str, nodes: &[(&str, &str, &[&str], Value)]) -> Value {
    let mut mapping = serde_json::Map::new();
    for (id, parent, children, message) in nodes {
        let node = json!({"id": id, "message": message, "parent": parent, "children": children});
        mapping.insert((*id).to_owned(), node);
    }
    json!({"title": title, "create_time": 1_700_000_000.5, "update_time": 1_700_000_003.0,
        "current_node": current, "mapping": mapping, "conversation_id": title})
}

fn message(role: &str, text: &str) -> Value {
    json!({"author": {"role": role}, "create_time": 1_700_000_001.0,
        "content": {"content_type": "text", "parts": [text]}})
}

#[test]
fn im12_the_chain_is_walked_before_nodes_are_left_out() {
    let found = convert(
        r#"[{"title":"Kettle","create_time":1700000000.5,"update_time":1700000003.0,
"current_node":"d","mapping":{"r":{"id":"r","message":null,"parent":null,
"children":["a"]},"a":{"id":"a","message":{"id":"a","author":{"role":"user"},
"create_time":1700000001.0,"content":{"content_type":"text",
"parts":["Does it whistle?"]}},"parent":"r","children":["s"]},"s":{"id":"s","message":{
"id":"s","author":{"role":"system"},"create_time":null,"content":{"content_type":"text",
"parts":["RULES"]},"metadata":{"is_visually_hidden_from_conversation":true}},
"parent":"a","children":["d"]},"d":{"id":"d","message":{"id":"d","author":{
"role":"assistant"},"create_time":1700000003.0,"content":{"content_type":"text",
"parts":["At 100 degrees."]}},"parent":"s","children":[]}}}]"#,
    );
    assert_eq!(found.format, "chatgpt");
    assert_eq!(found.paths(), ["ChatGPT/Kettle"]);
    assert_eq!(
        found.page("ChatGPT/Kettle"),
        "---\nsource_kind: \"import:others\"\n\
         title: \"Kettle\"\ncreated: 2023-11-14T22:13:20.5Z\nupdated: 2023-11-14T22:13:23Z\n\
        ---\n\n\
         ## You, 2023-11-14 22:13:21 UTC\n\nDoes it whistle?\n\n\
         ## ChatGPT, 2023-11-14 22:13:23 UTC\n\nAt 100 degrees.\n"
    );
    assert_eq!(found.lost().len(), 1, "{:?}", found.lost());
    assert!(found.lost()[0].ends_with("are in no page: 1"));
    assert_eq!(found.error, None);
}

#[test]
fn im13_marks_become_links_or_names() {
    let cite = "\u{e200}cite\u{e202}turn0search3\u{e201}";
    let lone = "\u{e200}navlist\u{e202}x\u{e201}";
    let mut answer = message(
        "assistant",
        &format!(
            "The weir was built by \u{e200}entity\u{e202}[\"people\",\"Ole Strand\",0]\u{e201} in \
            1911. {cite}{lone} \u{e200}"
        ),
    );
    answer["metadata"] = json!({"content_references": [{"matched_text": cite,
        "type": "grouped_webpages", "items": [{"title": "Weirs",
            "url": "https://weirs.example/1911"}]}]});
    let found = convert(&json!([conversation("W", "a", &[("a", "", &[], answer)])]).to_string());
    let page = found.page("ChatGPT/W");
    let right = "The weir was built by Ole Strand in 1911. [Weirs](https://weirs.example/1911)";
    assert!(page.contains(right), "{page}");
    assert!(!page.contains(|c| ('\u{e000}'..='\u{f8ff}').contains(&c)), "{page}");
}

#[test]
fn older_citations_are_found_by_their_place() {
    let mut answer = message("assistant", "Wä【7†source】 and 【8†x】.");
    answer["metadata"] = json!({"citations": [
        {"start_ix": 2, "end_ix": 12, "metadata": {"title": "Weirs", "url": "https://w.example/"}},
        {"start_ix": 3, "end_ix": 9000, "metadata": {"title": "No",
            "url": "https://n.example/"}}]});
    let found = convert(&json!([conversation("W", "a", &[("a", "", &[], answer)])]).to_string());
    let page = found.page("ChatGPT/W");
    assert!(page.contains("Wä[Weirs](https://w.example/) and (x)."), "{page}");
}

#[test]
fn other_branches_are_kept_below_a_heading() {
    let nodes: &[(&str, &str, &[&str], Value)] = &[
        ("r", "", &["q1", "q2"], Value::Null),
        ("q1", "r", &["a1"], message("user", "How old is the weir?")),
        ("a1", "q1", &[], message("assistant", "# Old\n\nVery.")),
        ("q2", "r", &["a2", "a3"], message("user", "How high is it?")),
        ("a2", "q2", &[], message("assistant", "One metre.")),
        ("a3", "q2", &[], message("assistant", "Two metres.")),
    ];
    let found = convert(&json!([conversation("Weir", "a3", nodes)]).to_string());
    let page = found.page("ChatGPT/Weir");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} in {page}"));
    let order = [
        "How high is it?",
        "Two metres.",
        "## Other branches",
        "### You, ",
        "How old is the weir?",
        "#### Old",
        "After “How high is it?”:",
        "One metre.",
    ];
    assert!(order.windows(2).all(|it| place(it[0]) < place(it[1])), "{page}");
}

#[test]
fn a_circle_ends_and_loses_nothing() {
    let nodes: &[(&str, &str, &[&str], Value)] = &[
        ("a", "b", &["b"], message("user", "one")),
        ("b", "a", &["a", "b", "gone"], message("assistant", "two")),
        ("c", "d", &["d"], message("user", "three")),
        ("d", "c", &["c"], message("assistant", "four")),
    ];
    for current in ["b", "", "gone"] {
        let found = convert(&json!([conversation("Circle", current, nodes)]).to_string());
        let page = found.page("ChatGPT/Circle");
        for text in ["one", "two", "three", "four"] {
            assert_eq!(page.matches(&format!("\n\n{text}\n")).count(), 1, "{page}");
        }
    }
}

#[test]
fn marks_without_a_reference_leave_no_rubbish() {
    let message = serde_json::json!({ "metadata": {} });
    for (answer, expected) in [
        ("built :contentReference[oaicite:0]{index=0} in 1911", "built  in 1911"),
        (":contentReference[oaicite: is a word", ":contentReference[oaicite: is a word"),
        ("the weir【12†source】【7†L1-L3】.", "the weir."),
        ("the plan【4:0†notes.pdf】.", "the plan(notes.pdf)."),
        ("【重要】 text", "【重要】 text"),
        (
            "see \u{e200}url\u{e202}Weirs\u{e202}https://w.example/x\u{e201}",
            "see [Weirs](https://w.example/x)",
        ),
        ("see \u{e200}url\u{e202}Weirs\u{e202}turn0search1\u{e201}", "see Weirs"),
    ] {
        assert_eq!(super::marks::without_marks(&message, answer), expected);
    }
}

#[test]
fn a_user_writes_plain_text_and_a_model_markdown() {
    let nodes: &[(&str, &str, &[&str], Value)] = &[
        ("q", "", &["a"], message("user", "# of guests: 40\n[[map]] and <b>")),
        ("a", "q", &[], message("assistant", "# Plan\n\n**forty**\n\n```sh\n# all\n")),
    ];
    let found = convert(&json!([conversation("Fair", "a", nodes)]).to_string());
    let page = found.page("ChatGPT/Fair");
    assert!(page.contains("\\# of guests: 40  \n\\[\\[map\\]\\] and \\<b>"), "{page}");
    assert!(page.contains("### Plan\n\n**forty**\n\n```sh\n# all\n```"), "{page}");
}

#[test]
fn code_tools_and_thoughts_are_one_turn() {
    let mut call = message("assistant", "");
    call["recipient"] = json!("python");
    call["content"] = json!({"content_type": "code", "language": "unknown", "text": "print(1)"});
    let output = json!({"author": {"role": "tool", "name": "python"},
        "content": {"content_type": "execution_output", "text": "1\n"}});
    let thoughts = json!({"author": {"role": "assistant"}, "content": {"content_type": "thoughts",
        "thoughts": [{"summary": "Counting", "content": "One is enough."}]}});
    let new = json!({"author": {"role": "assistant"}, "content": {"content_type": "hologram"}});
    let mut answer = message("assistant", "It is 1.");
    answer["metadata"] = json!({"model_slug": "gpt-5"});
    let nodes: &[(&str, &str, &[&str], Value)] = &[
        ("q", "", &["t"], message("user", "Count.")),
        ("t", "q", &["c"], thoughts),
        ("c", "t", &["o"], call),
        ("o", "c", &["n"], output),
        ("n", "o", &["a"], new),
        ("a", "n", &[], answer),
    ];
    let found = convert(&json!([conversation("Count", "a", nodes)]).to_string());
    let page = found.page("ChatGPT/Count");
    assert!(page.contains(
        "## ChatGPT\n\nCounting\n\nOne is enough.\n\nTo `python`:\n\n```python\nprint(1)\n```\n\n\
         From `python`:\n\n```\n1\n```\n\nIt is 1.\n"), "{page}");
    assert!(page.contains("conversation: \"Count\"\nmodels: [\"gpt-5\"]\n"), "{page}");
    let lost = "conversations.json, Count: a part of the kind \"hologram\" is not read";
    assert_eq!(found.lost(), [lost]);
}

#[test]
fn pictures_of_the_directory_are_attached() {
    let mut sent = message("user", "");
    sent["content"] = json!({"content_type": "multimodal_text", "parts": [
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-AbC123xyz"},
        {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_00ff00ff"},
        {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_99999999"},
        {"content_type": "audio_transcription", "text": "Look #here"}, "What is it?"]});
    sent["metadata"] = json!({"attachments": [
        {"id": "file-AbC123xyz", "name": "dog.png"}, {"id": "file-DoC123xyz", "name": "a.pdf"}]});
    let text = json!([conversation("Dog", "q", &[("q", "", &[], sent)])]).to_string();
    let directory = directory(&[
        ("conversations-000.json", &text),
        ("file-AbC123xyz-dog.png", "png"),
        ("user-1/file_00ff00ff.dat", "GIF89a data"),
        ("file-DoC123xyz-a.pdf", "%PDF"),
        ("file-UnUsed123-b.pdf", "%PDF"),
        ("conversation_asset_file_names.json", r#"{"file_00ff00ff.dat": "cat.dat"}"#),
        ("user.json", "{}"),
        ("chat.html", "<html>"),
    ]);
    let found = Converted::of(&FORMATS, directory.path());
    let files = found.files();
    let names: Vec<&str> = files.iter().map(|(_, name, _)| *name).collect();
    assert_eq!(names, ["dog.png", "cat.gif", "a.pdf"]);
    let page = found.page("ChatGPT/Dog");
    assert!(page.contains("Look \\#here\n\nWhat is it?\n\n![[dog.png]]\n\n![[cat.gif]]"), "{page}");
    assert!(page.contains("[[a.pdf]]") && !page.contains("![[a.pdf]]"), "{page}");
    assert_eq!(
        found.lost(),
        [
            "conversations-000.json, Dog, sediment://file_99999999: the file is not in the export",
            "file-UnUsed123-b.pdf: no conversation shows this file",
            "user.json: this file of the export is not read",
        ]
    );
}

#[test]
fn equal_titles_keep_their_paths_in_a_newer_export() {
    let old = json!({"title": "New chat", "create_time": 5.0, "current_node": "q",
        "mapping": {"q": {"message": message("user", "first"), "parent": "", "children": []}}});
    let mut new = old.clone();
    new["create_time"] = json!(6.0);
    let found = convert(&json!([new, old]).to_string());
    assert!(found.page("ChatGPT/New chat").contains("created: 1970-01-01T00:00:05Z"));
    assert!(found.page("ChatGPT/New chat 2").contains("created: 1970-01-01T00:00:06Z"));
}

#[test]
fn a_cut_export_gives_what_is_whole() {
    let one = conversation("One", "q", &[("q", "", &[], message("user", "first"))]);
    let whole = json!([one, conversation("Two", "q", &[("q", "", &[], message("user", "x"))])]);
    let whole = whole.to_string();
    for tenth in 6..10 {
        let found = convert(&whole[..whole.len() * tenth / 10]);
        assert_eq!(found.paths(), ["ChatGPT/One"]);
        assert!(found.error.unwrap().contains("ends in the middle"));
    }
}

#[test]
fn an_unreadable_conversation_is_lost_by_its_title() {
    let nested = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let deep =
        format!("{{\"title\":\"Deep\",\"mapping\":{{\"a\":{{\"message\":{{\"x\":{nested}}}}}}}}}");
    let fine = conversation("Fine", "q", &[("q", "", &[], message("user", "first"))]);
    let empty = conversation("Empty", "q", &[("q", "", &[], message("user", " "))]);
    let odd =
        r#"{"title": 7, "mapping": {"a": 3, "b": {"message": {"author": 1, "content": []}}}}"#;
    let found = convert(&format!("[{fine},{deep},{empty},7,{odd},{{\"title\":\"Bad\",}}]"));
    assert_eq!(found.paths(), ["ChatGPT/Fine"]);
    let lost = found.lost();
    assert_eq!(lost.len(), 6, "{lost:?}");
    assert!(lost[0].starts_with("conversations.json, Deep: a message is no readable JSON: recurs"));
    assert_eq!(lost[1], "conversations.json, Deep: it has no message that ChatGPT shows");
    assert_eq!(lost[2], "conversations.json, Empty: it has no message that ChatGPT shows");
    assert!(lost[3].starts_with("conversations.json, conversation 4: it is no readable JSON"));
    assert_eq!(lost[4], "conversations.json, Untitled: it has no message that ChatGPT shows");
    assert!(lost[5].starts_with("conversations.json, conversation 6, Bad: it is no readable JSON"));
}

#[test]
fn a_long_conversation_becomes_several_pages() {
    let line = "A line of a long answer, which has no end and no break.\n".repeat(40_000);
    let nodes: &[(&str, &str, &[&str], Value)] = &[
        ("a", "", &["b"], message("assistant", &line)),
        ("b", "a", &["c"], message("assistant", &line)),
        ("c", "b", &[], message("assistant", &line)),
    ];
    let found = convert(&json!([conversation("Long", "c", nodes)]).to_string());
    assert_eq!(found.paths(), ["ChatGPT/Long", "ChatGPT/Long (part 2)"]);
    assert!(found.page("ChatGPT/Long (part 2)").contains("title: \"Long (part 2)\""));
    assert!(found.page("ChatGPT/Long (part 2)").contains("## ChatGPT, 2023"));
    assert!(found.lost().is_empty());
}

#[test]
fn long_titles_stay_whole_and_paths_are_bounded() {
    let title = "Ä weir ".repeat(60);
    let nodes: &[(&str, &str, &[&str], Value)] = &[("q", "", &[], message("user", "first"))];
    let found = convert(&json!([conversation(&title, "q", nodes)]).to_string());
    let path = found.paths()[0];
    assert!(path.len() < 170, "{path}");
    assert!(found.page(path).contains(&format!("title: \"{}\"\n", title.trim())));
}

#[test]
fn a_cut_part_does_not_hide_the_others() {
    let one = json!([conversation("One", "q", &[("q", "", &[], message("user", "first"))])]);
    let two = json!([conversation("Two", "q", &[("q", "", &[], message("user", "x"))])]);
    let (one, two) = (one.to_string(), two.to_string());
    let directory = directory(&[
        ("conversations-000.json", &one[..one.len() - 5]),
        ("conversations-001.json", &two),
    ]);
    let found = Converted::of(&FORMATS, directory.path());
    assert_eq!(found.paths(), ["ChatGPT/Two"]);
    assert!(found.error.unwrap().contains("conversations-000.json: it ends in the middle"));
}

#[test]
fn a_conversation_of_two_exports_is_one_page() {
    let state = |title: &str, updated: f64, text: &str| {
        let nodes = [("a", "", &[][..], message("user", text))];
        let mut conversation = conversation(title, "a", &nodes);
        conversation["update_time"] = json!(updated);
        conversation["conversation_id"] = json!("c-1");
        conversation
    };
    let mut other = state("Kettle", 1.0, "another one");
    other["conversation_id"] = json!("c-2");
    let (old, new) =
        (state("Kettle", 1_700_000_003.0, "old"), state("Kettle on", 1_700_000_009.0, "new"));
    let text = |conversations: &[&Value]| serde_json::to_string(conversations).unwrap();
    let files =
        [("a/conversations.json", text(&[&new])), ("b/conversations.json", text(&[&old, &other]))];
    let directory = directory(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
    let found = Converted::of(&FORMATS, directory.path());
    assert_eq!(found.paths(), ["ChatGPT/Kettle on", "ChatGPT/Kettle"]);
    assert!(found.page("ChatGPT/Kettle on").ends_with("\nnew\n"));
    assert!(found.page("ChatGPT/Kettle").ends_with("\nanother one\n"));
    assert_eq!(
        found.lost(),
        ["b/conversations.json, conversation 1, Kettle: it is in the export more than once; the \
          latest state counts"]
    );
}

#[test]
fn a_title_from_the_first_text_has_no_marks_of_markdown() {
    let node = ("a", "", &[][..], message("user", "# What is [[x]]?\nmore"));
    let found = convert(&json!([conversation("", "a", &[node])]).to_string());
    let page = found.page(found.paths()[0]);
    assert!(page.contains("title: \"# What is [[x]]?\"\n"), "{page}");
}
