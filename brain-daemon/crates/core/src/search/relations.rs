//! Answers questions about pages related to a named page: `who invested in Acme`, `which meetings
//! did Mia attend`, `people at Acme`.
//!
//! The candidates are the neighbours of the named page in the link graph, in both directions. The
//! other words of the question are compared with the sentence neighbourhood each link, or with the
//! frontmatter key. The question word, or a noun that matches a neighbour's type or folder, tells
//! which kind of page is wanted. The same rules apply to every collection of pages.
//!
//! The constants limit the work for pages with many links.

use std::collections::{HashMap, HashSet};

use super::question::{Form, form, is_person, is_role_noun, names_kind};
use super::sentence::{each_link, plain_sentence};
use brain_page::MENTIONS;
use brain_search::{QuestionTerms, QuestionWord, Subject, each_word};
use brain_store::{Content, LinkRecord, PageEntry, Reader, Resolution, StoreError, unless_damaged};

/// Maximum number of pages with the name in the question.
const MAX_STARTS: usize = 4;
/// Maximum number of links followed from a page.
const MAX_FORWARD: usize = 400;
/// Maximum number of rows read about links to a page.
const MAX_ROWS: usize = 10_000;
/// Maximum number of linking pages considered: pages found by words and vectors first, then the
/// newest.
const MAX_BACKWARD: usize = 300;
/// Maximum number of bodies read, pages of the wanted kind first.
const MAX_BODIES: usize = 120;

/// Weight of a link by itself. `fuse` sets the weight of links against words and vectors.
const LINK_WEIGHT: f32 = 0.2;
/// Added if the sentence neighbourhood the link has all words of the question.
const SENTENCE_WEIGHT: f32 = 0.8;
/// Added for a page of the wanted kind.
const KIND_WEIGHT: f32 = 0.4;
/// Factor for a page of another kind, if there are pages of the wanted kind.
const OTHER_KIND_FACTOR: f32 = 0.5;
/// Factor for a link to a second page that the question names.
const SECOND_LINK_FACTOR: f32 = 0.3;

/// The pages that links relate to a question.
#[derive(Debug, Default)]
pub(super) struct Relations {
    /// Pages related to the named ones.
    pub(super) related: Vec<RelatedPage>,
    /// The named pages, if the question asks for others.
    pub(super) subjects: Vec<u64>,
}

/// A page related to a named page.
#[derive(Debug)]
pub(super) struct RelatedPage {
    /// The page id.
    pub(super) page: u64,
    /// Strength of the relation, from 0 to about 2.
    pub(super) weight: f32,
    /// The sentence and the page that has it.
    pub(super) explanation: String,
}

/// A neighbour of a named page.
struct Neighbour {
    page: PageEntry,
    kinds: Vec<String>,
    ways: Vec<RelationLink>,
}

/// A link between a named page and its neighbour.
struct RelationLink {
    /// The slug of the linking page.
    on: String,
    /// How much of the question the sentence has, 0 to 1.
    share: f32,
    /// How much of the question the title of its list or its key has, 0 to 1.
    role: f32,
    /// The sentence or key, for people.
    text: String,
}

/// The kind of pages that a question asks for, and the words that describe their relation.
struct WantedPages<'a> {
    person: bool,
    noun: Option<&'a QuestionWord>,
    content: Vec<&'a QuestionWord>,
}

impl WantedPages<'_> {
    fn matches_kind(&self, kinds: &[String]) -> bool {
        kinds.iter().any(|kind| {
            (self.person && is_person(kind)) || self.noun.is_some_and(|noun| names_kind(noun, kind))
        })
    }

    /// Returns how much of the question's content words the texts have, 0 to 1.
    fn content_share(&self, texts: &[&str]) -> f32 {
        if self.content.is_empty() {
            return 0.0;
        }
        let mut best = vec![0.0_f32; self.content.len()];
        for text in texts {
            each_word(text, &mut |word| {
                for (best, content) in best.iter_mut().zip(&self.content) {
                    if *best < 1.0 {
                        *best = best.max(content.similarity(word));
                    }
                }
            });
        }
        best.iter().sum::<f32>() / best.len() as f32
    }
}

