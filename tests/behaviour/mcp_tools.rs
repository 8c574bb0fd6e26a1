//! The list of tools: its cost in tokens, its order, and schemas that all clients can read.

use brain_tests::TestHome;
use brain_tests::mcp::mcp;
use serde_json::{Value, json};
use tiktoken_rs::CoreBPE;

/// The whole list costs fewer tokens than this.
const MAX_TOKENS: usize = 4_000;
/// The reading tools, in the order of the list.
const READING_TOOLS: [&str; 11] = [
    "search",
    "fetch",
    "query",
    "get_page",
    "list_pages",
    "list_tags",
    "get_links",
    "get_timeline",
    "diff_page",
    "collector_digest",
    "brain_status",
];
/// The writing tools, which follow in the list.
const WRITING_TOOLS: [&str; 7] = [
    "capture",
    "put_page",
    "edit_page",
    "add_timeline_entry",
    "move_page",
    "delete_page",
    "restore_page",
];

fn list_tools(home: &TestHome, token: &str) -> Vec<Value> {
    mcp(home, token).result("tools/list", json!({}))["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// With `--nocapture`, the test prints the cost of each tool.
#[test]
#[allow(clippy::print_stderr)]
fn the_list_costs_less_than_four_thousand_tokens() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let client = mcp(&home, &home.token("writer", "read write", &[]));
    let answer = client.result("tools/list", json!({}));
    let tokenizer = tiktoken_rs::o200k_base().unwrap();
    let count =
        |tokenizer: &CoreBPE, value: &Value| tokenizer.encode_ordinary(&value.to_string()).len();
    for tool in answer["tools"].as_array().unwrap() {
        let mut input_only = tool.clone();
        input_only.as_object_mut().unwrap().remove("outputSchema");
        let (total, without_output) = (count(&tokenizer, tool), count(&tokenizer, &input_only));
        eprintln!(
            "{}: {total} tokens, {} of them for the output schema",
            tool["name"],
            total - without_output
        );
    }
    let tool_count = answer["tools"].as_array().unwrap().len();
    assert_eq!(tool_count, READING_TOOLS.len() + WRITING_TOOLS.len());
    let all = count(&tokenizer, &answer);
    eprintln!("tools/list: {all} tokens");
    assert!(all < MAX_TOKENS, "{all} tokens");
}

#[test]
fn a_client_sees_the_tools_of_its_scopes_in_a_fixed_order() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let (reader, writer) =
        (home.token("reader", "read", &[]), home.token("writer", "read write", &[]));
    assert_eq!(names(&list_tools(&home, &reader)), READING_TOOLS);
    let all: Vec<&str> = READING_TOOLS.into_iter().chain(WRITING_TOOLS).collect();
    assert_eq!(names(&list_tools(&home, &writer)), all);
    assert_eq!(list_tools(&home, &writer), list_tools(&home, &writer));
}

#[test]
fn a_limited_grant_sees_only_tools_that_it_can_call() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let token = home.token("limited", "read write", &["default"]);
    let client = mcp(&home, &token);
    let tools = list_tools(&home, &token);
    let expected: Vec<&str> = READING_TOOLS
        .into_iter()
        .filter(|name| *name != "collector_digest")
        .chain(WRITING_TOOLS)
        .collect();
    assert_eq!(names(&tools), expected);
    // The collector's posts belong to no source, so the call is refused.
    let refusal = client.expect_refusal("collector_digest", json!({}));
    assert!(refusal.starts_with("insufficient_scope: "), "{refusal}");
}

#[test]
fn search_and_fetch_match_the_contract_of_connectors() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let tools = list_tools(&home, &home.token("reader", "read", &[]));
    for (tool, argument) in [(&tools[0], "query"), (&tools[1], "id")] {
        let schema = &tool["inputSchema"];
        assert_eq!(
            schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(),
            [argument]
        );
        assert_eq!(schema["properties"][argument]["type"], "string");
        assert_eq!(schema["required"], json!([argument]));
    }
}

#[test]
fn every_client_can_read_the_schemas() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for tool in list_tools(&home, &home.token("writer", "read write", &[])) {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}");
        assert!(
            tool["description"].as_str().is_some_and(|text| (20..1024).contains(&text.len())),
            "{name}"
        );
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} {hint}");
        }
        assert_eq!(tool["annotations"]["readOnlyHint"], READING_TOOLS.contains(&name), "{name}");
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            assert_eq!(schema["type"], "object", "{name}");
            assert_flat(name, schema, 0);
        }
    }
}

/// Phrases of users, each with the tool that a search for tools must find first.
const PHRASES: [(&str, &str); 20] = [
    ("search my notes", "query"),
    ("search my brain", "query"),
    ("what do I know about Ada Lovelace", "query"),
    ("look up what I know about Berlin", "query"),
    ("find my notes about the project", "query"),
    ("recall what I said about Rome", "query"),
    ("search memory for Ada", "query"),
    ("save this to my brain", "capture"),
    ("save a note", "capture"),
    ("store this in my notes", "capture"),
    ("keep this for later", "capture"),
    ("remember this", "capture"),
    ("remember that Ada likes tea", "capture"),
    ("make a note of this", "capture"),
    ("note this down", "capture"),
    ("write this down", "capture"),
    ("add a line to my note", "edit_page"),
    ("read my note about Ada", "get_page"),
    ("open the page of Ada", "get_page"),
    ("undo what you wrote", "restore_page"),
];
/// The words that clients leave out of a search for tools.
const STOP_WORDS: &str = " a about all an and are as at be but by can did do does for has have how \
    i if in into is it me my no not of on or our so such that the their then there these they \
    this to was we what when where which who will with you your ";

