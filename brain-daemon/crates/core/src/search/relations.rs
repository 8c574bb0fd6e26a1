//! Questions about who or what hangs together with a page: `who invested in Acme`, `which meetings
//! did Mia attend`, `people at Acme`.
//!
//! The question names a page; its neighbours in the link graph are the candidates, in both
//! directions. What the question says besides is looked for in the sentence that carries the link
//! (or in the name of the frontmatter key), and what kind of page it wants is told by its question
//! word or a noun that a neighbour's type or folder answers to. No templates: the same rule for
//! every corpus.
//!
//! The work is bounded, whatever the number of links: see the constants.

use std::collections::{HashMap, HashSet};

use super::question::{Form, form, is_agent, is_person, names_kind};
use super::sentence::{carried, shown};
use brain_page::MENTIONS;
use brain_search::{QuestionTerms, QuestionWord, Subject, each_word};
use brain_store::{Content, LinkRecord, PageEntry, Reader, Resolution, StoreError, unless_damaged};

/// At most so many pages of one name are started from.
const MAX_STARTS: usize = 4;
/// At most so many links of a page are followed.
const MAX_FORWARD: usize = 400;
/// At most so many rows of links to a page are read.
const MAX_ROWS: usize = 10_000;
/// At most so many of the pages that link to a page are looked at: first those that words and
/// vectors found, then the newest.
const MAX_BACKWARD: usize = 300;
/// At most so many bodies are read: first those of the wanted kind.
const MAX_BODIES: usize = 120;

/// What a link is worth by itself. What that is beside words and meaning is for the fusion.
const LINKED: f32 = 0.2;
/// What it is worth when the sentence that carries it says all that the question says.
const SAID: f32 = 0.8;
/// What a page of the wanted kind gets.
const KIND: f32 = 0.4;
/// What is left to a page of another kind where there are pages of the wanted one.
const OTHER: f32 = 0.5;
/// What a second link counts, to another page that the question names.
const SECOND: f32 = 0.3;

/// What the links say about a question.
#[derive(Debug, Default)]
pub(super) struct Relations {
    /// Pages that hang together with what it names.
    pub(super) related: Vec<Related>,
    /// The pages that it names, when it asks for others.
    pub(super) subjects: Vec<u64>,
}

/// A page that hangs together with what a question names.
#[derive(Debug)]
pub(super) struct Related {
    /// Its number.
    pub(super) page: u64,
    /// How much, from 0 to about 2.
    pub(super) weight: f32,
    /// By which sentence, on which page.
    pub(super) how: String,
}

/// A neighbour of a page that the question names.
struct Neighbour {
    page: PageEntry,
    kinds: Vec<String>,
    ways: Vec<Way>,
}

/// One link between the two.
struct Way {
    /// The slug of the page that carries it.
    on: String,
    /// How far what the question says is said there.
    share: f32,
    /// The same of what names the whole list or key that it is in.
    role: f32,
    /// The sentence, or the key.
    said: String,
}

/// What the question wants.
struct Wanted<'a> {
    person: bool,
    noun: Option<&'a QuestionWord>,
    content: Vec<&'a QuestionWord>,
}

impl Wanted<'_> {
    fn is(&self, kinds: &[String]) -> bool {
        kinds.iter().any(|kind| {
            (self.person && is_person(kind)) || self.noun.is_some_and(|noun| names_kind(noun, kind))
        })
    }

    /// How far `texts` say what the question says besides names and kinds.
    fn share(&self, texts: &[&str]) -> f32 {
        if self.content.is_empty() {
            return 0.0;
        }
        let mut best = vec![0.0_f32; self.content.len()];
        for text in texts {
            each_word(text, &mut |word| {
                for (best, asked) in best.iter_mut().zip(&self.content) {
                    if *best < 1.0 {
                        *best = best.max(asked.similarity(word));
                    }
                }
            });
        }
        best.iter().sum::<f32>() / best.len() as f32
    }
}

