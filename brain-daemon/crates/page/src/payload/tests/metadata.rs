//! Tests of what HTML and clipped markdown state about themselves.

use super::{MediaType, field, parse_payload};

#[test]
fn a_document_states_address_day_authors_and_tags() {
    let page = "<title>T</title><link rel=canonical href=https://garden.example/a/barrel>\
                <meta property=article:modified_time content=2024-06-01>\
                <meta property=article:published_time content=2024-03-05>\
                <meta name=author content='Ina Holt'><meta name=keywords content='Rain barrel, x,x'>\
                <p><a href=tap.html>t</a> <a href=#n>n</a> <a href=mailto:a@b.example>m</a>";
    let read = parse_payload(MediaType::Html, page);
    assert_eq!(read.url.as_deref(), Some("https://garden.example/a/barrel"));
    assert_eq!(field(&read, "date").as_deref(), Some("2024-03-05"));
    assert_eq!(field(&read, "author").as_deref(), Some("Ina Holt"));
    assert_eq!(read.document.frontmatter.tags(), ["rain barrel", "x"]);
    assert_eq!(
        read.document.body,
        "[t](https://garden.example/a/tap.html) [n](#n) [m](mailto:a@b.example)"
    );
    let data = r#"<script type="application/ld+json">{"@graph":[{"@type":"WebSite"},
        {"headline":"h","datePublished":"2024-03-06T04:30:00Z","author":[{"name":"Ina"},"Per"],
        "keywords":["a b","c"]}]}</script>"#;
    let read = parse_payload(MediaType::Html, &format!("{page}{data}"));
    assert_eq!(field(&read, "date").as_deref(), Some("2024-03-06T04:30:00Z"));
    assert_eq!(read.document.frontmatter.list("author"), ["Ina", "Per"]);
    assert_eq!(read.document.frontmatter.tags(), ["a b", "c"]);
    let changed = "<meta property=article:modified_time content=2024-06-01>x";
    let read = parse_payload(MediaType::Html, changed);
    assert_eq!(field(&read, "date").as_deref(), Some("2024-06-01"));
}

#[test]
fn absurd_statements_are_ignored() {
    let page = "<link rel=canonical href='javascript:x'><meta name=date content=soon>\
                <meta name=date content='1970-01-01T00:00:00Z'><meta name=author content='[[a/b|c]]'>\
                <meta name=author content='https://x.example/me'>\
                <script type='application/ld+json'>{\"datePublished\":[1],\"author\":7}</script>\
                <script type='application/ld+json'>{broken</script><p>x";
    let read = parse_payload(MediaType::Html, page);
    assert!(read.document.frontmatter.is_empty(), "{:?}", read.document.frontmatter);
    assert_eq!((read.url, read.document.body.as_str()), (None, "x"));
}

#[test]
fn fields_of_a_clipper_are_read() {
    let text = "---\ntitle: \"Path C:\\docs \\\"dir\\\"\"\nsource: \"https://e.example/a\"\nauthor:\n  - \
                \"[[Ina Holt]]\"\npublished: 2024-03-05\ncreated: 2024-06-02\ndescription: \
                \"d\"\ntags:\n  - \"clippings\"\n---\nBody\n";
    let read = parse_payload(MediaType::Markdown, text);
    assert_eq!(read.document.frontmatter.title().as_deref(), Some("Path C:\\docs \"dir\""));
    assert_eq!(read.url.as_deref(), Some("https://e.example/a"));
    assert_eq!(field(&read, "author").as_deref(), Some("Ina Holt"));
    assert_eq!(field(&read, "date").as_deref(), Some("2024-03-05"));
    assert_eq!(field(&read, "created").as_deref(), Some("2024-06-02"));
    assert_eq!(read.document.frontmatter.tags(), ["clippings"]);
    assert_eq!(read.document.body, "Body\n");
    assert!(read.warning.is_some_and(|warning| warning.contains("line 2")));
}
