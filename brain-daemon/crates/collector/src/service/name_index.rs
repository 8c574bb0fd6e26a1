//! Matches names: finds the pages about an account or person, and the pages that a text mentions.
//!
//! The index is built for each answer from the pages that the caller can see, so it is never stale
//! and reveals no other page.

use std::collections::{HashMap, HashSet};

use brain_protocol::{Fault, NamedPage, Slug, SourceId};

use super::topics::is_handle;
use crate::service::CollectorService;
use brain_page::{Frontmatter, file_name_key, normalize_name};
use brain_pages::index::index_fault;
use brain_search::{Query, Question};
use brain_store::{Content, PageRecord, Reader, unless_damaged};

/// Types of pages about a person or company.
pub(super) const PROFILE_TYPES: [&str; 2] = ["person", "company"];
/// Folders whose pages are about a person or company, whatever their type.
const PROFILE_FOLDERS: [&str; 2] = ["people/", "companies/"];
/// Frontmatter keys that name an account.
const ACCOUNT_KEYS: [&str; 3] = ["x", "twitter", "handle"];
/// Sites whose URLs name an account.
const SITES: [&str; 2] = ["x.com", "twitter.com"];
/// Names shorter than this, in letters, are case-sensitive.
const MIN_CASELESS_LETTERS: usize = 4;
/// Maximum number of candidates for an account, and of pages that mention it.
const MAX_MENTIONS: usize = 5;

/// The relation of a page that is about the account.
const SUBJECT: &str = "subject";
/// The relation of a page that has the account's name, but claims no account.
const CANDIDATE: &str = "candidate";
/// The relation of a page that only mentions the account.
const MENTION: &str = "mention";

/// An indexed page.
pub(super) struct IndexedPage {
    /// The source.
    pub(super) source: SourceId,
    /// The slug.
    pub(super) slug: Slug,
    /// The title.
    pub(super) title: String,
    /// The type.
    pub(super) page_type: String,
    id: u64,
    /// The handles that the page claims, in lower case.
    handles: Vec<String>,
}

impl IndexedPage {
    fn describe(&self, relation: &str) -> NamedPage {
        NamedPage {
            source_id: self.source.clone(),
            slug: self.slug.clone(),
            title: self.title.clone(),
            page_type: self.page_type.clone(),
            relation: relation.into(),
        }
    }

    /// Returns whether the page is about a person or company.
    fn is_profile(&self) -> bool {
        PROFILE_TYPES.contains(&self.page_type.as_str())
            || PROFILE_FOLDERS.iter().any(|folder| self.slug.as_str().starts_with(folder))
    }
}

/// A name of a page, for finding it in texts.
struct PageName {
    /// The words of the name, normalised by [`normalize_name`].
    words: Vec<String>,
    /// The words as written, if the name is case-sensitive.
    exact: Option<Vec<String>>,
    /// The index of the page.
    page: usize,
}

/// The names of all pages visible to a caller.
#[derive(Default)]
pub(super) struct NameIndex {
    pages: Vec<IndexedPage>,
    /// Pages that claim a handle, by handle in lower case.
    by_handle: HashMap<String, Vec<usize>>,
    /// Pages about a person or company, by title or alias.
    by_name: HashMap<String, Vec<usize>>,
    /// Pages in [`PROFILE_FOLDERS`], by last slug segment.
    by_slug: HashMap<String, Vec<usize>>,
    /// Names by first word, those with the most words first.
    by_first_word: HashMap<String, Vec<PageName>>,
}

impl NameIndex {
    /// Indexes every active page that `reader` shows. Reads the frontmatter of pages about
    /// people and companies.
    ///
    /// # Errors
    /// The fault of the store if it cannot be read. A damaged page is indexed without frontmatter.
    pub(super) fn read(reader: &Reader) -> Result<Self, Fault> {
        let mut names = Self::default();
        reader.pages_in_order(("", ""), |(source, slug, record)| {
            let PageRecord { id, title, page_type, aliases, .. } = record.clone();
            let mut page = IndexedPage { source, slug, title, page_type, id, handles: Vec::new() };
            page.handles = aliases
                .iter()
                .filter(|it| it.starts_with('@'))
                .filter_map(|it| handle(it))
                .collect();
            if page.is_profile() {
                let content = unless_damaged(reader.content(&record))?;
                page.handles.extend(content.iter().flat_map(accounts));
            }
            names.add(page, &aliases);
            Ok(true)
        })?;
        names
            .by_first_word
            .values_mut()
            .for_each(|list| list.sort_by_key(|name| std::cmp::Reverse(name.words.len())));
        Ok(names)
    }

