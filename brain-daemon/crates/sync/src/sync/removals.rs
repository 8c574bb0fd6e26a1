//! How many pages a sync deletes without `--yes`.

use brain_protocol::SourceId;
use parking_lot::Mutex;

/// More missing pages than this number, which are also more than [`MAX_PERCENT`] of the source,
/// are deleted only with `--yes`.
const MAX_PAGES: usize = 20;
/// See [`MAX_PAGES`].
const MAX_PERCENT: usize = 30;
/// Removals that the watcher sees within this time are added up, in milliseconds. The watcher sees
/// a large removal as many small ones.
const WINDOW_MS: i64 = 10 * 60 * 1000;

/// The recent removals by the watcher.
#[derive(Default)]
pub(crate) struct Removals {
    /// Source, time in Unix milliseconds, number of pages.
    recent: Mutex<Vec<(SourceId, i64, usize)>>,
}

impl Removals {
    /// Returns the number of pages of the source that the watcher removed recently, at `now` in
    /// Unix milliseconds.
    pub(super) fn recent(&self, source: &SourceId, now: i64) -> usize {
        let mut recent = self.recent.lock();
        recent.retain(|(_, at, _)| *at > now - WINDOW_MS);
        recent.iter().filter(|(id, _, _)| id == source).map(|(_, _, pages)| pages).sum()
    }

    /// Records that the watcher removed pages of the source.
    pub(super) fn record(&self, source: &SourceId, now: i64, pages: usize) {
        if pages > 0 {
            self.recent.lock().push((source.clone(), now, pages));
        }
    }
}

/// Returns whether `removals` of `all` pages need `--yes`.
pub(super) fn are_too_many(removals: usize, all: usize) -> bool {
    removals > MAX_PAGES && removals * 100 > all * MAX_PERCENT
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn many_removals_are_many_of_the_source() {
        for (removals, all, expected) in
            [(20, 20, false), (21, 21, true), (21, 70, false), (22, 70, true), (30, 100, false)]
        {
            assert_eq!(are_too_many(removals, all), expected, "{removals} of {all}");
        }
    }

    #[test]
    fn removals_of_a_source_count_together_for_a_while() {
        let id = |name| SourceId::parse(name).unwrap();
        let removals = Removals::default();
        removals.record(&id("a"), 1_000, 15);
        removals.record(&id("a"), 2_000, 10);
        removals.record(&id("b"), 2_000, 3);
        assert_eq!(removals.recent(&id("a"), 3_000), 25);
        assert_eq!(removals.recent(&id("a"), 1_000 + WINDOW_MS), 10);
        assert_eq!(removals.recent(&id("b"), 2_000 + WINDOW_MS), 0);
    }
}
