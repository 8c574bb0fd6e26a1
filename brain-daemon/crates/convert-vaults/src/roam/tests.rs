use std::fs;

use brain_convert_testing::{Converted, directory};
use serde_json::{Value, json};

use crate::FORMATS;

fn converted(graph: &Value) -> Converted {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), graph.to_string()).unwrap();
    Converted::of(&FORMATS, file.path())
}

#[allow(clippy::needless_pass_by_value)]
fn page(title: &str, children: Value) -> Value {
    json!({"title": title, "uid": "x", "create-time": 1_700_000_000_000_i64,
        "edit-time": 1_700_000_100_000_i64, "children": children})
}

fn body(children: Value) -> String {
    let converted = converted(&json!([page("A", children)]));
    let text = converted.page("A");
    text.split_once("---\n\n").unwrap().1.to_owned()
}

#[test]
fn a_page_has_its_times_headings_and_blocks() {
    let converted = converted(&json!([page(
        "A",
        json!([
            {"string": "Plan", "uid": "1", "heading": 2, "children": [
                {"string": "one\nmore", "uid": "2", "children": [{"string": "two", "uid": "3", "heading": 3}]},
            ]},
            {"string": "{{[[TODO]]}} oil", "uid": "4", ":children/view-type": "numbered", "children": [
                {"string": "a", "uid": "5"}, {"string": "{{[[DONE]]}}  b", "uid": "6"},
            ]},
        ]),
    )]));
    assert_eq!(converted.format, "roam");
    assert_eq!(
        converted.page("A"),
        "---\ntitle: \"A\"\ncreated: 2023-11-14T22:13:20Z\nupdated: 2023-11-14T22:15:00Z\n---\n\n## \
         Plan\n\n- one\n  more\n  - ### two\n- [ ] oil\n  1. a\n  1. [x] b\n"
    );
}

#[test]
fn links_tags_and_references_lead_to_pages() {
    let converted = converted(&json!([
        page("Tools/Saws", json!([{"string": "**Oil** the [[hinge]]", "uid": "abc-12345"}])),
        page(
            "B",
            json!([
                {"string": "[[tools/saws]] [[New]] #x #[[y]] #[[two words]]", "uid": "1"},
                {"string": "((abc-12345)) [it](((abc-12345))) [p]([[Tools/Saws]]) ((not one))", "uid": "2"},
                {"string": "{{embed: ((abc-12345))}} {{[[embed]]: [[B]]}} ((nosuchblk))", "uid": "3"},
            ]),
        ),
        {"title": "September 8th, 2023", "uid": "09-08-2023", "children": []},
    ]));
    assert_eq!(converted.paths(), ["Tools-Saws", "B", "2023-09-08"]);
    let text = converted.page("B");
    assert!(text.contains("tags: [\"two words\"]"), "{text}");
    assert!(
        text.ends_with(
            "- [[Tools-Saws|tools/saws]] [[New]] #x #y [[two words]]\n- [[Tools-Saws|Oil the hinge]] \
             [[Tools-Saws|it]] [[Tools-Saws|p]] ((not one))\n- [[Tools-Saws|Oil the hinge]] ![[B]] \
             ((nosuchblk))\n"
        ),
        "{text}"
    );
    assert_eq!(converted.lost().len(), 1, "{:?}", converted.lost());
}

#[test]
fn macros_are_addresses_or_code() {
    let text = body(json!([
        {"string": "{{[[video]]: https://v.example}} {{[[table]]}} {{[[query]]: {and: [[a]]}}}", "uid": "1"},
        {"string": "`{{[[query]]: x}}` ^^high^^ __low__", "uid": "2"},
        {"string": "```js\nlet a = '[[x]]';\nb```", "uid": "3"},
    ]));
    assert_eq!(
        text,
        "- https://v.example `{{[[table]]}}` `{{[[query]]: {and: [[a]]}}}`\n- `{{[[query]]: x}}` ==high== \
         *low*\n- ```js\n  let a = '[[x]]';\n  b\n  ```\n"
    );
}

#[test]
fn a_graph_cut_anywhere_keeps_its_whole_pages() {
    let pages: Vec<Value> = (0..20)
        .map(|n| page(&format!("P{n}"), json!([{"string": "x ((y1234))", "uid": "u"}])))
        .collect();
    let whole = Value::from(pages).to_string();
    for tenth in 1..10 {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &whole[..whole.len() * tenth / 10]).unwrap();
        let converted = Converted::of(&FORMATS, file.path());
        assert!(converted.paths().len() >= 20 * tenth / 10 - 1, "{tenth}");
        let error = converted.error.unwrap();
        assert!(error.contains("the JSON is damaged"), "{error}");
    }
}

#[test]
fn hard_input_gives_pages_or_reasons() {
    let mut deep = json!({"string": "end", "uid": "e"});
    for _ in 0..60 {
        deep = json!({"string": "x", "uid": "u", "children": [deep]});
    }
    let nested = format!(
        "{}{}",
        "{\"string\":\"x\",\"uid\":\"u\",\"children\":[".repeat(500),
        "]}".repeat(500)
    );
    let text = format!(
        "\u{feff}[{}, {{\"title\":\"far\",\"uid\":\"1\",\"edit-time\":1e300,\"string\":\"\",\"children\":[{nested}]}}, \
         {{\"title\":\"A\",\"create-time\":-11644473600000}}, 7, {{\"title\":\"a\"}}, {{}}]",
        page("Deep", json!([deep]))
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let converted = Converted::of(&FORMATS, file.path());
    assert_eq!(converted.paths(), ["Deep", "far", "A", "a 2", "Untitled 2"]);
    assert!(converted.page("Deep").contains("- end"));
    assert!(converted.page("A").contains("created: 1601-01-01T00:00:00Z"));
    assert_eq!(converted.lost().len(), 2, "{:?}", converted.lost());
    assert!(converted.error.is_none());
}

#[test]
fn other_json_is_no_graph() {
    for text in ["[{\"title\":\"x\",\"mapping\":{}}]", "[]", "{\"title\":1}", ""] {
        let directory = directory(&[("a.json", text)]);
        assert!(brain_convert_base::recognise(&FORMATS, directory.path()).unwrap().is_none());
        let file = directory.path().join("a.json");
        assert!(brain_convert_base::recognise(&FORMATS, &file).unwrap().is_none());
    }
}
