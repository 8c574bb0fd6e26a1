//! Answers without a language model: `how many meetings did I have with Mia`, `which companies did
//! Mia found`, `the last meeting with Mia`, `notes tagged evergreen`.
//!
//! A ranking also has pages that are only similar. An answer has only pages that state it: a page
//! or a link with all words of the question. Without them, there is no answer.

use std::collections::{HashMap, HashSet};

use brain_protocol::{Fault, SourceId};
use jiff::civil::Date;

use super::lists::{ListAnswer, ListEntry, ListReader, NamedPersons, PageList};
use super::relations::{RelationSearch, has_people_list, named_page_ids};
use crate::search::SearchService;
use brain_base::caller::Caller;
use brain_pages::index::index_fault;
use brain_questions::ParsedQuestion;
use brain_questions::attendance::attended_event;
use brain_questions::forms::{COUNT, question_form};
use brain_questions::times::Order;
use brain_search::{QuestionTerms, Subject};
use brain_store::{PageEntry, Reader, StoreError};

/// Number of words at the beginning of a question in which a word such as `many` is searched.
const FIRST_WORDS: usize = 4;
/// The share of the best match that the link of an answer must have.
const MIN_SHARE: f32 = 0.6;

/// An answer without a language model.
#[derive(Debug)]
pub enum DirectAnswer {
    /// A list that the pages state.
    List(ListAnswer),
    /// Several pages have the name in the question.
    Choice(PageChoice),
}

/// Pages with one name, of which the question means one.
#[derive(Debug)]
pub struct PageChoice {
    /// The name in the question.
    pub name: String,
    /// The pages with their days.
    pub pages: Vec<ListEntry>,
}

impl SearchService {
    /// Returns an answer to `question` from the visible pages, without a language model. `None` if
    /// no page or link states it with all words of the question, or while the index is not open.
    ///
    /// # Errors
    /// If the index or the store cannot answer.
    pub fn answer_directly(
        &self,
        caller: &Caller,
        question: &ParsedQuestion,
        source: Option<&SourceId>,
    ) -> Result<Option<DirectAnswer>, Fault> {
        let Some(index) = self.index.get() else { return Ok(None) };
        let view = caller.visibility().sources();
        let rest = question.without_period();
        let mut terms =
            index.question_terms(&rest.query, view.as_deref()).map_err(|e| index_fault(&e))?;
        rest.remove_period_names(&mut terms);
        let reader = self.store.read(caller.visibility())?;
        let times = &question.times;
        let today = question.today;
        let view = view.as_deref();
        let lists =
            ListReader { reader: &reader, index, view, source, terms: &terms, times, today };
        let mut answer = direct_answer(&lists)?;
        if let Some(DirectAnswer::List(list)) = &mut answer {
            let mut words = terms.words.iter().take(FIRST_WORDS);
            list.is_count =
                times.order.is_none() && words.any(|word| COUNT.contains(&word.text.as_str()));
        }
        Ok(answer)
    }
}

/// Returns the first answer, from the most specific form of a question to the least.
fn direct_answer(lists: &ListReader<'_>) -> Result<Option<DirectAnswer>, Fault> {
    for list in [ListReader::mentions, ListReader::tagged] {
        if let Some(found) = list(lists)? {
            return dated(lists, found);
        }
    }
    for list in [ListReader::attendance, ListReader::value_of_page] {
        if let Some(found) = list(lists)? {
            return Ok(Some(DirectAnswer::List(found)));
        }
    }
    let events = lists.possible_events()?;
    if let Some(words) = attended_event(lists.terms).filter(|_| !events.is_empty()) {
        return choice(lists, lists.typed_run(&words), events);
    }
    if let Some(answer) = related_answer(lists)? {
        return Ok(Some(answer));
    }
    let Some(ordered) = lists.ordered()? else { return Ok(None) };
    let first = ordered.into_iter().take(1);
    Ok(Some(DirectAnswer::List(ListAnswer {
        entries: first.map(|(page, day)| ListEntry::of_page(page, Some(day))).collect(),
        origin: "days",
        ..ListAnswer::default()
    })))
}

/// Answers by values and links that relate pages to the named ones. A person can be named by the
/// first name, if there is only one with it.
fn related_answer(lists: &ListReader<'_>) -> Result<Option<DirectAnswer>, Fault> {
    let named = lists.persons()?;
    let Some(NamedPersons { word, pages }) = named else {
        return match related_pages(lists)? {
            Some(list) => dated(lists, list),
            None => Ok(None),
        };
    };
    let mut answers = Vec::new();
    for page in &pages {
        let terms = with_subject(lists.terms, word, page.2.id);
        if let Some(list) = related_pages(&ListReader { terms: &terms, ..*lists })? {
            answers.push(list);
        }
    }
    match (answers.pop(), pages.len()) {
        (None, _) => Ok(None),
        (Some(list), 1) => dated(lists, list),
        (Some(_), _) => choice(lists, lists.typed(word).to_owned(), pages),
    }
}

/// Returns the terms with the page as the only one that the word at `at` names.
fn with_subject(terms: &QuestionTerms, at: usize, page: u64) -> QuestionTerms {
    let mut terms = terms.clone();
    match terms.subjects.iter_mut().find(|subject| subject.words.contains(&at)) {
        Some(subject) => subject.pages = vec![page],
        None => terms.subjects.push(Subject { words: at..at + 1, pages: vec![page] }),
    }
    terms
}