/// What the links say about `asked`. `order` has the place of the pages that words and vectors
/// found; only pages that `admits` lets through are answers.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn relations(
    reader: &Reader,
    asked: &QuestionTerms,
    order: &HashMap<u64, usize>,
    admits: &dyn Fn(u64) -> bool,
) -> Result<Relations, StoreError> {
    let Some(form) = form(asked) else { return Ok(Relations::default()) };
    let starts: HashSet<u64> =
        asked.subjects.iter().flat_map(|s| s.pages.iter().copied()).collect();
    let mut weights: HashMap<u64, (f32, String)> = HashMap::new();
    let mut fires = false;
    for subject in &asked.subjects {
        let mut around =
            Around { reader, starts: &starts, order, admits, neighbours: HashMap::new() };
        let mut pages = Vec::new();
        for &id in subject.pages.iter().take(MAX_STARTS) {
            pages.extend(reader.by_id(id)?);
        }
        let forward =
            pages.iter().map(|page| around.forward(page)).collect::<Result<Vec<_>, _>>()?;
        for page in &pages {
            around.backward(page)?;
        }
        let wanted = wanted(asked, &form, &around.neighbours);
        let (strong, role) = strength(&form, &wanted, subject, &pages, asked);
        if !strong && !role {
            continue;
        }
        let agent = wanted.content.iter().any(|word| is_agent(&word.text));
        for (page, links) in pages.iter().zip(&forward) {
            around.read_forward(page, links, &wanted)?;
        }
        for page in &pages {
            around.read_backward(page, &wanted)?;
        }
        let any = around.neighbours.values().any(|n| !n.ways.is_empty() && wanted.is(&n.kinds));
        for (id, neighbour) in around.neighbours {
            let share = |way: &Way| if strong || agent { way.share } else { way.role };
            let best = neighbour.ways.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
            let Some(way) = best.filter(|way| strong || share(way) > 0.0) else { continue };
            let mut weight = LINKED + SAID * share(way);
            if wanted.is(&neighbour.kinds) {
                weight += KIND;
            } else if any {
                weight *= OTHER;
            }
            fires = true;
            let how = format!("link on {}: {}", way.on, way.said);
            match weights.get_mut(&id) {
                Some((total, best)) => {
                    if weight > *total {
                        *best = how;
                    }
                    *total = total.max(weight) + SECOND * total.min(weight);
                }
                None => {
                    weights.insert(id, (weight, how));
                }
            }
        }
    }
    let mut related: Vec<Related> =
        weights.into_iter().map(|(page, (weight, how))| Related { page, weight, how }).collect();
    related.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.page.cmp(&b.page)));
    let subjects = if fires { starts.into_iter().collect() } else { Vec::new() };
    Ok(Relations { related, subjects })
}

/// What `asked` wants, by its words and by the kinds that there are around what it names.
fn wanted<'a>(
    asked: &'a QuestionTerms,
    form: &Form,
    neighbours: &HashMap<u64, Neighbour>,
) -> Wanted<'a> {
    let words: Vec<&QuestionWord> =
        form.content.iter().filter_map(|&at| asked.words.get(at)).collect();
    let kinds: HashSet<&String> = neighbours.values().flat_map(|n| &n.kinds).collect();
    let named = |word: &&QuestionWord| kinds.iter().any(|kind| names_kind(word, kind));
    let noun = if form.who { None } else { words.iter().copied().find(named) };
    let content =
        words.into_iter().filter(|word| noun.is_none_or(|noun| noun.text != word.text)).collect();
    Wanted { person: form.who, noun, content }
}

/// Whether the question asks for neighbours of `pages`, which `subject` names, and whether it may
/// ask for those in a role: `investors of Acme`, where a sentence has to say so; `cast of Dune`,
/// where the name of the list or the key has to.
fn strength(
    form: &Form,
    wanted: &Wanted<'_>,
    subject: &Subject,
    pages: &[PageEntry],
    asked: &QuestionTerms,
) -> (bool, bool) {
    let few = wanted.content.len() <= 2;
    // `people at Acme`, but not `how people work at Acme with little sleep`, and not `company
    // Acme`.
    let listed = wanted.noun.is_some_and(|noun| {
        let start = asked.words.get(subject.words.start).map_or(0, |word| word.place.start);
        noun.place.start < start && !pages.iter().any(|page| wanted.is(&kinds(page)))
    });
    let strong = (form.who && (!wanted.content.is_empty() || form.tied))
        || (wanted.noun.is_some() && form.which)
        || (form.tied && few && listed);
    (strong, form.tied && few && !wanted.content.is_empty())
}

/// What is around a page that the question names.
struct Around<'a> {
    reader: &'a Reader,
    starts: &'a HashSet<u64>,
    order: &'a HashMap<u64, usize>,
    admits: &'a dyn Fn(u64) -> bool,
    neighbours: HashMap<u64, Neighbour>,
}

