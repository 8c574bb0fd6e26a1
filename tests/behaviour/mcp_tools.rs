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
    if let Some(items) = object.get("items") {
        assert_flat(tool, items, depth);
    }
}
