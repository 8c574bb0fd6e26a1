//! Answers questions about pages related to a named page: `who invested in Acme`, `which meetings
//! did Mia attend`, `people at Acme`.
//!
//! The candidates are the neighbours of the named page in the link graph, in both directions. The
//! *content words* of the question describe the relation. They are compared with the sentence and
//! the labels around each link, or with its frontmatter key: the *content share* of a link is the
//! share of these words that it has, and its *label share* counts labels or the key alone. The
//! question word, or a noun that matches a neighbour's type or folder, tells which kind of page the
//! question asks for. The same rules apply to every collection of pages.
//!
//! The constants limit the work for pages with many links.

use std::collections::{HashMap, HashSet};

use super::neighbours::{
    MAX_ROWS, NameNeighbourhood, Neighbour, RelationLink, is_people_label, list_label, names_people,
};
use super::target_pages::{AnsweringLinks, TargetPages, answering_links, target_pages};
use brain_page::each_link;
use brain_questions::chain::chains;
use brain_questions::forms::{QuestionForm, is_role_noun, question_form};
use brain_questions::kinds::is_person;
use brain_search::{QuestionTerms, Subject, each_word};
use brain_store::{Content, Reader, StoreError, unless_damaged};

/// Maximum number of pages whose links are followed: pages with the name in the question, or
/// intermediate pages.
pub(super) const MAX_STARTS: usize = 8;
/// Maximum number of linking pages considered: pages found by words and vectors first, then the
/// newest.
const MAX_BACKWARD: usize = 300;
/// Maximum number of page bodies read, those of the target kind first.
const MAX_BODIES: usize = 120;

/// Weight of a link by itself. `fuse` sets the weight of links against words and vectors.
const LINK_WEIGHT: f32 = 0.2;
/// Added if the sentence around the link has all words of the question.
const SENTENCE_WEIGHT: f32 = 0.8;
/// Added for a page of the target kind.
const KIND_WEIGHT: f32 = 0.4;
/// Factor for a page of another kind, if there are pages of the target kind.
const OTHER_KIND_FACTOR: f32 = 0.5;
/// The share of the best weight that an intermediate page must have.
const MIN_MIDDLE_SHARE: f32 = 0.75;
/// Factor for a link to a second page that the question names.
const SECOND_LINK_FACTOR: f32 = 0.3;

/// The pages that links relate to a question.
#[derive(Debug, Default)]
pub(super) struct Relations {
    /// Pages related to the named ones.
    pub(super) related: Vec<RelatedPage>,
    /// The named pages, if the question asks for others.
    pub(super) subjects: Vec<u64>,
    /// Whether the pages are a list that pages state, in its order, rather than linked pages.
    pub(super) is_list: bool,
}

/// A page related to a named page.
#[derive(Debug)]
pub(super) struct RelatedPage {
    pub(super) page: u64,
    /// Strength of the relation, from 0 to about 2.
    pub(super) weight: f32,
    /// The page with the link, and its sentence.
    pub(super) explanation: String,
}

/// Returns the pages that links relate to a question. `positions` ranks pages found by words and
/// vectors. Only pages that `admits` accepts are answers.
pub(super) fn relations(
    reader: &Reader,
    terms: &QuestionTerms,
    positions: &HashMap<u64, usize>,
    admits: &dyn Fn(u64) -> bool,
) -> Result<Relations, StoreError> {
    let Some(form) = question_form(terms) else { return Ok(Relations::default()) };
    let mut named_pages = named_page_ids(terms);
    let limits = [MAX_BACKWARD, MAX_BODIES];
    let search = RelationSearch { reader, terms, positions, admits, limits };
    let mut found: HashMap<u64, FoundPage> = HashMap::new();
    if let Some((mut form, middle)) = search.middle_pages(&form, &named_pages)? {
        named_pages.extend(&middle.pages);
        // `meetings with the founder of Acme`: the preposition is before the intermediate page.
        form.is_attached_to_name |= !form.asks_for_persons && !form.asks_for_kind;
        found = search.neighbours_of(&form, &middle, &named_pages)?;
    }
    if found.is_empty() {
        named_pages = named_page_ids(terms);
        for subject in &terms.subjects {
            for (id, page) in search.neighbours_of(&form, subject, &named_pages)? {
                match found.get_mut(&id) {
                    Some(known) => known.join(page),
                    None => {
                        found.insert(id, page);
                    }
                }
            }
        }
    }
    let mut related: Vec<RelatedPage> = found
        .into_iter()
        .map(|(page, FoundPage { weight, explanation, .. })| RelatedPage {
            page,
            weight,
            explanation,
        })
        .collect();
    related.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.page.cmp(&b.page)));
    let subjects = if related.is_empty() { Vec::new() } else { named_pages.into_iter().collect() };
    Ok(Relations { related, subjects, is_list: false })
}

