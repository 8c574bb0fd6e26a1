//! Tries all formats with damaged files.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use brain_convert_base::{Format, convert};
use brain_convert_testing::directory;
use brain_page::ConvertedLine;

use crate::FORMATS;

const CHATGPT: &str = r#"[{"title":"Kettle","create_time":1e300,"current_node":"d","mapping":{"r":{
"message":null,"parent":null,"children":["a"]},"a":{"message":{"author":{"role":"user"},
"create_time":-1,"content":{"content_type":"text","parts":["Does it # whistle?"]}},
"parent":"r","children":["d","a"]},"d":{"message":{"author":{"role":"assistant"},
"create_time":253402300799,"content":{"content_type":"text","parts":["At ```\n# 100"]},
"metadata":{"content_references":[{"matched_text":"\ue200x\ue201","items":[{
"url":"https://a.example/"}]}]}},"parent":"a","children":[]}}},{"title":"../..",
"mapping":{}},{"title":"KETTLE","mapping":{"a":{"message":{"author":{"role":"user"},
"content":{"content_type":"text","parts":["x"]}}}}}]"#;
const CLAUDE: &str = r#"[{"uuid":"c1","name":"Rope","created_at":"1601-01-01T00:00:00Z",
    "chat_messages":[{
"uuid":"m1","text":"a","content":[{"type":"tool_use","name":"artifacts","input":{
"content":"x"}}],"sender":"assistant","created_at":"2262-12-31T00:00:00Z",
"attachments":[{"file_name":"p","extracted_content":"Bring"}],"files":[{
"file_name":"d.png"}]}]}]"#;
const KINDLE: &str = "The Weir (Ole)\n- Your Highlight on page 12 | Location 170-174 | Added on \
Monday, March 2, 2026 9:15:02 PM\n\nthe gate\n==========\n";
const READWISE: &str = "Highlight,Book Title,Book Author,Note,Location,Highlighted at\n\
\"a, b\",T,A,n,3,2023-04-05 06:07:08+00:00\n";
const POCKET: &str =
    "title,url,time_added,tags,status\nA,https://a.example/,1250000000,x|y,unread\n";
const POSTS: &str = r#"window.YTD.tweets.part0 = [{"tweet":{"id_str":"1",
"created_at":"Wed Oct 10 20:19:24 +0000 2018","full_text":"a &lt; https://t.co/x",
"entities":{"urls":[{"url":"https://t.co/x","expanded_url":"https://x.example/"}]}}}]"#;

fn format(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap()
}

/// The formats with a whole file of each.
fn files() -> Vec<(&'static Format, Vec<u8>)> {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/bookmarks");
    let fixture = |name: &str| fs::read(PathBuf::from(fixtures).join(name)).unwrap();
    let bookmarks = format("bookmarks");
    vec![
        (format("chatgpt"), CHATGPT.into()),
        (format("claude"), CLAUDE.into()),
        (format("kindle"), KINDLE.into()),
        (format("readwise"), READWISE.into()),
        (format("x-archive"), POSTS.into()),
        (bookmarks, POCKET.into()),
        (bookmarks, fixture("firefox.html")),
        (bookmarks, fixture("firefox.json")),
        (bookmarks, fixture("firefox.jsonlz4")),
        (bookmarks, fixture("Bookmarks")),
    ]
}

/// Converts a file twice, and returns its lines and whether it ended with an error.
fn run(format: &'static Format, path: &Path) -> (Vec<ConvertedLine>, bool) {
    let once = || {
        let mut out = Vec::new();
        let error = convert(format, path, &mut out).err().map(|error| error.to_string());
        (out, error)
    };
    let (out, error) = once();
    assert_eq!(once(), (out.clone(), error.clone()));
    let lines = String::from_utf8(out).unwrap();
    (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), error.is_some())
}

fn pages(lines: &[ConvertedLine]) -> Vec<&str> {
    let path = |line: &'_ ConvertedLine| matches!(line, ConvertedLine::Page { .. });
    let pages = lines.iter().filter(|line| path(line));
    pages
        .filter_map(|line| match line {
            ConvertedLine::Page { path, .. } => Some(path.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn whole_files_have_pages_and_no_error() {
    for (format, bytes) in files() {
        let directory = directory(&[]);
        let path = directory.path().join("x");
        fs::write(&path, bytes).unwrap();
        let (lines, is_error) = run(format, &path);
        assert!(!is_error && !pages(&lines).is_empty(), "{}", format.name);
        let mut lower: Vec<String> = pages(&lines).iter().map(|it| it.to_lowercase()).collect();
        lower.sort();
        lower.dedup();
        assert_eq!(lower.len(), pages(&lines).len(), "{}", format.name);
        assert!(lower.iter().all(|it| !it.split('/').any(|name| name == "..")), "{lower:?}");
    }
}

#[test]
fn cut_files_end_with_an_error_and_no_panic() {
    for (format, bytes) in files() {
        for tenth in 0..10 {
            let directory = directory(&[]);
            let path = directory.path().join("x");
            fs::write(&path, &bytes[..bytes.len() * tenth / 10]).unwrap();
            let (lines, is_error) = run(format, &path);
            let is_whole = matches!(lines.last(), Some(ConvertedLine::End { .. }));
            assert_eq!(is_error, !is_whole, "{} {tenth}", format.name);
        }
    }
}

#[test]
fn garbage_causes_no_panic() {
    for (format, bytes) in files() {
        for step in [3, 7, 31, 101] {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes.iter_mut().step_by(step).for_each(|byte| *byte ^= flip);
                let directory = directory(&[]);
                let path = directory.path().join("x");
                fs::write(&path, bytes).unwrap();
                run(format, &path);
            }
        }
    }
}

#[test]
fn a_file_of_one_format_is_recognised_as_that_one() {
    for (format, bytes) in files() {
        let directory = directory(&[]);
        let path = directory.path().join("x");
        fs::write(&path, bytes).unwrap();
        let found = brain_convert_base::recognise(&FORMATS, &path).unwrap().unwrap();
        assert_eq!(found.name, format.name);
    }
}

#[test]
fn other_files_are_not_recognised() {
    let directory = directory(&[
        ("a.json", "[{\"uuid\": \"x\", \"name\": \"y\"}]"),
        ("b.html", "<!DOCTYPE html><title>Export</title><h1>Bookmarks</h1>"),
        ("c.csv", "title,url\nx,y\n"),
        ("d.txt", "Title\n- item | one 1\n\ntext\n"),
        ("e.json", "{\"roots\": []}"),
        ("f.js", "window.x = []"),
        ("conversations.json", "{}"),
        ("empty", ""),
    ]);
    for entry in fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        let found = brain_convert_base::recognise(&FORMATS, &path).unwrap();
        assert!(found.is_none(), "{}", path.display());
    }
    let found = brain_convert_base::recognise(&FORMATS, directory.path()).unwrap();
    assert!(found.is_none_or(|it| it.name != "chatgpt"));
}
