//! Lists that pages state themselves: who mentions what, tags, people at an event, values of
//! frontmatter, the newest page of a kind.
//!
//! Every page of a list has all words of the question. A question whose words are not all
//! understood has no list.
//!
//! | file | purpose |
//! |---|---|
//! | `kinds` | the pages of a kind: a type, a folder, a source or a tag |
//! | `mentions`, `tagged`, `ordered` | lists that a search ranks first, too |
//! | `values`, `labels` | values of frontmatter, and of lines such as `Lead: Ann` |
//! | `people` | who was at an event, and the events that a person attended |
//! | `people_in_pages`, `sentences` | lists of people, and sentences such as `Ann took part.` |
//! | `names_in_text` | items, names and links in a line |
//! | `named` | events by words of their names, persons by their first name |

mod kinds;
mod labels;
mod mentions;
mod named;
mod names_in_text;
mod ordered;
mod people;
mod people_in_pages;
mod sentences;
mod tagged;
mod values;

use std::collections::HashSet;

use brain_page::page_dates;
use brain_pages::index::index_fault;
use brain_protocol::{Fault, SourceId};
use brain_questions::order_words::order_of;
use brain_questions::times::{Order, Times};
use brain_search::{Index, Query, Question, QuestionTerms, each_word};
use brain_store::{Content, PageEntry, Reader, StoreError, unless_damaged};
use jiff::civil::Date;

use super::relations::{RelatedPage, Relations, named_page_ids};

pub(super) use self::named::{EVENT_KINDS, NamedPersons};
use self::ordered::OrderedPages;

/// The weight of the pages of a list in a search. Higher than that of any link, also after
/// [`MAX_ORDERED`] steps.
const WEIGHT: f32 = 32.0;
/// The step between the weights of ordered pages. So large that the words of a page do not change
/// the order.
const ORDER_STEP: f32 = 1.0;
/// Number of ordered pages with a weight of their own.
const MAX_ORDERED: usize = 30;

/// A line of an answer.
#[derive(Debug, Clone)]
pub struct ListEntry {
    /// The page's title, a name or a value.
    pub text: String,
    /// The page, unless the line is only a name or a value.
    pub page: Option<PageEntry>,
    /// The day that the page states.
    pub day: Option<Date>,
}

impl ListEntry {
    /// Creates the line of a page.
    pub(super) fn of_page(page: PageEntry, day: Option<Date>) -> Self {
        Self { text: page.2.title.clone(), page: Some(page), day }
    }
}

/// A list that answers a question.
#[derive(Debug, Default)]
pub struct ListAnswer {
    /// The word of the question for the pages; empty if it has none (`who`).
    pub noun: String,
    /// Whether the question asks for the number of the pages.
    pub is_count: bool,
    /// The page that states the list, and what it calls the list: `attendees`.
    pub stated_by: Option<(PageEntry, String)>,
    /// The lines, newest first.
    pub entries: Vec<ListEntry>,
    /// Where the list comes from: `links`, `tags`.
    pub origin: &'static str,
    /// What may be missing, if the list can be incomplete.
    pub doubt: Option<String>,
}

/// Pages of a list, before their days are known.
#[derive(Debug, Clone, Default)]
pub(super) struct PageList {
    pub(super) noun: String,
    pub(super) pages: Vec<PageEntry>,
    /// Persons without a page.
    pub(super) names: Vec<String>,
    /// The named pages, which are no answers.
    pub(super) subjects: HashSet<u64>,
    pub(super) origin: &'static str,
    pub(super) doubt: Option<String>,
}

impl PageList {
    /// Adds the pages that the list does not have.
    pub(super) fn add(&mut self, pages: Vec<PageEntry>) {
        let mut known: HashSet<u64> = self.pages.iter().map(|page| page.2.id).collect();
        self.pages.extend(pages.into_iter().filter(|page| known.insert(page.2.id)));
    }
}

/// What the lists of one question are read from.
pub(super) struct ListReader<'a> {
    pub(super) reader: &'a Reader,
    pub(super) index: &'a Index,
    /// The sources that the caller can see.
    pub(super) view: Option<&'a [SourceId]>,
    /// The only source of the answers, if one is requested.
    pub(super) source: Option<&'a SourceId>,
    pub(super) terms: &'a QuestionTerms,
    pub(super) times: &'a Times,
    pub(super) today: Date,
}

