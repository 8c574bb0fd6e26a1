//! The pages that links connect with a named page, and the sentences of these links.

use std::collections::{HashMap, HashSet};

use brain_page::{MENTIONS, each_link, plain_sentence};
use brain_search::each_word;
use brain_store::{Content, LinkRecord, PageEntry, Reader, Resolution, StoreError, unless_damaged};

use super::clause::{clause_of, without_attributes};
use super::target_pages::{TargetPages, kinds};
use brain_questions::kinds::is_person;
use brain_questions::relation_words::is_employer;

/// Maximum number of links to a page that are read.
pub(super) const MAX_ROWS: usize = 10_000;
/// Maximum number of links followed from a page.
const MAX_FORWARD: usize = 400;
/// Maximum number of words in the title of a list.
const MAX_LABEL_WORDS: usize = 3;
/// Maximum length of the text of a link, in characters.
const MAX_TEXT: usize = 120;

/// A neighbour of a named page.
pub(super) struct Neighbour {
    pub(super) page: PageEntry,
    pub(super) kinds: Vec<String>,
    pub(super) links: Vec<RelationLink>,
}

/// A link between a named page and its neighbour.
pub(super) struct RelationLink {
    /// The slug of the linking page.
    pub(super) page_slug: String,
    /// [`TargetPages::content_share`] of its sentence and of the titles above it, or of its key.
    pub(super) content_share: f32,
    /// The same share of the titles above it and of its list, or of its key: the labels, which name
    /// the role of the linked page.
    pub(super) label_share: f32,
    /// Whether its clause and the titles above it, or its key, have all content words.
    pub(super) has_all_words: bool,
    /// Whether the link is in a list of people, such as `attendees`, or follows `with`.
    pub(super) is_listed: bool,
    /// The sentence or key, as it is shown.
    pub(super) text: String,
}

/// The neighbours of the pages with one name.
pub(super) struct NameNeighbourhood<'a> {
    pub(super) reader: &'a Reader,
    /// The ids of the named pages: they are no answers.
    pub(super) named_pages: &'a HashSet<u64>,
    /// The positions of pages in the rankings by words and vectors, by page id.
    pub(super) positions: &'a HashMap<u64, usize>,
    pub(super) admits: &'a dyn Fn(u64) -> bool,
    /// Maximum number of linking pages, and of bodies that are read.
    pub(super) limits: [usize; 2],
    /// The neighbours, by page id.
    pub(super) neighbours: HashMap<u64, Neighbour>,
}

impl NameNeighbourhood<'_> {
    /// Returns whether the page can be an answer.
    pub(super) fn is_answer(&self, id: u64) -> bool {
        !self.named_pages.contains(&id) && (self.admits)(id)
    }

    /// Returns the kinds of all neighbours.
    pub(super) fn kinds(&self) -> HashSet<&str> {
        self.neighbours.values().flat_map(|n| &n.kinds).map(String::as_str).collect()
    }

    pub(super) fn add_neighbour(&mut self, page: PageEntry) {
        let id = page.2.id;
        self.neighbours.entry(id).or_insert_with(|| Neighbour {
            kinds: kinds(&page),
            page,
            links: Vec::new(),
        });
    }

    /// Adds the pages that `page` links to. Returns the links with the id of their target.
    pub(super) fn add_forward(
        &mut self,
        page: &PageEntry,
    ) -> Result<Vec<(u64, LinkRecord)>, StoreError> {
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
    pub(super) fn add_backward(&mut self, page: &PageEntry) -> Result<(), StoreError> {
        let mut from = self.reader.linking(page, MAX_ROWS)?;
        from.retain(|id| self.is_answer(*id));
        // The sort is stable: pages that no ranking found come last and stay newest first.
        from.sort_by_key(|id| self.positions.get(id).copied().unwrap_or(usize::MAX));
        for id in from.into_iter().take(self.limits[0]) {
            if let Some(found) = self.reader.by_id(id)? {
                self.add_neighbour(found);
            }
        }
        Ok(())
    }

    /// Adds the links of `page` to its neighbours, with their sentences.
    pub(super) fn read_forward(
        &mut self,
        page: &PageEntry,
        links: &[(u64, LinkRecord)],
        targets: &TargetPages<'_>,
    ) -> Result<(), StoreError> {
        let mut mentioned: HashMap<&str, Vec<u64>> = HashMap::new();
        for (id, link) in links {
            if link.kind == MENTIONS {
                mentioned.entry(link.raw.as_str()).or_default().push(*id);
            } else {
                self.add_link(*id, frontmatter_link(page, link, targets));
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
                self.add_link(
                    *id,
                    body_link(page, (mention.raw, mention.sentence), mention.lead, targets),
                );
            }
        });
        Ok(())
    }

    /// Adds the links of the neighbours to `page`, with their sentences. Reads the neighbours of
    /// the target kind first.
    pub(super) fn read_backward(
        &mut self,
        page: &PageEntry,
        targets: &TargetPages<'_>,
    ) -> Result<(), StoreError> {
        let names = self.reader.derived(page.2.id)?.names;
        let linking: HashSet<u64> = self.reader.linking(page, MAX_ROWS)?.into_iter().collect();
        let mut ids: Vec<(bool, usize, u64)> = self
            .neighbours
            .iter()
            .filter(|(id, _)| linking.contains(id))
            .map(|(&id, n)| {
                (
                    !targets.matches_kind(&n.kinds),
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
                    self.add_link(id, frontmatter_link(&from, link, targets));
                }
            }
            if raws.is_empty() {
                continue;
            }
            let Some(Content { body, .. }) = unless_damaged(self.reader.content(&from.2))? else {
                continue;
            };
            each_link(&body, &|raw| raws.contains(raw), &mut |mention| {
                self.add_link(
                    id,
                    body_link(&from, (mention.raw, mention.sentence), mention.lead, targets),
                );
            });
        }
        Ok(())
    }

    /// Adds a link to a neighbour, unless one of its links is as good in all respects.
    pub(super) fn add_link(&mut self, id: u64, link: RelationLink) {
        if let Some(neighbour) = self.neighbours.get_mut(&id)
            && neighbour.links.iter().all(|known| {
                known.content_share < link.content_share
                    || known.label_share < link.label_share
                    || (!known.has_all_words && link.has_all_words)
                    || (!known.is_listed && link.is_listed)
            })
        {
            neighbour.links.push(link);
        }
    }
}

