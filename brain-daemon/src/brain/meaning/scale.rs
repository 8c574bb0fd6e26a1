//! What a cosine means in a space: how near windows are that have nothing to do with each other, and how near those that match best. Measured on the user's own pages, because it differs
//! from model to model; the fusion of full text and vectors needs it.

use crate::vectors::Vectors;

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
/// With how many windows a question is compared to know what is near for it, and from how many on.
const SAMPLE: u64 = 100;
const FEWEST: u64 = 50;
/// A span that is less would make noise of differences.
const LEAST_SPAN: f32 = 0.15;

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
    pub(super) fn is_due(&self, model: &str, vectors: &Vectors) -> bool {
        let size = vectors.size();
        !is_known(model) && size.windows >= WINDOWS.max(2 * self.windows) && size.pages >= PAGES
    }

    /// The floor is the median cosine of windows of two pages taken by chance; the top is what 95 of 100 windows do not reach with their nearest page besides their own.
    /// The same vectors give the same.
    pub(super) fn measured(vectors: &Vectors) -> Self {
        let windows = vectors.size().windows;
        let mut dice = Dice(windows);
        let mut any = || vectors.window(dice.next() % windows.max(1));
        let mut cosines = Vec::new();
        for _ in 0..PAIRS {
            if let (Some((one, a)), Some((other, b))) = (any(), any())
                && one != other
            {
                cosines.push(a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>());
            }
        }
        let mut nearest = Vec::new();
        for _ in 0..QUERIES {
            if let Some((own, query)) = any() {
                nearest
                    .extend(vectors.search(&query, 1, &|page| page != own).first().map(|near| near.cosine));
            }
        }
        let (Some(floor), Some(top)) = (part(cosines, 0.5), part(nearest, 0.95)) else { return KNOWN };
        Self { floor, span: (top - floor).max(LEAST_SPAN), windows }
    }

    /// The median cosine of `question` with windows taken by chance; `None` when there are too few.
    pub(super) fn background(vectors: &Vectors, question: &[f32]) -> Option<f32> {
        let windows = vectors.size().windows;
        if windows < FEWEST {
            return None;
        }
        let mut dice = Dice(windows);
        let cosines = (0..SAMPLE).filter_map(|_| {
            let (_, window) = vectors.window(dice.next() % windows)?;
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
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::vectors::{Key, Windowed};

    #[test]
    fn floor_and_span_are_those_of_the_pages() {
        let dir = tempfile::tempdir().unwrap();
        let vectors = Vectors::open(dir.path(), "s", "m", 64).unwrap().0;
        let mut dice = Dice(1);
        assert!(!Scale::new().is_due("other", &vectors));
        // All share a direction, by which any two have a cosine of 0.5; of each page's two neighbours one is nearer by its topic.
        for page in 0..400_u64 {
            let window = |n: u64, dice: &mut Dice| {
                let mut vector = vec![0.0_f32; 64];
                vector[0] = 1.0;
                vector[1 + (page / 2 * 7 % 63) as usize] += 0.9;
                vector[1 + (dice.next() % 63) as usize] += 0.43;
                let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
                Windowed { start: n as u32, end: 9, vector: vector.iter().map(|x| x / length).collect() }
            };
            let windows = [window(0, &mut dice), window(1, &mut dice)];
            vectors.put(page, Key([0; 16]), &windows).unwrap();
        }
        assert!(Scale::new().is_due("other", &vectors));
        assert!(!Scale::new().is_due("all-MiniLM-L6-v2", &vectors));
        assert!(Scale::new().is_guess("other") && !Scale::new().is_guess("all-MiniLM-L6-v2"));
        let scale = Scale::measured(&vectors);
        assert!((scale.floor - 0.5).abs() < 0.03, "{scale:?}");
        assert!((scale.floor + scale.span - 1.0).abs() < 0.12, "{scale:?}");
        assert!(!scale.is_due("other", &vectors), "not before there are twice as many");
        assert!(!scale.is_guess("other"));
        assert_eq!(scale, Scale::measured(&vectors));
    }
}
