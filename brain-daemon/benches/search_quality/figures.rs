//! Runs the questions of a set and measures the quality of the answers.

use std::collections::HashSet;
use std::time::Instant;

use brain_protocol::{Hit, Reply, Request, Search};

use crate::brain_home::{BrainHome, OpenBrain};
use crate::set::{Set, source};

/// Mean values over the questions of a set.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    /// The number of questions with answers.
    pub(crate) questions: usize,
    /// Normalised discounted cumulative gain of the first 10 hits.
    pub(crate) ndcg10: f64,
    /// The share of the answers that are among the first 5 hits.
    pub(crate) recall5: f64,
    /// The share of the answers that are among the first 10 hits.
    pub(crate) recall10: f64,
    /// The reciprocal of the rank of the first answer; 0 if it is not among the first 10 hits.
    pub(crate) mrr10: f64,
    /// The share of questions whose first hit is an answer.
    pub(crate) first: f64,
    /// The share of excluded pages among the first 5 hits, over the questions that exclude some.
    /// `None` if no question does.
    pub(crate) unwanted5: Option<f64>,
    /// Median time of a search with passages, in microseconds.
    pub(crate) median_us: u128,
}

/// What is printed about questions, on standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printed {
    /// Each question with answers that are not among the first 5 hits.
    pub(crate) misses: bool,
    /// For each question whose first hit is no answer, the parts of the scores of that hit and of
    /// the first answer.
    pub(crate) scores: bool,
}

/// Measures `set` in the brain `open`.
pub(crate) fn ask(set: &Set, home: &BrainHome, open: &OpenBrain, printed: Printed) -> Figures {
    let mut sum = Figures::default();
    let mut times = Vec::new();
    let mut unwanted5 = (!set.unwanted.is_empty()).then_some(0.0);
    for query in &set.queries {
        let Some(answers) = set.wanted.get(&query.id) else { continue };
        let request = Request::Search(Search {
            query: query.text.clone(),
            limit: 20,
            source: query.scope.as_deref().map(source),
            prefix: query.prefix,
            explain: printed.scores,
            ..Search::default()
        });
        let started_at = Instant::now();
        let Reply::Hits(found) = open.ask(request) else { panic!("no hits") };
        times.push(started_at.elapsed().as_micros());
        assert_eq!(found.degraded, None, "nothing is missing");
        let ids: Vec<&str> = found.hits.iter().take(10).map(|hit| home.id(hit)).collect();
        let grades: Vec<f64> =
            ids.iter().map(|id| answers.get(*id).copied().unwrap_or(0.0)).collect();
        let recall_at = |n: usize| {
            grades.iter().take(n).filter(|g| **g > 0.0).count() as f64 / answers.len() as f64
        };
        sum.ndcg10 += discounted_gain(&grades) / ideal_gain(answers.values());
        sum.recall5 += recall_at(5);
        sum.recall10 += recall_at(10);
        sum.mrr10 += grades.iter().position(|g| *g > 0.0).map_or(0.0, |i| 1.0 / (i as f64 + 1.0));
        sum.first += f64::from(u8::from(grades.first().is_some_and(|g| *g > 0.0)));
        if let (Some(sum), Some(unwanted)) = (&mut unwanted5, set.unwanted.get(&query.id)) {
            *sum += unwanted_share(&ids[..ids.len().min(5)], unwanted);
        }
        sum.questions += 1;
        if printed.scores && grades.first().is_none_or(|g| *g == 0.0) {
            let answer = grades.iter().position(|g| *g > 0.0);
            eprintln!("  {}", query.text);
            for at in [Some(0), answer].into_iter().flatten() {
                print_scores(at, &found.hits);
            }
        }
        if printed.misses && recall_at(5) < 1.0 {
            let expected: Vec<&String> = answers.keys().collect();
            eprintln!(
                "  {} | expected {expected:?} | found {:?}",
                query.text,
                &ids[..ids.len().min(5)]
            );
        }
    }
    times.sort_unstable();
    let mean = |sum: f64, n: usize| sum / n.max(1) as f64;
    Figures {
        questions: sum.questions,
        ndcg10: mean(sum.ndcg10, sum.questions),
        recall5: mean(sum.recall5, sum.questions),
        recall10: mean(sum.recall10, sum.questions),
        mrr10: mean(sum.mrr10, sum.questions),
        first: mean(sum.first, sum.questions),
        unwanted5: unwanted5.map(|share| mean(share, set.unwanted.len())),
        median_us: times.get(times.len() / 2).copied().unwrap_or(0),
    }
}

/// Returns the gain of the best order of these grades.
fn ideal_gain<'a>(grades: impl Iterator<Item = &'a f64>) -> f64 {
    let mut ideal: Vec<f64> = grades.copied().collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    discounted_gain(&ideal)
}

/// Prints the parts of the score of the hit at an index.
fn print_scores(at: usize, hits: &[Hit]) {
    let Some(hit) = hits.get(at) else { return };
    let parts = hit.explain.iter().map(|part| format!("{} {:.2}", part.reason, part.score));
    let parts: Vec<String> = parts.collect();
    eprintln!("    {}. {} {:.2}: {}", at + 1, hit.slug, hit.score, parts.join(", "));
}

/// Returns the share of `hits` that are unwanted; 0 if there are no hits.
fn unwanted_share(hits: &[&str], unwanted: &HashSet<String>) -> f64 {
    hits.iter().filter(|id| unwanted.contains(**id)).count() as f64 / hits.len().max(1) as f64
}

/// Returns the discounted cumulative gain of the first 10 grades.
fn discounted_gain(grades: &[f64]) -> f64 {
    grades.iter().take(10).enumerate().map(|(i, g)| g / (i as f64 + 2.0).log2()).sum()
}
