//! Tests of quoted phrases beside other words.

use super::tests::{at_every_stage, ids, note, question};
use super::*;

#[test]
fn phrases_that_no_page_has_are_preferences() {
    let changes = [
        note(1, "Ann said that the launch budget is too small."),
        note(2, "Boris said that the launch budget is fine."),
        note(3, "Ann said that the safety of the margin matters."),
    ];
    at_every_stage(&changes, |index| {
        let unmet = |text: &str| index.quotes(&question(text)).unwrap().unmet;
        let nothing = Vec::<String>::new();
        assert_eq!(unmet("What did Ann say about the \"launch budget\"?"), nothing);
        assert_eq!(unmet("\"safety margin\""), nothing, "the whole question");
        assert_eq!(unmet("\"safety margin\" type:note -draft"), nothing, "filters are not words");
        assert_eq!(unmet("\"the launch budget is small\""), ["the launch budget is small"]);
        let sentence =
            Question { prefer_quotes: true, ..question("\"the launch budget is small\"") };
        assert_eq!(index.search(&sentence).unwrap().hits[0].id, 1, "with a word left out");
        assert_eq!(unmet("Carol \"launch budget\""), nothing, "other words need not match");
        assert_eq!(unmet("what is the \"safety margin\""), ["safety margin"]);
        let text = "What did Ann say about the \"safety margin\"?";
        assert_eq!(unmet(text), ["safety margin"]);
        assert_eq!(ids(index, text), Vec::<u64>::new());
        let preferred = Question { prefer_quotes: true, ..question(text) };
        assert_eq!(index.search(&preferred).unwrap().hits[0].id, 3);
        assert_eq!(index.matching_pages(&preferred).unwrap(), None);
        let view = Some(vec![SourceId::parse("work").unwrap()]);
        let of_other_source = Question { view, ..question("Ann \"launch budget\"") };
        assert_eq!(index.quotes(&of_other_source).unwrap().unmet, ["launch budget"]);
    });
}

#[test]
fn phrases_in_sentences_are_preferences() {
    let changes = [
        note(1, "The harbour survey said: no funding before May."),
        note(2, "A quote of the day: look before you leap. The harbour"),
    ];
    at_every_stage(&changes, |index| {
        let preferred = |text: &str| index.quotes(&question(text)).unwrap().are_preferences;
        let text = "what did \"look before you leap\" say about the funding of the harbour survey";
        assert!(preferred(text));
        assert!(!preferred("funding \"harbour survey\""), "words beside a phrase");
        assert!(!preferred("\"did you say\""));
        let asked = Question { prefer_quotes: true, ..question(text) };
        assert!(index.search(&asked).unwrap().hits.iter().any(|hit| hit.id == 1));
    });
}