/// Returns the pages that the question names.
pub(super) fn named_page_ids(terms: &QuestionTerms) -> HashSet<u64> {
    terms.subjects.iter().flat_map(|s| s.pages.iter().copied()).collect()
}

/// Returns whether a page has a list of people.
pub(super) fn has_people_list(reader: &Reader, id: u64) -> Result<bool, StoreError> {
    let Some(page) = reader.by_id(id)? else { return Ok(false) };
    if reader.derived(id)?.links.iter().any(|link| names_people(&link.kind.replace('_', " "))) {
        return Ok(true);
    }
    let content = unless_damaged(reader.content(&page.2))?;
    let mut found = false;
    if let Some(Content { body, .. }) = content {
        each_link(&body, &|_| true, &mut |link| {
            let label = list_label(link.sentence);
            found |= is_people_label(label) || link.lead.iter().any(|text| names_people(text));
        });
    }
    Ok(found)
}

/// A page at the other end of a relation.
pub(super) struct FoundPage {
    weight: f32,
    /// The share of the content words that its link has, 0 to 1.
    pub(super) content_share: f32,
    /// Whether one of its links has all content words.
    pub(super) has_all_words: bool,
    pub(super) is_target_kind: bool,
    /// Whether the link is in a list of people, or follows `with`.
    pub(super) is_listed: bool,
    /// The word of the question for the kind of the page; empty if it has none.
    pub(super) noun: String,
    explanation: String,
}

impl FoundPage {
    /// Adds the link of this page to a second page that the question names.
    fn join(&mut self, other: Self) {
        if other.weight > self.weight {
            self.explanation = other.explanation;
        }
        self.weight =
            self.weight.max(other.weight) + SECOND_LINK_FACTOR * self.weight.min(other.weight);
    }
}

/// A question and the pages in which its answers are searched.
pub(super) struct RelationSearch<'a> {
    pub(super) reader: &'a Reader,
    pub(super) terms: &'a QuestionTerms,
    positions: &'a HashMap<u64, usize>,
    admits: &'a dyn Fn(u64) -> bool,
    /// Maximum number of linking pages, and of bodies that are read.
    limits: [usize; 2],
}

impl<'a> RelationSearch<'a> {
    /// Creates a search that must find all answers.
    pub(super) fn for_answers(
        reader: &'a Reader,
        terms: &'a QuestionTerms,
        positions: &'a HashMap<u64, usize>,
    ) -> Self {
        Self { reader, terms, positions, admits: &|_| true, limits: [MAX_ROWS, MAX_ROWS] }
    }

    /// Returns the form of the outer relation, and the intermediate pages as its subject: `who
    /// invested in the company that Mia founded`. `None` if the question has one relation only, or
    /// if no link fits the inner one.
    pub(super) fn middle_pages(
        &self,
        form: &QuestionForm,
        named_pages: &HashSet<u64>,
    ) -> Result<Option<(QuestionForm, Subject)>, StoreError> {
        // The filters of a question apply to its answers, not to intermediate pages.
        let inner_search = RelationSearch { admits: &|_| true, ..*self };
        for chain in chains(self.terms, form) {
            let Some(subject) = self.terms.subjects.get(chain.subject) else { continue };
            let inner = QuestionForm {
                asks_for_persons: false,
                asks_for_kind: true,
                asks_for_first_or_last_day: false,
                is_attached_to_name: true,
                content: chain.inner.clone(),
            };
            let found = inner_search.neighbours_of(&inner, subject, named_pages)?;
            let is_middle = |page: &&FoundPage| match chain.has_verb() {
                true => page.content_share > 0.0,
                false => page.content_share > 0.0 || page.is_target_kind,
            };
            let best = found.values().filter(is_middle).map(|page| page.weight).fold(0.0, f32::max);
            let mut pages: Vec<(u64, f32)> = found
                .iter()
                .filter(|(_, page)| is_middle(page) && page.weight >= best * MIN_MIDDLE_SHARE)
                .map(|(id, page)| (*id, page.weight))
                .collect();
            if pages.is_empty() {
                continue;
            }
            pages.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            pages.truncate(MAX_STARTS);
            let pages = pages.into_iter().map(|(id, _)| id).collect();
            let middle = Subject { words: subject.words.clone(), pages };
            return Ok(Some((QuestionForm { content: chain.outer, ..form.clone() }, middle)));
        }
        Ok(None)
    }

