//! Answers without a language model: `how many meetings did I have with Mia`, `which companies did
//! Mia found`, `the last meeting with Mia`, `notes tagged evergreen`.
//!
//! A ranking also has pages that are only similar. An answer has only pages that state it: a page
//! or a link with all words of the question. Without them, there is no answer.

use std::collections::HashMap;

use brain_protocol::{Fault, SourceId};
use jiff::civil::Date;

use super::lists::{EVENT_KINDS, ListAnswer, ListEntry, ListReader, NamedPersons, PageList};
use super::names_without_page::people_linked_by;
use super::relations::{RelationSearch, has_people_list, named_page_ids};
use super::target_pages::kinds;
use crate::search::SearchService;
use brain_base::caller::Caller;
use brain_pages::index::index_fault;
use brain_questions::ParsedQuestion;
use brain_questions::attendance::attended_event;
use brain_questions::forms::{COUNT, question_form};
use brain_questions::function_words::is_negated;
use brain_questions::kinds::{is_person, names_kind};
use brain_questions::relation_words::asks_who_invests_in;
use brain_questions::times::Order;
use brain_search::{Query, QuestionTerms, QuestionWord, Subject};
use brain_store::{PageEntry, Reader, StoreError};

/// Number of words at the beginning of a question in which a word such as `many` is searched.
const FIRST_WORDS: usize = 4;
/// The share of the best match that the link of an answer must have.
const MIN_SHARE: f32 = 0.6;
/// Maximum number of pages that an answer names as uncertain.
const MAX_MENTIONS: usize = 3;

/// An answer without a language model.
#[derive(Debug)]
pub enum DirectAnswer {
    /// A list that the pages state.
    List(Box<ListAnswer>),
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
        let terms_of = |query: &Query| {
            index.question_terms(query, view.as_deref()).map_err(|e| index_fault(&e))
        };
        let (mut question, mut terms) = (question.clone(), terms_of(&question.query)?);
        question.forget_period_in_name(&terms);
        if question.times.period.is_some() {
            let rest = question.without_period();
            terms = terms_of(&rest.query)?;
            rest.remove_period_names(&mut terms);
        }
        let reader = self.store.read(caller.visibility())?.leaving_out_damage();
        let times = &question.times;
        let today = question.today;
        let view = view.as_deref();
        let lists =
            ListReader { reader: &reader, index, view, source, terms: &terms, times, today };
        let mut answer = direct_answer(&lists)?;
        if let Some(DirectAnswer::List(list)) = &mut answer {
            let mut words = terms.words.iter().take(FIRST_WORDS);
            list.is_count =
                lists.order().is_none() && words.any(|word| COUNT.contains(&word.text.as_str()));
        }
        Ok(answer)
    }
}

/// Returns the first answer, from the most specific form of a question to the least.
fn direct_answer(lists: &ListReader<'_>) -> Result<Option<DirectAnswer>, Fault> {
    // The pages that state the opposite are no answer.
    if is_negated(lists.terms) {
        return Ok(None);
    }
    for list in [ListReader::mentions, ListReader::tagged] {
        if let Some(found) = list(lists)? {
            return dated(lists, found);
        }
    }
    for list in [ListReader::attendance, ListReader::value_of_page] {
        if let Some(found) = list(lists)? {
            return Ok(Some(DirectAnswer::List(Box::new(found))));
        }
    }
    let events = lists.possible_events()?;
    if let Some(words) = attended_event(lists.terms).filter(|_| !events.is_empty()) {
        return choice(lists, lists.typed_run(&words), events);
    }
    if let Some(answer) = related_answer(lists)? {
        return Ok(Some(answer));
    }
    // `who was at the last meeting` asks for people, not for the meeting.
    if attended_event(lists.terms).is_some() {
        return Ok(None);
    }
    let Some(ordered) = lists.ordered()? else { return Ok(None) };
    let first = ordered.pages.into_iter().take(1);
    let doubt = match ordered.without_day {
        _ if ordered.is_cut => {
            Some("whether another page comes first: more pages exist than were read".to_owned())
        }
        0 => None,
        1 => Some("the day of 1 page that states none".to_owned()),
        count => Some(format!("the days of {count} pages that state none")),
    };
    Ok(Some(DirectAnswer::List(Box::new(ListAnswer {
        entries: first.map(|(page, day)| ListEntry::of_page(page, Some(day))).collect(),
        origin: "days",
        doubt,
        ..ListAnswer::default()
    }))))
}

