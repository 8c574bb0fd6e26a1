//! Reads a fact from a sentence: "The lead of Tide is Oda", "Oda leads Tide", "deadline: 3 May".
//!
//! A sentence that no rule reads as a whole states nothing here. Guesses, plans, questions and
//! negations are no facts.

use jiff::civil::Date;

use super::fact::{Fact, Subject, Timing};
use super::field_phrase::{FieldPhrase, field_phrase};
use super::fields::{VERBS, Values, is_lasting, is_role, usual_name, values_of};
use super::names::{LINK_CLOSE, LINK_OPEN, Names};
use super::span::{Span, fold, period, take_span};
use super::value::{Value, exclusive_class};

/// Maximum length of a sentence in words.
const MAX_WORDS: usize = 24;
/// Words of guesses, plans, conditions and negations.
const DOUBTS: [&str; 52] = [
    "perhaps",
    "maybe",
    "might",
    "could",
    "would",
    "should",
    "probably",
    "possibly",
    "likely",
    "allegedly",
    "reportedly",
    "apparently",
    "supposedly",
    "rumour",
    "rumor",
    "planned",
    "plans",
    "proposed",
    "proposal",
    "proposes",
    "expected",
    "wants",
    "hopes",
    "if",
    "unless",
    "whether",
    "not",
    "no",
    "never",
    "nobody",
    "guess",
    "think",
    "thinks",
    "believe",
    "believes",
    "claims",
    "said",
    "says",
    "joked",
    "imagine",
    "suppose",
    "example",
    "draft",
    "tentative",
    "candidate",
    "former",
    "formerly",
    "ex",
    "previous",
    "previously",
    "used",
    "wrongly",
];
const COPULAS: [&str; 8] = ["is", "are", "was", "were", "remains", "stays", "be", "="];
/// Verbs of a change: "Pia became the lead of Tide", and whether "as" follows.
const CHANGES: [&[&str]; 13] = [
    &["took", "over", "as"],
    &["takes", "over", "as"],
    &["became"],
    &["becomes"],
    &["become"],
    &["appointed"],
    &["elected"],
    &["named"],
    &["promoted", "to"],
    &["joined", "as"],
    &["joins", "as"],
    &["started", "as"],
    &["starts", "as"],
];
/// Verbs of an end: "Oda stepped down as the lead of Tide".
const ENDINGS: [&str; 7] = ["stepped", "resigned", "retired", "left", "quit", "stopped", "steps"];
/// What a measure's adjective measures.
const MEASURES: [&str; 8] = ["tall", "high", "long", "wide", "deep", "heavy", "old", "thick"];

/// Where a sentence stands.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The page.
    pub(crate) page: u64,
    /// Whether a field without a subject is one of the page, as it is not on a day's page.
    pub(crate) has_own_fields: bool,
    /// Whether any field counts that may hold one value, as in frontmatter.
    pub(crate) is_frontmatter: bool,
    /// The day of the line, or of the page's last change.
    pub(crate) day: Option<Date>,
    pub(crate) names: &'a Names,
}

/// Reads the fact that a sentence states.
pub(crate) fn fact(sentence: &str, place: Place<'_>) -> Option<Fact> {
    let plain = place.names.replace_links(sentence).replace(['*', '`', '"', '“', '”'], "");
    let plain = plain.replace('’', "'").replace("__", "");
    if plain.trim_end().ends_with('?') {
        return None;
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    if words.is_empty() || words.len() > MAX_WORDS {
        return None;
    }
    let (span, mut words) = take_span(&words, place.day);
    let mut timing = Timing::Holds;
    if let Some(at) = words.windows(2).position(|it| fold(it[0]) == "no" && fold(it[1]) == "longer")
    {
        words.drain(at..at + 2);
        timing = Timing::Ends;
    }
    let is_doubt = |word: &&str| {
        let word = fold(word);
        DOUBTS.contains(&word.as_str()) || word.ends_with("n't")
    };
    if words.iter().any(is_doubt) {
        return None;
    }
    let is_now = |word: &str| matches!(fold(word).as_str(), "now" | "new" | "newly");
    if timing == Timing::Holds && words.iter().any(|word| is_now(word)) {
        timing = Timing::Begins;
    }
    let words: Vec<&str> = words
        .into_iter()
        .filter(|word| {
            !is_now(word) && !matches!(fold(word).as_str(), "currently" | "still" | "today")
        })
        .collect();
    Sentence { words: &words, span, timing, place }.read()
}

/// The words of a sentence without its span.
#[derive(Clone, Copy)]
struct Sentence<'a> {
    words: &'a [&'a str],
    span: Span,
    timing: Timing,
    place: Place<'a>,
}

