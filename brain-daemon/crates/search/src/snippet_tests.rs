//! Tests of the snippets of hits.

#![allow(clippy::unwrap_used)]

use super::tests::{note, open, question};
use super::*;

#[test]
fn snippets_show_the_best_passage() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let filler = "Nothing of interest happens in this sentence at all. ".repeat(20);
    let body = format!(
        "# Heading\n\n{filler}\n\nThe rockets of   Acme fly high.\nThey land too. {filler}"
    );
    index.push(vec![note(1, &body), note(2, "東京都庁は新宿区にある")]);
    let found = index.search(&question("acme rocket")).unwrap();
    let middle = body.find("The rockets").unwrap();
    let snippet = found.snippets.snippet(&body, &[0..middle, middle..body.len()]);
    assert_eq!((snippet.chunk, snippet.line), (1, 5), "the line of the first match");
    assert!(snippet.text.chars().count() <= MAX_SNIPPET_CHARS && !snippet.text.contains('\n'));
    let highlighted: Vec<&str> =
        snippet.highlights.iter().map(|&(a, b)| &snippet.text[a as usize..b as usize]).collect();
    assert_eq!(highlighted, ["rockets", "Acme"]);
    assert!(snippet.text.contains("rockets of Acme fly"), "{}", snippet.text);
    // Without a match, the snippet is the beginning of the text, without the heading's `#`.
    let other = index.search(&question("unicorn")).unwrap().snippets.snippet(&body, &[]);
    assert!(
        other.text.starts_with("Heading Nothing")
            && other.highlights.is_empty()
            && other.chunk == 0
    );
    let tokyo =
        index.search(&question("新宿区")).unwrap().snippets.snippet("東京都庁は新宿区にある", &[]);
    let (a, b) = tokyo.highlights[0];
    assert_eq!(&tokyo.text[a as usize..b as usize], "新宿区");
    assert_eq!(found.snippets.snippet("", &[]), Snippet { line: 1, ..Snippet::default() });
    // Ranges outside the body are tolerated.
    let backwards = std::ops::Range { start: 7, end: 2 };
    let _ = found.snippets.snippet("rocket é", &[3..900, backwards, 8..8]);
}

#[test]
fn snippets_are_plain_text_from_the_beginning_of_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let filler = "Nothing of interest happens in this sentence at all. ".repeat(6);
    let body = format!(
        "{filler}\n\n## Money\n\nThe **budget** for\n[the harbour](places/harbour.md \"x\") is \
         decided by [[people/ann|Ann Lee]] every spring.\n\n| Item | Price |\n|---|--:|\n| Crane | \
         `12` |\n"
    );
    index.push(vec![note(1, &body)]);
    let snippet_of = |text: &str| {
        let snippet = index.search(&question(text)).unwrap().snippets.snippet(&body, &[]);
        let highlights = snippet.highlights.iter();
        let marked: Vec<String> =
            highlights.map(|&(a, b)| snippet.text[a as usize..b as usize].to_owned()).collect();
        (snippet.text, marked)
    };
    let (text, marked) = snippet_of("harbour budget");
    let sentence = "The budget for the harbour is decided by Ann Lee every spring.";
    assert!(text.starts_with(&format!("…{sentence}")), "{text}");
    assert_eq!(marked, ["budget", "harbour"]);
    let (text, _) = snippet_of("crane price");
    assert!(text.contains("Item Price Crane 12"), "{text}");
    assert!(!text.contains(['|', '*', '[', '`', '#']), "{text}");
}
