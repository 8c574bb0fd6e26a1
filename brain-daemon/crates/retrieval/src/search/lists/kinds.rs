//! The pages of a kind that a question names: `release`, `meetings`.

use std::collections::{BTreeSet, HashSet};

use brain_protocol::{Fault, SourceId};
use brain_questions::kinds::names_kind;
use brain_search::QuestionWord;
use brain_store::{LATEST, PageEntry, PageLabel, SourceRecord};

use super::super::target_pages::{folded, kinds};
use super::ListReader;

/// Maximum number of pages of a kind that are read.
const MAX_PAGES: usize = 5_000;
/// Maximum number of pages of a small kind.
const MAX_SMALL: usize = 300;
/// Maximum depth of folders that can be kinds.
const MAX_DEPTH: usize = 3;
/// Maximum number of rows that are read to find the folders of a source.
const MAX_STEPS: usize = 5_000;

/// What is not known if there are more pages of a kind than are read.
pub(super) const CUT_DOUBT: &str = "whether other pages fit: more pages exist than were read";

/// The pages of a kind.
#[derive(Debug)]
pub(super) struct KindPages {
    pub(super) pages: Vec<PageEntry>,
    /// The ids of the pages.
    pub(super) ids: HashSet<u64>,
    /// Whether there are more pages than were read.
    pub(super) is_cut: bool,
    /// Maximum number of pages.
    max: usize,
}

impl KindPages {
    /// Creates a list of at most `max` pages.
    pub(super) fn new(max: usize) -> Self {
        Self { pages: Vec::new(), ids: HashSet::new(), is_cut: false, max }
    }

    /// Creates a list of known pages.
    pub(super) fn of(pages: Vec<PageEntry>) -> Self {
        Self { pages, ..Self::new(0) }
    }

    /// Adds a page. Returns whether more may be added.
    fn add(&mut self, page: PageEntry) -> bool {
        if self.ids.contains(&page.2.id) {
            return true;
        }
        if self.pages.len() >= self.max {
            self.is_cut = true;
            return false;
        }
        self.ids.insert(page.2.id);
        self.pages.push(page);
        true
    }
}

impl ListReader<'_> {
    /// Returns the pages of the kind that `word` names: a type or a folder, else a source, else a
    /// tag. `None` if no page is of that kind.
    pub(super) fn kind_pages(&self, word: &QuestionWord) -> Result<Option<KindPages>, Fault> {
        let mut found = KindPages::new(MAX_PAGES);
        self.add_of_type(word, &self.reader.page_types()?, &mut found)?;
        let sources = self.reader.sources()?;
        for (source, _) in &sources {
            if self.source.is_some_and(|only| only != source) {
                continue;
            }
            let mut folders = Folders { list: self, source, left: MAX_STEPS, found: Vec::new() };
            folders.read("", MAX_DEPTH)?;
            for folder in folders.found.iter().filter(|folder| is_kind(word, folder_name(folder))) {
                let each = |page| Ok(found.add(page));
                self.reader.pages_in_order_below(source, (folder, ""), each)?;
            }
        }
        if found.pages.is_empty() {
            for (source, _) in sources.iter().filter(|(source, _)| is_kind(word, source.as_str())) {
                if self.source.is_none_or(|only| only == source) {
                    self.reader.latest(Some(source), LATEST, |page| Ok(found.add(page)))?;
                }
            }
        }
        if found.pages.is_empty() {
            for (tag, _) in self.reader.tag_counts(self.source)? {
                if is_kind(word, &tag) {
                    self.add_labelled(PageLabel::Tag(&tag), &mut found)?;
                }
            }
        }
        Ok((!found.pages.is_empty()).then_some(found))
    }

    /// Returns the pages of a type, or of a folder at the top of a source, that the word at `at`
    /// names. `None` if there are none or more than [`MAX_SMALL`]. Reads so few rows that a search
    /// can ask for it.
    pub(super) fn small_kind(
        &self,
        at: usize,
        (types, sources): (&BTreeSet<String>, &[(SourceId, SourceRecord)]),
    ) -> Result<Option<KindPages>, Fault> {
        let Some(word) = self.terms.words.get(at) else { return Ok(None) };
        let mut found = KindPages::new(MAX_SMALL);
        self.add_of_type(word, types, &mut found)?;
        let typed = self.typed(at).to_lowercase();
        for (source, _) in sources {
            for folder in [format!("{typed}/"), format!("{typed}s/")] {
                let each = |page| Ok(found.add(page));
                self.reader.pages_in_order_below(source, (&folder, ""), each)?;
            }
        }
        Ok((!found.pages.is_empty() && !found.is_cut).then_some(found))
    }

    /// Adds the pages of those of `types` that `word` names.
    fn add_of_type(
        &self,
        word: &QuestionWord,
        types: &BTreeSet<String>,
        found: &mut KindPages,
    ) -> Result<(), Fault> {
        for page_type in types.iter().filter(|kind| is_kind(word, kind)) {
            self.add_labelled(PageLabel::Type(page_type), found)?;
        }
        Ok(())
    }

    /// Adds the pages with a label.
    fn add_labelled(&self, label: PageLabel<'_>, found: &mut KindPages) -> Result<(), Fault> {
        Ok(self.reader.latest_with_label(label, self.source, LATEST, |page| Ok(found.add(page)))?)
    }

    /// Returns whether a page is of the kind that `word` names.
    pub(super) fn is_of_kind(&self, page: &PageEntry, word: &QuestionWord) -> bool {
        let tags = page.2.tags.iter().map(String::as_str);
        kinds(page).iter().any(|kind| names_kind(word, kind))
            || tags.chain([page.0.as_str()]).any(|kind| is_kind(word, kind))
    }
}

