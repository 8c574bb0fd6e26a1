//! Mistyped words find the pages with the correct spelling.

#![allow(clippy::unwrap_used)]

use brain_protocol::SourceId;

use super::*;
use crate::tests::{at_every_stage, ids, note, open, page, put, question};

/// Returns the ids of the found pages, and the words that replaced mistyped words.
fn corrected_search(index: &Index, text: &str) -> (Vec<u64>, Vec<String>) {
    let found = index.search(&question(text)).unwrap();
    let words = found.spelling.map(|it| it.spellings).unwrap_or_default();
    (found.hits.iter().map(|hit| hit.id).collect(), words)
}

fn corpus() -> Vec<IndexChange> {
    let mut changes = vec![
        put(page(1, 1, "Ada Lovelace", "Wrote the first program.")),
        note(2, "A telescope stands in the old observatory."),
        note(3, "Мы видели телескоп и черепаху."),
        note(4, "Der Leuchtturm an der Küste wird gestrichen."),
        note(5, "Το τηλεσκόπιο είναι παλιό."),
        note(6, "The studies of the committee were short."),
        note(7, "Order AB1234 from host alpha.example.org."),
        note(8, "He said: telegraph."),
        note(9, "東京都庁の望遠鏡"),
    ];
    changes.extend((20..60).map(|id| note(id, "The budget of the harbour was discussed.")));
    changes.push(note(70, "A hrbour without an a."));
    changes
}

#[test]
fn a_mistyped_word_finds_its_pages() {
    at_every_stage(&corpus(), |index| {
        for (typed, id, corrected) in [
            ("telescpoe", 2, "telescope"),
            ("tlescope", 2, "telescope"),
            ("teleskope", 2, "telescope"),
            ("telesscoope", 2, "telescope"),
            ("observaotry", 2, "observatory"),
            ("телексоп", 3, "телескоп"),
            ("Leuchtrum", 4, "leuchtturm"),
            ("τηλεσκόπυο", 5, "τηλεσκοπιο"),
            ("comittee", 6, "committee"),
            ("stuides", 6, "studies"),
            ("ada lovelcae", 1, "lovelace"),
            ("what did lovelcae write", 1, "lovelace"),
        ] {
            let (ids, words) = corrected_search(index, typed);
            assert_eq!(ids.first(), Some(&id), "{typed}: {ids:?} {words:?}");
            assert_eq!(words.first().map(String::as_str), Some(corrected), "{typed}");
        }
        let found = index.search(&question("Ada Lovelcae")).unwrap();
        assert_eq!(found.hits[0].tier, 6, "the title in the right spelling");
        assert_eq!(found.spelling.unwrap().query.text, "Ada lovelace");
    });
}

#[test]
fn words_as_typed_stay_first() {
    at_every_stage(&corpus(), |index| {
        // One page has the word as typed, many have the other spelling.
        let (ids, words) = corrected_search(index, "hrbour");
        assert_eq!((ids[0], ids.len()), (70, 20), "{ids:?}");
        assert_eq!(words, ["harbour"]);
        // A word of a page is not corrected if no similar word is in more pages.
        assert_eq!(corrected_search(index, "telegraph"), (vec![8], Vec::new()));
        assert_eq!(corrected_search(index, "harbour").1, Vec::<String>::new());
    });
}

#[test]
fn quotes_codes_and_short_words_are_not_corrected() {
    at_every_stage(&corpus(), |index| {
        for text in [
            "\"telescpoe\"",
            "AB1243",
            "ab1243",
            "TELESCPOE is",
            "alhpa.example.net",
            "teh",
            "xyzzyx",
            "東京庁",
            "telescpoe*",
            "-telescpoe xyzzyx",
            "title:lovelcae",
            "tag:telescpoe",
        ] {
            let (_, words) = corrected_search(index, text);
            assert_eq!(words, Vec::<String>::new(), "{text}");
        }
        assert_eq!(corrected_search(index, "TELESCPOE").1, ["telescope"], "a question in capitals");
        let typed = Question { is_being_typed: true, ..question("observator") };
        assert_eq!(index.search(&typed).unwrap().spelling, None, "a half-typed word");
        let typed = Question { is_being_typed: true, ..question("telescpoe in") };
        let spelling = index.search(&typed).unwrap().spelling.unwrap();
        assert_eq!(spelling.spellings, ["telescope"], "before a short half-typed word");
        for text in ["ada lovlea", "adda love", "lovlea", "lvoe"] {
            let typed = Question { is_being_typed: true, ..question(text) };
            let found = index.search(&typed).unwrap();
            assert_eq!(found.hits.first().map(|hit| hit.id), Some(1), "{text}");
            assert!(found.hits[0].tier > 0 && found.spelling.is_some(), "{text}");
        }
    });
}

#[test]
fn words_of_hidden_pages_are_not_suggested() {
    let own = SourceId::parse("own").unwrap();
    let in_own = |id, body: &str| IndexPage { source: own.clone(), ..page(id, id, "", body) };
    let visible =
        vec![put(in_own(101, "A telescopy of the harbours.")), put(in_own(102, "Budged."))];
    let all: Vec<IndexChange> = corpus().into_iter().chain(visible.clone()).collect();
    let answers = |changes: &[IndexChange]| {
        let mut answers = Vec::new();
        at_every_stage(changes, |index| {
            for text in ["telescpoe", "observaotry", "budgef", "lovelcae", "harbuors hrbour"] {
                let question =
                    Question { view: Some(vec![own.clone()]), explain: true, ..question(text) };
                let found = index.search(&question).unwrap();
                answers.push(format!("{:?} {:?}", found.hits, found.spelling));
            }
        });
        answers
    };
    let (alone, among_others) = (answers(&visible), answers(&all));
    assert_eq!(alone, among_others);
    assert!(alone[0].contains("telescopy") && !alone[0].contains("telescope\""), "{}", alone[0]);
    assert!(alone[1].contains("None"), "{}", alone[1]);
}

#[test]
fn typos_in_names_and_new_texts_match_before_a_flush() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let filler = "lorem ipsum dolor sit amet ".repeat(2_000);
    index
        .push(vec![note(1, "the zebrawood table"), put(page(2, 2, "Observatory", "in the hills"))]);
    index.push((3..50).map(|id| note(id, &filler)).collect());
    index.push(vec![note(50, "the telescope works")]);
    assert_eq!(ids(&index, "telescpoe"), [50], "the text of the newest page");
    assert_eq!(ids(&index, "obsrevatory"), [2], "every name");
    index.flush().unwrap();
    assert_eq!(ids(&index, "zebrawodo"), [1], "every text in the index");
}