/// Answers by values and links that relate pages to the named ones. A person can be named by the
/// first name, if there is only one with it.
fn related_answer(lists: &ListReader<'_>) -> Result<Option<DirectAnswer>, Fault> {
    let Some(NamedPersons { word, pages }) = lists.persons()? else {
        return related_list(lists);
    };
    let mut answers = Vec::new();
    for page in &pages {
        let terms = with_subject(lists.terms, word, page.2.id);
        if let Some(list) = related_pages(&ListReader { terms: &terms, ..*lists })? {
            answers.push(list);
        }
    }
    match (answers.pop(), pages.len()) {
        // The word can be a part of another name.
        (None, _) => related_list(lists),
        (Some(list), 1) => dated(lists, list),
        (Some(_), _) => choice(lists, lists.typed(word).to_owned(), pages),
    }
}

/// Answers by values and links that relate pages to the named ones.
fn related_list(lists: &ListReader<'_>) -> Result<Option<DirectAnswer>, Fault> {
    match related_pages(lists)? {
        Some(list) => dated(lists, list),
        None => Ok(None),
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
        let day = match lists.order() {
            Some(order) => lists.day_in_order(&page, order)?.map(Some),
            None => lists.day(&page)?,
        };
        entries.extend(day.map(|day| (page, day)));
    }
    entries.sort_by(|(a, day), (b, other)| other.cmp(day).then(a.1.as_str().cmp(b.1.as_str())));
    if let Some(order) = lists.order() {
        let has_begun = |day: &Option<Date>| {
            day.is_some_and(|day| order == Order::Oldest || day <= lists.today)
        };
        entries.retain(|(_, day)| has_begun(day));
        if order == Order::Oldest {
            entries.reverse();
        }
        entries.truncate(1);
    }
    let mut entries: Vec<ListEntry> =
        entries.into_iter().map(|(page, day)| ListEntry::of_page(page, day)).collect();
    if lists.order().is_none() && lists.times.period.is_none() {
        let names = list.names.into_iter();
        entries.extend(names.map(|text| ListEntry { text, page: None, day: None }));
    }
    let PageList { noun, origin, doubt, .. } = list;
    let answer = ListAnswer { noun, entries, origin, doubt, ..ListAnswer::default() };
    Ok((!answer.entries.is_empty()).then(|| DirectAnswer::List(Box::new(answer))))
}

