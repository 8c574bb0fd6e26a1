use brain_convert_testing::{Converted, directory};
use serde_json::json;

use crate::FORMATS;

fn convert(text: &str) -> Converted {
    let directory = directory(&[("conversations.json", text)]);
    Converted::of(&FORMATS, &directory.path().join("conversations.json"))
}

#[test]
fn im14_the_text_of_attachments_is_kept() {
    let found = convert(
        r#"[{"uuid":"c1","name":"","created_at":"2026-02-01T08:00:00.000000Z",
"updated_at":"2026-02-01T08:01:00.000000Z","chat_messages":[{"uuid":"m1","text":"",
"content":[],"sender":"human","created_at":"2026-02-01T08:00:00.000000Z","attachments":[
{"file_name":"paste.txt","file_type":"txt","file_size":24,
"extracted_content":"Bring 40 m of blue rope."}],"files":[]},{"uuid":"m2",
"text":"Noted.","content":[{"type":"text","text":"Noted."}],"sender":"assistant",
"created_at":"2026-02-01T08:01:00.000000Z","attachments":[],"files":[{
"file_name":"dock.png"}]}]}]"#,
    );
    assert_eq!(found.format, "claude");
    assert_eq!(found.paths(), ["Claude/Bring 40 m of blue rope"]);
    assert_eq!(
        found.page("Claude/Bring 40 m of blue rope"),
        "---\nsource_kind: \"import:others\"\n\
         title: \"Bring 40 m of blue rope.\"\ncreated: 2026-02-01T08:00:00Z\n\
         updated: 2026-02-01T08:01:00Z\nconversation: \"c1\"\n---\n\n\
         ## You, 2026-02-01 08:00:00 UTC\n\n`paste.txt`:\n\n```\nBring 40 m of blue rope.\n```\n\n\
         ## Claude, 2026-02-01 08:01:00 UTC\n\nNoted.\n\n(file: dock.png)\n"
    );
    let lost =
        "conversations.json, Bring 40 m of blue rope., dock.png: the file is not in the export";
    assert_eq!(found.lost(), [lost]);
}

#[test]
fn thinking_artifacts_and_tools_are_kept() {
    let content = json!([
        {"type": "thinking", "thinking": "# Hm\nOak."},
        {"type": "text", "text": "# Sign\n\nSee there.", "citations": [
            {"title": "Oak", "url": "https://oak.example/"},
                {"details": {"url": "https://o.example/"}}]},
        {"type": "tool_use", "name": "artifacts", "input": {"command": "create", "id": "s",
            "title": "The sign", "type": "text/markdown", "content": "# Ferry\n\nMondays"}},
        {"type": "tool_use", "name": "artifacts", "input": {"command": "update", "id": "s",
            "old_str": "Mondays", "new_str": "Tuesdays"}},
        {"type": "tool_use", "name": "web_search", "input": {"query": "oak"}},
        {"type": "tool_result", "name": "web_search", "content": [
            {"type": "knowledge", "title": "Oak [1]", "url": "https://oak.example/",
                "text": "hard"}]},
        {"type": "hologram", "shape": "cube"},
        {"type": "token_budget"},
    ]);
    let message = json!({"sender": "assistant", "text": "placeholder", "content": content,
        "created_at": "2026-02-01T08:00:00Z"});
    let text = json!([{"uuid": "c", "name": "Sign", "chat_messages": [message]}]).to_string();
    let found = convert(&text);
    let page = found.page("Claude/Sign");
    for expected in [
        "## Claude, 2026-02-01 08:00:00 UTC\n\nThinking:\n\n### Hm\nOak.\n\n### Sign\n\nSee there.",
        "Sources: [Oak](https://oak.example/), [https://o.example/](https://o.example/)",
        "Document “The sign”:\n\n### Ferry\n\nMondays",
        "Change of “s”, from:\n\n```\nMondays\n```\n\nto:\n\n```\nTuesdays\n```",
        "To `web_search`:\n\n```json\n{\n  \"query\": \"oak\"\n}\n```",
        "From `web_search`:\n\n[Oak \\[1\\]](https://oak.example/)\n\n```\nhard\n```",
        "`hologram`:\n\n```json",
    ] {
        assert!(page.contains(expected), "{expected} in {page}");
    }
    assert!(!page.contains("placeholder"), "{page}");
    assert!(found.lost().is_empty());
}

