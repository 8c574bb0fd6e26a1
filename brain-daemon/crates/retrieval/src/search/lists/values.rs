//! Values that pages state in their frontmatter: `which projects are active`, `books I rated 5`,
//! `who wrote Night Ferry`.

use std::collections::HashSet;

use brain_page::{Frontmatter, FrontmatterText, page_dates};
use brain_protocol::Fault;
use brain_questions::function_words::is_function_word;
use brain_questions::properties::{key_similarity, property_words, value_question};
use brain_search::{QuestionWord, Subject};
use brain_store::{Content, PageEntry, StoreError, unless_damaged};
use jiff::civil::Date;

use super::super::relations::Relations;
use super::kinds::{CUT_DOUBT, KindPages};
use super::labels::labelled_values;
use super::names_in_text::link_in;
use super::people_in_pages::linked_page;
use super::{
    ListAnswer, ListEntry, ListReader, PageList, folded_words, names, ranked_by_day, relations,
};

/// The similarity of a word and a key that mean the same.
const MIN_SIMILARITY: f32 = 0.8;
/// Number of content words in which the kind is searched: `low priority projects`.
const KIND_WORDS: usize = 3;
/// The weight of a page with the values in a search: that of a link whose sentence says all.
const VALUE_WEIGHT: f32 = 1.0;
/// Keys of a page's name: their values are no answers.
const NAME_KEYS: [&str; 6] = ["title", "aliases", "alias", "permalink", "id", "slug"];