/// Returns whether `word` names the kind, written as in a store.
fn is_kind(word: &QuestionWord, kind: &str) -> bool {
    match kind.is_ascii() {
        true => names_kind(word, &kind.to_lowercase()),
        false => names_kind(word, &folded(kind)),
    }
}

/// Returns the last part of a folder's path, which ends with a slash.
fn folder_name(folder: &str) -> &str {
    let path = folder.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// Finds the folders of a source. Reads one row for each folder and each page beside folders.
struct Folders<'a> {
    list: &'a ListReader<'a>,
    source: &'a SourceId,
    /// Number of rows that may still be read.
    left: usize,
    /// The folders, each with a slash at its end.
    found: Vec<String>,
}

impl Folders<'_> {
    /// Adds the folders below `prefix`, which is empty or ends with a slash.
    fn read(&mut self, prefix: &str, depth: usize) -> Result<(), Fault> {
        let mut after = String::new();
        while depth > 0 && self.left > 0 {
            self.left -= 1;
            let mut next = None;
            self.list.reader.pages_in_order_below(self.source, (prefix, &after), |page| {
                next = Some(page.1);
                Ok(false)
            })?;
            let Some(slug) = next else { break };
            let slug = slug.as_str();
            let rest = slug.strip_prefix(prefix).unwrap_or_default();
            match rest.split_once('/') {
                Some((folder, _)) => {
                    let folder = format!("{prefix}{folder}/");
                    self.read(&folder, depth - 1)?;
                    after = format!("{folder}\u{10ffff}");
                    self.found.push(folder);
                }
                None => after = slug.to_owned(),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::Slug;

    use super::*;

    fn page(id: u64) -> PageEntry {
        let record = brain_store::PageRecord { id, ..Default::default() };
        (SourceId::parse("notes").unwrap(), Slug::parse("mail/a").unwrap(), record)
    }

    #[test]
    fn a_list_is_cut_by_the_first_other_page_after_its_limit() {
        let mut found = KindPages::new(MAX_PAGES);
        for id in 0..MAX_PAGES as u64 {
            assert!(found.add(page(id)));
        }
        assert!(found.add(page(7)), "the page is known");
        assert!(!found.is_cut);
        assert!(!found.add(page(MAX_PAGES as u64)));
        assert!(found.is_cut);
        assert_eq!(found.pages.len(), MAX_PAGES);
    }
}