/// Asks which of several pages the question means.
fn choice(
    lists: &ListReader<'_>,
    name: String,
    pages: Vec<PageEntry>,
) -> Result<Option<DirectAnswer>, Fault> {
    let mut entries = Vec::new();
    for page in pages {
        let day = lists.day(&page)?.flatten();
        entries.push(ListEntry::of_page(page, day));
    }
    entries.sort_by(|a, b| b.day.cmp(&a.day).then(a.text.cmp(&b.text)));
    Ok(Some(DirectAnswer::Choice(PageChoice { name, pages: entries })))
}

/// Returns a list with the days of its pages, newest first. Leaves out pages of other periods and,
/// if the question asks for the first or the last page, all others.
fn dated(lists: &ListReader<'_>, list: PageList) -> Result<Option<DirectAnswer>, Fault> {
    let mut entries = Vec::new();
    for page in list.pages {
        if let Some(day) = lists.day(&page)? {
            entries.push((page, day));
        }
    }
    entries.sort_by(|(a, day), (b, other)| other.cmp(day).then(a.1.as_str().cmp(b.1.as_str())));
    if let Some((order, _)) = &lists.times.order {
        let has_begun = |day: &Option<Date>| {
            day.is_some_and(|day| *order == Order::Oldest || day <= lists.today)
        };
        entries.retain(|(_, day)| has_begun(day));
        if *order == Order::Oldest {
            entries.reverse();
        }
        entries.truncate(1);
    }
    let entries: Vec<ListEntry> =
        entries.into_iter().map(|(page, day)| ListEntry::of_page(page, day)).collect();
    let PageList { noun, origin, doubt, .. } = list;
    let answer = ListAnswer { noun, entries, origin, doubt, ..ListAnswer::default() };
    Ok((!answer.entries.is_empty()).then_some(DirectAnswer::List(answer)))
}

/// Returns the pages that values, links or lists of people relate to all named pages. `None` if the
/// question does not clearly ask for such pages.
fn related_pages(lists: &ListReader<'_>) -> Result<Option<PageList>, Fault> {
    let by_values = lists.with_values()?;
    let by_lists = lists.with_person()?;
    let by_links = linked_pages(lists.reader, lists.terms, lists.times.order.is_some())?;
    let by_links = match by_links {
        Some((noun, ids)) => {
            let mut pages = Vec::new();
            for id in ids {
                pages.extend(lists.page(id)?);
            }
            let doubt = Some("pages that say so without a link".to_owned());
            Some(PageList { noun, pages, origin: "links", doubt, ..PageList::default() })
        }
        None => None,
    };
    let mut found: Option<PageList> = None;
    for list in [by_values, by_lists, by_links].into_iter().flatten() {
        match &mut found {
            Some(known) => {
                let ids: HashSet<u64> = known.pages.iter().map(|page| page.2.id).collect();
                known.pages.extend(list.pages.into_iter().filter(|p| !ids.contains(&p.2.id)));
            }
            None if list.pages.is_empty() => {}
            None => found = Some(list),
        }
    }
    Ok(found)
}

/// Returns the word for the wanted pages, and the ids of the pages that links relate to all named
/// pages. Each link has all words of the question. `None` if the question does not clearly ask for
/// such pages.
fn linked_pages(
    reader: &Reader,
    terms: &QuestionTerms,
    has_order: bool,
) -> Result<Option<(String, Vec<u64>)>, StoreError> {
    let Some(form) = question_form(terms) else { return Ok(None) };
    let asks = form.asks_for_persons
        || form.asks_for_kind
        || form.asks_for_first_or_last_day
        || form.is_attached_to_name
        || has_order;
    if !asks || terms.subjects.is_empty() {
        return Ok(None);
    }
    let positions = HashMap::new();
    let search = RelationSearch::for_answers(reader, terms, &positions);
    let mut named_pages = named_page_ids(terms);
    let mut form = form;
    let mut subjects = terms.subjects.clone();
    if let Some((outer, middle)) = search.middle_pages(&form, &named_pages)? {
        named_pages.extend(&middle.pages);
        (form, subjects) = (outer, vec![middle]);
    }
    let mut noun = String::new();
    let mut answers: Option<HashSet<u64>> = None;
    for subject in &subjects {
        let found = search.neighbours_of(&form, subject, &named_pages)?;
        let candidates: Vec<_> = found
            .into_iter()
            .filter(|(_, page)| page.is_target_kind && page.has_all_words)
            .collect();
        let best = candidates.iter().map(|(_, page)| page.content_share).fold(0.0, f32::max);
        let mut ids = HashSet::new();
        for (id, page) in candidates {
            // A page that lists its people is not about others that it mentions. A person whose
            // link has no word of the question is in a list of people, or not related.
            let is_mention = best <= 0.0
                && !page.is_listed
                && (form.asks_for_persons || has_people_list(reader, id)?);
            if page.content_share >= best * MIN_SHARE && !is_mention {
                ids.insert(id);
                noun.clone_from(&page.noun);
            }
        }
        answers = Some(match answers {
            Some(before) => before.intersection(&ids).copied().collect(),
            None => ids,
        });
    }
    Ok(answers.filter(|ids| !ids.is_empty()).map(|ids| (noun, ids.into_iter().collect())))
}
