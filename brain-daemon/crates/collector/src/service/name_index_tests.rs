//! Tests: pages about accounts, and pages mentioned in texts.

use super::*;

/// Slug, type, title, aliases, handles.
type Row =
    (&'static str, &'static str, &'static str, &'static [&'static str], &'static [&'static str]);

fn build_index(pages: &[Row]) -> NameIndex {
    let mut names = NameIndex::default();
    for (id, (slug, page_type, title, aliases, handles)) in (0..).zip(pages) {
        let aliases: Vec<String> = aliases.iter().map(|&alias| alias.to_owned()).collect();
        let page = IndexedPage {
            source: SourceId::default(),
            slug: Slug::parse(*slug).unwrap(),
            title: (*title).to_owned(),
            page_type: (*page_type).to_owned(),
            id,
            handles: handles
                .iter()
                .chain(aliases.iter().map(String::as_str).collect::<Vec<_>>().iter())
                .filter_map(|text| handle(text))
                .collect(),
        };
        names.add(page, &aliases);
    }
    names
        .by_first_word
        .values_mut()
        .for_each(|list| list.sort_by_key(|name| std::cmp::Reverse(name.words.len())));
    names
}

fn slugs(names: &NameIndex, found: &[usize]) -> Vec<String> {
    found.iter().map(|&at| names.page(at).slug.to_string()).collect()
}

#[test]
fn handles_are_parsed_in_all_forms() {
    for text in [
        "ann_lee",
        "@Ann_Lee",
        " @ann_lee ",
        "https://x.com/ann_lee",
        "http://www.twitter.com/@Ann_Lee?s=20",
        "x.com/ann_lee/status/1",
        "https://mobile.twitter.com/ann_lee#x",
    ] {
        assert_eq!(handle(text).as_deref(), Some("ann_lee"), "{text}");
    }
    for text in [
        "",
        "@",
        "ann lee",
        "https://x.org/ann_lee",
        "https://evilx.com/ann",
        "abcdefghijklmnop",
        "https://x.com/",
    ] {
        assert_eq!(handle(text), None, "{text}");
    }
}

#[test]
fn handles_decide_before_names() {
    let names = build_index(&[
        ("people/ann-lee", "person", "Ann Lee", &[], &["annlee"]),
        ("people/bob", "person", "Robert", &["Bob Ray", "@bobby"], &[]),
        ("notes/ann", "note", "About her", &[], &[]),
        ("companies/acme", "company", "Acme", &[], &[]),
        ("people/sam-1", "person", "Sam", &[], &[]),
        ("people/sam-2", "person", "Sam", &[], &[]),
        ("notes/zed", "note", "Zed", &[], &[]),
    ]);
    let about = |handle| slugs(&names, &names.subjects(handle));
    assert_eq!(about(Some("AnnLee")), ["people/ann-lee"]);
    assert_eq!(about(Some("bobby")), ["people/bob"]);
    for other in [None, Some("acme"), Some("ann-lee"), Some("fake_ann")] {
        assert_eq!(about(other), Vec::<String>::new(), "a name or slug claims no account");
    }
    let candidates = |handle, name| slugs(&names, &names.candidates(handle, name));
    assert_eq!(
        candidates(Some("AnnLee"), Some("Acme")),
        Vec::<String>::new(),
        "the account has a page"
    );
    // The page with this name claims another account.
    assert_eq!(candidates(Some("fake_ann"), Some("Ann Lee")), Vec::<String>::new());
    assert_eq!(candidates(Some("acme"), None), ["companies/acme"]);
    assert_eq!(candidates(Some("a"), Some("ACME")), ["companies/acme"]);
    // Two pages have this name.
    assert_eq!(candidates(Some("s"), Some("Sam")), ["people/sam-1", "people/sam-2"]);
    // A note with this title is about no account.
    assert_eq!(candidates(Some("zed"), Some("Zed")), Vec::<String>::new());
    assert_eq!(candidates(None, Some("…")), Vec::<String>::new());
}

#[test]
fn names_are_found_as_whole_words() {
    let names = build_index(&[
        ("people/ann-lee", "person", "Ann Lee", &["Annie"], &["annlee"]),
        ("companies/forge", "company", "Forge", &[], &[]),
        ("companies/forge-labs", "company", "Forge Labs", &[], &[]),
        ("companies/ibm", "company", "IBM", &[], &[]),
        ("concepts/agents", "concept", "Agentic Workflows", &[], &[]),
        ("notes/today", "note", "today", &[], &[]),
        ("concepts/rust", "concept", "Rust", &[], &[]),
        ("people/tanaka", "person", "田中太郎", &[], &[]),
    ]);
    let mentioned_in = |text: &str| slugs(&names, &names.pages_mentioned_in(text, &[]));
    assert_eq!(mentioned_in("FORGE's deal with ann  lee"), ["companies/forge", "people/ann-lee"]);
    assert_eq!(mentioned_in("Forge Labs, annie"), ["companies/forge-labs", "people/ann-lee"]);
    assert_eq!(mentioned_in("ibm and IBM"), ["companies/ibm"]);
    assert_eq!(mentioned_in("agentic workflows today, rust"), ["concepts/agents"]);
    assert_eq!(mentioned_in("#Rust"), ["concepts/rust"]);
    assert_eq!(mentioned_in("forged Annlee https://forge.com/annie"), Vec::<String>::new());
    assert_eq!(mentioned_in("hi @AnnLee!"), ["people/ann-lee"]);
    assert_eq!(mentioned_in("昨日田中太郎さんと"), ["people/tanaka"]);
    assert_eq!(
        slugs(&names, &names.pages_mentioned_in("", &["annlee".into()])),
        ["people/ann-lee"]
    );
}