/// Returns the pages that values, links or lists of people relate to all named pages. `None` if the
/// question does not clearly ask for such pages.
fn related_pages(lists: &ListReader<'_>) -> Result<Option<PageList>, Fault> {
    let linked = linked_pages(lists.reader, lists.terms)?;
    let LinkedPages { noun, stated, mentions: only_mentions, names, left_out } =
        linked.unwrap_or_default();
    let read = |ids: Vec<u64>| -> Result<Vec<PageEntry>, StoreError> {
        ids.into_iter().filter_map(|id| lists.page(id).transpose()).collect()
    };
    let (stated, mut left_out, mut mentions) = (read(stated)?, read(left_out)?, Vec::new());
    for page in read(only_mentions)? {
        // `Present were Ann and Bo. Cy was ill.` is not about Cy.
        match lists.states_people(&page)? {
            true => left_out.push(page),
            false => mentions.push(page),
        }
    }
    let by_pages = [lists.with_values()?, lists.with_person()?].into_iter().flatten();
    let mut doubt = "whether pages say so without a link".to_owned();
    let mut found: Option<PageList> = None;
    for list in by_pages {
        found.get_or_insert_with(|| PageList { pages: Vec::new(), ..list.clone() }).add(list.pages);
    }
    match &mut found {
        // Other pages list their people, so a page that does not is no clear answer.
        Some(known) => {
            known.add(stated);
            mentions.retain(|page| known.pages.iter().all(|known| known.2.id != page.2.id));
            let reason = "the name is only mentioned";
            known.doubt = named_doubt(&mentions, reason).or(known.doubt.take());
        }
        None => {
            if !mentions.is_empty() {
                doubt = "whether all of them are meant: some only mention the name".into();
            }
            let stated_ids: Vec<u64> = stated.iter().map(|page| page.2.id).collect();
            let pages = stated.into_iter().chain(mentions).collect();
            let doubt = Some(others_at_event(lists, &stated_ids, &names)?.unwrap_or(doubt));
            found = Some(PageList {
                noun,
                pages,
                names,
                origin: "links",
                doubt,
                ..PageList::default()
            });
        }
    }
    if let Some(list) = &mut found {
        left_out.retain(|page| list.pages.iter().all(|known| known.2.id != page.2.id));
        let reason = "they list their people without the name";
        let doubts = [list.doubt.take(), named_doubt(&left_out, reason)];
        list.doubt = doubts.into_iter().flatten().reduce(|one, other| format!("{one}; {other}"));
    }
    Ok(found.filter(|list| !list.pages.is_empty() || !list.names.is_empty()))
}

/// Says of which pages the answer does not know whether they belong to it, and why. `None` if of
/// none.
fn named_doubt(pages: &[PageEntry], reason: &str) -> Option<String> {
    let verb = if pages.len() == 1 { "is" } else { "are" };
    let titles: Vec<String> = pages.iter().map(|page| page.2.title.clone()).collect();
    (!pages.is_empty()).then(|| format!("whether {} {verb} meant: {reason}", some_of(&titles)))
}

/// Returns the first of these names, and the number of the others.
fn some_of(names: &[String]) -> String {
    let more = names.len().saturating_sub(MAX_MENTIONS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names[..names.len().min(MAX_MENTIONS)].join(", "))
}

/// Returns which other people the page of an event names, if the question asks for those at it and
/// the page has no list of them. `None` if it names no others.
fn others_at_event(
    lists: &ListReader<'_>,
    stated: &[u64],
    names: &[String],
) -> Result<Option<String>, StoreError> {
    if attended_event(lists.terms).is_none() {
        return Ok(None);
    }
    let mut others: Vec<String> = Vec::new();
    for id in named_page_ids(lists.terms) {
        let Some(event) = lists.page(id)? else { continue };
        // A firm is no event.
        if lists.day(&event)?.flatten().is_none() && !is_event(&event) {
            continue;
        }
        for (page, name) in people_linked_by(lists.reader, id)? {
            let is_known = page.is_some_and(|page| stated.contains(&page)) || names.contains(&name);
            if !is_known && !others.contains(&name) {
                others.push(name);
            }
        }
    }
    Ok((!others.is_empty()).then(|| {
        format!("whether {} were there: the page has no list of its people", some_of(&others))
    }))
}

/// Returns whether a page is of a kind of events.
fn is_event(page: &PageEntry) -> bool {
    kinds(page)
        .iter()
        .any(|kind| EVENT_KINDS.iter().any(|event| names_kind(&QuestionWord::new(event), kind)))
}

/// Pages that links relate to a named page.
#[derive(Debug, Default)]
struct LinkedPages {
    /// The word of the question for the pages; empty if it has none.
    noun: String,
    /// The pages whose link states the relation.
    stated: Vec<u64>,
    /// Pages that only mention the named person.
    mentions: Vec<u64>,
    /// Persons without a page, to whom a link states the relation.
    names: Vec<String>,
    /// Pages that mention the named person, and list other people.
    left_out: Vec<u64>,
}

