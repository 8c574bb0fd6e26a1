//! Answers questions about pages related to a named page: `who invested in Acme`, `which meetings
//! did Mia attend`, `people at Acme`.
//!
//! The candidates are the neighbours of the named page in the link graph, in both directions. The
//! other words of the question are compared with the sentence around each link, or with the
//! frontmatter key. The question word, or a noun that matches a neighbour's type or folder, tells
//! which kind of page is wanted. The same rules apply to every collection of pages.
//!
//! The constants limit the work for pages with many links.

use std::collections::{HashMap, HashSet};

use super::chain::chains;
use super::question::{Form, form, is_person, is_role_noun, names_kind, other_forms, role_root};
use super::sentence::{each_link, plain_sentence};
use brain_page::MENTIONS;
use brain_search::{QuestionTerms, QuestionWord, Subject, each_word};
use brain_store::{Content, LinkRecord, PageEntry, Reader, Resolution, StoreError, unless_damaged};

/// Maximum number of pages with the name in the question, or between it and the answers.
const MAX_STARTS: usize = 8;
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
/// Added if the sentence around the link has all words of the question.
const SENTENCE_WEIGHT: f32 = 0.8;
/// Added for a page of the wanted kind.
const KIND_WEIGHT: f32 = 0.4;
/// The factor for another form of a word of the question.
const OTHER_FORM_FACTOR: f32 = 0.8;
/// Factor for a page of another kind, if there are pages of the wanted kind.
const OTHER_KIND_FACTOR: f32 = 0.5;
/// The share of the best weight that a page between the named page and the answers must have.
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
    /// Whether it is in a list of people: `attendees`.
    is_listed: bool,
    /// The sentence or key, for people.
    text: String,
}

/// The kind of pages that a question asks for, and the words that describe their relation.
struct WantedPages<'a> {
    person: bool,
    noun: Option<&'a QuestionWord>,
    content: Vec<&'a QuestionWord>,
    /// Other forms of each word: see [`other_forms`].
    forms: Vec<Vec<QuestionWord>>,
}

