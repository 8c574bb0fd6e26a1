//! Finds existing pages whose slug or title is similar to a slug that does not exist.

use brain_protocol::{EditDistance, Slug, SourceId};

use brain_page::normalize_name;
use brain_store::{Reader, StoreError};

/// The maximum number of pages in one answer.
const MAX_PAGES: usize = 5;
/// The maximum number of pages that are compared. Reading more would make errors slow.
const MAX_COMPARED: usize = 50_000;
/// The minimum similarity, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.6;
/// The minimum similarity of the last parts of slugs. A common folder alone does not make slugs
/// similar.
const MIN_NAME_SIMILARITY: f64 = 0.5;
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
pub(crate) fn find(
    reader: &Reader,
    usual: &SourceId,
    slug: &Slug,
) -> Result<Vec<SimilarPage>, StoreError> {
    let requested = RequestedSlug::new(slug);
    let mut best = BestPages { usual, pages: Vec::new(), min: MIN_SIMILARITY };
    let mut compared = 0;
    reader.pages_in_order(("", ""), |(source, slug, record)| {
        let score = requested.similarity(&slug, &record.title, best.min);
        if score >= best.min {
            best.add(score, SimilarPage { source, slug, title: record.title });
        }
        compared += 1;
        Ok(compared < MAX_COMPARED)
    })?;
    best.keep_best();
    Ok(best.pages.into_iter().map(|(_, page)| page).collect())
}

/// The pages found so far with their similarities, perhaps more than [`MAX_PAGES`].
struct BestPages<'a> {
    usual: &'a SourceId,
    pages: Vec<(f64, SimilarPage)>,
    /// The minimum similarity of a page that can be among the best.
    min: f64,
}

impl BestPages<'_> {
    fn add(&mut self, score: f64, page: SimilarPage) {
        self.pages.push((score, page));
        if self.pages.len() > 4 * MAX_PAGES {
            self.keep_best();
        }
    }

    fn keep_best(&mut self) {
        let usual = self.usual;
        self.pages.sort_by(|a, b| {
            let key = |page: &SimilarPage| (page.source != *usual, page.slug.clone());
            b.0.total_cmp(&a.0).then_with(|| key(&a.1).cmp(&key(&b.1)))
        });
        self.pages.truncate(MAX_PAGES);
        if let Some((score, _)) = self.pages.get(MAX_PAGES - 1) {
            self.min = *score;
        }
    }
}

/// The slug that does not exist, prepared for comparisons.
struct RequestedSlug<'a> {
    slug: &'a Slug,
    slug_letters: Letters,
    /// The last part of the slug, as a name.
    name: String,
    name_letters: Letters,
    words: Vec<String>,
}

impl<'a> RequestedSlug<'a> {
    fn new(slug: &'a Slug) -> Self {
        let name = normalize_name(slug.name());
        let words = name.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let (slug_letters, name_letters) = (Letters::of(slug.name()), Letters::of(&name));
        Self { slug, slug_letters, name, name_letters, words }
    }

    /// Returns the similarity of a page. It may be too low if it is below `min`, which is at least
    /// [`MIN_SIMILARITY`].
    fn similarity(&self, slug: &Slug, title: &str, min: f64) -> f64 {
        let by_title = self.title_similarity(&normalize_name(title), min);
        if slug.as_str().starts_with(self.slug.as_str())
            || slug.name().starts_with(self.slug.as_str())
        {
            return by_title.max(HAS_BEGINNING);
        }
        by_title.max(self.slug_similarity(slug, min))
    }

    fn title_similarity(&self, title: &str, min: f64) -> f64 {
        let has_word = |word: &String| title.split(' ').any(|other| other == word);
        if !self.words.is_empty() && self.words.iter().all(has_word) {
            return if title == self.name { 1.0 } else { TITLE_HAS_WORDS };
        }
        // The bound is rounded, so it can be a little below an equal similarity.
        if self.name_letters.max_similarity(&Letters::of(title)) < min - 1e-9 {
            return 0.0;
        }
        similarity(&self.name, title, min)
    }

    /// Compares the whole slugs and their last parts. Whole slugs count only if their last parts are
    /// similar. The similarity of last parts counts up to 0.4 above that of the whole slugs.
    fn slug_similarity(&self, slug: &Slug, min: f64) -> f64 {
        if self.slug_letters.max_similarity(&Letters::of(slug.name())) < MIN_NAME_SIMILARITY {
            return 0.0;
        }
        let name = similarity(self.slug.name(), slug.name(), MIN_NAME_SIMILARITY);
        if name < MIN_NAME_SIMILARITY {
            return 0.0;
        }
        let min_whole = if name >= min { min - 0.4 } else { min };
        let whole = similarity(self.slug.as_str(), slug.as_str(), min_whole);
        name.min(whole + 0.4).max(whole)
    }
}

/// Returns the share of letters that need no edit, from 0 to 1; 0 if it is below `min`, or more
/// than [`brain_protocol::MAX_EDITS`] need an edit.
fn similarity(a: &str, b: &str, min: f64) -> f64 {
    let longer = a.chars().count().max(b.chars().count()).max(1) as f64;
    // One more, because the product is rounded.
    let max_edits = ((1.0 - min) * longer) as usize + 1;
    let edits = EditDistance::new(a, max_edits).to(b);
    edits.map_or(0.0, |edits| 1.0 - edits as f64 / longer)
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
        RequestedSlug::new(&requested).similarity(&slug, title, MIN_SIMILARITY) >= MIN_SIMILARITY
    }

    #[test]
    fn a_higher_minimum_changes_no_similarity_above_it() {
        let slugs =
            ["people/ada-lovelace", "persons/ada-lovelaec", "ada", "a/grace-hopper", "x/grase"];
        let titles = ["Ada Lovelace", "Ada King, Countess of Lovelace", "Grace", ""];
        for (requested, slug) in slugs.iter().flat_map(|a| slugs.iter().map(move |b| (a, b))) {
            let (requested, slug) = (Slug::parse(*requested).unwrap(), Slug::parse(*slug).unwrap());
            for title in titles {
                let similarity = |min| RequestedSlug::new(&requested).similarity(&slug, title, min);
                let usual = similarity(MIN_SIMILARITY);
                for min in [0.65, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0] {
                    let found = similarity(min);
                    let is_equal = (found - usual).abs() < 1e-9;
                    assert!(is_equal || (usual < min && found < min), "{requested} {slug} {title}");
                }
            }
        }
    }

    #[test]
    fn the_best_pages_are_kept() {
        let usual = SourceId::default();
        let mut best = BestPages { usual: &usual, pages: Vec::new(), min: MIN_SIMILARITY };
        for n in 0..500_u32 {
            let slug = Slug::parse(format!("p{n}")).unwrap();
            let score = f64::from(60 + n * 7 % 41) / 100.0;
            if score >= best.min {
                best.add(score, SimilarPage { source: usual.clone(), slug, title: String::new() });
            }
        }
        best.keep_best();
        let slugs: Vec<_> = best.pages.iter().map(|(_, page)| page.slug.as_str()).collect();
        assert_eq!(slugs, ["p117", "p158", "p199", "p240", "p281"]);
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
