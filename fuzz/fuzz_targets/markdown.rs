//! Links, tags, timeline, dates, title, chunks and slug from a page's body.
#![no_main]

use brain_page::{
    body_tags, chunks, decode_text, derive_title, line_with_date, links, mentioned_dates, timeline,
    Frontmatter, MAX_TITLE,
};
use brain_protocol::Slug;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = decode_text(data) else { return };
    let slug = Slug::parse("people/ann").expect("a slug");
    let _ = links(&slug, text, &Frontmatter::empty());
    for tag in body_tags(text) {
        assert!(!tag.is_empty() && text.contains(&format!("#{tag}")));
    }
    for entry in timeline(text) {
        assert_eq!(entry.date.len(), 10);
    }
    for (first, last) in mentioned_dates(text) {
        assert!(first <= last && line_with_date(text, first, last).is_some());
    }
    assert!(derive_title(text).chars().count() <= MAX_TITLE);
    let mut chunk_end = 0;
    for chunk in chunks(text) {
        assert_eq!(chunk.start, chunk_end);
        assert!(text[chunk.clone()].chars().count() < 2500);
        chunk_end = chunk.end;
    }
    assert!(chunk_end == text.len() || text.trim().is_empty());
    let _ = Slug::from_path(text).map(|slug| Slug::parse(slug.as_str())
        .expect("a slug from a path is a slug"));
});
