//! Measures the typical cosines of unrelated windows and of best matches in a vector space.
//!
//! These differ between models, so they are measured on the user's own pages. Ranking needs them to
//! combine words and vectors.

use brain_embed::vectors::Vectors;

/// The typical cosines in a vector space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CosineScale {
    /// The cosine of unrelated windows.
    pub(super) floor: f32,
    /// The usual cosine of the best matches, minus `floor`.
    pub(super) span: f32,
    /// The number of windows at the measurement; 0 if not measured.
    windows: u64,
}

/// The scale of MiniLM sentence models, measured with fourteen sets of questions. Other models use
/// it until there are enough windows for a measurement.
const DEFAULT_SCALE: CosineScale = CosineScale { floor: 0.10, span: 0.60, windows: 0 };
/// Minimum number of windows for a measurement.
const MIN_WINDOWS: u64 = 500;
/// Minimum number of pages for a measurement.
const MIN_PAGES: u64 = 50;
/// Number of pairs of windows that are compared for the floor.
const PAIRS: u64 = 2000;
/// Maximum number of windows whose nearest page is searched, for the span.
const QUERIES: u64 = 60;
/// Approximate maximum of comparisons while a caller waits.
const MAX_COMPARISONS: u64 = 2_000_000;
/// Minimum number of windows whose nearest page is searched.
const MIN_QUERIES: u64 = 10;
/// Number of windows that are compared with a question for its background.
const BACKGROUND_WINDOWS: u64 = 100;
/// Minimum number of windows for the background of a question.
const MIN_BACKGROUND_WINDOWS: u64 = 50;
/// Minimum span. A smaller span would amplify noise.
const MIN_SPAN: f32 = 0.15;

/// The windows that a scale is measured on.
pub(super) struct Windows<'a> {
    vectors: &'a Vectors,
    /// `None` for all pages. Otherwise each selected page that has windows, and the number of
    /// windows up to and including that page.
    cumulative_windows: Option<Vec<(u64, u64)>>,
    /// Number of pages with vectors.
    pub(super) pages: u64,
    /// Number of windows.
    pub(super) windows: u64,
}

impl<'a> Windows<'a> {
    /// Selects all windows.
    pub(super) fn all(vectors: &'a Vectors) -> Self {
        let size = vectors.size();
        Self { vectors, cumulative_windows: None, pages: size.pages, windows: size.windows }
    }

    /// Selects the windows of `pages`, which must be ascending.
    pub(super) fn of(vectors: &'a Vectors, pages: &[u64]) -> Self {
        let counts = vectors.window_counts(pages);
        let (mut cumulative_windows, mut windows) = (Vec::new(), 0);
        for (page, count) in pages.iter().zip(&counts) {
            if let Some(count @ 1..) = count {
                windows += *count as u64;
                cumulative_windows.push((*page, windows));
            }
        }
        Self {
            vectors,
            cumulative_windows: Some(cumulative_windows),
            pages: counts.iter().flatten().count() as u64,
            windows,
        }
    }

    /// Returns page and vector of the window with this index among the selected ones.
    fn nth(&self, index: u64) -> Option<(u64, Vec<f32>)> {
        let Some(cumulative_windows) = &self.cumulative_windows else {
            return self.vectors.window(index);
        };
        let entry = cumulative_windows.partition_point(|(_, end)| *end <= index);
        let (page, _) = *cumulative_windows.get(entry)?;
        let first = entry.checked_sub(1).map_or(0, |previous| cumulative_windows[previous].1);
        Some((page, self.vectors.window_of(page, (index - first) as usize)?))
    }

    /// Returns the cosine of the page nearest to `query`, except `own_page`.
    fn nearest(&self, query: &[f32], own_page: u64) -> Option<f32> {
        let near = match &self.cumulative_windows {
            None => self.vectors.search(query, 1, &|page| page != own_page),
            Some(cumulative_windows) => {
                let mut others = cumulative_windows
                    .iter()
                    .map(|(page, _)| *page)
                    .filter(|page| *page != own_page);
                self.vectors.search_among(query, 1, &mut others)
            }
        };
        near.first().map(|near| near.cosine)
    }

    /// Returns the number of windows whose nearest page is searched. A caller waits for the scale
    /// of selected pages, so a large selection uses fewer windows.
    fn query_count(&self) -> u64 {
        match self.cumulative_windows {
            None => QUERIES,
            Some(_) => (MAX_COMPARISONS / self.windows.max(1)).clamp(MIN_QUERIES, QUERIES),
        }
    }
}

impl CosineScale {
    /// Returns the default scale.
    pub(super) const fn new() -> Self {
        DEFAULT_SCALE
    }

    /// Returns whether the scale is a guess: neither measured nor of a known model.
    pub(super) fn is_guess(&self, model: &str) -> bool {
        self.windows == 0 && !is_known(model)
    }

    /// Returns whether the scale should be measured on `size`: for an unknown model, with enough
    /// windows, and at least twice as many as at the last measurement.
    pub(super) fn is_due(&self, model: &str, size: &Windows<'_>) -> bool {
        !is_known(model)
            && size.windows >= MIN_WINDOWS.max(2 * self.windows)
            && size.pages >= MIN_PAGES
    }