    fn add(&mut self, new_page: IndexedPage, aliases: &[String]) {
        let page = self.pages.len();
        let put = |map: &mut HashMap<String, Vec<usize>>, key: String| {
            let list = map.entry(key).or_default();
            if list.last() != Some(&page) {
                list.push(page);
            }
        };
        for handle in &new_page.handles {
            put(&mut self.by_handle, handle.clone());
        }
        let is_profile = new_page.is_profile();
        let titles =
            std::iter::once(&new_page.title).chain(aliases).filter(|name| !name.starts_with('@'));
        for title in titles {
            if is_profile {
                put(&mut self.by_name, normalize_name(title));
            }
            if let Some(name) = name_of(title, is_profile, page)
                && let Some(first) = name.words.first()
            {
                self.by_first_word.entry(first.clone()).or_default().push(name);
            }
        }
        if PROFILE_FOLDERS.iter().any(|folder| new_page.slug.as_str().starts_with(folder)) {
            put(&mut self.by_slug, normalize_name(new_page.slug.name()));
        }
        self.pages.push(new_page);
    }

    /// Returns the page at an index.
    pub(super) fn page(&self, at: usize) -> &IndexedPage {
        &self.pages[at]
    }

    /// Describes pages for an answer, as pages about an account or text.
    pub(super) fn describe_pages(&self, pages: &[usize]) -> Vec<NamedPage> {
        pages.iter().map(|&at| self.pages[at].describe(SUBJECT)).collect()
    }

    /// Returns the pages that claim `handle`, with pages of type person or company first. Ignores
    /// names, because anyone can use any name.
    pub(super) fn subjects(&self, handle: Option<&str>) -> Vec<usize> {
        let subjects = handle.and_then(|handle| self.by_handle.get(&handle.to_lowercase()));
        let mut subjects = subjects.cloned().unwrap_or_default();
        subjects.sort_by_key(|&at| !PROFILE_TYPES.contains(&self.pages[at].page_type.as_str()));
        subjects
    }

    /// Returns pages that may be about an account: pages about people and companies with a matching
    /// name or slug that claim no account. Empty if a page claims `handle`.
    pub(super) fn candidates(&self, handle: Option<&str>, name: Option<&str>) -> Vec<usize> {
        if !self.subjects(handle).is_empty() {
            return Vec::new();
        }
        let keys: Vec<String> = name
            .map(normalize_name)
            .filter(|key| key.contains(char::is_alphanumeric))
            .into_iter()
            .flat_map(|key| [file_name_key(&key), Some(key)])
            .flatten()
            .collect();
        let by_name = keys.iter().filter_map(|key| self.by_name.get(key));
        let slugs = keys.iter().cloned().chain(handle.map(normalize_name));
        let slugs: Vec<usize> =
            slugs.filter_map(|key| self.by_slug.get(&key)).flatten().copied().collect();
        let mut distinct_pages = HashSet::new();
        let mut candidates: Vec<usize> = by_name.flatten().copied().chain(slugs).collect();
        candidates.retain(|at| distinct_pages.insert(*at) && self.pages[*at].handles.is_empty());
        candidates
    }

    /// Returns the distinct pages that a text mentions by title, alias or handle, in order.
    /// `mentions` are the handles that the post mentions; their pages come last.
    pub(super) fn pages_mentioned_in(&self, text: &str, mentions: &[String]) -> Vec<usize> {
        let words = words(text);
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if let Some(handle) = word.raw.strip_prefix('@') {
                found.extend(self.by_handle.get(&handle.to_lowercase()).into_iter().flatten());
                at += 1;
                continue;
            }
            let names = self.by_first_word.get(&word.normal).map_or(&[][..], Vec::as_slice);
            let starts_here = |name: &&PageName| name.matches_start_of(&words[at..]);
            let longest = names.iter().find(starts_here).map_or(0, |name| name.words.len());
            let longest_names =
                names.iter().filter(starts_here).filter(|name| name.words.len() == longest);
            found.extend(longest_names.map(|name| name.page));
            at += longest.max(1);
        }
        let by_mention =
            mentions.iter().filter_map(|handle| self.by_handle.get(&handle.to_lowercase()));
        found.extend(by_mention.flatten());
        let mut distinct_pages = HashSet::new();
        found.retain(|page| distinct_pages.insert(*page));
        found
    }
}

impl PageName {
    fn matches_start_of(&self, words: &[TextWord]) -> bool {
        words.len() >= self.words.len()
            && self.words.iter().zip(words).all(|(name, word)| *name == word.normal)
            && self
                .exact
                .as_ref()
                .is_none_or(|exact| exact.iter().zip(words).all(|(name, word)| *name == word.raw))
    }
}

/// Returns a title or alias as a name to find in texts, if it is distinctive.
///
/// Short names, and single words that do not name a person or company, are case-sensitive and need
/// an uppercase letter. Names in scripts without spaces are never case-sensitive.
fn name_of(title: &str, is_profile: bool, page: usize) -> Option<PageName> {
    let words = words(title);
    let letters = || words.iter().flat_map(|word| word.raw.chars()).filter(|c| c.is_alphabetic());
    let count = letters().count();
    let is_unspaced = letters().any(is_unspaced_letter);
    let single = words.len() == 1;
    if count < 2 || words.iter().any(|word| word.raw.starts_with('@')) {
        return None;
    }
    let exact = !is_unspaced && (count < MIN_CASELESS_LETTERS || (single && !is_profile));
    if exact && !letters().any(char::is_uppercase) {
        return None;
    }
    let exact = exact.then(|| words.iter().map(|word| word.raw.clone()).collect());
    Some(PageName { words: words.into_iter().map(|word| word.normal).collect(), exact, page })
}

