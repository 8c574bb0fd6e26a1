//! A payload from the network becomes a document that is equal after writing and reading it. The
//! document is at most four times as long as the payload, plus 8 KiB.
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
    let Ok(read) = payload(media_type, bytes) else { return };
    assert!(!read.document.body.trim().is_empty());
    assert!(read.document.body.len() <= 4 * bytes.len() + 8192);
    assert_eq!(Document::parse(&read.document.render()).expect("a payload's document parses"),
        read.document);
    for key in read.document.frontmatter.keys() {
        assert!(["title", "type", "tags", "aliases", "date", "url", "received"].contains(&key),
            "{key}");
    }
});
