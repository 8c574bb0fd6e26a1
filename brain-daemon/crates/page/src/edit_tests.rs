//! Tests of edits of page bodies and of frontmatter.

#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

#[test]
fn appended_text_is_a_paragraph_or_continues_a_list() {
    let append_text = |body: &str, text: &str| append(body, None, text).unwrap();
    assert_eq!(append_text("", "new"), "new\n");
    assert_eq!(append_text("old", "new\n\n"), "old\n\nnew\n");
    assert_eq!(append_text("old\n\n", "\nnew"), "old\n\nnew\n");
    assert_eq!(append_text("- a\n", "- b"), "- a\n- b\n");
    assert_eq!(append_text("1. a", "2. b"), "1. a\n2. b\n");
    assert_eq!(append_text("- a\n", "text"), "- a\n\ntext\n");
    assert_eq!(append_text("a\r\nb", "c\nd"), "a\r\nb\r\n\r\nc\r\nd\r\n");
    assert_eq!(append("x", None, " \n\n"), Err(EditError::Empty));
}

#[test]
fn text_is_appended_before_sub_headings() {
    let body = "# T\n\n## Todo\n- a\n\n### Later\nx\n## Done\n";
    assert_eq!(
        append(body, Some("todo"), "- b").unwrap(),
        "# T\n\n## Todo\n- a\n- b\n\n### Later\nx\n## Done\n"
    );
    assert_eq!(
        append(body, Some("Done"), "- z").unwrap(),
        "# T\n\n## Todo\n- a\n\n### Later\nx\n## Done\n\n- z\n"
    );
    assert_eq!(
        prepend(body, Some("Later"), "y").unwrap(),
        "# T\n\n## Todo\n- a\n\n### Later\n\ny\n\nx\n## Done\n"
    );
    let EditError::HeadingNotFound { existing, .. } = append(body, Some("Nope"), "x").unwrap_err()
    else {
        panic!()
    };
    assert_eq!(existing, ["# T", "## Todo", "### Later", "## Done"]);
}

#[test]
fn text_is_prepended_below_the_title() {
    assert_eq!(prepend("# T\nold\n", None, "new").unwrap(), "# T\n\nnew\n\nold\n");
    assert_eq!(prepend("\n# T\n\nold", None, "new").unwrap(), "\n# T\n\nnew\n\nold");
    assert_eq!(prepend("## S\nold", None, "new").unwrap(), "new\n\n## S\nold");
    assert_eq!(prepend("- a\n", None, "- b").unwrap(), "- b\n- a\n");
}

#[test]
fn a_text_that_occurs_once_is_replaced() {
    assert_eq!(replace_text("a b c", None, "b", "x").unwrap(), "a x c");
    assert_eq!(replace_text("a b c", None, " b", "").unwrap(), "a c");
    assert_eq!(replace_text("a\r\nb\r\n", None, "a\nb", "c\nd").unwrap(), "c\r\nd\r\n");
    let several = replace_text("x\ny\nx x\n", None, "x", "z").unwrap_err();
    assert_eq!(several.to_string(), "the text to replace occurs 3 times, at lines 1, 3, 3");
    assert_eq!(
        replace_text("aaa", None, "aa", "b"),
        Err(EditError::Ambiguous { count: 2, lines: vec![1, 1] })
    );
    assert_eq!(
        replace_text("ééé", None, "éé", "b"),
        Err(EditError::Ambiguous { count: 2, lines: vec![1, 1] })
    );
    assert_eq!(replace_text("a", None, "", "b"), Err(EditError::Empty));
    let body = "# A\nx\n# B\nx\n";
    assert_eq!(replace_text(body, Some("B"), "x", "y").unwrap(), "# A\nx\n# B\ny\n");
}

#[test]
fn a_missing_text_is_reported_with_the_nearest_line() {
    let body = "one\n\n# Part\nAda wrote the  first Program.\nlast\n";
    let message =
        replace_text(body, None, "Ada wrote the first program", "x").unwrap_err().to_string();
    assert_eq!(
        message,
        "the text to replace was not found; the nearest is line 4: \"Ada wrote the  first \
            Program.\""
    );
    let message = replace_text(body, Some("Part"), "ada wrote the first program", "x")
        .unwrap_err()
        .to_string();
    assert!(message.contains("line 4"), "{message}");
    let message = replace_text(body, None, "zebra", "x").unwrap_err().to_string();
    assert_eq!(message, "the text to replace was not found");
}

#[test]
fn a_section_is_replaced_below_its_heading() {
    let body = "# T\nintro\n\n## A\n\nold\n\n### Sub\nx\n\n## B\nb\n";
    assert_eq!(
        replace_section(body, "A", "new\n").unwrap(),
        "# T\nintro\n\n## A\n\nnew\n\n## B\nb\n"
    );
    // Language models repeat the heading, or send another one.
    assert_eq!(
        replace_section(body, "A", "## A\n\nnew").unwrap(),
        "# T\nintro\n\n## A\n\nnew\n\n## B\nb\n"
    );
    assert_eq!(
        replace_section(body, "A", "## C\nnew").unwrap(),
        "# T\nintro\n\n## C\nnew\n\n## B\nb\n"
    );
    assert_eq!(
        replace_section(body, "A", "### Sub\nnew").unwrap(),
        "# T\nintro\n\n## A\n\n### Sub\nnew\n\n## B\nb\n"
    );
    assert_eq!(
        replace_section(body, "B", "").unwrap(),
        "# T\nintro\n\n## A\n\nold\n\n### Sub\nx\n\n## B\n"
    );
    assert_eq!(replace_section("## A", "A", "x").unwrap(), "## A\n\nx\n");
    assert_eq!(replace_section("## A\n\n## B", "A", "x").unwrap(), "## A\n\nx\n\n## B");
    let none = replace_section("text", "A", "x").unwrap_err().to_string();
    assert_eq!(none, "there is no heading \"A\"; the page has none");
}