/// Returns a link in the frontmatter of `on`. Its key is compared with the question.
pub(super) fn frontmatter_link(
    on: &PageEntry,
    link: &LinkRecord,
    targets: &TargetPages<'_>,
) -> RelationLink {
    let key = link.kind.replace('_', " ");
    // `company: "[[Acme]]"` on the page of a person who works there.
    let employer = if is_employer(&key) { "employer" } else { "" };
    let share = targets.content_share("", &[&key, employer]);
    RelationLink {
        has_all_words: share.has_all,
        page_slug: on.1.as_str().to_owned(),
        content_share: share.mean,
        label_share: share.mean,
        is_listed: names_people(&key),
        text: format!("its \"{key}\""),
    }
}

/// Returns the title of a list that is in the same line: `**Attendees:** [A](a), [B](b)`. Empty if
/// there is none.
pub(super) fn list_label(sentence: &str) -> &str {
    let label = sentence.split_once(':').filter(|(label, _)| !label.contains('['));
    label.map_or("", |(label, _)| label)
}

/// Returns whether a text is the title of a list of people. A longer text is the beginning of a
/// sentence: `The list of attendees was short: …`.
pub(super) fn is_people_label(text: &str) -> bool {
    let mut count = 0;
    each_word(text, &mut |_| count += 1);
    count <= MAX_LABEL_WORDS && names_people(text)
}

/// Returns whether the word before the link to `raw` says that somebody was there: `lunch with
/// [[Ann]]`.
fn follows_with(sentence: &str, raw: &str) -> bool {
    let before = sentence.find(raw).and_then(|at| sentence.get(..at)).unwrap_or_default();
    let before = before.trim_end_matches(['[', '(', ' ', ']']);
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    ["with", "mit", "avec", "con"].contains(&word.to_lowercase().as_str())
}

/// Returns a link in the body of `on`. Its sentence and `lead`, the titles above it, are compared
/// with the question.
pub(super) fn body_link(
    on: &PageEntry,
    (raw, sentence): (&str, &str),
    lead: [&str; 2],
    targets: &TargetPages<'_>,
) -> RelationLink {
    let label = list_label(sentence);
    let sentence_words = without_attributes(sentence);
    let content_share = targets.content_share(&sentence_words, &lead);
    let clause = clause_of(&sentence_words, raw, &|word| targets.has_content(word));
    let labels = [label, lead[0], lead[1]];
    let label_share = targets.content_share("", &labels);
    RelationLink {
        page_slug: on.1.as_str().to_owned(),
        content_share: content_share.mean,
        label_share: label_share.mean,
        has_all_words: content_share.has_all && targets.content_share(&clause, &labels).has_all,
        is_listed: is_people_label(label)
            || lead.iter().any(|text| names_people(text))
            || follows_with(sentence, raw),
        text: plain_sentence(sentence, MAX_TEXT),
    }
}

/// Returns whether a title or key names people by their role: `Attendees`.
pub(super) fn names_people(text: &str) -> bool {
    let mut found = false;
    each_word(text, &mut |word| found |= is_person(word));
    found
}