    /// Measures the scale. The floor is the median cosine of random windows of two pages. The span
    /// reaches from there to the 95th percentile of nearest-page cosines. Deterministic.
    pub(super) fn measure(all: &Windows<'_>) -> Self {
        let windows = all.windows;
        let mut generator = SampleGenerator(windows);
        let mut random_window = || all.nth(generator.next() % windows.max(1));
        let mut cosines = Vec::new();
        for _ in 0..PAIRS {
            if let (Some((page_a, a)), Some((page_b, b))) = (random_window(), random_window())
                && page_a != page_b
            {
                cosines.push(a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>());
            }
        }
        let mut nearest = Vec::new();
        for _ in 0..all.query_count() {
            if let Some((own_page, query)) = random_window() {
                nearest.extend(all.nearest(&query, own_page));
            }
        }
        let (Some(floor), Some(top)) = (quantile(cosines, 0.5), quantile(nearest, 0.95)) else {
            return DEFAULT_SCALE;
        };
        Self { floor, span: (top - floor).max(MIN_SPAN), windows }
    }

    /// Returns the median cosine of `question` with random windows. `None` if there are too few.
    pub(super) fn background(all: &Windows<'_>, question: &[f32]) -> Option<f32> {
        let windows = all.windows;
        if windows < MIN_BACKGROUND_WINDOWS {
            return None;
        }
        let mut generator = SampleGenerator(windows);
        let cosines = (0..BACKGROUND_WINDOWS).filter_map(|_| {
            let (_, window) = all.nth(generator.next() % windows)?;
            Some(question.iter().zip(&window).map(|(a, b)| a * b).sum::<f32>())
        });
        quantile(cosines.collect(), 0.5)
    }
}

/// Returns whether [`DEFAULT_SCALE`] was measured on models like this one.
fn is_known(model: &str) -> bool {
    model.to_ascii_lowercase().contains("minilm")
}

/// Returns the quantile of `numbers` at `share`, 0 to 1. `None` without numbers.
fn quantile(mut numbers: Vec<f32>, share: f64) -> Option<f32> {
    numbers.sort_by(f32::total_cmp);
    let at = (numbers.len() as f64 * share) as usize;
    numbers.get(at.min(numbers.len().saturating_sub(1))).copied()
}

/// A deterministic generator of pseudorandom numbers, not for secrets.
struct SampleGenerator(u64);

impl SampleGenerator {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_embed::vectors::{Key, WindowVector};

    #[test]
    fn floor_and_span_are_those_of_the_pages() {
        let dir = tempfile::tempdir().unwrap();
        let vectors = Vectors::open(dir.path(), "s", "m", 64).unwrap().0;
        let mut generator = SampleGenerator(1);
        assert!(!CosineScale::new().is_due("other", &Windows::all(&vectors)));
        // All vectors share a direction, so any two have a cosine of 0.5. Two pages share a topic,
        // so each page has one nearer page.
        for page in 0..400_u64 {
            let window = |n: u64, generator: &mut SampleGenerator| {
                let mut vector = vec![0.0_f32; 64];
                vector[0] = 1.0;
                vector[1 + (page / 2 * 7 % 63) as usize] += 0.9;
                vector[1 + (generator.next() % 63) as usize] += 0.43;
                let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
                WindowVector {
                    start: n as u32,
                    end: 9,
                    vector: vector.iter().map(|x| x / length).collect(),
                }
            };
            let windows = [window(0, &mut generator), window(1, &mut generator)];
            vectors.put(page, Key([0; 16]), &windows).unwrap();
        }
        assert!(CosineScale::new().is_due("other", &Windows::all(&vectors)));
        assert!(!CosineScale::new().is_due("all-MiniLM-L6-v2", &Windows::all(&vectors)));
        assert!(
            CosineScale::new().is_guess("other")
                && !CosineScale::new().is_guess("all-MiniLM-L6-v2")
        );
        let scale = CosineScale::measure(&Windows::all(&vectors));
        assert!((scale.floor - 0.5).abs() < 0.03, "{scale:?}");
        assert!((scale.floor + scale.span - 1.0).abs() < 0.12, "{scale:?}");
        assert!(
            !scale.is_due("other", &Windows::all(&vectors)),
            "it is measured again only with twice as many windows"
        );
        assert!(!scale.is_guess("other"));
        assert_eq!(scale, CosineScale::measure(&Windows::all(&vectors)));
        // The scale of some pages does not depend on other pages.
        let own_pages: Vec<u64> = (0..350).collect();
        let before = CosineScale::measure(&Windows::of(&vectors, &own_pages));
        assert!((before.floor - 0.5).abs() < 0.03, "{before:?}");
        let nth = |nth| Windows::of(&vectors, &own_pages).nth(nth).map(|(page, _)| page);
        assert_eq!(
            [nth(0), nth(1), nth(2), nth(699), nth(700)],
            [Some(0), Some(0), Some(1), Some(349), None]
        );
        (350..400).for_each(|page| vectors.remove(page));
        vectors.put(1000, Key([0; 16]), &[]).unwrap();
        assert_eq!(before, CosineScale::measure(&Windows::of(&vectors, &own_pages)));
    }
}
