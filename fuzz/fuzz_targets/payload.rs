//! A payload from the network becomes a document that is equal after writing and reading it. The
//! body is at most four times as long as the payload, plus 8 KiB.
#![no_main]

use brain_page::{payload, Document, MediaType};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((kind, bytes)) = data.split_first() else { return };
    let media_type = match kind % 4 {
        0 => MediaType::Plain,
        1 => MediaType::Markdown,
        2 => MediaType::Html,
        _ => MediaType::Json,
    };
    let Ok(parsed) = payload(media_type, bytes) else { return };
    assert!(!parsed.document.body.trim().is_empty());
    assert!(parsed.document.body.len() <= 4 * bytes.len() + 8192);
    assert_eq!(Document::parse(&parsed.document.render()).expect("a payload's document parses"),
        parsed.document);
    for key in parsed.document.frontmatter.keys() {
        assert!(["title", "type", "tags", "aliases", "date", "url", "received"].contains(&key),
            "{key}");
    }
});