impl Around<'_> {
    fn is_answer(&self, id: u64) -> bool {
        !self.starts.contains(&id) && (self.admits)(id)
    }

    fn add(&mut self, page: PageEntry) {
        let id = page.2.id;
        self.neighbours.entry(id).or_insert_with(|| Neighbour {
            kinds: kinds(&page),
            page,
            ways: Vec::new(),
        });
    }

    /// Follows the links of `page`; which of them lead to which neighbour.
    fn forward(&mut self, page: &PageEntry) -> Result<Vec<(u64, LinkRecord)>, StoreError> {
        let mut out = Vec::new();
        for link in self.reader.derived(page.2.id)?.links.into_iter().take(MAX_FORWARD) {
            if let Resolution::Page(target) = self.reader.resolve(&link, &page.0)?
                && self.is_answer(target.2.id)
            {
                out.push((target.2.id, link));
                self.add(*target);
            }
        }
        Ok(out)
    }

    /// Takes up pages that link to `page`.
    fn backward(&mut self, page: &PageEntry) -> Result<(), StoreError> {
        let mut from = self.reader.linking(page, MAX_ROWS)?;
        from.retain(|id| self.is_answer(*id));
        // A stable order: the newest stay in front of what was not found otherwise.
        from.sort_by_key(|id| self.order.get(id).copied().unwrap_or(usize::MAX));
        for id in from.into_iter().take(MAX_BACKWARD) {
            if let Some(found) = self.reader.by_id(id)? {
                self.add(found);
            }
        }
        Ok(())
    }

    /// Reads what `page` says where it links to its neighbours.
    fn read_forward(
        &mut self,
        page: &PageEntry,
        links: &[(u64, LinkRecord)],
        wanted: &Wanted<'_>,
    ) -> Result<(), StoreError> {
        let mut mentioned: HashMap<&str, Vec<u64>> = HashMap::new();
        for (id, link) in links {
            if link.kind == MENTIONS {
                mentioned.entry(link.raw.as_str()).or_default().push(*id);
            } else {
                self.note(*id, typed(page, link, wanted));
            }
        }
        if mentioned.is_empty() {
            return Ok(());
        }
        let Some(Content { body, .. }) = unless_damaged(self.reader.content(&page.2))? else {
            return Ok(());
        };
        carried(&body, &|raw| mentioned.contains_key(raw), &mut |place| {
            for id in mentioned.get(place.raw).into_iter().flatten() {
                self.note(*id, said(page, place.sentence, place.lead, wanted));
            }
        });
        Ok(())
    }

    /// Reads what the neighbours say where they link to `page`.
    fn read_backward(&mut self, page: &PageEntry, wanted: &Wanted<'_>) -> Result<(), StoreError> {
        let names = self.reader.derived(page.2.id)?.names;
        let linking: HashSet<u64> = self.reader.linking(page, MAX_ROWS)?.into_iter().collect();
        let mut ids: Vec<(bool, usize, u64)> = self
            .neighbours
            .iter()
            .filter(|(id, _)| linking.contains(id))
            .map(|(&id, n)| {
                (!wanted.is(&n.kinds), self.order.get(&id).copied().unwrap_or(usize::MAX), id)
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
                    self.note(id, typed(&from, link, wanted));
                }
            }
            if raws.is_empty() {
                continue;
            }
            let Some(Content { body, .. }) = unless_damaged(self.reader.content(&from.2))? else {
                continue;
            };
            carried(&body, &|raw| raws.contains(raw), &mut |place| {
                self.note(id, said(&from, place.sentence, place.lead, wanted));
            });
        }
        Ok(())
    }

    fn note(&mut self, id: u64, way: Way) {
        if let Some(neighbour) = self.neighbours.get_mut(&id)
            && neighbour.ways.iter().all(|known| known.share < way.share || known.role < way.role)
        {
            neighbour.ways.push(way);
        }
    }
}

/// What a page is: its type, and the folders that it is in.
fn kinds((_, slug, record): &PageEntry) -> Vec<String> {
    let folders = slug.as_str().rsplit_once('/').map_or("", |(folders, _)| folders);
    std::iter::once(record.page_type.to_lowercase())
        .chain(folders.split('/').filter(|f| !f.is_empty()).map(str::to_owned))
        .collect()
}

/// A link of the frontmatter: its key is what it says.
fn typed(on: &PageEntry, link: &LinkRecord, wanted: &Wanted<'_>) -> Way {
    let key = link.kind.replace('_', " ");
    let share = wanted.share(&[&key]);
    Way { on: on.1.as_str().to_owned(), share, role: share, said: format!("its \"{key}\"") }
}

/// A link of the body: the sentence is what it says, with what stands above it.
fn said(on: &PageEntry, sentence: &str, lead: [&str; 2], wanted: &Wanted<'_>) -> Way {
    // `**Attendees:** [A](a), [B](b)` names its list in the line itself.
    let label = sentence
        .split_once(':')
        .filter(|(label, _)| !label.contains('['))
        .map_or("", |(label, _)| label);
    let share = wanted.share(&[sentence, lead[0], lead[1]]);
    let role = wanted.share(&[label, lead[0], lead[1]]);
    Way { on: on.1.as_str().to_owned(), share, role, said: shown(sentence, 120) }
}