/// The conditions of a question for pages with values.
struct Conditions<'a> {
    /// Words that keys or values must have, with their indices in the question.
    words: Vec<(usize, &'a QuestionWord)>,
    /// Named pages that values must name, with their indices in the question and their names.
    subjects: Vec<(&'a Subject, Vec<Vec<String>>)>,
}

impl ListReader<'_> {
    /// Returns the pages of a kind whose values have all other words of the question. `None` if it
    /// asks for no values, or if no page has them.
    pub(in super::super) fn with_values(&self) -> Result<Option<PageList>, Fault> {
        let Some(content) = property_words(self.terms) else { return Ok(None) };
        for at in content.iter().take(KIND_WORDS) {
            let Some(word) = self.terms.words.get(*at) else { continue };
            let Some(kind) = self.kind_pages(word)? else { continue };
            if let Some(list) = self.with_values_of_kind(&content, *at, kind)? {
                return Ok(Some(list));
            }
        }
        Ok(None)
    }

    /// As [`Self::with_values`], for a small kind: these pages as a search ranks them.
    pub(in super::super) fn valued(
        &self,
        admits: &dyn Fn(u64) -> bool,
    ) -> Result<Option<Relations>, Fault> {
        let Some(content) = property_words(self.terms) else { return Ok(None) };
        let (types, sources) = (self.reader.page_types()?, self.reader.sources()?);
        for at in content.iter().take(KIND_WORDS) {
            let Some(kind) = self.small_kind(*at, (&types, &sources))? else { continue };
            let Some(list) = self.with_values_of_kind(&content, *at, kind)? else { continue };
            // `the first book that I finished`
            if self.order().is_some() {
                let ordered = self.in_order(KindPages::of(list.pages))?;
                return Ok(ordered.and_then(|list| ranked_by_day(list, admits)));
            }
            let ids = list.pages.iter().map(|page| page.2.id).filter(|id| admits(*id));
            let weighted = ids.map(|id| (id, VALUE_WEIGHT));
            return Ok(relations(weighted, HashSet::new(), "it has the value"));
        }
        Ok(None)
    }

    /// Returns the pages of the kind that the word at `at` names whose values have all other words
    /// of `content`. `None` if there are none.
    fn with_values_of_kind(
        &self,
        content: &[usize],
        at: usize,
        kind: KindPages,
    ) -> Result<Option<PageList>, Fault> {
        let conditions = self.conditions(content, at)?;
        let mut list = PageList {
            noun: self.typed(at).to_owned(),
            subjects: self.named_pages(),
            origin: "values",
            ..PageList::default()
        };
        let (mut used, mut lacking) = (HashSet::new(), Vec::new());
        for page in kind.pages {
            let content = unless_damaged(self.reader.content(&page.2))?;
            let Some(Content { frontmatter, .. }) = content else { continue };
            let Ok(frontmatter) = frontmatter.parsed() else { continue };
            if let Some(keys) = conditions.keys_of(frontmatter, self) {
                used.extend(keys);
                list.pages.push(page);
            } else {
                lacking.push(frontmatter.keys().map(str::to_owned).collect::<Vec<_>>());
            }
        }
        if list.pages.is_empty() {
            return Ok(None);
        }
        let mut keys: Vec<String> = used.into_iter().collect();
        keys.sort_unstable();
        let without = |has: &&Vec<String>| keys.iter().all(|key| !has.contains(key));
        let count = lacking.iter().filter(without).count();
        if kind.is_cut {
            list.doubt = Some(CUT_DOUBT.into());
        } else if count > 0 {
            let noun = if count == 1 { "page" } else { "pages" };
            list.doubt = Some(format!("{count} {noun} without \"{}\"", keys.join("\", \"")));
        }
        Ok(Some(list))
    }

    /// Returns the conditions of the question's content words except the one at `kind`.
    fn conditions(&self, content: &[usize], kind: usize) -> Result<Conditions<'_>, Fault> {
        let mut subjects = Vec::new();
        for subject in self.terms.subjects.iter().filter(|subject| !subject.words.contains(&kind)) {
            let mut all =
                vec![subject.words.clone().map(|at| self.terms.words[at].text.clone()).collect()];
            for id in &subject.pages {
                let page = self.reader.by_id(*id)?;
                all.extend(page.iter().flat_map(names));
            }
            subjects.push((subject, all));
        }
        let is_free = |at: &usize| {
            *at != kind && subjects.iter().all(|(subject, _)| !subject.words.contains(at))
        };
        let words = content
            .iter()
            .copied()
            .filter(is_free)
            .filter_map(|at| Some((at, self.terms.words.get(at)?)))
            .collect();
        Ok(Conditions { words, subjects })
    }

    /// Returns the values of the named page for the key that the question names. `None` if it names
    /// none, or if not exactly one page has it.
    pub(in super::super) fn value_of_page(&self) -> Result<Option<ListAnswer>, Fault> {
        let Some(question) = value_question(self.terms) else { return Ok(None) };
        if question.key.is_empty() {
            return self.day_of_page();
        }
        let words: Vec<&QuestionWord> =
            question.key.iter().filter_map(|at| self.terms.words.get(*at)).collect();
        let mut found: Option<ListAnswer> = None;
        for id in self.terms.subjects.iter().flat_map(|subject| &subject.pages) {
            let Some(page) = self.page(*id)? else { continue };
            // `who attended the review in March`
            if self.day(&page)?.is_none() {
                continue;
            }
            let content = unless_damaged(self.reader.content(&page.2))?;
            let Some(Content { frontmatter, body }) = content else { continue };
            // A key with the word itself, before another key with the meaning.
            let is_key = |key: &str, is_equal: bool| {
                let own = folded_words(&key.replace('_', " "));
                let fits = |word: &&QuestionWord| {
                    own.iter().any(|own| match is_equal {
                        true => word.similarity(own) >= 1.0,
                        false => is_key(word, own),
                    })
                };
                !NAME_KEYS.contains(&key) && words.iter().all(fits)
            };
            let is_day = |value: &String| value.parse::<Date>().is_ok();
            let has_letters = |value: &String| value.chars().any(char::is_alphabetic);
            let is_value = |values: &[String]| {
                !values.is_empty()
                    && (!question.is_day || values.iter().all(is_day))
                    && (!question.is_name || values.iter().all(has_letters))
            };
            let of_key = |is_equal: bool| {
                value_of(&frontmatter, &body, |key| is_key(key, is_equal), is_value)
            };
            let Some((key, values)) = of_key(true).or_else(|| of_key(false)) else { continue };
            if found.is_some() {
                return Ok(None);
            }
            let entries = values
                .iter()
                .map(|value| self.value_entry(&page, value))
                .collect::<Result<Vec<_>, _>>()?;
            let stated_by = Some((page.clone(), key));
            found = Some(ListAnswer { stated_by, entries, origin: "values", ..Default::default() });
        }
        Ok(found)
    }

    /// Returns the named page with the day that it is about. `None` if not exactly one page with
    /// the name has one in its name or as its date.
    fn day_of_page(&self) -> Result<Option<ListAnswer>, Fault> {
        let mut found: Option<ListAnswer> = None;
        for id in self.terms.subjects.iter().flat_map(|subject| &subject.pages) {
            let Some(page) = self.page(*id)? else { continue };
            let content = unless_damaged(self.reader.content(&page.2))?;
            let stated = content.and_then(|content| {
                let date = content.frontmatter.parsed().ok()?.list("date").into_iter().next()?;
                date.get(..10)?.parse::<Date>().ok()
            });
            let in_name = || {
                let nothing = FrontmatterText::default();
                let mut days = page_dates(&page.1, &page.2.title, &nothing).into_iter();
                days.next().filter(|_| days.next().is_none())
            };
            let Some(day) = stated.or_else(in_name) else { continue };
            if found.is_some() {
                return Ok(None);
            }
            let entries = vec![ListEntry::of_page(page, Some(day))];
            found = Some(ListAnswer { entries, origin: "days", ..ListAnswer::default() });
        }
        Ok(found)
    }

    /// Returns a value as a line: the page that it links to, or its text.
    fn value_entry(&self, page: &PageEntry, value: &str) -> Result<ListEntry, StoreError> {
        let Some((target, shown)) = link_in(value) else {
            return Ok(ListEntry { text: value.to_owned(), page: None, day: None });
        };
        Ok(match linked_page(self.reader, page, target)? {
            Some(found) => ListEntry::of_page(found, None),
            None => ListEntry { text: shown.to_owned(), page: None, day: None },
        })
    }
}