impl WantedPages<'_> {
    fn matches_kind(&self, kinds: &[String]) -> bool {
        kinds.iter().any(|kind| {
            (self.person && is_person(kind)) || self.noun.is_some_and(|noun| names_kind(noun, kind))
        })
    }

    /// Returns how similar `word` is to a content word or one of its other forms, 0 to 1.
    fn similarity(&self, content: usize, word: &str) -> f32 {
        let own = self.content.get(content).map_or(0.0, |own| own.similarity(word));
        if own >= OTHER_FORM_FACTOR {
            return own;
        }
        let is_root =
            |own: &QuestionWord| role_root(word).is_some_and(|root| own.similarity(root) >= 1.0);
        let forms = self.forms.get(content);
        let is_form = forms.is_some_and(|forms| forms.iter().any(|f| f.similarity(word) > 0.0))
            || self.content.get(content).copied().is_some_and(is_root);
        if is_form { OTHER_FORM_FACTOR } else { own }
    }

    /// Returns how much of the question's content words the texts have, 0 to 1.
    fn content_share(&self, texts: &[&str]) -> f32 {
        if self.content.is_empty() {
            return 0.0;
        }
        let mut best = vec![0.0_f32; self.content.len()];
        for text in texts {
            each_word(text, &mut |word| {
                for (n, best) in best.iter_mut().enumerate() {
                    if *best < 1.0 {
                        *best = best.max(self.similarity(n, word));
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
    let mut starts = self::starts(terms);
    let limits = [MAX_BACKWARD, MAX_BODIES];
    let search = RelationSearch { reader, terms, positions, admits, limits };
    let mut found: HashMap<u64, FoundPage> = HashMap::new();
    if let Some((mut form, middle)) = search.middle_pages(&form, &starts)? {
        starts.extend(&middle.pages);
        // `meetings with the founder of Acme`: the preposition is before the pages between.
        form.has_possessive |= !form.asks_for_persons && !form.asks_for_kind;
        found = search.hop(&form, &middle, &starts)?;
    }
    if found.is_empty() {
        starts = self::starts(terms);
        for subject in &terms.subjects {
            for (id, page) in search.hop(&form, subject, &starts)? {
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
    let subjects = if related.is_empty() { Vec::new() } else { starts.into_iter().collect() };
    Ok(Relations { related, subjects })
}

/// Returns the pages that the question names.
pub(super) fn starts(terms: &QuestionTerms) -> HashSet<u64> {
    terms.subjects.iter().flat_map(|s| s.pages.iter().copied()).collect()
}

/// Returns whether a title or key names people by their role: `Attendees`.
fn names_people(text: &str) -> bool {
    let mut found = false;
    each_word(text, &mut |word| found |= is_person(word));
    found
}

/// Returns whether a page has a list of people.
///
/// # Errors
/// If the store cannot be read.
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
            found |= [label, link.lead[0], link.lead[1]].iter().any(|text| names_people(text));
        });
    }
    Ok(found)
}

/// A page at the other end of a relation.
pub(super) struct FoundPage {
    weight: f32,
    /// How much of the question the sentence of the link has, 0 to 1.
    pub(super) share: f32,
    pub(super) is_wanted_kind: bool,
    /// Whether the link is in a list of people.
    pub(super) is_listed: bool,
    /// The word of the question for its kind.
    pub(super) noun: String,
    explanation: String,
}

impl FoundPage {
    /// Adds a link to a second page that the question names.
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
    reader: &'a Reader,
    terms: &'a QuestionTerms,
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

    /// Returns the pages between the named page and the wanted pages, and the form of the rest of
    /// the question: `who invested in the company that Mia founded`. `None` if the question has one
    /// relation only, or if no link has the first one.
    pub(super) fn middle_pages(
        &self,
        form: &Form,
        starts: &HashSet<u64>,
    ) -> Result<Option<(Form, Subject)>, StoreError> {
        // The filters of a question apply to its answers, not to the pages between.
        let inner_search = RelationSearch { admits: &|_| true, ..*self };
        for chain in chains(self.terms, form) {
            let Some(subject) = self.terms.subjects.get(chain.subject) else { continue };
            let inner = Form {
                asks_for_persons: false,
                asks_for_kind: true,
                asks_for_last_day: false,
                has_possessive: true,
                content: chain.inner.clone(),
            };
            let found = inner_search.hop(&inner, subject, starts)?;
            let is_middle = |page: &&FoundPage| match chain.has_verb() {
                true => page.share > 0.0,
                false => page.share > 0.0 || page.is_wanted_kind,
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
            return Ok(Some((Form { content: chain.outer, ..form.clone() }, middle)));
        }
        Ok(None)
    }

    /// Returns the neighbours of the pages of `subject` that answer a question of this form.
    pub(super) fn hop(
        &self,
        form: &Form,
        subject: &Subject,
        starts: &HashSet<u64>,
    ) -> Result<HashMap<u64, FoundPage>, StoreError> {
        let RelationSearch { reader, terms, positions, admits, limits } = *self;
        let mut neighbourhood =
            Neighbourhood { reader, starts, positions, admits, limits, neighbours: HashMap::new() };
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
        let wanted = wanted(terms, form, &neighbourhood.neighbours);
        let (is_strong, is_role_question) = strength(form, &wanted, subject, &pages, terms);
        if !is_strong && !is_role_question {
            return Ok(HashMap::new());
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
        let mut found = HashMap::new();
        for (id, neighbour) in neighbourhood.neighbours {
            let share =
                |way: &RelationLink| if is_strong || has_role_noun { way.share } else { way.role };
            let best = neighbour.ways.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
            let Some(way) = best.filter(|way| is_strong || share(way) > 0.0) else { continue };
            let share = share(way);
            let mut weight = LINK_WEIGHT + SENTENCE_WEIGHT * share;
            let is_wanted_kind = wanted.matches_kind(&neighbour.kinds);
            if is_wanted_kind {
                weight += KIND_WEIGHT;
            } else if has_wanted_kind {
                weight *= OTHER_KIND_FACTOR;
            }
            let explanation = format!("link on {}: {}", way.on, way.text);
            let is_listed = neighbour.ways.iter().any(|way| way.is_listed);
            let noun = match wanted.noun {
                Some(noun) => terms.text.get(noun.range.clone()).unwrap_or_default().to_owned(),
                None => String::new(),
            };
            let page = FoundPage { weight, share, is_wanted_kind, is_listed, noun, explanation };
            found.insert(id, page);
        }
        Ok(found)
    }
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
    let content: Vec<&QuestionWord> =
        words.into_iter().filter(|word| noun.is_none_or(|noun| noun.text != word.text)).collect();
    let forms = content.iter().map(|word: &&QuestionWord| other_forms(&word.text)).collect();
    WantedPages { person: form.asks_for_persons, noun, content, forms }
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
    // `people at Acme`, `Acme's meetings`, but not `how people work at Acme with little sleep`, and not `company
    // Acme`.
    let names_kind = wanted.noun.is_some_and(|noun| {
        let start = terms.words.get(subject.words.start).map_or(0, |word| word.range.start);
        let after = terms.words.get(subject.words.end).map_or(0, |word| word.range.start);
        (noun.range.start < start || noun.range.start == after)
            && !pages.iter().any(|page| wanted.matches_kind(&kinds(page)))
    });
    let is_strong = (form.asks_for_last_day
        && !(wanted.noun.is_none() && wanted.content.is_empty()))
        || (form.asks_for_persons && (!wanted.content.is_empty() || form.has_possessive))
        || (wanted.noun.is_some() && form.asks_for_kind)
        || (form.has_possessive && has_few_words && names_kind);
    (is_strong, form.has_possessive && has_few_words && !wanted.content.is_empty())
}

/// The neighbours of the pages with one name.
struct Neighbourhood<'a> {
    reader: &'a Reader,
    starts: &'a HashSet<u64>,
    positions: &'a HashMap<u64, usize>,
    admits: &'a dyn Fn(u64) -> bool,
    limits: [usize; 2],
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
            if let Resolution::Page(target) = self.reader.resolve(&link, (&page.0, &page.1))?
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
        for id in from.into_iter().take(self.limits[0]) {
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
        for (_, _, id) in ids.into_iter().take(self.limits[1]) {
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
            && neighbour.ways.iter().all(|known| {
                known.share < way.share
                    || known.role < way.role
                    || (!known.is_listed && way.is_listed)
            })
        {
            neighbour.ways.push(way);
        }
    }
}

/// Returns the kinds of a page: its type and its folders.
pub(super) fn kinds((_, slug, record): &PageEntry) -> Vec<String> {
    let folders = slug.as_str().rsplit_once('/').map_or("", |(folders, _)| folders);
    std::iter::once(record.page_type.to_lowercase())
        .chain(folders.split('/').filter(|f| !f.is_empty()).map(str::to_owned))
        .map(|kind| match kind.is_ascii() {
            true => kind,
            false => folded(&kind),
        })
        .collect()
}

/// Returns the text without accents, as the words of a question are.
fn folded(text: &str) -> String {
    let mut out = String::new();
    each_word(text, &mut |word| out.push_str(word));
    out
}

/// Returns a link in the frontmatter. Its key is compared with the question.
fn frontmatter_link(on: &PageEntry, link: &LinkRecord, wanted: &WantedPages<'_>) -> RelationLink {
    let key = link.kind.replace('_', " ");
    let share = wanted.content_share(&[&key]);
    RelationLink {
        on: on.1.as_str().to_owned(),
        share,
        role: share,
        is_listed: names_people(&key),
        text: format!("its \"{key}\""),
    }
}

/// Returns the name of a list in its own line: `**Attendees:** [A](a), [B](b)`.
fn list_label(sentence: &str) -> &str {
    let label = sentence.split_once(':').filter(|(label, _)| !label.contains('['));
    label.map_or("", |(label, _)| label)
}

/// Returns a link in the body. Its sentence and the titles above it are compared with the question.
fn body_link(
    on: &PageEntry,
    sentence: &str,
    lead: [&str; 2],
    wanted: &WantedPages<'_>,
) -> RelationLink {
    let label = list_label(sentence);
    let share = wanted.content_share(&[sentence, lead[0], lead[1]]);
    let role = wanted.content_share(&[label, lead[0], lead[1]]);
    RelationLink {
        on: on.1.as_str().to_owned(),
        share,
        role,
        is_listed: [label, lead[0], lead[1]].iter().any(|text| names_people(text)),
        text: plain_sentence(sentence, 120),
    }
}
