//! Tests of [`super::links`].

use super::*;
use proptest::prelude::*;

/// Returns links as `kind target text`. A target is `slug`, `slug~alternative`, or `"name"` for a
/// bare name.
fn links_of(slug: &str, body: &str, yaml: &str) -> Vec<String> {
    let slug = Slug::parse(slug).unwrap();
    links(&slug, body, &Frontmatter::parse(yaml).unwrap())
        .into_iter()
        .map(|link| {
            let target = match link.target {
                LinkTarget::Name(name) => format!("\"{name}\""),
                LinkTarget::Slug { source, slug, alternative } => {
                    let source = source.map_or(String::new(), |s| format!("{s}:"));
                    format!(
                        "{source}{slug}{}",
                        alternative.map_or(String::new(), |a| format!("~{a}"))
                    )
                }
            };
            format!("{} {target} {}", link.kind, link.text).trim_end().to_owned()
        })
        .collect()
}

/// Returns the links of the body of `dir/page` as `target text`.
fn body_links(body: &str) -> Vec<String> {
    let strip = |l: String| l.strip_prefix("mentions ").unwrap().to_owned();
    links_of("dir/page", body, "").into_iter().map(strip).collect()
}

#[test]
fn markdown_links_are_found() {
    assert_eq!(body_links("[Ann Lee](people/ann)"), ["people/ann~dir/people/ann Ann Lee"]);
    assert_eq!(links_of("page", "[Ann *Lee*](people/ann.md)", ""), ["mentions people/ann Ann Lee"]);
    assert_eq!(
        body_links("[a](x.md) [b](./x.md#h) [c](../y%20z.md \"t\") [d](/r/s)"),
        ["x~dir/x a", "dir/x b", "y-z c", "r/s d"]
    );
    assert_eq!(
        body_links("[a][r] [r][] [r]\n\n[r]: people/ann.md\n"),
        ["people/ann~dir/people/ann a"]
    );
    assert_eq!(body_links("[a](<people/Ann Lee.md>)"), ["people/ann-lee~dir/people/ann-lee a"]);
    assert_eq!(
        body_links("[a](caf%C3%A9/b) [b](x%FFy)"),
        ["café/b~dir/café/b a", "xffy~dir/xffy b"]
    );
}

#[test]
fn formulas_have_no_links() {
    assert_eq!(body_links("$$ [[a]] [b](c) $$ and [[d]]"), body_links("[[d]]"));
    assert_eq!(body_links("$$\n[[a]]\n\n[[b]]\n$$\n\n[[d]]"), body_links("[[d]]"));
    assert_eq!(body_links("a $$ price [[d]]"), body_links("[[d]]"));
}

#[test]
fn wiki_links_are_found() {
    assert_eq!(
        body_links("[[people/ann]] [[people/bob|Bob *B*]]"),
        ["people/ann~dir/people/ann", "people/bob~dir/people/bob Bob B"]
    );
    assert_eq!(body_links("[[work:people/ann#Life]] [[../top]]"), ["work:people/ann", "top"]);
    assert_eq!(
        body_links("[[Ann Lee]] [[ann-lee|A]] ![[ANN_LEE.md#x]] [[Meeting 10:30]]"),
        ["\"ann lee\"", "\"meeting 10:30\""]
    );
    assert_eq!(body_links("![[photo.PNG]] ![[doc.pdf#page=2]] ![[note/x]]"), ["note/x~dir/note/x"]);
    assert_eq!(
        body_links("| a | [[people/ann\\|Ann]] |\n|---|---|\n| b | [[x/y]] |\n"),
        ["people/ann~dir/people/ann Ann", "x/y~dir/x/y"]
    );
    assert!(body_links("[[]] [[#h]] [[ ]] [[https://x.org/a]] [[mailto:a@b]] [[|x]]").is_empty());
}

#[test]
fn other_text_is_not_a_link() {
    for text in [
        "[a](https://x.org/y) [b](mailto:a@b.c) [c](//x/y) [d](#h) [e]() <https://x.org>",
        "`[[a/b]]` ``[a](b)``",
        "```\n[[a/b]]\n```\n~~~\n[a](b)\n~~~",
        "x\n\n    [[a/b]]\n",
        "![pic](a/b.png)",
        "\\[[a/b]\\]",
        "[a](../../x)",
        "[a](../..)",
        "[a](folder/)",
        "[^1]\n\n[^1]: people/ann",
        "[a](obsidian:x) [b](tel:1) [c](C:/x)",
        "plain people/ann text",
        "[ ] a [x] b",
    ] {
        assert!(body_links(text).is_empty(), "{text}: {:?}", body_links(text));
    }
}