impl<'a> Sentence<'a> {
    fn read(&self) -> Option<Fact> {
        let lower: Vec<String> = self.words.iter().map(|word| fold(word)).collect();
        let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
        if let Some(fact) = self.change(&lower).or_else(|| self.end(&lower)) {
            return Some(fact);
        }
        let label = self.words.iter().position(|word| word.ends_with(':'));
        if let Some(label) = label.filter(|at| *at < 4) {
            let phrase = field_phrase(&self.words[..=label])?;
            return self.finish(&phrase, &self.words[label + 1..], false);
        }
        if let Some(fact) = self.with_verb(&lower) {
            return Some(fact);
        }
        if let Some(fact) = self.having(&lower) {
            return Some(fact);
        }
        let copula = lower.iter().position(|word| COPULAS.contains(word))?;
        if lower[..copula].contains(&"will") {
            return None;
        }
        let is_past = matches!(lower[copula], "was" | "were");
        let left = &self.words[..copula];
        let right = &self.words[copula + 1..];
        let (on_left, on_right) = (field_phrase(left), field_phrase(right));
        let counts = |phrase: &&FieldPhrase<'_>| values_of(&phrase.field) != Values::Many;
        if let Some(phrase) = on_left.as_ref().filter(|it| !it.subject.is_empty()).filter(counts) {
            return self.finish(phrase, right, is_past);
        }
        if let Some(phrase) = on_right.filter(|it| !it.subject.is_empty())
            && (phrase.is_definite || is_role(&phrase.field))
            && Value::is_name(left)
        {
            return self.finish(&phrase, left, is_past);
        }
        if let Some(fact) = self.measure_or_class(left, right, is_past) {
            return Some(fact);
        }
        self.finish(on_left.as_ref().filter(counts)?, right, is_past)
    }

    /// Reads "V became the F of S", "S appointed V as F" and "the F of S changed to V".
    fn change(&self, lower: &[&str]) -> Option<Fact> {
        let changed = Self { timing: Timing::Begins, ..*self };
        if let Some(at) =
            lower.iter().position(|it| matches!(*it, "changed" | "moved" | "switched"))
            && let Some(to) = lower.iter().rposition(|word| *word == "to").filter(|to| *to > at)
        {
            let phrase = match field_phrase(&self.words[..at]) {
                Some(phrase) if !phrase.subject.is_empty() => phrase,
                _ if lower[at] == "moved" => FieldPhrase {
                    field: "headquarters".into(),
                    subject: &self.words[..at],
                    is_definite: true,
                },
                _ => return None,
            };
            return changed.finish(&phrase, &self.words[to + 1..], false);
        }
        if let Some(at) = lower.iter().position(|it| matches!(*it, "handed" | "passed"))
            && let Some(to) = lower.iter().rposition(|word| *word == "to").filter(|to| *to > at + 1)
        {
            let over = at + 1 + usize::from(matches!(lower[at + 1], "over" | "on"));
            let phrase = field_phrase(self.words.get(over..to)?)?;
            let has_subject = !phrase.subject.is_empty();
            let next = &self.words[to + 1..];
            return has_subject.then(|| changed.finish(&phrase, next, false)).flatten();
        }
        let (at, verb) = (1..lower.len()).find_map(|at| {
            CHANGES.iter().find(|verb| lower[at..].starts_with(verb)).map(|verb| (at, *verb))
        })?;
        let is_passive = COPULAS.contains(&lower[at - 1]) || verb.len() > 1;
        let before = match COPULAS.contains(&lower[at - 1]) {
            true => &self.words[..at - 1],
            false => &self.words[..at],
        };
        let after = &self.words[at + verb.len()..];
        if !is_passive && !verb[0].starts_with("becom") && verb[0] != "became" {
            // "S appointed V as F"
            let as_at = after.iter().position(|word| fold(word) == "as")?;
            let role = field_phrase(&after[as_at + 1..])?;
            let phrase = FieldPhrase { subject: before, is_definite: true, ..role };
            return changed.finish(&phrase, &after[..as_at], false);
        }
        let after =
            if after.first().is_some_and(|word| fold(word) == "as") { &after[1..] } else { after };
        let from = after.iter().position(|word| matches!(fold(word).as_str(), "from" | "after"));
        let phrase = field_phrase(&after[..from.unwrap_or(after.len())])?;
        (!phrase.subject.is_empty()).then(|| changed.finish(&phrase, before, false)).flatten()
    }

