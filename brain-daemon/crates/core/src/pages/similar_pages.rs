//! Finds existing pages whose slug or title is similar to a slug that does not exist.

use brain_protocol::{EditDistance, MAX_EDITS, Slug, SourceId};

use brain_page::normalize_name;
use brain_store::{Reader, StoreError};

/// The maximum number of pages in one answer.
const MAX_PAGES: usize = 5;
/// The maximum number of pages that are compared. Reading more would make errors slow.
const MAX_COMPARED: usize = 50_000;
/// The minimum similarity, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.6;
/// Similarity of a page whose title contains all words of the slug.
const TITLE_HAS_WORDS: f64 = 0.8;
/// Similarity of a page whose slug or last part begins with the slug.
const HAS_BEGINNING: f64 = 0.9;

/// An existing page that a request may have meant.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarPage {
    /// Its source.
    pub source: SourceId,
    /// Its slug.
    pub slug: Slug,
    /// Its title.
    pub title: String,
}

/// Returns the pages most similar to `slug`, the most similar first. Among equally similar pages,
/// those of the source `usual` come first. Only pages that the reader shows are compared.
pub(super) fn find(
    reader: &Reader,
    usual: &SourceId,
    slug: &Slug,
) -> Result<Vec<SimilarPage>, StoreError> {
    let requested = RequestedSlug::new(slug);
    let mut best: Vec<(f64, SimilarPage)> = Vec::new();
    let mut compared = 0;
    reader.pages_in_order(("", ""), |(source, slug, record)| {
        let score = requested.similarity(&slug, &record.title);
        if score >= MIN_SIMILARITY {
            best.push((score, SimilarPage { source, slug, title: record.title }));
        }
        compared += 1;
        Ok(compared < MAX_COMPARED)
    })?;
    best.sort_by(|a, b| {
        let key = |page: &SimilarPage| (page.source != *usual, page.slug.clone());
        b.0.total_cmp(&a.0).then_with(|| key(&a.1).cmp(&key(&b.1)))
    });
    Ok(best.into_iter().take(MAX_PAGES).map(|(_, page)| page).collect())
}

/// The slug that does not exist, prepared for comparisons.
struct RequestedSlug<'a> {
    slug: &'a Slug,
    name: String,
    words: Vec<String>,
    letters: Letters,
}

impl<'a> RequestedSlug<'a> {
    fn new(slug: &'a Slug) -> Self {
        let name = normalize_name(slug.name());
        let words = name.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        Self { slug, letters: Letters::of(&name), name, words }
    }

    fn similarity(&self, slug: &Slug, title: &str) -> f64 {
        let by_title = self.title_similarity(&normalize_name(title));
        if slug.as_str().starts_with(self.slug.as_str())
            || slug.name().starts_with(self.slug.as_str())
        {
            return by_title.max(HAS_BEGINNING);
        }
        by_title.max(self.slug_similarity(slug))
    }

    fn title_similarity(&self, title: &str) -> f64 {
        let has_word = |word: &String| title.split(' ').any(|other| other == word);
        if !self.words.is_empty() && self.words.iter().all(has_word) {
            return if title == self.name { 1.0 } else { TITLE_HAS_WORDS };
        }
        if self.letters.max_similarity(&Letters::of(title)) < MIN_SIMILARITY {
            return 0.0;
        }
        similarity(&self.name, title)
    }

    /// Compares the whole slugs and their last parts. A common folder alone does not make slugs
    /// similar: whole slugs count only if their last parts have a similarity of at least 0.5. The
    /// similarity of last parts counts up to 0.4 above that of the whole slugs.
    fn slug_similarity(&self, slug: &Slug) -> f64 {
        if self.letters.max_similarity(&Letters::of(&normalize_name(slug.name()))) < 0.5 {
            return 0.0;
        }
        let whole = similarity(self.slug.as_str(), slug.as_str());
        let name = similarity(self.slug.name(), slug.name());
        name.min(whole + 0.4).max(if name >= 0.5 { whole } else { 0.0 })
    }
}

/// Returns the share of letters that need no edit, from 0 to 1; 0 if more than [`MAX_EDITS`] do.
fn similarity(a: &str, b: &str) -> f64 {
    let longer = a.chars().count().max(b.chars().count()).max(1);
    let edits = EditDistance::new(a, MAX_EDITS).to(b);
    edits.map_or(0.0, |edits| 1.0 - edits as f64 / longer as f64)
}

/// How often each letter occurs, folded to 32 groups: texts with few common letters need no
/// comparison by edit distance.
struct Letters {
    counts: [u16; 32],
    total: u16,
}

impl Letters {
    fn of(text: &str) -> Self {
        let mut letters = Self { counts: [0; 32], total: 0 };
        for c in text.chars().take(usize::from(u16::MAX)) {
            letters.counts[(u32::from(c) % 32) as usize] += 1;
            letters.total += 1;
        }
        letters
    }

    /// Returns an upper bound of the similarity of the two texts by edit distance.
    fn max_similarity(&self, other: &Self) -> f64 {
        let common: u16 = self.counts.iter().zip(&other.counts).map(|(a, b)| a.min(b)).sum();
        f64::from(common) / f64::from(self.total.max(other.total).max(1))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn is_similar(requested: &str, slug: &str, title: &str) -> bool {
        let (requested, slug) = (Slug::parse(requested).unwrap(), Slug::parse(slug).unwrap());
        RequestedSlug::new(&requested).similarity(&slug, title) >= MIN_SIMILARITY
    }

    #[test]
    fn slugs_are_similar_by_their_last_part() {
        for (requested, slug) in [
            ("people/ada-lovelace", "people/ada-lovelaec"),
            ("people/ada-lovelace", "persons/ada-lovelace"),
            ("ada-lovelace", "people/ada-lovelace"),
            ("people/grüße", "people/gruße"),
            ("peo", "people/grace-hopper"),
            ("grace", "people/grace-hopper"),
        ] {
            assert!(is_similar(requested, slug, ""), "{requested} {slug}");
        }
        assert!(!is_similar("people/ada-lovelace", "people/grace-hopper", "Grace"));
        assert!(!is_similar("meetings/2026-01-01-x", "meetings/standup", "Standup"));
    }

    #[test]
    fn titles_are_similar_by_words_and_by_letters() {
        assert!(is_similar("notes/big-idea", "inbox/2026-01-01-ab", "Big Idea"));
        assert!(is_similar("big-idea", "inbox/2026-01-01-ab", "A big idea of mine"));
        assert!(is_similar("big-iaed", "inbox/2026-01-01-ab", "Big Idea"));
        assert!(!is_similar("big-idea", "inbox/2026-01-01-ab", "Small talk"));
    }
}
