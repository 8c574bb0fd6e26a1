//! Tests of reading and editing frontmatter.

use super::*;
use proptest::prelude::*;

fn parse(raw: &str) -> Frontmatter {
    Frontmatter::parse(raw).unwrap()
}

#[test]
fn scalars_keep_the_authors_spelling() {
    let f = parse(
        "no: no\nversion: 1.10\ndate: 2024-01-02\ntitle: 2024\nq: 'it''s'\ne: \"a\\tb\"\nn: \
            null\nv:\nm: {a: 1}\nz: 007\nt: 1:30\n",
    );
    assert_eq!(f.get("no").unwrap(), "no");
    assert_eq!(f.get("version").unwrap(), "1.10");
    assert_eq!(f.get("date").unwrap(), "2024-01-02");
    assert_eq!(f.title().unwrap(), "2024");
    assert_eq!(f.get("q").unwrap(), "it's");
    assert_eq!(f.get("e").unwrap(), "a\tb");
    assert_eq!(f.get("z").unwrap(), "007");
    assert_eq!(f.get("t").unwrap(), "1:30");
    assert_eq!((f.get("n"), f.get("v"), f.get("m"), f.get("absent")), (None, None, None, None));
    assert_eq!(parse("title: \"null\"").get("title").unwrap(), "null");
    assert_eq!(parse("title: >\n  two\n  lines\n").title().unwrap(), "two lines");
}

#[test]
fn tags_and_aliases_are_read_in_every_spelling() {
    for raw in [
        "tags: [A, '#b', a]",
        "tags:\n- a\n- b",
        "tags: a, b",
        "tags: a b",
        "tags: '#a #B'",
        "tag: a\ntags: [a]\n# c\nx: 1",
    ] {
        let expected: &[&str] = if raw.starts_with("tag:") { &["a"] } else { &["a", "b"] };
        assert_eq!(parse(raw).tags(), expected, "{raw}");
    }
    assert_eq!(parse("tags:\n  - cafe\u{301} x\n  - [n, o]\n  -\n").tags(), ["café x"]);
    assert!(parse("tags:").tags().is_empty());
    assert_eq!(
        parse("aliases: [ACME, ' Acme  Inc ', ACME]\nalias: A, B").aliases(),
        ["ACME", "Acme Inc", "A, B"]
    );
}

#[test]
fn unquoted_wiki_links_are_scalars() {
    let f = parse(
        "company: [[Acme]]\npeople:\n  - [[a/b|Ann]]\n  - '[[c]]'\nall: [[[A]], [[B]]]\nnested: \
            [[a], [b]]\n",
    );
    assert_eq!(f.get("company").unwrap(), "[[Acme]]");
    assert_eq!(f.list("people"), ["[[a/b|Ann]]", "[[c]]"]);
    assert_eq!(f.list("all"), ["[[A]]", "[[B]]"]);
    assert!(f.list("nested").is_empty());
}

#[test]
fn an_edit_changes_only_the_lines_of_its_key() {
    let raw = "# head\ntitle: Old # why\n\n# about tags\ntags:\n  - a\n  - b\n'odd key': {x: 1}\n# \
        tail\n";
    let mut f = parse(raw);
    f.set("title", "Old");
    f.set_list("tags", &["a".into(), "b".into()]);
    f.remove("absent");
    assert_eq!(f.raw(), raw);
    f.set("title", "New: one");
    f.set_list("tags", &["no".into()]);
    f.set("odd key", "1");
    f.set("more", "x");
    assert_eq!(
        f.raw(),
        "# head\ntitle: \"New: one\"\n\n# about tags\ntags:\n  - \"no\"\nodd key: \"1\"\n# \
            tail\nmore: x\n"
    );
    f.set_list("tags", &[]);
    f.remove("title");
    assert_eq!(f.raw(), "# head\n# about tags\nodd key: \"1\"\n# tail\nmore: x\n");
    let mut f = parse("a: 1");
    f.remove("a");
    assert!(f.is_empty());
    f.set("a", "x");
    assert_eq!(f.raw(), "a: x\n");
}

#[test]
fn keys_that_are_not_plain_are_detected() {
    let f = parse("a: 1\nb: [x, y]\nc: [x, {y: z}]\nd: {e: f}\ng:\nh: [x, [y]]\n");
    let plain: Vec<&str> =
        ["a", "b", "c", "d", "g", "h", "absent"].into_iter().filter(|k| f.is_plain(k)).collect();
    assert_eq!(plain, ["a", "b", "g", "absent"]);
}

#[test]
fn copied_keys_keep_their_spelling() {
    let mut f = parse("title: Mine\nx: 1 # kept\n");
    assert!(f.adopt(&parse("x: 1 # kept\ntitle: Theirs\nlist:\n  - a # why\n  - b\n"), &["title"]));
    assert_eq!(f.raw(), "title: Mine\nx: 1 # kept\nlist:\n  - a # why\n  - b\n");
    assert!(!f.adopt(&parse("list:\n  - a # why\n  - b\n"), &[]));
    assert!(f.adopt(&parse("{x: 2}"), &[]));
    assert_eq!(f.get("x").unwrap(), "2");
}