    /// Reads "V stepped down as F of S".
    fn end(&self, lower: &[&str]) -> Option<Fact> {
        let at = lower.iter().position(|word| ENDINGS.contains(word))?;
        let as_at = at + lower[at..].iter().position(|word| *word == "as")?;
        let phrase = field_phrase(&self.words[as_at + 1..])?;
        let ended = Self { timing: Timing::Ends, ..*self };
        // "… of Tide in June" has its time at the end.
        let (subject, span) =
            split_time(phrase.subject, self.place.day).unwrap_or((phrase.subject, self.span));
        let phrase = FieldPhrase { subject, ..phrase };
        let ended = Sentence { span, ..ended };
        (!subject.is_empty()).then(|| ended.finish(&phrase, &self.words[..at], false)).flatten()
    }

    /// Reads "S has a F of V".
    fn having(&self, lower: &[&str]) -> Option<Fact> {
        let at = lower.iter().position(|word| *word == "has")?;
        let of = at + lower[at..].iter().position(|word| *word == "of")?;
        let article = matches!(*lower.get(at + 1)?, "a" | "an");
        let is_field = article && (at + 3..=at + 5).contains(&of);
        let field = is_field.then(|| usual_name(&lower[at + 2..of].join(" ")))?;
        let phrase = FieldPhrase { field, subject: &self.words[..at], is_definite: true };
        self.finish(&phrase, &self.words[of + 1..], false)
    }

    /// Reads "Oda leads Tide", "Tide is led by Oda", "Acme was founded in 1999".
    fn with_verb(&self, lower: &[&str]) -> Option<Fact> {
        let (at, (verb, field, is_inverse)) = (0..lower.len()).find_map(|at| {
            VERBS.iter().find(|(verb, ..)| lower[at..].starts_with(verb)).map(|verb| (at, *verb))
        })?;
        let after = &self.words[at + verb.len()..];
        let mut before = &self.words[..at];
        let mut is_past = matches!(lower[at], "died");
        while let Some((last, rest)) = before.split_last() {
            match fold(last).as_str() {
                "was" | "were" => is_past = true,
                "is" | "are" | "has" | "been" | "will" | "be" => {}
                _ => break,
            }
            before = rest;
        }
        let skip = after
            .iter()
            .take_while(|word| matches!(fold(word).as_str(), "in" | "on" | "at" | "by" | "for"))
            .count();
        let after = &after[skip..];
        let (subject, value) = if is_inverse { (after, before) } else { (before, after) };
        let phrase = FieldPhrase { field: field.into(), subject, is_definite: true };
        self.finish(&phrase, value, is_past)
    }

    /// Reads "Tide is 12 m long", "Acme has a population of 300" and "the lamp is red".
    fn measure_or_class(&self, left: &[&str], right: &[&str], is_past: bool) -> Option<Fact> {
        let (last, value) = right.split_last()?;
        let phrase = |field: String| FieldPhrase { field, subject: left, is_definite: true };
        if MEASURES.contains(&fold(last).as_str()) && !value.is_empty() {
            return self.finish(&phrase(usual_name(&fold(last))), value, is_past);
        }
        let class = exclusive_class(right)?;
        // Only of pages: a word as "the meeting" is another thing on each page.
        self.place.names.page(&left.join(" "))?;
        let is_known = !is_past || self.span.to.is_some();
        is_known.then(|| self.finish(&phrase(class.into()), right, false)).flatten()
    }