impl Conditions<'_> {
    /// Returns the keys with which a frontmatter meets all conditions.
    fn keys_of(&self, frontmatter: &Frontmatter, list: &ListReader<'_>) -> Option<Vec<String>> {
        let (mut met, mut met_subjects) = (HashSet::new(), HashSet::new());
        let mut used = Vec::new();
        let asks_for_day = list.times.period.is_some() || list.order().is_some();
        for key in frontmatter.keys().filter(|key| !NAME_KEYS.contains(key)) {
            let own = folded_words(&key.replace(['_', '-'], " "));
            let of_key: Vec<usize> = self
                .words
                .iter()
                .filter(|(_, word)| own.iter().any(|own| is_key(word, own)))
                .map(|(at, _)| *at)
                .collect();
            // `read` is the key `finished` for days of a period, or in order of days, only.
            let has_own_key = self
                .words
                .iter()
                .any(|(_, word)| own.iter().any(|own| is_inflected(&word.text, own)));
            for value in frontmatter.list(key) {
                let words = value_words(&value);
                let subject = self
                    .subjects
                    .iter()
                    .position(|(_, names)| names.iter().any(|name| is_same_name(name, &words)));
                let of_value = self.words_of_value(&words, list);
                let is_day = is_day_of(&value, list);
                let is_number = words.iter().all(|word| word.bytes().all(|b| b.is_ascii_digit()));
                let lacks_key = is_number && of_key.is_empty();
                let matches = subject.is_some()
                    || (is_day && (has_own_key || (asks_for_day && !of_key.is_empty())))
                    || (!of_value.is_empty() && !lacks_key);
                if matches {
                    met_subjects.extend(subject);
                    met.extend(of_value.into_iter().chain(of_key.iter().copied()));
                    used.push(key.to_owned());
                }
            }
        }
        let has_all = self.words.iter().all(|(at, _)| met.contains(at))
            && met_subjects.len() == self.subjects.len();
        (has_all && !used.is_empty()).then_some(used)
    }

    /// Returns the indices of the words that a value has. None if the value has a word that the
    /// question does not have: `inactive since May` is another value than `active`.
    fn words_of_value(&self, value: &[String], list: &ListReader<'_>) -> Vec<usize> {
        let is_asked = |own: &String| {
            list.terms.words.iter().any(|word| is_inflected(&word.text, own))
                || is_function_word(&QuestionWord::new(own))
        };
        if !value.iter().all(is_asked) {
            return Vec::new();
        }
        let has = |word: &QuestionWord| value.iter().any(|own| is_inflected(&word.text, own));
        self.words.iter().filter(|(_, word)| has(word)).map(|(at, _)| *at).collect()
    }
}