/// Returns the pages that links relate to a question. `positions` ranks pages found by words and
/// vectors. Only pages that `admits` accepts are answers.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn relations(
    reader: &Reader,
    terms: &QuestionTerms,
    positions: &HashMap<u64, usize>,
    admits: &dyn Fn(u64) -> bool,
) -> Result<Relations, StoreError> {
    let Some(form) = form(terms) else { return Ok(Relations::default()) };
    let starts: HashSet<u64> =
        terms.subjects.iter().flat_map(|s| s.pages.iter().copied()).collect();
    let mut weights: HashMap<u64, (f32, String)> = HashMap::new();
    let mut has_related = false;
    for subject in &terms.subjects {
        let mut neighbourhood = Neighbourhood {
            reader,
            starts: &starts,
            positions,
            admits,
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
        let wanted = wanted(terms, &form, &neighbourhood.neighbours);
        let (is_strong, is_role_question) = strength(&form, &wanted, subject, &pages, terms);
        if !is_strong && !is_role_question {
            continue;
        }
        let has_role_noun = wanted.content.iter().any(|word| is_role_noun(&word.text));
        for (page, links) in pages.iter().zip(&forward) {
            neighbourhood.read_forward(page, links, &wanted)?;
        }
        for page in &pages {
            neighbourhood.read_backward(page, &wanted)?;
        }
        let has_wanted_kind = neighbourhood
            .neighbours
            .values()
            .any(|n| !n.ways.is_empty() && wanted.matches_kind(&n.kinds));
        for (id, neighbour) in neighbourhood.neighbours {
            let share =
                |way: &RelationLink| if is_strong || has_role_noun { way.share } else { way.role };
            let best = neighbour.ways.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
            let Some(way) = best.filter(|way| is_strong || share(way) > 0.0) else { continue };
            let mut weight = LINK_WEIGHT + SENTENCE_WEIGHT * share(way);
            if wanted.matches_kind(&neighbour.kinds) {
                weight += KIND_WEIGHT;
            } else if has_wanted_kind {
                weight *= OTHER_KIND_FACTOR;
            }
            has_related = true;
            let explanation = format!("link on {}: {}", way.on, way.text);
            match weights.get_mut(&id) {
                Some((total, best_explanation)) => {
                    if weight > *total {
                        *best_explanation = explanation;
                    }
                    *total = total.max(weight) + SECOND_LINK_FACTOR * total.min(weight);
                }
                None => {
                    weights.insert(id, (weight, explanation));
                }
            }
        }
    }
    let mut related: Vec<RelatedPage> = weights
        .into_iter()
        .map(|(page, (weight, explanation))| RelatedPage { page, weight, explanation })
        .collect();
    related.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.page.cmp(&b.page)));
    let subjects = if has_related { starts.into_iter().collect() } else { Vec::new() };
    Ok(Relations { related, subjects })
}

/// Determines the wanted pages from the question's words and the kinds of the neighbours.
fn wanted<'a>(
    terms: &'a QuestionTerms,
    form: &Form,
    neighbours: &HashMap<u64, Neighbour>,
) -> WantedPages<'a> {
    let words: Vec<&QuestionWord> =
        form.content.iter().filter_map(|&at| terms.words.get(at)).collect();
    let kinds: HashSet<&String> = neighbours.values().flat_map(|n| &n.kinds).collect();
    let named = |word: &&QuestionWord| kinds.iter().any(|kind| names_kind(word, kind));
    let noun = if form.asks_for_persons { None } else { words.iter().copied().find(named) };
    let content =
        words.into_iter().filter(|word| noun.is_none_or(|noun| noun.text != word.text)).collect();
    WantedPages { person: form.asks_for_persons, noun, content }
}