    /// Builds the fact from its field and the words of its value.
    fn finish(&self, phrase: &FieldPhrase<'_>, value: &[&str], is_past: bool) -> Option<Fact> {
        let values = values_of(&phrase.field);
        let is_possible = match values {
            Values::Many => false,
            Values::One | Values::OneADay => true,
            // "The meeting is short" says what it is, "the flagship of Tide is Aurora" names it.
            Values::Unknown => {
                self.place.is_frontmatter || (phrase.is_definite && !phrase.subject.is_empty())
            }
        };
        if !is_possible || value.iter().any(|word| word.ends_with("'s")) {
            return None;
        }
        let subject = self.subject(phrase.subject)?;
        let (mut span, has_name) = (self.span, Value::is_name(value));
        let read = |words: &[&str]| Value::read(words, self.place.day, self.place.names);
        let value = match split_time(value, self.place.day) {
            // "Oda in 2021": the time of the fact, unless the time is the value.
            Some((words, time)) => {
                span = time;
                let value = read(words)?;
                // A place or a birth has no time of its own.
                (!is_lasting(&phrase.field)).then_some(value)?
            }
            None => read(value)?,
        };
        let is_sound = match &value {
            Value::Text(words) => !words.iter().any(|it| it.contains([LINK_OPEN, LINK_CLOSE])),
            _ => true,
        };
        // Whoever has a role has a name.
        let is_person = match &value {
            Value::Page(_) => true,
            Value::Text(_) => has_name,
            _ => false,
        };
        if !is_sound || (is_role(&phrase.field) && !is_person) {
            return None;
        }
        let is_over = is_past && span.to.is_none() && !is_lasting(&phrase.field);
        if is_over || Subject::is_value(&subject, &value) {
            return None;
        }
        if values == Values::OneADay && span == Span::default() {
            span = Span { from: self.place.day, to: self.place.day };
            self.place.day?;
        }
        let field = phrase.field.clone();
        Some(Fact { subject, field, value, span, timing: self.timing })
    }

    fn subject(&self, words: &[&str]) -> Option<Subject> {
        let place = self.place;
        let lead = words.iter().take_while(|word| matches!(fold(word).as_str(), "the")).count();
        let text = words[lead..].join(" ");
        let text = text.trim_end_matches([',', ':', '.']);
        let stripped = text.strip_suffix("'s").unwrap_or(text.trim_end_matches('\''));
        let (text, is_possessive) = (stripped, stripped.len() < text.len());
        if text.is_empty() {
            let own = place.has_own_fields.then_some(Subject::Page(place.page));
            return own.filter(|_| lead == 0);
        }
        if let Some(id) = place.names.page(text) {
            return Some(Subject::Page(id));
        }
        let count = text.split(' ').count();
        let capitals = text.split(' ').filter(|word| Value::is_name(&[*word])).count();
        // The first word of a sentence has a capital even if it is no name.
        let is_first = !is_possessive && self.words.first() == words.first();
        let is_name = count <= 5 && capitals > usize::from(is_first && lead == 0);
        let is_known = is_name && !place.names.is_ambiguous(text) && !text.contains(LINK_OPEN);
        is_known.then(|| Subject::Name(brain_page::normalize_name(text)))
    }
}

