//! What a cosine means in a space: how near windows are that have nothing to do with each other, and how near those that match best. Measured on the user's own pages, because it differs
//! from model to model; the fusion of full text and vectors needs it.

use brain_embed::vectors::Vectors;

/// What is known of a space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// The cosine of windows that have nothing to do with each other.
    pub(super) floor: f32,
    /// The cosine of what matches best, as a rule, less `floor`.
    pub(super) span: f32,
    /// Of how many windows it was measured; 0: it was not.
    windows: u64,
}

/// What holds until there is enough to measure, and for the models that it was measured with on fourteen sets of questions: sentence models of the MiniLM family.
const KNOWN: Scale = Scale { floor: 0.10, span: 0.60, windows: 0 };
/// So many windows and pages are enough.
const WINDOWS: u64 = 500;
const PAGES: u64 = 50;
/// How many pairs are compared, and how many windows look for their nearest.
const PAIRS: u64 = 2000;
const QUERIES: u64 = 60;
/// With how many windows all of them are compared while somebody waits, about; but at least so many
/// look for their nearest.
const COMPARED: u64 = 2_000_000;
const FEWEST_QUERIES: u64 = 10;
/// With how many windows a question is compared to know what is near for it, and from how many on.
const SAMPLE: u64 = 100;
const FEWEST: u64 = 50;
/// A span that is less would make noise of differences.
const LEAST_SPAN: f32 = 0.15;

/// The windows that a scale is made of.
pub(super) struct Windows<'a> {
    vectors: &'a Vectors,
    /// Where they are those of some pages: each page that has windows, in order, with how many
    /// there are up to its last one.
    ends: Option<Vec<(u64, u64)>>,
    /// Pages with vectors.
    pub(super) pages: u64,
    /// How many windows there are.
    pub(super) windows: u64,
}

impl<'a> Windows<'a> {
    /// All that there are.
    pub(super) fn all(vectors: &'a Vectors) -> Self {
        let size = vectors.size();
        Self { vectors, ends: None, pages: size.pages, windows: size.windows }
    }

    /// Those of `pages`, ascending.
    pub(super) fn of(vectors: &'a Vectors, pages: &[u64]) -> Self {
        let counts = vectors.windows_of(pages);
        let (mut ends, mut windows) = (Vec::new(), 0);
        for (page, count) in pages.iter().zip(&counts) {
            if let Some(count @ 1..) = count {
                windows += *count as u64;
                ends.push((*page, windows));
            }
        }
        Self { vectors, ends: Some(ends), pages: counts.iter().flatten().count() as u64, windows }
    }

    /// The page and vector of the window at `nth` place.
    fn nth(&self, nth: u64) -> Option<(u64, Vec<f32>)> {
        let Some(ends) = &self.ends else { return self.vectors.window(nth) };
        let at = ends.partition_point(|(_, end)| *end <= nth);
        let (page, _) = *ends.get(at)?;
        let before = at.checked_sub(1).map_or(0, |before| ends[before].1);
        Some((page, self.vectors.window_of(page, (nth - before) as usize)?))
    }

    /// The cosine of the nearest page to `query` besides its `own`.
    fn nearest(&self, query: &[f32], own: u64) -> Option<f32> {
        let near = match &self.ends {
            None => self.vectors.search(query, 1, &|page| page != own),
            Some(ends) => {
                let mut others = ends.iter().map(|(page, _)| *page).filter(|page| *page != own);
                self.vectors.search_among(query, 1, &mut others)
            }
        };
        near.first().map(|near| near.cosine)
    }

    /// How many windows look for their nearest. Those of some pages are measured while somebody
    /// waits, so fewer where each has to look far.
    fn queries(&self) -> u64 {
        match self.ends {
            None => QUERIES,
            Some(_) => (COMPARED / self.windows.max(1)).clamp(FEWEST_QUERIES, QUERIES),
        }
    }
}

impl Scale {
    /// Before anything is measured.
    pub(super) const fn new() -> Self {
        KNOWN
    }

    /// Whether what is said of the space of `model` is neither measured nor known: a guess, that is.
    pub(super) fn is_guess(&self, model: &str) -> bool {
        self.windows == 0 && !is_known(model)
    }

    /// Whether it should be measured now, in the space of `model`.
    pub(super) fn is_due(&self, model: &str, size: &Windows<'_>) -> bool {
        !is_known(model) && size.windows >= WINDOWS.max(2 * self.windows) && size.pages >= PAGES
    }

