//! Results of tools as AI clients pass them on: some show only the text or only the structured
//! copy, and each shortens what is too long in its own way.

use brain_tests::mcp::{Mcp, mcp};
use brain_tests::{Daemon, TestHome};
use serde_json::{Value, json};

/// One client replaces a result with more than this, both copies together, by its first 500
/// characters.
const MAX_RESULT: usize = 20_000;
/// The length of the long page, in characters.
const PAGE_CHARS: usize = 200_000;

struct Fixture {
    home: TestHome,
    _daemon: Daemon,
    client: Mcp,
}

impl Fixture {
    fn new() -> Self {
        let home = TestHome::new();
        let _daemon = home.daemon();
        let client = mcp(&home, &home.token("client", "read write", &[]));
        Self { home, _daemon, client }
    }

    /// Returns the blocks of text and the structured copy of a result, and asserts its size.
    fn result(&self, tool: &str, arguments: &Value) -> (Vec<String>, Value) {
        let result = self.client.call_unchecked(tool, arguments.clone());
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let blocks: Vec<String> = result["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["text"].as_str().unwrap().to_owned())
            .collect();
        let structured = result["structuredContent"].clone();
        let size = blocks.iter().map(String::len).sum::<usize>() + structured.to_string().len();
        assert!(size <= MAX_RESULT, "{tool} {arguments}: {size} bytes");
        (blocks, structured)
    }
}

/// Returns a text of [`PAGE_CHARS`] characters. `separator` is after every ten words.
fn long_text(separator: &str) -> String {
    let mut text = String::new();
    for number in 0.. {
        if text.len() >= PAGE_CHARS {
            break;
        }
        text += &format!("word{number} ");
        if number % 10 == 9 {
            text += separator;
        }
    }
    text.truncate(PAGE_CHARS);
    text
}

/// Asserts that `first` is before `second` in `text`.
fn assert_before(text: &str, first: &str, second: &str) {
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in {text:.500}"));
    assert!(at(first) < at(second), "{first} is after {second}");
}

#[test]
fn a_page_is_read_in_parts_of_its_own_lines() {
    let fixture = Fixture::new();
    for (slug, separator) in [("lines", "\n"), ("one-line", "")] {
        let page = long_text(separator);
        fixture.home.put(slug, &page);
        let (mut read, mut position) = (String::new(), json!({ "slug": slug }));
        loop {
            let (blocks, structured) = fixture.result("get_page", &position);
            let [fields, text] = blocks.as_slice() else { panic!("{} blocks", blocks.len()) };
            assert_eq!(text, structured["text"].as_str().unwrap());
            let fields: Value = serde_json::from_str(fields).unwrap();
            assert!(fields.get("text").is_none());
            for name in ["trust", "truncated", "total_chars"] {
                assert_before(&structured.to_string(), &format!("\"{name}\""), "\"text\"");
            }
            let metadata = &structured["metadata"];
            assert_eq!(metadata["trust"], "owner");
            assert_eq!(metadata["total_chars"], PAGE_CHARS.to_string());
            assert_eq!(metadata["truncated"] == "true", metadata["next"].is_string());
            read += text;
            if metadata["truncated"] == "false" {
                break;
            }
            position["start_line"] = structured["next_start_line"].clone();
            position["skip_chars"] = structured.get("next_skip_chars").cloned().unwrap_or(json!(0));
        }
        assert!(read == page, "{slug}: {} characters of {}", read.len(), page.len());
    }
}

#[test]
fn fetch_gives_a_page_in_parts() {
    let fixture = Fixture::new();
    let page = format!("# Head\n{}", long_text("\n"));
    fixture.home.put("long", &page);
    fixture.home.put("what", "---\ntitle: What? start_line=2\n---\nA title.\n");
    for (first, whole) in [("long", page.as_str()), ("long#Head", &page)] {
        let (mut id, mut read) = (first.to_owned(), String::new());
        for round in 0.. {
            assert!(round < 40, "the parts do not end");
            let (blocks, structured) = fixture.result("fetch", &json!({ "id": id }));
            // Connectors of AI chat products read one block with the whole object.
            assert_eq!(serde_json::from_str::<Value>(&blocks[0]).unwrap(), structured);
            assert_eq!((blocks.len(), structured["id"].as_str()), (1, Some(id.as_str())));
            assert_before(&blocks[0], "\"truncated\"", "\"text\"");
            read += structured["text"].as_str().unwrap();
            match structured["metadata"]["next"].as_str() {
                Some(next) => id = next.to_owned(),
                None => break,
            }
        }
        assert!(read == whole, "{first}: {} characters of {}", read.len(), whole.len());
    }
    let (_, titled) = fixture.result("fetch", &json!({ "id": "What? start_line=2" }));
    assert_eq!(titled["text"], "A title.\n");
    let beyond = fixture.client.expect_refusal("fetch", json!({ "id": "what?start_line=9" }));
    assert!(beyond.contains("the last line is 1"), "{beyond}");
}

#[test]
fn results_with_default_limits_stay_below_all_limits() {
    let fixture = Fixture::new();
    let links: String = (0..200).map(|n| format!("[[people/somebody-{n:03}]]\n")).collect();
    let long = "A sentence about the meeting, with words. ".repeat(23);
    let dated: String =
        (1..=28).map(|day| format!("- 2026-01-{day:02} | {day} {long}\n")).collect();
    let tags: Vec<String> =
        (0..30).map(|n| format!("a-tag-that-is-rather-long-number-{n:02}")).collect();
    let frontmatter = format!("---\ntitle: {}\ntags: [{}]\n---\n", &long[..200], tags.join(", "));
    for number in 0..25 {
        let page = format!("{frontmatter}{number}\n{links}\n{dated}{}", long_text("\n"));
        fixture.home.put(&format!("big/page-{number}"), &page);
    }
    let slug = "big/page-1";
    let all = "links,backlinks,timeline,frontmatter,versions";
    for (tool, arguments) in [
        ("get_page", json!({ "slug": slug, "include": all })),
        ("search", json!({ "query": "meeting" })),
        ("query", json!({ "query": "meeting" })),
        ("query", json!({ "query": "meeting", "format": "detailed" })),
        ("list_pages", json!({})),
        ("list_tags", json!({})),
        ("get_links", json!({ "slug": slug })),
        ("get_links", json!({ "slug": slug, "depth": 2 })),
        ("get_timeline", json!({})),
        ("diff_page", json!({ "slug": slug, "from": 0 })),
    ] {
        let (blocks, _) = fixture.result(tool, &arguments);
        let longest = blocks.iter().flat_map(|block| block.lines()).map(str::len).max().unwrap();
        assert!(longest < 5_000, "{tool}: a line of {longest} bytes");
    }
    let (_, detailed) =
        fixture.result("query", &json!({ "query": "meeting", "format": "detailed" }));
    assert!(detailed["next_cursor"].is_string(), "the rest can be read");
}