/// Returns the first key that fits, and its values: of the frontmatter, else of a line of the text.
fn value_of(
    frontmatter: &FrontmatterText,
    body: &str,
    is_key: impl Fn(&str) -> bool,
    is_value: impl Fn(&[String]) -> bool,
) -> Option<(String, Vec<String>)> {
    let frontmatter = frontmatter.parsed().ok();
    let stated = frontmatter.and_then(|fields| {
        let key = fields.keys().find(|key| is_key(key))?;
        Some((key.to_owned(), fields.list(key)))
    });
    let stated = stated.filter(|(_, values)| is_value(values));
    stated.or_else(|| {
        let mut lines = labelled_values(body).into_iter();
        let found = lines.find(|(label, values)| is_key(label) && is_value(values));
        found.map(|(label, values)| (label.to_owned(), values))
    })
}

/// Returns whether a value is a day of the period of the question; without a period, one that has
/// begun: `books I have read`, where the key `read` has a day.
fn is_day_of(value: &str, list: &ListReader<'_>) -> bool {
    let day = value.get(..10).and_then(|day| day.parse::<Date>().ok());
    day.is_some_and(|day| match &list.times.period {
        Some(period) => (period.first..=period.last).contains(&day),
        None => day <= list.today,
    })
}

/// Returns whether two words are equal but for the ending of a case, a gender or a plural: `aktive`
/// and `aktiv`. Stems are too coarse for values: `reading` is not `read`.
fn is_inflected(word: &str, own: &str) -> bool {
    const ENDINGS: [&str; 10] = ["en", "em", "er", "es", "os", "as", "e", "s", "a", "o"];
    let root = |word: &'_ str| {
        let root = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending));
        root.filter(|root| root.len() >= 4).unwrap_or(word).to_owned()
    };
    word == own || root(word) == root(own)
}

/// Returns the words of a value as it is shown: of a link, its text or the name of the page.
fn value_words(value: &str) -> Vec<String> {
    match link_in(value) {
        Some((_, shown)) => folded_words(shown.rsplit('/').next().unwrap_or(shown)),
        None => folded_words(value),
    }
}

/// Returns whether two names have the same words, in any order.
fn is_same_name(name: &[String], other: &[String]) -> bool {
    let sorted = |words: &[String]| {
        let mut words = words.to_vec();
        words.sort_unstable();
        words
    };
    !name.is_empty() && sorted(name) == sorted(other)
}

fn is_key(word: &QuestionWord, own: &str) -> bool {
    key_similarity(word, own) >= MIN_SIMILARITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_equal_but_for_an_inflection() {
        for (word, own) in
            [("active", "active"), ("aktive", "aktiv"), ("activos", "activo"), ("paused", "paused")]
        {
            assert!(is_inflected(word, own), "{word} {own}");
        }
        for (word, own) in
            [("reading", "read"), ("active", "inactive"), ("done", "undone"), ("5", "50")]
        {
            assert!(!is_inflected(word, own), "{word} {own}");
        }
    }

    #[test]
    fn a_link_has_the_words_that_it_shows() {
        assert_eq!(value_words("[[people/mia-brown|Mia Brown]]"), ["mia", "brown"]);
        assert_eq!(value_words("[[people/mia-brown]]"), ["mia", "brown"]);
        assert_eq!(value_words("on hold"), ["on", "hold"]);
    }
}