/// Splits "Oda in 2021" into the words before the time, and its span.
fn split_time<'a>(words: &'a [&'a str], today: Option<Date>) -> Option<(&'a [&'a str], Span)> {
    let at =
        words.iter().rposition(|word| matches!(fold(word).as_str(), "in" | "on" | "during"))?;
    let lower: Vec<String> = words[at + 1..].iter().map(|word| fold(word)).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let (time, used) = period(&lower, today)?;
    let span = Span { from: Some(time.first), to: Some(time.last) };
    (at > 0 && used == lower.len()).then_some((&words[..at], span))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages: 1 Tide, 2 Oda Lind, 3 Pia Holm, 4 and 5 Jan Roe, 9 the page of the sentence.
    fn read(sentence: &str) -> Option<String> {
        let mut names = Names::default();
        for (id, slug, title) in [
            (1, "proj/tide", "Tide"),
            (2, "people/oda", "Oda Lind"),
            (3, "people/pia", "Pia Holm"),
            (4, "people/jan-roe", "Jan Roe"),
            (5, "people/jan-roe-2", "Jan Roe"),
        ] {
            names.add(id, slug, [title].into_iter());
        }
        let day = Date::new(2024, 9, 20).ok();
        let place =
            Place { page: 9, has_own_fields: true, is_frontmatter: false, day, names: &names };
        let fact = fact(sentence, place)?;
        let subject = match &fact.subject {
            Subject::Page(id) => id.to_string(),
            Subject::Name(name) => name.clone(),
        };
        let change = if fact.timing == Timing::Begins { " !" } else { "" };
        let span = match (fact.span.from, fact.span.to) {
            (None, None) => String::new(),
            (from, to) => {
                let day = |day: Option<Date>| day.map_or(String::new(), |day| day.to_string());
                format!(" {}..{}", day(from), day(to))
            }
        };
        Some(format!("{subject} | {} | {}{span}{change}", fact.field, fact.value.key()))
    }

    #[test]
    fn facts_are_read_in_many_forms() {
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        for (sentence, fact) in [
            ("The lead of Tide is Oda Lind.", "1 | lead | page 2"),
            ("[[proj/tide|Tide]]'s project lead is [Oda](people/oda.md)", "1 | lead | page 2"),
            ("Oda Lind is the head of Tide", "1 | lead | page 2"),
            ("[[people/oda]] leads [[proj/tide]]", "1 | lead | page 2"),
            ("Tide is led by Pia Holm since March 2023", "1 | lead | page 3 2023-03-01.."),
            ("Pia Holm became the lead of Tide", "1 | lead | page 3 !"),
            ("Tide appointed Pia Holm as captain", "1 | captain | page 3 !"),
            ("The lead of Tide changed from Oda to Pia Holm", "1 | lead | page 3 !"),
            ("Oda Lind was born on 3 March 1980", "2 | birth | 1980-03-03 1980-03-03"),
            ("Oda Lind was born in Bergen", "2 | birth | bergen"),
            ("The date of birth of Oda Lind is 1980-03-04", "2 | birth | 1980-03-04 1980-03-04"),
            ("Tide is 12 m long", "1 | length | 12 length"),
            ("deadline: 3 May 2025", "9 | deadline | 2025-05-03 2025-05-03"),
            ("The venue is Hall North", "9 | location | hall north"),
            ("Harbour Day's venue is Hall North", "harbour day | location | hall north"),
            (
                "Oda Lind was captain of Tide from 2019 to 2021",
                "1 | captain | page 2 2019-01-01..2020-12-31",
            ),
            ("The flagship of Tide is Aurora", "1 | flagship | aurora"),
            ("Tide's status is green", "1 | status | green 2024-09-20..2024-09-20"),
            ("Tide is red", "1 | colour | red"),
            ("Tide has a weight of 40 kg", "1 | weight | 40 mass"),
        ] {
            found.push((sentence, read(sentence).unwrap_or_default()));
            expected.push((sentence, fact.to_owned()));
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn guesses_and_unclear_sentences_are_no_facts() {
        for sentence in [
            "Is Oda Lind the lead of Tide?",
            "Perhaps Oda Lind is the lead of Tide",
            "Oda Lind is not the lead of Tide",
            "Oda Lind was the lead of Tide",
            "Oda Lind will be the lead of Tide",
            "A member of Tide is Oda Lind",
            "The e-mail of Tide is x@y.example",
            "The lead of Jan Roe is Oda Lind",
            "Oda runs the archive",
            "harbour master 2021–2024",
            "Oda works at the port",
            "Oda Lind met Pia Holm and said that it is late",
            "The meeting is red",
        ] {
            assert_eq!(read(sentence), None, "{sentence}");
        }
    }
}
