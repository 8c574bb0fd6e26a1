//! Searches for short texts whose repetition makes a parser take much memory. libFuzzer measures
//! the memory: `cargo +nightly fuzz run memory -- -rss_limit_mb=300 -malloc_limit_mb=100
//! -max_len=64`.
#![no_main]

use brain_page::{
    body_tags, decode_text, headings, links, payload, timeline, windows, Frontmatter, MediaType,
};
use brain_protocol::Slug;
use libfuzzer_sys::fuzz_target;

/// Maximum length of the repeated text, in bytes.
const LENGTH: usize = 1_000_000;

fuzz_target!(|data: &[u8]| {
    let Some((kind, unit)) = data.split_first() else { return };
    let Ok(unit) = decode_text(unit) else { return };
    if unit.is_empty() {
        return;
    }
    let text = unit.repeat(LENGTH / unit.len());
    match kind % 4 {
        0 => drop(payload(MediaType::Html, text.as_bytes())),
        1 => drop(payload(MediaType::Json, format!("{{{text}\"content\":\"x\"}}").as_bytes())),
        2 => drop(links(&Slug::parse("a/b").expect("a slug"), &format!("[ {text}"),
            &Frontmatter::empty())),
        _ => {
            let _ = (body_tags(&text), timeline(&text), headings(&text), windows("title", &text));
        }
    }
});