#[test]
fn flow_and_indented_mappings_can_be_edited() {
    let mut f = parse("{title: x, \"tags\": [a,\n  b], empty, m: {k: v}}");
    f.set("type", "note");
    assert_eq!(f.raw(), "title: x\ntags: [a,\n    b]\nempty:\nm: {k: v}\ntype: note\n");
    assert_eq!(f.tags(), ["a", "b"]);
    let mut f = parse("  a: 1\n  b: 2\n");
    f.set("a", "x");
    f.set_list("c", &["z".into()]);
    assert_eq!(f.raw(), "  a: x\n  b: 2\n  c:\n    - z\n");
    let mut f = parse("{a: 1}");
    f.remove("a");
    assert!(f.is_empty());
}

#[test]
fn errors_name_the_line_of_the_document() {
    let e = Frontmatter::parse("title: x\nbad: [1, 2\nmore: 3\n").unwrap_err();
    assert!(e.line >= 3, "{e}");
    let e = Frontmatter::parse("a: 1\na: 2").unwrap_err();
    assert_eq!((e.line, e.column), (3, 1));
    assert_eq!(e.to_string(), "frontmatter, line 3, column 1: the key \"a\" is there twice");
    assert!(Frontmatter::parse("prose").is_err());
    assert_eq!(Frontmatter::parse("a: |\n---\nb: 1").unwrap_err().line, 3);
    let long = format!("a: {}", "x".repeat(MAX_FRONTMATTER));
    assert!(Frontmatter::parse(&long).unwrap_err().message.contains("65536"));
}

#[test]
fn time_stamps_do_not_count_as_content() {
    let a = parse("title: x\ncaptured_at: 1\n");
    let b = parse("captured_at: 2\ntitle: x\ningested_via: y\n");
    let ignored_keys = ["captured_at", "ingested_via"];
    assert!(a.has_same_content(&b, &ignored_keys));
    assert!(!a.has_same_content(&b, &["captured_at"]));
    assert!(!a.has_same_content(&parse("title: y"), &ignored_keys));
    assert!(parse("captured_at: 1").has_same_content(&Frontmatter::empty(), &ignored_keys));
}

proptest! {
    #[test]
    fn edits_change_exactly_their_keys(
        raw in "(([a-d]: ?(x|'q'|\\[a, b\\]|\\{k: 1\\}|\\|\n  t\n   u|)|e:\n  - 1\n  -|# \
            c|)\n){0,6}",
        key in "[a-f]", value in "(?s:.{0,6})",
        list in proptest::collection::vec("\\PC{0,5}", 1..4),
    ) {
        let Ok(before) = Frontmatter::parse(&raw) else { return Ok(()) };
        let others: Vec<_> = before.keys().filter(|k| **k != key)
            .map(|k| (k.to_owned(), before.list(k))).collect();
        let mut f = before.clone();
        f.set(&key, &value);
        let mut both = before.clone();
        both.set_all(&[(&key, &value), ("z", "1"), ("y", &value)]);
        for (k, text) in [("z", "1"), ("y", value.as_str())] {
            f.set(k, text);
        }
        prop_assert_eq!(&both, &f);
        f.remove("z");
        f.remove("y");
        prop_assert_eq!(f.get(&key), Some(value));
        for (k, list) in &others {
            prop_assert_eq!(&f.list(k), list);
        }
        f.set_list(&key, &list);
        prop_assert_eq!(f.list(&key), list);
        prop_assert_eq!(&Frontmatter::parse(f.raw()).unwrap(), &f);
        prop_assert!(f.has_same_content(&before, &[&key]));
        f.remove(&key);
        prop_assert_eq!(f.list(&key), Vec::<String>::new());
        prop_assert_eq!(f.keys().count(), others.len());
    }

    #[test]
    fn all_parsed_frontmatter_can_be_edited(
        raw in "(([a-c]|\\{a|\\? a|'b'|  c)(: ?| )|[a-c?:\\-\\[\\]{}#&*!|>'\" \
            \t\u{85}\u{2028}0é,+]|: \\||: >\\+\n|\n- |\n  |\n){0,14}",
        key in "[a-d]", value in "\\PC{0,4}",
    ) {
        let Ok(before) = Frontmatter::parse(&raw) else { return Ok(()) };
        let mut f = before.clone();
        f.set(&key, &value);
        prop_assert_eq!(f.get(&key), Some(value));
        prop_assert_eq!(&Frontmatter::parse(f.raw()).unwrap(), &f);
        f.remove(&key);
        prop_assert_eq!(f.get(&key), None);
        prop_assert!(f.keys().eq(before.keys().filter(|k| **k != key)));
    }
}

#[test]
fn names_type_and_tags_have_keys_in_any_case() {
    for fence in ["", "+++\n"] {
        let raw = match fence {
            "" => "Title: A\nTAGS: [b, c]\nAliases: [D]\nType: note\n",
            _ => "+++\nTitle = \"A\"\nTAGS = [\"b\", \"c\"]\nAliases = [\"D\"]\nType = \"note\"\n",
        };
        let mut it = Frontmatter::parse(raw).unwrap();
        assert_eq!((it.title(), it.page_type()), (Some("A".into()), Some("note".into())));
        assert_eq!((it.tags(), it.aliases()), (vec!["b".into(), "c".into()], vec!["D".into()]));
        it.set("title", "New");
        it.set_list("tags", &["x".to_owned()]);
        it.remove("type");
        assert_eq!(it.keys().collect::<Vec<_>>(), ["Title", "TAGS", "Aliases"]);
        assert_eq!((it.title(), it.tags()), (Some("New".into()), vec!["x".to_owned()]));
    }
    let both = Frontmatter::parse("Title: A\ntitle: B\n").unwrap();
    assert_eq!(both.title().as_deref(), Some("B"));
}