impl ListReader<'_> {
    /// Returns the pages with the mentions or tags that the question asks for, as a search ranks
    /// them. `None` if it asks for none.
    pub(super) fn stated(&self, admits: &dyn Fn(u64) -> bool) -> Result<Option<Relations>, Fault> {
        let list = match self.mentions()? {
            Some(list) => list,
            None => match self.tagged()? {
                Some(list) => list,
                None => return Ok(None),
            },
        };
        let ids = list.pages.iter().map(|page| page.2.id).filter(|id| admits(*id));
        let explanation = "it has what the question names";
        Ok(relations(ids.map(|id| (id, WEIGHT)), list.subjects, explanation))
    }

    /// Returns the newest or oldest pages of the kind that the question names, as a search ranks
    /// them. `None` if it names none.
    pub(super) fn by_day(&self, admits: &dyn Fn(u64) -> bool) -> Result<Option<Relations>, Fault> {
        let list = self.all_ordered()?;
        Ok(list.and_then(|list| ranked_by_day(list, admits)))
    }

    /// Returns the order that the question asks for.
    pub(super) fn order(&self) -> Option<Order> {
        order_of(self.terms, self.times)
    }

    /// Returns the words at these indices as they are typed.
    pub(super) fn typed_run(&self, words: &[usize]) -> String {
        words.iter().map(|at| self.typed(*at)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the word at this index as it is typed; empty if there is none.
    pub(super) fn typed(&self, at: usize) -> &str {
        let word = self.terms.words.get(at);
        word.and_then(|word| self.terms.text.get(word.range.clone())).unwrap_or_default()
    }

    /// Returns the ids of the visible pages that have all of these phrases.
    fn pages_with<'p>(
        &self,
        phrases: impl IntoIterator<Item = &'p str>,
    ) -> Result<HashSet<u64>, Fault> {
        let quoted: Vec<String> =
            phrases.into_iter().map(|text| format!("\"{}\"", text.replace('"', " "))).collect();
        self.matching(&quoted.join(" "))
    }

    /// Returns the ids of the visible pages that meet the conditions of `query`.
    fn matching(&self, query: &str) -> Result<HashSet<u64>, Fault> {
        let question = Question {
            query: Query::parse(query),
            sources: self.source.map(|source| vec![source.clone()]),
            view: self.view.map(<[SourceId]>::to_vec),
            ..Question::default()
        };
        let pages = self.index.matching_pages(&question).map_err(|e| index_fault(&e))?;
        Ok(pages.unwrap_or_default())
    }

    /// Reads a page. `None` if it is gone, or not of the requested source.
    pub(super) fn page(&self, id: u64) -> Result<Option<PageEntry>, StoreError> {
        let page = unless_damaged(self.reader.by_id(id))?.flatten();
        Ok(page.filter(|page| self.is_of_source(page)))
    }

    fn is_of_source(&self, page: &PageEntry) -> bool {
        self.source.is_none_or(|source| *source == page.0)
    }

    /// Returns the pages with the named pages of the question.
    fn named_pages(&self) -> HashSet<u64> {
        named_page_ids(self.terms)
    }

    /// Returns the day of a page that fits the question: within its period, or the last one that
    /// has begun. `None` if the question has a period and the page no day in it.
    pub(super) fn day(&self, page: &PageEntry) -> Result<Option<Option<Date>>, StoreError> {
        let days = days(self.reader, page)?;
        Ok(match &self.times.period {
            Some(period) => {
                let within = |day: &Date| period.contains(*day);
                days.into_iter().find(within).map(Some)
            }
            None => {
                Some(days.iter().rev().find(|day| **day <= self.today).or(days.first()).copied())
            }
        })
    }
}

/// Returns pages in order, as they are merged with the other rankings. `None` if there are none.
fn ranked_by_day(list: OrderedPages, admits: &dyn Fn(u64) -> bool) -> Option<Relations> {
    let ids = list.pages.into_iter().map(|(page, _)| page.2.id).filter(|id| admits(*id));
    let weighted = (0_u16..)
        .zip(ids.take(MAX_ORDERED))
        .map(|(at, id)| (id, WEIGHT - ORDER_STEP * f32::from(at)));
    relations(weighted, HashSet::new(), "by its day")
}

/// Returns a list as it is merged with the other rankings. `None` if it is empty.
fn relations(
    pages: impl Iterator<Item = (u64, f32)>,
    subjects: HashSet<u64>,
    explanation: &str,
) -> Option<Relations> {
    let related: Vec<RelatedPage> = pages
        .map(|(page, weight)| RelatedPage { page, weight, explanation: explanation.to_owned() })
        .collect();
    let subjects = subjects.into_iter().collect();
    (!related.is_empty()).then_some(Relations { related, subjects, is_list: true })
}

/// Returns the days that a page states, in order.
fn days(reader: &Reader, (_, slug, record): &PageEntry) -> Result<Vec<Date>, StoreError> {
    let content = unless_damaged(reader.content(record))?;
    Ok(content.map_or_else(Vec::new, |Content { frontmatter, .. }| {
        page_dates(slug, &record.title, &frontmatter)
    }))
}

/// Returns the folded words of a text.
fn folded_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, &mut |word| words.push(word.to_owned()));
    words
}

/// Returns the words of each name of a page: its title, its file name and its aliases.
fn names((_, slug, record): &PageEntry) -> Vec<Vec<String>> {
    let names = [record.title.as_str(), slug.name()].into_iter();
    names.chain(record.aliases.iter().map(String::as_str)).map(folded_words).collect()
}
