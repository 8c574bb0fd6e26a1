//! Adjacent words of a question as one word: `data base` finds `database`.

use super::{bm25::Stats, plan::Plan};

/// Weight of adjacent words as one word, where the words apart have 1; half of it with a stop word.
const JOINED_WEIGHT: f32 = 0.8;
/// Maximum times that a joined word counts.
const MAX_JOINED_MULTIPLIER: f32 = 3.0;

/// Makes each joined word count a little less than its words together.
pub(super) fn weigh_joined(plan: &mut Plan, stats: &Stats) {
    for group in 0..plan.groups.len() {
        let parts = &plan.groups[group].joined;
        if parts.is_empty() {
            continue;
        }
        let sum: f32 = parts.iter().map(|&part| stats.idf(part)).sum();
        let has_stop_word = parts.len() < 2;
        let weight = if has_stop_word { 0.5 } else { 1.0 } * JOINED_WEIGHT;
        let multiplier = weight * sum / stats.idf(group).max(f32::MIN_POSITIVE);
        plan.groups[group].multiplier = multiplier.min(MAX_JOINED_MULTIPLIER);
    }
}