/// Some clients do not show the list of tools. Their models search it, by BM25 over names,
/// descriptions and parameters, with or without stemming.
#[test]
fn phrases_of_users_find_the_right_tool_first() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let tools = list_tools(&home, &home.token("writer", "read write", &[]));
    for is_stemmed in [false, true] {
        for (phrase, expected) in PHRASES {
            let found = search_tools(&tools, phrase, is_stemmed);
            assert_eq!(found.first(), Some(&expected), "{phrase} {is_stemmed}: {found:?}");
        }
        for (phrase, second) in [
            ("search my notes", "get_page"),
            ("what do I know about Ada Lovelace", "get_page"),
            ("save this to my brain", "edit_page"),
            ("remember that Ada likes tea", "edit_page"),
        ] {
            let found = search_tools(&tools, phrase, is_stemmed);
            assert!(found.iter().take(8).any(|name| *name == second), "{phrase}: {found:?}");
        }
    }
    // One client shows only the beginning of each description before the search.
    for (name, words) in [
        ("query", ["search", "notes", "know"]),
        ("get_page", ["read", "notes", "page"]),
        ("capture", ["save", "remember", "note"]),
        ("edit_page", ["edit", "change", "page"]),
    ] {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let start: String = tool["description"].as_str().unwrap().chars().take(130).collect();
        let start = start.to_lowercase();
        assert!(words.iter().all(|word| start.contains(word)), "{name}: {start}");
    }
}

/// Returns the names of the tools that match `phrase`, best first (Robertson and Zaragoza 2009,
/// k1 = 1.2, b = 0.75).
fn search_tools<'a>(tools: &'a [Value], phrase: &str, is_stemmed: bool) -> Vec<&'a str> {
    let documents: Vec<(&str, Vec<String>)> = tools
        .iter()
        .map(|tool| {
            let mut text = format!("{} {}", tool["name"], tool["description"]);
            for (name, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
                text += &format!(" {name} {}", schema["description"].as_str().unwrap_or_default());
            }
            (tool["name"].as_str().unwrap(), words(&text, is_stemmed))
        })
        .collect();
    let count = documents.len() as f64;
    let average = documents.iter().map(|(_, words)| words.len() as f64).sum::<f64>() / count;
    let mut scores: Vec<(f64, &str)> = Vec::new();
    for (name, document) in &documents {
        let mut score = 0.0;
        for word in words(phrase, is_stemmed) {
            let frequency = document.iter().filter(|it| **it == word).count() as f64;
            let matching = documents.iter().filter(|(_, it)| it.contains(&word)).count() as f64;
            let rarity = (1.0 + (count - matching + 0.5) / (matching + 0.5)).ln();
            let length = 0.25 + 0.75 * document.len() as f64 / average;
            score += rarity * frequency * 2.2 / (frequency + 1.2 * length);
        }
        if score > 0.0 {
            scores.push((score, name));
        }
    }
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    scores.into_iter().map(|(_, name)| name).collect()
}

/// Splits a text into words. A stemmed word lacks its ending, and stop words are left out.
fn words(text: &str, is_stemmed: bool) -> Vec<String> {
    let text = text.to_lowercase();
    let all = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    if !is_stemmed {
        return all.map(str::to_owned).collect();
    }
    all.filter(|word| !STOP_WORDS.contains(&format!(" {word} ")))
        .map(|word| {
            let endings = ["ings", "ing", "ed", "es", "s", "e"];
            let stem = endings.into_iter().find_map(|ending| word.strip_suffix(ending));
            stem.filter(|stem| stem.len() >= 3).unwrap_or(word).to_owned()
        })
        .collect()
}

/// Asserts that the schema has no feature that some clients cannot read: references, alternatives,
/// several types, formats, constants, negations, or more than two levels.
fn assert_flat(tool: &str, schema: &Value, depth: usize) {
    assert!(depth <= 2, "{tool}: {schema}");
    let Some(object) = schema.as_object() else { return };
    for name in ["$ref", "$defs", "anyOf", "oneOf", "allOf", "format", "const", "not"] {
        assert!(!object.contains_key(name), "{tool}: {schema}");
    }
    assert!(object.get("type").is_none_or(Value::is_string), "{tool}: {schema}");
    for property in
        object.get("properties").and_then(Value::as_object).into_iter().flat_map(|it| it.values())
    {
        assert_flat(tool, property, depth + 1);
    }
    // Some clients refuse a list without `items`.
    assert_eq!(object.get("type") == Some(&json!("array")), object.contains_key("items"), "{tool}");
    if let Some(items) = object.get("items") {
        assert_flat(tool, items, depth);
    }
}
