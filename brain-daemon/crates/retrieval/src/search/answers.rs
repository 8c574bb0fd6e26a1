//! Answers to questions about many pages, from links alone: `how many meetings did I have with
//! Mia`, `which companies did Mia found`, `the last meeting with Mia`.
//!
//! A ranking also has pages that are only similar. An answer has only pages whose link to or from
//! the named page fits the question.

use std::collections::{HashMap, HashSet};

use brain_protocol::{Fault, SourceId};
use jiff::civil::Date;

use super::relations::{RelationSearch, has_people_list, named_page_ids};
use crate::search::SearchService;
use brain_base::caller::Caller;
use brain_page::page_dates;
use brain_pages::index::index_fault;
use brain_questions::ParsedQuestion;
use brain_questions::forms::{COUNT, question_form};
use brain_questions::times::Order;
use brain_search::QuestionTerms;
use brain_store::{Content, PageEntry, Reader, StoreError, unless_damaged};

/// Number of words at the beginning of a question in which a word such as `many` is searched.
const FIRST_WORDS: usize = 4;
/// The share of the best match that the link of an answer must have.
const MIN_SHARE: f32 = 0.6;

/// The pages that answer a question.
#[derive(Debug)]
pub struct LinkAnswer {
    /// The word of the question for the kind of the pages; empty if it has none (`who`).
    pub noun: String,
    /// Whether the question asks for the number of the pages.
    pub is_count: bool,
    /// The pages with their days, newest first. If the question asks for the first or the last
    /// page, only that one.
    pub pages: Vec<(PageEntry, Option<Date>)>,
}

impl SearchService {
    /// Returns the visible pages that answer `question` by their links. `None` if it does not ask
    /// for pages that are related to a named one, if no link answers it, or while the index is not
    /// open.
    pub fn answer_by_links(
        &self,
        caller: &Caller,
        question: &ParsedQuestion,
        source: Option<&SourceId>,
    ) -> Result<Option<LinkAnswer>, Fault> {
        let Some(index) = self.index.get() else { return Ok(None) };
        let view = caller.visibility().sources();
        let ParsedQuestion { times, today, .. } = question;
        let rest = question.without_period();
        let mut terms =
            index.question_terms(&rest.query, view.as_deref()).map_err(|e| index_fault(&e))?;
        rest.remove_period_names(&mut terms);
        let reader = self.store.read(caller.visibility())?;
        let Some((noun, ids)) = related_pages(&reader, &terms, times.order.is_some())? else {
            return Ok(None);
        };
        let mut pages = Vec::new();
        for id in ids {
            let Some(page) = reader.by_id(id)? else { continue };
            if source.is_some_and(|source| *source != page.0) {
                continue;
            }
            let days = days(&reader, &page)?;
            let day = match &times.period {
                Some(period) => {
                    let Some(day) = days.iter().find(|day| period.contains(**day)) else {
                        continue;
                    };
                    Some(*day)
                }
                None => days.iter().rev().find(|day| *day <= today).or(days.first()).copied(),
            };
            pages.push((page, day));
        }
        pages.sort_by(|(a, day), (b, other)| other.cmp(day).then(a.1.as_str().cmp(b.1.as_str())));
        if let Some((order, _)) = &times.order {
            pages
                .retain(|(_, day)| day.is_some_and(|day| *order == Order::Oldest || day <= *today));
            if *order == Order::Oldest {
                pages.reverse();
            }
            pages.truncate(1);
        }
        let words = terms.words.iter().take(FIRST_WORDS);
        let is_count = times.order.is_none()
            && words.into_iter().any(|word| COUNT.contains(&word.text.as_str()));
        Ok((!pages.is_empty()).then_some(LinkAnswer { noun, is_count, pages }))
    }
}

/// Returns the word for the wanted pages, and the ids of the pages that links relate to all named
/// pages. `None` if the question does not clearly ask for such pages.
fn related_pages(
    reader: &Reader,
    terms: &QuestionTerms,
    has_order: bool,
) -> Result<Option<(String, Vec<u64>)>, StoreError> {
    let Some(form) = question_form(terms) else { return Ok(None) };
    let asks =
        form.asks_for_persons || form.asks_for_kind || form.asks_for_first_or_last_day || has_order;
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
        let candidates: Vec<_> =
            found.into_iter().filter(|(_, page)| page.is_target_kind).collect();
        let best = candidates.iter().map(|(_, page)| page.content_share).fold(0.0, f32::max);
        // Persons whose link has no word of the question are not related closely enough.
        if best <= 0.0 && form.asks_for_persons && !form.is_attached_to_name {
            return Ok(None);
        }
        let mut ids = HashSet::new();
        for (id, page) in candidates {
            // A page that lists its people is not about others that it mentions.
            let is_mention = best <= 0.0
                && !form.asks_for_persons
                && !page.is_listed
                && has_people_list(reader, id)?;
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
    Ok(answers.map(|ids| (noun, ids.into_iter().collect())))
}

/// Returns the days that a page states, in order.
fn days(reader: &Reader, (_, slug, record): &PageEntry) -> Result<Vec<Date>, StoreError> {
    let content = unless_damaged(reader.content(record))?;
    Ok(content.map_or_else(Vec::new, |Content { frontmatter, .. }| {
        page_dates(slug, &record.title, &frontmatter, std::iter::empty())
    }))
}
