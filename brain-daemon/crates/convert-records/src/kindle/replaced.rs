//! Finds highlights and notes that a later one replaces.
//!
//! When a reader moves the ends of a highlight, the Kindle adds a record with a range that overlaps
//! the former one. The later record is what stands in the book, even if it is shorter. A changed note
//! is added in the same way. In files that were put together, the later one can stand first.

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
    // The highlights and notes at each location, the latest last.
    let mut at: HashMap<(bool, u64), Vec<usize>> = HashMap::new();
    let mut numbers: Vec<usize> = (0..records.len()).collect();
    numbers.sort_by_key(|number| records.get(*number).and_then(|record| record.time));
    for number in numbers {
        let Some(record) = records.get(number) else { continue };
        if !matches!(record.kind, Kind::Highlight | Kind::Note) || record.text.is_empty() {
            continue;
        }
        let is_note = record.kind == Kind::Note;
        let (first, last) = record.position();
        let range = first..=last.clamp(first, first.saturating_add(MAX_RANGE));
        for location in range {
            let others = at.entry((is_note, location)).or_default();
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
