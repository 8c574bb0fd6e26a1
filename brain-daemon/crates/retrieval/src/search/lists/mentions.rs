//! Pages that link to a page or name it: `what links to Acme`, `which notes mention the tide gauge`.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use brain_protocol::Fault;
use brain_questions::function_words::is_function_word;
use brain_questions::kinds::is_person;
use brain_questions::mentions::{alternatives, is_day_word, mention_question};
use brain_search::{QuestionWord, Subject};
use brain_store::PageEntry;

use super::super::neighbours::MAX_ROWS;
use super::super::target_pages::kinds;
use super::{ListReader, PageList, names};

/// Types and folders of daily notes.
const DAILY: [&str; 9] =
    ["daily", "dailies", "day", "journal", "journals", "diary", "tagebuch", "diario", "journees"];

/// The pages that mention what a question names.
#[derive(Default)]
struct Mentions {
    ids: BTreeSet<u64>,
    /// The mentioned pages.
    subjects: HashSet<u64>,
    /// The words of each target that is no page's name.
    named: Vec<Vec<usize>>,
    /// Whether pages only have the words of a target, not side by side.
    is_doubtful: bool,
}

impl ListReader<'_> {
    /// Returns the pages that mention what the question names. `None` if it asks for none, or if
    /// no page has it.
    pub(in super::super) fn mentions(&self) -> Result<Option<PageList>, Fault> {
        let Some(question) = mention_question(self.terms) else { return Ok(None) };
        let mut found = Mentions::default();
        for target in self.alternatives(&question.target) {
            self.add_mentions(&target, question.is_for_links, &mut found)?;
        }
        let Mentions { ids, subjects, named, is_doubtful } = found;
        let kind = question.kind.and_then(|at| self.terms.words.get(at));
        let mut pages = Vec::new();
        for id in ids.into_iter().rev().filter(|id| !subjects.contains(id)) {
            let Some(page) = self.page(id)? else { continue };
            let is_named = named.iter().any(|words| self.is_person_named(&page, words));
            if !is_named && kind.is_none_or(|kind| self.is_mentioning_kind(&page, kind)) {
                pages.push(page);
            }
        }
        let noun = question.kind.map_or("pages", |at| self.typed(at)).to_owned();
        let origin = if question.is_for_links { "links" } else { "links and the text" };
        let doubt = "whether they mean it: no page has these words side by side";
        let doubt = is_doubtful.then(|| doubt.to_owned());
        let list = PageList { noun, pages, subjects, origin, doubt, ..PageList::default() };
        Ok((!list.pages.is_empty()).then_some(list))
    }

    /// Returns the parts of a target between words for `or`; the whole target if a page has it as
    /// its name.
    fn alternatives(&self, target: &Range<usize>) -> Vec<Range<usize>> {
        match self.named_by(target) {
            Some(_) => vec![target.clone()],
            None => alternatives(self.terms, target),
        }
    }

    /// Returns the name of a page that `target` is.
    fn named_by(&self, target: &Range<usize>) -> Option<&Subject> {
        let is_covered = |subject: &Subject, at: usize| {
            subject.words.contains(&at) || self.terms.words.get(at).is_none_or(is_function_word)
        };
        let is_target = |subject: &&Subject| {
            target.clone().all(|at| is_covered(subject, at))
                && subject.words.clone().any(|at| target.contains(&at))
        };
        self.terms.subjects.iter().find(is_target)
    }

    /// Adds the pages that mention `target`.
    fn add_mentions(
        &self,
        target: &Range<usize>,
        is_for_links: bool,
        found: &mut Mentions,
    ) -> Result<(), Fault> {
        let subject = self.named_by(target);
        let mut ids = BTreeSet::new();
        let mut phrases = vec![self.phrase(target)];
        for id in subject.into_iter().flat_map(|subject| &subject.pages) {
            let Some(page) = self.reader.by_id(*id)? else { continue };
            let names = self.reader.derived(*id)?.names;
            for from in self.reader.linking(&page, MAX_ROWS)? {
                let Some(linking) = self.page(from)? else { continue };
                if !self.reader.links_between(&linking, &page, &names)?.is_empty() {
                    ids.insert(from);
                }
            }
            phrases.push(page.2.title.clone());
            phrases.extend(page.2.aliases.iter().cloned());
        }
        let words: Vec<usize> =
            target.clone().filter(|at| !is_function_word(&self.terms.words[*at])).collect();
        if !is_for_links {
            for phrase in &phrases {
                ids.extend(self.pages_with([phrase.as_str()])?);
            }
            if ids.is_empty() {
                ids.extend(self.pages_with(words.iter().map(|at| self.typed(*at)))?);
                found.is_doubtful |= !ids.is_empty();
            }
        }
        found.ids.extend(ids);
        match subject {
            Some(subject) => found.subjects.extend(&subject.pages),
            None => found.named.push(words),
        }
        Ok(())
    }

    /// Returns whether a page is of the kind, or a daily note if the kind is `days`.
    fn is_mentioning_kind(&self, page: &PageEntry, kind: &QuestionWord) -> bool {
        self.is_of_kind(page, kind) || is_day_word(kind) && is_daily_note(page)
    }

    /// Returns whether a page is about a person whose name has these words: `Greta` is no mention
    /// on the page of Greta Holm.
    fn is_person_named(&self, page: &PageEntry, words: &[usize]) -> bool {
        let has = |name: &Vec<String>, at: &usize| name.contains(&self.terms.words[*at].text);
        kinds(page).iter().any(|kind| is_person(kind))
            && names(page).iter().any(|name| words.iter().all(|at| has(name, at)))
    }

    /// Returns the typed text of a run of words.
    fn phrase(&self, run: &Range<usize>) -> String {
        let words = self.terms.words.get(run.clone()).unwrap_or_default();
        let (Some(first), Some(last)) = (words.first(), words.last()) else {
            return String::new();
        };
        self.terms.text.get(first.range.start..last.range.end).unwrap_or_default().to_owned()
    }
}

/// Returns whether a page is in a folder for daily notes, or has no name but a day.
fn is_daily_note(page: &PageEntry) -> bool {
    let is_number = |word: &String| word.bytes().all(|b| b.is_ascii_digit());
    kinds(page).iter().any(|kind| DAILY.contains(&kind.as_str()))
        || names(page).iter().any(|name| name.len() == 3 && name.iter().all(is_number))
}