#[test]
fn a_key_is_set_in_its_place() {
    let mut it =
        Frontmatter::parse("# mine\ntags: [a]\nrating: 3 # of 5\nnested:\n  x: 1\n").unwrap();
    set_frontmatter(&mut it, "rating", "5").unwrap();
    set_frontmatter(&mut it, "tags", "[a, \"b c\"]").unwrap();
    set_frontmatter(&mut it, "company", "[[companies/ada]]").unwrap();
    assert!(
        it.raw().starts_with("# mine\n") && it.raw().ends_with("company: \"[[companies/ada]]\"\n"),
        "{it:?}"
    );
    assert_eq!(
        (it.get("rating").unwrap(), it.list("tags")),
        ("5".into(), vec!["a".into(), "b c".into()])
    );
    set_frontmatter(&mut it, "rating", "").unwrap();
    assert_eq!(it.keys().collect::<Vec<_>>(), ["tags", "nested", "company"]);
    assert_eq!(set_frontmatter(&mut it, "nested", "x"), Err(EditError::NotScalar("nested".into())));
    for bad in ["", "a: b", "a b", "x\n", &"x".repeat(65)] {
        assert!(
            matches!(set_frontmatter(&mut it, bad, "x"), Err(EditError::InvalidKey(_))),
            "{bad}"
        );
    }
}

#[test]
fn an_excerpt_shows_the_change_and_is_bounded() {
    let old = "1\n2\n3\n4\n5\n6\n";
    assert_eq!(excerpt(old, old, 100), "");
    assert_eq!(excerpt(old, "1\n2\n3\nx\n5\n6\n", 100), "2\n3\nx\n5\n6\n");
    assert_eq!(excerpt(old, "1\n2\n3\n4\n6\n", 100), "3\n4\n6\n");
    assert_eq!(
        excerpt("", &"é".repeat(50), 10),
        "ééééééééééé".chars().take(10).collect::<String>() + "…"
    );
}

fn any_body() -> impl Strategy<Value = String> {
    "([a-cé#`|>1.\\- \\n]|\\r\\n|## |# A|- ){0,60}"
}

fn is_one_insertion(old: &str, new: &str) -> bool {
    let head = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let tail = old
        .bytes()
        .rev()
        .zip(new.bytes().rev())
        .take(old.len() - head)
        .take_while(|(a, b)| a == b)
        .count();
    head + tail >= old.len() && new.len() > old.len()
}

proptest! {
    #[test]
    fn an_insertion_leaves_other_bytes_unchanged(body in any_body(),
        text in "[a-z#\\n -]{0,20}[a-z]", in_section: bool) {
        let heading = headings(&body).pop().map(|last| last.text)
            .filter(|text| in_section && section(&body, text).is_ok());
        for new in [append(&body, heading.as_deref(), &text),
            prepend(&body, heading.as_deref(), &text)] {
            let new = new.unwrap();
            prop_assert!(is_one_insertion(&body, &new), "{body:?} {new:?}");
            prop_assert!(new.replace("\r\n", "\n").contains(text.trim_matches('\n')));
        }
        prop_assert!(append(&body, None, &text).unwrap().starts_with(&body));
    }

    #[test]
    fn a_replacement_leaves_other_bytes_unchanged(head in any_body(), tail in any_body(),
        text in "[x-z]{0,9}") {
        let body = format!("{head}QQ{tail}");
        prop_assert_eq!(replace_text(&body, None, "QQ", &text).unwrap(),
            format!("{head}{text}{tail}"));
    }

    #[test]
    fn a_replaced_section_leaves_other_sections_unchanged(body in any_body(),
        text in "[a-z]{1,9}") {
        let Some(last) = headings(&body).pop() else { return Ok(()) };
        let Ok(part) = section(&body, &last.text) else { return Ok(()) };
        let new = replace_section(&body, &last.text, &text).unwrap();
        prop_assert!(new.starts_with(&body[..part.start]) && new.ends_with(&body[part.end..]),
            "{body:?} {new:?}");
        let again = section(&new, &last.text).unwrap();
        prop_assert!(new[again].contains(&text));
    }

    #[test]
    fn any_edit_terminates(body in "\\PC{0,40}(\\n\\PC{0,20}){0,3}", a in "\\PC{0,10}",
        b in "\\PC{0,10}") {
        let _ = append(&body, Some(&a), &b);
        let _ = replace_text(&body, None, &a, &b);
        let _ = replace_section(&body, &a, &b);
        prop_assert!(excerpt(&body, &b, 9).chars().count() <= 9 + 3);
    }
}