/// Returns whether the question clearly asks for neighbours of the named `pages`, and whether it
/// may ask for neighbours in a role. A role must be found: in a sentence for `investors of Acme`,
/// in a list title or key for `cast of Dune`.
fn strength(
    form: &Form,
    wanted: &WantedPages<'_>,
    subject: &Subject,
    pages: &[PageEntry],
    terms: &QuestionTerms,
) -> (bool, bool) {
    let has_few_words = wanted.content.len() <= 2;
    // `people at Acme`, but not `how people work at Acme with little sleep`, and not `company
    // Acme`.
    let names_kind_first = wanted.noun.is_some_and(|noun| {
        let start = terms.words.get(subject.words.start).map_or(0, |word| word.range.start);
        noun.range.start < start && !pages.iter().any(|page| wanted.matches_kind(&kinds(page)))
    });
    let is_strong = (form.asks_for_persons && (!wanted.content.is_empty() || form.has_possessive))
        || (wanted.noun.is_some() && form.asks_for_kind)
        || (form.has_possessive && has_few_words && names_kind_first);
    (is_strong, form.has_possessive && has_few_words && !wanted.content.is_empty())
}

/// The neighbours of the pages with one name.
struct Neighbourhood<'a> {
    reader: &'a Reader,
    starts: &'a HashSet<u64>,
    positions: &'a HashMap<u64, usize>,
    admits: &'a dyn Fn(u64) -> bool,
    neighbours: HashMap<u64, Neighbour>,
}