#[test]
fn projects_become_pages_and_other_files_are_named() {
    let conversation = json!([{"uuid": "c", "name": "A", "created_at": "2026-02-01T08:00:00Z",
        "chat_messages": [{"sender": "human", "text": "Hello"}]}]);
    let projects = json!([{"uuid": "p", "name": "Boat", "description": "All #boats",
        "prompt_template": "Be brief.", "created_at": "2025-01-01T00:00:00Z", "docs": [
            {"filename": "plan.md", "content": "# Keel"}, {"filename": "x.py", "content": "# no"}]},
        {"uuid": "e", "name": "Empty", "docs": []}]);
    let directory = directory(&[
        ("conversations.json", &conversation.to_string()),
        ("projects.json", &projects.to_string()),
        ("users.json", "[]"),
    ]);
    let found = Converted::of(&FORMATS, directory.path());
    assert_eq!(found.paths(), ["Claude/A", "Claude/Projects/Boat"]);
    let page = found.page("Claude/Projects/Boat");
    assert!(
        page.ends_with(
            "project: \"p\"\n---\n\nAll \\#boats\n\n## Instructions\n\nBe brief.\n\n\
        ## plan.md\n\n### Keel\n\n## x.py\n\n```\n# no\n```\n"
        ),
        "{page}"
    );
    assert_eq!(
        found.lost(),
        [
            "projects.json, Empty: the project has no text",
            "users.json: this file of the export is not read",
        ]
    );
}

#[test]
fn another_branch_is_marked() {
    let message = |id: &str, parent: &str, text: &str| {
        json!({"uuid": id,
        "parent_message_uuid": parent, "sender": "human", "text": text})
    };
    let messages = [message("a", "0", "one"), message("b", "a", "two"), message("c", "a", "three")];
    let found =
        convert(&json!([{"uuid": "c", "name": "B", "chat_messages": messages}]).to_string());
    let page = found.page("Claude/B");
    assert!(
        page.ends_with(
            "## You\n\none\n\n## You\n\ntwo\n\n## You\n\n\
        (in another branch of the conversation)\n\nthree\n"
        ),
        "{page}"
    );
}

#[test]
fn empty_cut_and_odd_conversations_are_named() {
    let fine =
        json!({"uuid": "c", "name": "Fine", "chat_messages": [{"sender": "human", "text": "x"}]});
    let text = format!(
        "[{fine},{{\"name\":\"Empty\",\"chat_messages\":[]}},{{\"name\":\"Bad\",,}},[],\
        {{\"chat_messages\":[1,{{\"content\":7,\"files\":[{{}}]}}]}},{{\"uu"
    );
    let found = convert(&text);
    assert_eq!(found.paths(), ["Claude/Fine", "Claude/Untitled"]);
    let lost = found.lost();
    assert_eq!(lost[0], "conversations.json, Empty: it has no message with a text");
    assert!(lost[1].starts_with("conversations.json, conversation 3, Bad: it is no readable JSON"));
    assert!(lost.iter().any(|it| it.contains("a file without a name: the file is not in")));
    assert!(found.error.unwrap().contains("ends in the middle"));
}

#[test]
fn projects_in_files_and_memories_are_read() {
    let conversation = json!([{"uuid": "c", "name": "A",
        "chat_messages": [{"sender": "human", "text": "Hello"}]}]);
    let memories = json!([{"conversations_memory": "# Work\n\nBoats.",
        "project_memories": {"p-1": "Oak.", "p-2": ""}, "account_uuid": "a"}]);
    let directory = directory(&[
        ("conversations.json", &conversation.to_string()),
        ("memories.json", &memories.to_string()),
        ("projects/p-1.json", r#"{"uuid": "p-1", "name": "Boat", "description": "Fast"}"#),
        ("projects/p-2.json", "{\"uuid\": "),
    ]);
    let found = Converted::of(&FORMATS, directory.path());
    assert_eq!(found.paths(), ["Claude/A", "Claude/Memory", "Claude/Projects/Boat"]);
    let page = found.page("Claude/Memory");
    assert!(page.ends_with("### Work\n\nBoats.\n\n## Project p-1\n\nOak.\n"), "{page}");
    assert_eq!(found.lost().len(), 1, "{:?}", found.lost());
    assert!(found.lost()[0].starts_with("projects/p-2.json: it is no readable JSON"));
}