    /// The floor is the median cosine of windows of two pages taken by chance; the top is what 95 of 100 windows do not reach with their nearest page besides their own.
    /// The same vectors give the same.
    pub(super) fn measured(all: &Windows<'_>) -> Self {
        let windows = all.windows;
        let mut dice = Dice(windows);
        let mut any = || all.nth(dice.next() % windows.max(1));
        let mut cosines = Vec::new();
        for _ in 0..PAIRS {
            if let (Some((one, a)), Some((other, b))) = (any(), any())
                && one != other
            {
                cosines.push(a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>());
            }
        }
        let mut nearest = Vec::new();
        for _ in 0..all.queries() {
            if let Some((own, query)) = any() {
                nearest.extend(all.nearest(&query, own));
            }
        }
        let (Some(floor), Some(top)) = (part(cosines, 0.5), part(nearest, 0.95)) else {
            return KNOWN;
        };
        Self { floor, span: (top - floor).max(LEAST_SPAN), windows }
    }

    /// The median cosine of `question` with windows taken by chance; `None` when there are too few.
    pub(super) fn background(all: &Windows<'_>, question: &[f32]) -> Option<f32> {
        let windows = all.windows;
        if windows < FEWEST {
            return None;
        }
        let mut dice = Dice(windows);
        let cosines = (0..SAMPLE).filter_map(|_| {
            let (_, window) = all.nth(dice.next() % windows)?;
            Some(question.iter().zip(&window).map(|(a, b)| a * b).sum::<f32>())
        });
        part(cosines.collect(), 0.5)
    }
}

/// Whether the scale of this model was measured with questions.
fn is_known(model: &str) -> bool {
    model.to_ascii_lowercase().contains("minilm")
}

/// What this part of `numbers` does not exceed.
fn part(mut numbers: Vec<f32>, part: f64) -> Option<f32> {
    numbers.sort_by(f32::total_cmp);
    let at = (numbers.len() as f64 * part) as usize;
    numbers.get(at.min(numbers.len().saturating_sub(1))).copied()
}

/// Numbers by chance that are the same each time: this is no secret.
struct Dice(u64);

impl Dice {
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
    use brain_embed::vectors::{Key, Windowed};

    #[test]
    fn floor_and_span_are_those_of_the_pages() {
        let dir = tempfile::tempdir().unwrap();
        let vectors = Vectors::open(dir.path(), "s", "m", 64).unwrap().0;
        let mut dice = Dice(1);
        assert!(!Scale::new().is_due("other", &Windows::all(&vectors)));
        // All share a direction, by which any two have a cosine of 0.5; of each page's two neighbours one is nearer by its topic.
        for page in 0..400_u64 {
            let window = |n: u64, dice: &mut Dice| {
                let mut vector = vec![0.0_f32; 64];
                vector[0] = 1.0;
                vector[1 + (page / 2 * 7 % 63) as usize] += 0.9;
                vector[1 + (dice.next() % 63) as usize] += 0.43;
                let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
                Windowed {
                    start: n as u32,
                    end: 9,
                    vector: vector.iter().map(|x| x / length).collect(),
                }
            };
            let windows = [window(0, &mut dice), window(1, &mut dice)];
            vectors.put(page, Key([0; 16]), &windows).unwrap();
        }
        assert!(Scale::new().is_due("other", &Windows::all(&vectors)));
        assert!(!Scale::new().is_due("all-MiniLM-L6-v2", &Windows::all(&vectors)));
        assert!(Scale::new().is_guess("other") && !Scale::new().is_guess("all-MiniLM-L6-v2"));
        let scale = Scale::measured(&Windows::all(&vectors));
        assert!((scale.floor - 0.5).abs() < 0.03, "{scale:?}");
        assert!((scale.floor + scale.span - 1.0).abs() < 0.12, "{scale:?}");
        assert!(
            !scale.is_due("other", &Windows::all(&vectors)),
            "not before there are twice as many"
        );
        assert!(!scale.is_guess("other"));
        assert_eq!(scale, Scale::measured(&Windows::all(&vectors)));
        // What some pages say does not change with others.
        let own: Vec<u64> = (0..350).collect();
        let before = Scale::measured(&Windows::of(&vectors, &own));
        assert!((before.floor - 0.5).abs() < 0.03, "{before:?}");
        let nth = |nth| Windows::of(&vectors, &own).nth(nth).map(|(page, _)| page);
        assert_eq!(
            [nth(0), nth(1), nth(2), nth(699), nth(700)],
            [Some(0), Some(0), Some(1), Some(349), None]
        );
        (350..400).for_each(|page| vectors.remove(page));
        vectors.put(1000, Key([0; 16]), &[]).unwrap();
        assert_eq!(before, Scale::measured(&Windows::of(&vectors, &own)));
    }
}
