//! Finds highlights that a later one replaces.
//!
//! When a reader moves the ends of a highlight, the Kindle adds a record with a range that overlaps
//! the former one. The later record is what stands in the book, even if it is shorter.

use std::collections::HashMap;

use super::kind::Kind;
use super::record::Record;

/// Maximum number of locations of a highlight that are looked at.
const MAX_RANGE: u64 = 200;
/// Maximum number of highlights at one location that are compared.
const MAX_COMPARED: usize = 20;

/// Returns the records that count, and those that are replaced. Of equal records, one counts.
pub(super) fn without_replaced(records: &[Record]) -> (Vec<&Record>, Vec<&Record>) {
    let mut is_kept = vec![true; records.len()];
    let mut replaced = Vec::new();
    // The highlights at each location, the latest last.
    let mut at: HashMap<u64, Vec<usize>> = HashMap::new();
    for (number, record) in records.iter().enumerate() {
        if record.kind != Kind::Highlight || record.text.is_empty() {
            continue;
        }
        let (first, last) = record.position();
        let range = first..=last.clamp(first, first.saturating_add(MAX_RANGE));
        for location in range {
            let others = at.entry(location).or_default();
            for other in others.iter().rev().take(MAX_COMPARED).copied() {
                let (Some(former), Some(kept)) = (records.get(other), is_kept.get_mut(other))
                else {
                    continue;
                };
                let is_same =
                    former.text.contains(&record.text) || record.text.contains(&former.text);
                if other != number && *kept && is_same {
                    *kept = false;
                    if former.text != record.text || former.position() != record.position() {
                        replaced.push(former);
                    }
                }
            }
            others.retain(|other| is_kept.get(*other) == Some(&true));
            others.push(number);
        }
    }
    let kept = records.iter().zip(is_kept).filter(|(_, is_kept)| *is_kept);
    (kept.map(|(record, _)| record).collect(), replaced)
}
