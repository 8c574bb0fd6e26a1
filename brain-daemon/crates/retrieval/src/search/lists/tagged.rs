//! Pages with tags that a question names in words: `notes tagged evergreen`.

use std::collections::HashSet;
use std::ops::Range;

use brain_protocol::Fault;
use brain_questions::function_words::is_function_word;
use brain_questions::tagged::tag_question;
use brain_search::QuestionWord;
use brain_store::{LATEST, PageEntry, PageLabel};

use super::{ListReader, PageList, folded_words};

impl ListReader<'_> {
    /// Returns the pages with the tags that the question names. `None` if it names none, or if no
    /// page has all of them, or one of them after `or`.
    pub(in super::super) fn tagged(&self) -> Result<Option<PageList>, Fault> {
        let Some(question) = tag_question(self.terms) else { return Ok(None) };
        let known: Vec<(String, Vec<String>)> = self
            .reader
            .tag_counts(self.source)?
            .into_keys()
            .map(|tag| {
                let words = folded_words(&tag);
                (tag, words)
            })
            .collect();
        let mut pages: Option<Vec<PageEntry>> = None;
        for range in question.tags {
            let Some((tags, rest)) = self.longest_tag(&known, range) else { return Ok(None) };
            let others: Vec<&str> = rest
                .filter(|at| !is_function_word(&self.terms.words[*at]))
                .map(|at| self.typed(at))
                .collect();
            let with_others = match others.is_empty() {
                true => None,
                false => Some(self.pages_with(others)?),
            };
            let mut tagged = Vec::new();
            for tag in tags {
                let each = |page: PageEntry| {
                    if with_others.as_ref().is_none_or(|ids| ids.contains(&page.2.id)) {
                        tagged.push(page);
                    }
                    Ok(true)
                };
                self.reader.latest_with_label(PageLabel::Tag(tag), self.source, LATEST, each)?;
            }
            let ids: HashSet<u64> = tagged.iter().map(|page| page.2.id).collect();
            pages = Some(match pages {
                Some(before) if question.is_any => before.into_iter().chain(tagged).collect(),
                Some(before) => before.into_iter().filter(|p| ids.contains(&p.2.id)).collect(),
                None => tagged,
            });
        }
        let mut pages = pages.unwrap_or_default();
        let mut seen = HashSet::new();
        pages.retain(|page| seen.insert(page.2.id));
        if let Some(kind) = question.kind.and_then(|at| self.terms.words.get(at)) {
            pages.retain(|page| self.is_of_kind(page, kind));
        }
        let noun = question.kind.map_or("pages", |at| self.typed(at)).to_owned();
        let list = PageList { noun, pages, origin: "tags", ..PageList::default() };
        Ok((!list.pages.is_empty()).then_some(list))
    }

    /// Returns the tags that the first words of `range` name, as many words as possible, and the
    /// other words.
    fn longest_tag<'k>(
        &self,
        known: &'k [(String, Vec<String>)],
        range: Range<usize>,
    ) -> Option<(Vec<&'k str>, Range<usize>)> {
        (range.start + 1..=range.end).rev().find_map(|end| {
            let words = self.terms.words.get(range.start..end)?;
            let is_equal = |tag: &&(String, Vec<String>)| {
                tag.1.len() == words.len() && tag.1.iter().zip(words).all(|(a, b)| *a == b.text)
            };
            let is_similar = |tag: &&(String, Vec<String>)| {
                let matches = |(a, b): (&String, &QuestionWord)| b.similarity(a) >= 1.0;
                tag.1.len() == words.len() && tag.1.iter().zip(words).all(matches)
            };
            let mut tags: Vec<&str> =
                known.iter().filter(is_equal).map(|(tag, _)| tag.as_str()).collect();
            if tags.is_empty() {
                tags.extend(known.iter().filter(is_similar).map(|(tag, _)| tag.as_str()));
            }
            (!tags.is_empty()).then_some((tags, end..range.end))
        })
    }
}