/// A word of a text.
struct TextWord {
    /// The word as written.
    raw: String,
    /// The word, normalised by [`normalize_name`].
    normal: String,
}

/// Splits a text into words: runs of letters and digits, and accounts with `@`. In scripts without
/// spaces, each letter is a word. Skips URLs.
fn words(text: &str) -> Vec<TextWord> {
    let mut found = Vec::new();
    for part in text.split_whitespace().filter(|part| !part.contains("://")) {
        let mut run = String::new();
        let mut end = |run: &mut String| {
            if !run.trim_start_matches('@').is_empty() {
                found.push(TextWord { normal: normalize_name(run), raw: std::mem::take(run) });
            }
            run.clear();
        };
        for c in part.chars() {
            if is_unspaced_letter(c) {
                end(&mut run);
                run.push(c);
                end(&mut run);
            } else if c.is_alphanumeric() || (c == '_' && run.starts_with('@')) || is_mark(c, &run)
            {
                run.push(c);
            } else {
                end(&mut run);
                if c == '@' {
                    run.push(c);
                }
            }
        }
        end(&mut run);
    }
    found
}

/// Returns whether `c` is a combining mark of the letter before it.
fn is_mark(c: char, run: &str) -> bool {
    !run.is_empty() && unicode_normalization::char::is_combining_mark(c)
}

/// Returns whether a letter belongs to a script without spaces: Han, kana, Thai to Myanmar, Khmer.
pub(super) fn is_unspaced_letter(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns the handles that a page's frontmatter claims, in lower case.
fn accounts(content: &Content) -> Vec<String> {
    // Most pages claim no account, and searching for a word is cheaper than parsing YAML.
    if !ACCOUNT_KEYS.iter().any(|key| content.frontmatter.contains(key)) {
        return Vec::new();
    }
    let Ok(frontmatter) = Frontmatter::parse(&content.frontmatter) else { return Vec::new() };
    ACCOUNT_KEYS
        .iter()
        .flat_map(|key| frontmatter.list(key))
        .filter_map(|text| handle(&text))
        .collect()
}

/// Parses a handle, with or without `@`, or the URL of an account. Returns it in lower case.
fn handle(text: &str) -> Option<String> {
    let text = text.trim();
    let without_scheme = text.split_once("://").map_or(text, |(_, rest)| rest);
    let name = match without_scheme.split_once('/') {
        None => text,
        Some((site, path)) => {
            let site = site.to_lowercase();
            let site =
                ["www.", "mobile."].iter().find_map(|it| site.strip_prefix(it)).unwrap_or(&site);
            if !SITES.contains(&site) {
                return None;
            }
            path.split(['/', '?', '#']).next().unwrap_or_default()
        }
    };
    let name = name.strip_prefix('@').unwrap_or(name);
    is_handle(name).then(|| name.to_lowercase())
}

impl CollectorService {
    /// Returns the pages about an account, then candidates, then pages that mention it.
    ///
    /// # Errors
    /// The fault of the store or index, if it cannot be read.
    pub(super) fn pages_of(
        &self,
        reader: &Reader,
        names: &NameIndex,
        handle: Option<&str>,
        name: Option<&str>,
    ) -> Result<Vec<NamedPage>, Fault> {
        let (subjects, candidates) = (names.subjects(handle), names.candidates(handle, name));
        let mut pages = names.describe_pages(&subjects);
        pages.extend(
            candidates.iter().take(MAX_MENTIONS).map(|&at| names.page(at).describe(CANDIDATE)),
        );
        let mut listed_ids: HashSet<u64> =
            subjects.iter().chain(&candidates).map(|&at| names.page(at).id).collect();
        let handle = handle.map(|handle| format!("\"@{handle}\""));
        let name = name
            .map(|name| name.replace('"', " "))
            .filter(|name| name.chars().filter(|c| c.is_alphanumeric()).nth(1).is_some());
        let phrases = handle.into_iter().chain(name.map(|name| format!("\"{}\"", name.trim())));
        let Some(index) = self.index.get() else { return Ok(pages) };
        let max_pages = pages.len() + MAX_MENTIONS;
        for text in phrases {
            let limit = MAX_MENTIONS * 2;
            let question = Question { query: Query::parse(text), limit, ..Question::default() };
            for hit in index.search(&question).map_err(|fault| index_fault(&fault))?.hits {
                if pages.len() < max_pages
                    && listed_ids.insert(hit.id)
                    && let Some((source, slug, record)) = reader.by_id(hit.id)?
                {
                    let PageRecord { id, title, page_type, .. } = record;
                    let page =
                        IndexedPage { source, slug, title, page_type, id, handles: Vec::new() };
                    pages.push(page.describe(MENTION));
                }
            }
        }
        Ok(pages)
    }
}

#[cfg(test)]
#[path = "name_index_tests.rs"]
#[allow(clippy::unwrap_used)]
mod tests;
