//! Frontmatter: a parsed document is equal after writing and reading it, and an edited one can be
//! read.
#![no_main]

use brain_page::{Document, content_hash, decode_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = decode_text(data) else { return };
    let Ok(document) = Document::parse(text) else { return };
    let reparsed = Document::parse(&document.render()).expect("a rendered document parses");
    assert_eq!(reparsed, document);
    assert_eq!(content_hash(&reparsed.body), content_hash(&document.body));
    let mut edited = document.clone();
    edited.frontmatter.set("title", "A: title # with 'marks'");
    edited.frontmatter.set_list("tags", &["a".into(), "no".into()]);
    edited.frontmatter.remove("type");
    let _ = edited.frontmatter.adopt(&document.frontmatter, &["title"]);
    let reparsed = Document::parse(&edited.render()).expect("an edited document parses");
    assert_eq!(reparsed.frontmatter.title().as_deref(), Some("A: title # with 'marks'"));
    assert_eq!(reparsed.body, document.body);
});
