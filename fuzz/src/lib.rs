//! What fuzz targets share.

use std::collections::HashSet;
use std::sync::OnceLock;

use brain_convert::formats;
use brain_convert_base::Format;
use brain_page::{ConvertedLine, Document, attachment_name};

/// The variable with the name of the only format to try.
const FORMAT: &str = "BRAIN_FUZZ_FORMAT";

/// Returns the format that the environment names, or else the one with this number.
pub fn format(number: u8) -> &'static Format {
    static ONLY: OnceLock<Option<&Format>> = OnceLock::new();
    let only = ONLY.get_or_init(|| {
        let name = std::env::var(FORMAT).ok()?;
        Some(formats().find(|format| format.name == name).expect("a name of a format"))
    });
    let by_number = || formats().nth(usize::from(number) % formats().count()).expect("a format");
    only.unwrap_or_else(by_number)
}

/// Checks the lines of a conversion. Each page has a path of its own and a readable text, each file
/// follows its page, and the last line counts the pages.
pub fn check_lines(out: &[u8], is_whole: bool) {
    let text = std::str::from_utf8(out).expect("UTF-8");
    let mut paths = HashSet::new();
    let mut files = HashSet::new();
    let mut last = String::new();
    let mut end = None;
    for line in text.lines() {
        assert!(end.is_none(), "a line after the last one");
        match serde_json::from_str(line).expect("a line") {
            ConvertedLine::Page { path, markdown, .. } => {
                assert!(path.split('/').all(|name| !matches!(name, "" | "." | "..")), "{path}");
                assert!(paths.insert(path.to_lowercase()), "{path} is there twice");
                Document::parse(&markdown).expect("a page parses");
                files.clear();
                last = path;
            }
            ConvertedLine::File { page, name, .. } => {
                assert_eq!(page, last, "a file after its page");
                assert!(files.insert(name.to_lowercase()), "{name} is there twice");
                attachment_name(&name).expect("a name of a file");
            }
            ConvertedLine::Post { post, .. } => {
                assert!(post.get("id").is_some_and(serde_json::Value::is_string), "{post}");
            }
            ConvertedLine::Lost { from, reason } => {
                assert!(!reason.is_empty(), "{from} is lost without a reason");
            }
            ConvertedLine::End { pages } => end = Some(pages),
            ConvertedLine::Format { .. } => panic!("a converter names its format"),
        }
    }
    assert_eq!(end.is_some(), is_whole);
    assert!(end.is_none_or(|pages| pages == paths.len() as u64));
}