/// Returns the pages that links relate to all named pages. Each link has all words of the question.
/// `None` if the question does not clearly ask for such pages.
fn linked_pages(reader: &Reader, terms: &QuestionTerms) -> Result<Option<LinkedPages>, StoreError> {
    let Some(form) = question_form(terms) else { return Ok(None) };
    let positions = HashMap::new();
    let search = RelationSearch::for_answers(reader, terms, &positions);
    let mut named_pages = named_page_ids(terms);
    let mut form = form;
    let mut subjects = terms.subjects.clone();
    if let Some((outer, middle)) = search.middle_pages(&form, &named_pages)? {
        named_pages.extend(&middle.pages);
        (form, subjects) = (outer, vec![middle]);
    }
    // A person without a page is at the end of one link only.
    let names = match subjects.as_slice() {
        [subject] if form.asks_for_persons => search.names_without_page(&form, subject)?,
        _ => Vec::new(),
    };
    let (mut noun, mut left_out) = (String::new(), Vec::new());
    // Whether the link to each page states the relation.
    let mut answers: Option<HashMap<u64, bool>> = None;
    for subject in &subjects {
        let mut found = search.neighbours_of(&form, subject, &named_pages)?;
        found.retain(|_, page| page.is_target_kind && page.has_all_words);
        let best = found.values().map(|page| page.content_share).fold(0.0, f32::max);
        let asks_for_persons = form.asks_for_persons
            || found.values().any(|page| is_person(&page.noun.to_lowercase()));
        // A person is related by a word of the question only.
        if best <= 0.0 && asks_for_persons {
            let has_names = !names.is_empty();
            return Ok(has_names.then(|| LinkedPages { names, ..LinkedPages::default() }));
        }
        let is_person = may_be_person(reader, subject)?;
        // Links between a person and a firm say what the person invested in.
        if is_person && asks_who_invests_in(terms, &subject.words) {
            return Ok(None);
        }
        let mut pages = HashMap::new();
        for (id, page) in found {
            // A page that lists its people is not about others that it mentions.
            let is_mention = best <= 0.0 && is_person && !page.is_listed;
            if page.content_share < best * MIN_SHARE {
                continue;
            }
            if is_mention && has_people_list(reader, id)? {
                left_out.push(id);
                continue;
            }
            noun.clone_from(&page.noun);
            pages.insert(id, !is_mention);
        }
        answers = Some(match answers {
            None => pages,
            Some(before) => in_both(before, &pages),
        });
    }
    let answers = answers.unwrap_or_default();
    let of = |is_stated: bool| {
        answers.iter().filter(|(_, stated)| **stated == is_stated).map(|(id, _)| *id).collect()
    };
    Ok(Some(LinkedPages { noun, stated: of(true), mentions: of(false), names, left_out }))
}

/// Returns the pages that are in both lists, and whether both links state the relation.
fn in_both(before: HashMap<u64, bool>, pages: &HashMap<u64, bool>) -> HashMap<u64, bool> {
    let both = |(id, stated): (u64, bool)| {
        let is_stated_here = *pages.get(&id)?;
        Some((id, stated && is_stated_here))
    };
    before.into_iter().filter_map(both).collect()
}

/// Returns whether a name can be that of a person: its pages are about persons, or of no kind.
fn may_be_person(reader: &Reader, subject: &Subject) -> Result<bool, StoreError> {
    for id in &subject.pages {
        let kinds = reader.by_id(*id)?.as_ref().map(kinds).unwrap_or_default();
        if kinds.iter().any(|kind| is_person(kind)) || kinds.iter().all(|kind| kind == "note") {
            return Ok(true);
        }
    }
    Ok(false)
}
