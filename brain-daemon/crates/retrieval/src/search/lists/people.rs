//! Questions for people: who was at an event, and which events a person attended.

use brain_protocol::Fault;
use brain_questions::attendance::{attended_event, means_attendance};
use brain_questions::forms::question_form;
use brain_questions::function_words::is_function_word;
use brain_questions::kinds::is_person;
use brain_search::QuestionWord;
use brain_store::{PageEntry, StoreError};

use super::super::target_pages::kinds;
use super::kinds::CUT_DOUBT;
use super::people_in_pages::people_list;
use super::{ListAnswer, ListEntry, ListReader, PageList, folded_words, names};

impl ListReader<'_> {
    /// Returns the people at the event that the question names. `None` if it names no event, or if
    /// no page lists them.
    pub(in super::super) fn attendance(&self) -> Result<Option<ListAnswer>, Fault> {
        let Some(words) = attended_event(self.terms) else { return Ok(None) };
        let mut events = self.events(&words)?;
        if events.len() != 1 {
            return Ok(None);
        }
        let Some(event) = events.pop() else { return Ok(None) };
        let Some((label, people)) = people_list(self.reader, &event)? else { return Ok(None) };
        Ok(Some(ListAnswer {
            stated_by: Some((event, label)),
            entries: people,
            origin: "list of people",
            ..ListAnswer::default()
        }))
    }

    /// Returns the pages of the requested kind whose lists of people have the named person, also
    /// without a link. `None` if the question has other conditions, or if no page has the person.
    pub(in super::super) fn with_person(&self) -> Result<Option<PageList>, Fault> {
        let [subject] = self.terms.subjects.as_slice() else { return Ok(None) };
        let form = question_form(self.terms);
        // `who did Ann meet` asks for no event.
        let Some(form) = form.filter(|form| !form.asks_for_persons) else { return Ok(None) };
        let content: Vec<&QuestionWord> = form
            .content
            .iter()
            .filter_map(|at| self.terms.words.get(*at))
            .filter(|word| !is_function_word(word) && !means_attendance(&word.text))
            .collect();
        let ([noun], [id]) = (content.as_slice(), subject.pages.as_slice()) else {
            return Ok(None);
        };
        let Some(person) = self.reader.by_id(*id)? else { return Ok(None) };
        if !kinds(&person).iter().any(|kind| is_person(kind)) {
            return Ok(None);
        }
        // The question can name the person by the first name. Then no other person has it.
        let mut known = names(&person);
        known.push(subject.words.clone().map(|at| self.terms.words[at].text.clone()).collect());
        let Some(kind) = self.kind_pages(noun)? else { return Ok(None) };
        let mut list = PageList { origin: "lists of people", ..PageList::default() };
        list.noun = self.terms.text.get(noun.range.clone()).unwrap_or_default().to_owned();
        if kind.is_cut {
            list.doubt = Some(CUT_DOUBT.into());
        }
        for page in kind.pages {
            let people = people_list(self.reader, &page)?;
            let is_person = |entry: &ListEntry| match &entry.page {
                Some(page) => page.2.id == *id,
                None => known.contains(&folded_words(&entry.text)),
            };
            if people.is_some_and(|(_, people)| people.iter().any(is_person)) {
                list.pages.push(page);
            }
        }
        Ok((!list.pages.is_empty()).then_some(list))
    }

    /// Returns whether a page lists the people of an event.
    pub(in super::super) fn states_people(&self, page: &PageEntry) -> Result<bool, StoreError> {
        Ok(people_list(self.reader, page)?.is_some())
    }
}