impl Neighbourhood<'_> {
    fn is_answer(&self, id: u64) -> bool {
        !self.starts.contains(&id) && (self.admits)(id)
    }

    fn add_neighbour(&mut self, page: PageEntry) {
        let id = page.2.id;
        self.neighbours.entry(id).or_insert_with(|| Neighbour {
            kinds: kinds(&page),
            page,
            ways: Vec::new(),
        });
    }

    /// Adds the pages that `page` links to. Returns the links with the id of their target.
    fn add_forward(&mut self, page: &PageEntry) -> Result<Vec<(u64, LinkRecord)>, StoreError> {
        let mut out = Vec::new();
        for link in self.reader.derived(page.2.id)?.links.into_iter().take(MAX_FORWARD) {
            if let Resolution::Page(target) = self.reader.resolve(&link, &page.0)?
                && self.is_answer(target.2.id)
            {
                out.push((target.2.id, link));
                self.add_neighbour(*target);
            }
        }
        Ok(out)
    }

    /// Adds the pages that link to `page`.
    fn add_backward(&mut self, page: &PageEntry) -> Result<(), StoreError> {
        let mut from = self.reader.linking(page, MAX_ROWS)?;
        from.retain(|id| self.is_answer(*id));
        // The sort is stable: pages that no ranking found stay newest first.
        from.sort_by_key(|id| self.positions.get(id).copied().unwrap_or(usize::MAX));
        for id in from.into_iter().take(MAX_BACKWARD) {
            if let Some(found) = self.reader.by_id(id)? {
                self.add_neighbour(found);
            }
        }
        Ok(())
    }

    /// Reads the sentences in which `page` links to its neighbours.
    fn read_forward(
        &mut self,
        page: &PageEntry,
        links: &[(u64, LinkRecord)],
        wanted: &WantedPages<'_>,
    ) -> Result<(), StoreError> {
        let mut mentioned: HashMap<&str, Vec<u64>> = HashMap::new();
        for (id, link) in links {
            if link.kind == MENTIONS {
                mentioned.entry(link.raw.as_str()).or_default().push(*id);
            } else {
                self.add_link(*id, frontmatter_link(page, link, wanted));
            }
        }
        if mentioned.is_empty() {
            return Ok(());
        }
        let Some(Content { body, .. }) = unless_damaged(self.reader.content(&page.2))? else {
            return Ok(());
        };
        each_link(&body, &|raw| mentioned.contains_key(raw), &mut |mention| {
            for id in mentioned.get(mention.raw).into_iter().flatten() {
                self.add_link(*id, body_link(page, mention.sentence, mention.lead, wanted));
            }
        });
        Ok(())
    }

    /// Reads the sentences in which the neighbours link to `page`.
    fn read_backward(
        &mut self,
        page: &PageEntry,
        wanted: &WantedPages<'_>,
    ) -> Result<(), StoreError> {
        let names = self.reader.derived(page.2.id)?.names;
        let linking: HashSet<u64> = self.reader.linking(page, MAX_ROWS)?.into_iter().collect();
        let mut ids: Vec<(bool, usize, u64)> = self
            .neighbours
            .iter()
            .filter(|(id, _)| linking.contains(id))
            .map(|(&id, n)| {
                (
                    !wanted.matches_kind(&n.kinds),
                    self.positions.get(&id).copied().unwrap_or(usize::MAX),
                    id,
                )
            })
            .collect();
        ids.sort_unstable();
        for (_, _, id) in ids.into_iter().take(MAX_BODIES) {
            let Some(from) = self.neighbours.get(&id).map(|n| n.page.clone()) else { continue };
            let links = self.reader.links_between(&from, page, &names)?;
            let mut raws = HashSet::new();
            for link in &links {
                if link.kind == MENTIONS {
                    raws.insert(link.raw.as_str());
                } else {
                    self.add_link(id, frontmatter_link(&from, link, wanted));
                }
            }
            if raws.is_empty() {
                continue;
            }
            let Some(Content { body, .. }) = unless_damaged(self.reader.content(&from.2))? else {
                continue;
            };
            each_link(&body, &|raw| raws.contains(raw), &mut |mention| {
                self.add_link(id, body_link(&from, mention.sentence, mention.lead, wanted));
            });
        }
        Ok(())
    }

    fn add_link(&mut self, id: u64, way: RelationLink) {
        if let Some(neighbour) = self.neighbours.get_mut(&id)
            && neighbour.ways.iter().all(|known| known.share < way.share || known.role < way.role)
        {
            neighbour.ways.push(way);
        }
    }
}

/// Returns the kinds of a page: its type and its folders.
fn kinds((_, slug, record): &PageEntry) -> Vec<String> {
    let folders = slug.as_str().rsplit_once('/').map_or("", |(folders, _)| folders);
    std::iter::once(record.page_type.to_lowercase())
        .chain(folders.split('/').filter(|f| !f.is_empty()).map(str::to_owned))
        .collect()
}

/// Returns a link in the frontmatter. Its key is compared with the question.
fn frontmatter_link(on: &PageEntry, link: &LinkRecord, wanted: &WantedPages<'_>) -> RelationLink {
    let key = link.kind.replace('_', " ");
    let share = wanted.content_share(&[&key]);
    RelationLink {
        on: on.1.as_str().to_owned(),
        share,
        role: share,
        text: format!("its \"{key}\""),
    }
}

/// Returns a link in the body. Its sentence and the titles above it are compared with the question.
fn body_link(
    on: &PageEntry,
    sentence: &str,
    lead: [&str; 2],
    wanted: &WantedPages<'_>,
) -> RelationLink {
    // `**Attendees:** [A](a), [B](b)` names its list in the line itself.
    let label = sentence
        .split_once(':')
        .filter(|(label, _)| !label.contains('['))
        .map_or("", |(label, _)| label);
    let share = wanted.content_share(&[sentence, lead[0], lead[1]]);
    let role = wanted.content_share(&[label, lead[0], lead[1]]);
    RelationLink { on: on.1.as_str().to_owned(), share, role, text: plain_sentence(sentence, 120) }
}