    /// Returns the neighbours of the pages of `subject` that answer a question of this form.
    pub(super) fn neighbours_of(
        &self,
        form: &QuestionForm,
        subject: &Subject,
        named_pages: &HashSet<u64>,
    ) -> Result<HashMap<u64, FoundPage>, StoreError> {
        let RelationSearch { reader, terms, positions, admits, limits } = *self;
        let mut neighbourhood = NameNeighbourhood {
            reader,
            named_pages,
            positions,
            admits,
            limits,
            neighbours: HashMap::new(),
        };
        let mut pages = Vec::new();
        for &id in subject.pages.iter().take(MAX_STARTS) {
            pages.extend(reader.by_id(id)?);
        }
        let forward = pages
            .iter()
            .map(|page| neighbourhood.add_forward(page))
            .collect::<Result<Vec<_>, _>>()?;
        for page in &pages {
            neighbourhood.add_backward(page)?;
        }
        let targets = target_pages(terms, form, &neighbourhood.kinds());
        let Some(answering) = answering_links(form, &targets, subject, &pages, terms) else {
            return Ok(HashMap::new());
        };
        for (page, links) in pages.iter().zip(&forward) {
            neighbourhood.read_forward(page, links, &targets)?;
        }
        for page in &pages {
            neighbourhood.read_backward(page, &targets)?;
        }
        let words = LinkWords { terms, targets, answering };
        Ok(words.found_pages(neighbourhood.neighbours))
    }
}

/// The words of a question that links and their pages are compared with.
struct LinkWords<'a> {
    terms: &'a QuestionTerms,
    targets: TargetPages<'a>,
    answering: AnsweringLinks,
}

impl LinkWords<'_> {
    /// Returns whether the neighbour is about a person whose name has all content words.
    fn is_person_named(&self, neighbour: &Neighbour) -> bool {
        let mut name = Vec::new();
        each_word(&neighbour.page.2.title, &mut |word| name.push(word.to_owned()));
        let content = &self.targets.content;
        !content.is_empty()
            && neighbour.kinds.iter().any(|kind| is_person(kind))
            && content.iter().all(|word| name.contains(&word.text))
    }

    /// Returns the neighbours whose links fit the question, with their weights.
    fn found_pages(&self, neighbours: HashMap<u64, Neighbour>) -> HashMap<u64, FoundPage> {
        let has_wanted_kind =
            neighbours.values().any(|n| !n.links.is_empty() && self.targets.matches_kind(&n.kinds));
        let all_answer = self.answering == AnsweringLinks::All;
        // A role that is no noun for persons, such as `cast`, can be any word of a sentence.
        let counts_sentences =
            all_answer || self.targets.content.iter().any(|word| is_role_noun(&word.text));
        let mut found = HashMap::new();
        for (id, neighbour) in neighbours {
            let share = |link: &RelationLink| match counts_sentences {
                true => link.content_share,
                false => link.label_share,
            };
            let best = neighbour.links.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
            let is_answer = |link: &&RelationLink| {
                all_answer || share(link) > 0.0 || self.is_person_named(&neighbour)
            };
            let Some(link) = best.filter(is_answer) else {
                continue;
            };
            // `Noah from Acme`
            let content_share = if self.is_person_named(&neighbour) { 1.0 } else { share(link) };
            let mut weight = LINK_WEIGHT + SENTENCE_WEIGHT * content_share;
            let is_target_kind = self.targets.matches_kind(&neighbour.kinds);
            if is_target_kind {
                weight += KIND_WEIGHT;
            } else if has_wanted_kind {
                weight *= OTHER_KIND_FACTOR;
            }
            let explanation = format!("link on {}: {}", link.page_slug, link.text);
            let is_listed = neighbour.links.iter().any(|link| link.is_listed);
            let has_all_words = neighbour.links.iter().any(|link| link.has_all_words);
            let noun = match self.targets.noun {
                Some(noun) => {
                    self.terms.text.get(noun.range.clone()).unwrap_or_default().to_owned()
                }
                None => String::new(),
            };
            found.insert(
                id,
                FoundPage {
                    weight,
                    content_share,
                    has_all_words,
                    is_target_kind,
                    is_listed,
                    noun,
                    explanation,
                },
            );
        }
        found
    }
}
