//! Pages that a question names by a part of their names: an event without its day, a person by the
//! first name.

use std::collections::HashSet;

use brain_protocol::Fault;
use brain_questions::attendance::attended_event;
use brain_questions::function_words::{is_any_page, is_function_word};
use brain_questions::kinds::{is_person, names_kind};
use brain_questions::times::Order;
use brain_search::Subject;
use brain_store::PageEntry;

use super::super::target_pages::kinds;
use super::people_in_pages::people_list;
use super::{ListReader, names};

/// Maximum number of pages whose names are compared with a question.
const MAX_PAGES: usize = 500;
/// Kinds of events.
pub(in super::super) const EVENT_KINDS: [&str; 2] = ["meeting", "event"];

/// The persons whom a question names by one word.
pub(in super::super) struct NamedPersons {
    /// The index of the word in the question.
    pub(in super::super) word: usize,
    pub(in super::super) pages: Vec<PageEntry>,
}

impl ListReader<'_> {
    /// Returns the events whose names have all of `words`, those with the fewest other words. Of
    /// several, the period or the order of the question can choose one.
    pub(super) fn events(&self, words: &[usize]) -> Result<Vec<PageEntry>, Fault> {
        let mut found: Vec<(usize, PageEntry)> = Vec::new();
        // `the Harbour Survey meeting`: the noun can be the kind of the page alone.
        let is_kind = |at: &usize| {
            let word = self.terms.words.get(*at);
            word.is_some_and(|word| EVENT_KINDS.iter().any(|kind| names_kind(word, kind)))
        };
        let of_name: Vec<usize> = words.iter().copied().filter(|at| !is_kind(at)).collect();
        if of_name.is_empty() {
            return self.events_of_kind(words);
        }
        let phrases = of_name.iter().map(|at| self.typed(*at));
        let mut ids: Vec<u64> = self.pages_with(phrases)?.into_iter().collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        for id in ids.into_iter().take(MAX_PAGES) {
            let Some(page) = self.page(id)? else { continue };
            if kinds(&page).iter().any(|kind| is_person(kind)) || self.day(&page)?.is_none() {
                continue;
            }
            if let Some(others) = self.words_beside(&page, words) {
                found.push((others, page));
            }
        }
        let fewest = found.iter().map(|(others, _)| *others).min().unwrap_or_default();
        found.retain(|(others, _)| *others == fewest);
        self.first_in_order(found.into_iter().map(|(_, page)| page).collect())
    }

    /// Returns the events of the kind that one of `words` names: `who was at the last meeting`.
    /// None without an order or a period, which says which of them.
    fn events_of_kind(&self, words: &[usize]) -> Result<Vec<PageEntry>, Fault> {
        if self.order().is_none() && self.times.period.is_none() {
            return Ok(Vec::new());
        }
        let Some(word) = words.first().and_then(|at| self.terms.words.get(*at)) else {
            return Ok(Vec::new());
        };
        let Some(kind) = self.kind_pages(word)?.filter(|kind| !kind.is_cut) else {
            return Ok(Vec::new());
        };
        let mut events = Vec::new();
        for page in kind.pages {
            if self.day(&page)?.is_some() {
                events.push(page);
            }
        }
        self.first_in_order(events)
    }

    /// Returns the newest or the oldest event, if the question asks for an order; else all.
    fn first_in_order(&self, events: Vec<PageEntry>) -> Result<Vec<PageEntry>, Fault> {
        let Some(order) = self.order() else { return Ok(events) };
        let mut dated = Vec::new();
        for event in events {
            // An event that has not begun is not the last one, nor the first.
            let day = self.day_in_order(&event, order)?.filter(|day| *day <= self.today);
            dated.extend(day.map(|day| (day, event)));
        }
        dated.sort_by_key(|(day, _)| *day);
        if order == Order::Newest {
            dated.reverse();
        }
        Ok(dated.into_iter().map(|(_, event)| event).take(1).collect())
    }

    /// Returns the events that the question may mean, if it asks for the people at one of several
    /// and they list their people.
    pub(in super::super) fn possible_events(&self) -> Result<Vec<PageEntry>, Fault> {
        let Some(words) = attended_event(self.terms) else { return Ok(Vec::new()) };
        let mut events = Vec::new();
        for event in self.events(&words)? {
            if people_list(self.reader, &event)?.is_some() {
                events.push(event);
            }
        }
        Ok(if events.len() > 1 { events } else { Vec::new() })
    }

    /// Returns the number of words in a name of the page besides `words` and numbers, if one of its
    /// names has all of them.
    fn words_beside(&self, page: &PageEntry, words: &[usize]) -> Option<usize> {
        let kinds = kinds(page);
        let asked = || words.iter().filter_map(|at| self.terms.words.get(*at));
        let others = |name: Vec<String>| {
            let has_all = asked().all(|word| {
                name.iter().any(|own| word.similarity(own) >= 1.0)
                    || kinds.iter().any(|kind| names_kind(word, kind))
            });
            has_all.then(|| {
                let is_other = |own: &&String| {
                    !own.bytes().any(|b| b.is_ascii_digit())
                        && asked().all(|word| word.similarity(own) < 1.0)
                };
                name.iter().filter(is_other).count()
            })
        };
        names(page).into_iter().filter_map(others).min()
    }

    /// Returns the persons whom the question names by the first or the last word of their names.
    /// `None` if it names a person by a whole name, or none.
    pub(in super::super) fn persons(&self) -> Result<Option<NamedPersons>, Fault> {
        let is_named =
            |at: usize| self.terms.subjects.iter().any(|subject| subject.words.contains(&at));
        for subject in &self.terms.subjects {
            if let Some(same) = self.same_name(subject)? {
                return Ok(Some(same));
            }
        }
        for (at, word) in self.terms.words.iter().enumerate() {
            let is_name = word.text.len() > 1
                && word.text.chars().all(char::is_alphabetic)
                && !is_named(at)
                && !is_function_word(word)
                && !is_any_page(word);
            if !is_name {
                continue;
            }
            let ids = self.matching(&format!("title:\"{}\"", self.typed(at)))?;
            if ids.len() > MAX_PAGES {
                continue;
            }
            let mut pages = Vec::new();
            let mut ids: Vec<u64> = ids.into_iter().collect();
            ids.sort_unstable();
            for id in ids {
                // The pages of one person in several sources are no different persons.
                let Some(page) = self.reader.by_id(id)? else { continue };
                let has_name = names(&page).iter().any(|name| {
                    name.first() == Some(&word.text) || name.last() == Some(&word.text)
                });
                if has_name && kinds(&page).iter().any(|kind| is_person(kind)) {
                    pages.push(page);
                }
            }
            if !pages.is_empty() {
                return Ok(Some(NamedPersons { word: at, pages: distinct(pages) }));
            }
        }
        Ok(None)
    }

    /// Returns the persons with one name, if there are several.
    fn same_name(&self, subject: &Subject) -> Result<Option<NamedPersons>, Fault> {
        let mut pages = Vec::new();
        for id in &subject.pages {
            let page = self.reader.by_id(*id)?;
            pages.extend(page.filter(|page| kinds(page).iter().any(|kind| is_person(kind))));
        }
        let pages = distinct(pages);
        let word = subject.words.start;
        Ok((pages.len() > 1 && pages.len() == subject.pages.len())
            .then_some(NamedPersons { word, pages }))
    }
}

/// Returns the pages without those that have the title or the slug of an earlier one.
fn distinct(mut pages: Vec<PageEntry>) -> Vec<PageEntry> {
    let mut known = HashSet::new();
    pages.retain(|(_, slug, record)| {
        let is_new_title = known.insert(record.title.to_lowercase());
        let is_new_slug = known.insert(slug.to_string());
        is_new_title && is_new_slug
    });
    pages
}