#[test]
fn links_in_frontmatter_have_the_kind_of_their_key() {
    let yaml = "title: '[[no]]'\ncompany: Acme Labs\nInvestors:\n  - '[[people/ann|Ann]]'\n  - \
        people/bob\n  - Seed / Fund\n\
        related: [[Plan B]]\nsource-page: '[S](x/y.md)'\nfounded: 2019\nauthor: \
        https://x.org/a\nmood: fine\nsee: '[[a/b]]'\nparent:\n";
    assert_eq!(
        links_of("page", "[b](people/bob)", yaml),
        [
            "company \"acme labs\"",
            "investors people/ann Ann",
            "investors people/bob",
            "investors \"seed / fund\"",
            "related \"plan b\"",
            "source_page x/y S",
            "see a/b",
            "mentions people/bob b",
        ]
    );
}

#[test]
fn each_target_and_kind_is_listed_once() {
    assert_eq!(
        links_of("p", "[a](x/y) [b](x/y.md) [[x/y]]", "related: x/y"),
        ["related x/y", "mentions x/y a"]
    );
    assert!(LINK_KEYS.is_sorted());
}

#[test]
fn raw_targets_are_as_the_author_wrote_them() {
    let found = links(
        &Slug::parse("p").unwrap(),
        "[a](X/Y%20z.md#h) [[Ann Lee#x|t]]",
        &Frontmatter::empty(),
    );
    let raw: Vec<_> = found.iter().map(|l| l.raw.as_str()).collect();
    assert_eq!(raw, ["X/Y%20z.md#h", "Ann Lee#x"]);
}

#[test]
fn links_of_hostile_pages_are_limited() {
    let many: String = (0..120_000).map(|n| format!("[[n/{n}]] ")).collect();
    let nested = |unit: &str, n: usize| unit.repeat(n);
    for text in [
        many,
        nested("[", 200_000),
        nested("[[", 100_000),
        nested("[[a|", 50_000),
        nested("![[", 50_000),
        nested("[a](", 50_000),
        nested("[a][", 50_000),
        nested("]]", 50_000),
        nested("[[a]]", 50_000),
        nested("> [[", 5_000),
        nested("`[[", 30_000),
        nested("[[a/", 50_000) + "]]",
    ] {
        let found = links(&Slug::parse("a/b").unwrap(), &text, &Frontmatter::empty());
        assert!(found.len() <= MAX_LINKS);
    }
}

#[test]
fn different_spellings_of_a_name_match() {
    for text in ["ann-lee", "Ann  Lee", " ANN_LEE ", "ann\u{00A0}-_lee", "ａｎｎ ｌｅｅ"] {
        assert_eq!(normalize_name(text), "ann lee");
    }
    assert_eq!(normalize_name("Cafe\u{301} İ"), normalize_name("CAFÉ i\u{307}"));
    assert_eq!(normalize_name(" -_ "), "");
}

proptest! {
    #[test]
    fn links_of_any_page_have_valid_slugs(
        text in "(\\[\\[|\\]\\]|\\[|\\]\\(|\\)|\\||#|\\.\\./|/|%[0-9A-F]{2}|:|`|\n\
            |a|É|x\\.md|!|\\PC){0,30}",
        slug in "[a-z]{1,3}(/[a-z]{1,3}){0,2}",
    ) {
        let text = format!("{text} [q]({text}) [[{text}]]");
        for link in links(&Slug::parse(slug).unwrap(), &text, &Frontmatter::empty()) {
            match link.target {
                LinkTarget::Slug { slug, alternative, .. } => {
                    prop_assert!(Slug::parse(slug.as_str()).is_ok());
                    prop_assert!(alternative.is_none_or(|a| Slug::parse(a.as_str()).is_ok()));
                }
                LinkTarget::Name(name) => prop_assert_eq!(normalize_name(&name), name),
            }
        }
    }

    #[test]
    fn normalization_is_idempotent(text in "\\PC{0,12}|(?s:.{0,8})") {
        let name = normalize_name(&text);
        prop_assert_eq!(normalize_name(&name), name);
    }
}
