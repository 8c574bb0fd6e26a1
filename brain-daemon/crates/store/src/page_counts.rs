//! The numbers of active pages by source, kept in memory.
//!
//! They are counted in the store once, and then kept in step with commits. So an answer with a
//! number of pages takes no longer in a larger store.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::StoreError;

/// Numbers of active pages by source.
pub(super) type CountBySource = BTreeMap<String, u64>;

/// Changes of these numbers in a transaction.
pub(super) type CountChanges = BTreeMap<String, i64>;

/// The numbers of active pages; `None` until they are first needed.
#[derive(Default)]
pub(super) struct PageCounts(Mutex<Option<KnownCounts>>);

/// Counted numbers.
struct KnownCounts {
    /// The last sequence number that they include.
    seq: u64,
    pages: CountBySource,
}

impl PageCounts {
    /// Adds the changes of a commit. `seq` is the store's last sequence number after it.
    pub(super) fn apply(&self, seq: u64, changes: CountChanges) {
        let mut counts = self.0.lock();
        // Numbers that were counted after the commit include it already.
        let Some(known) = counts.as_mut().filter(|known| known.seq < seq) else { return };
        for (source, change) in changes {
            let pages = known.pages.entry(source).or_default();
            *pages = pages.saturating_add_signed(change);
        }
        known.seq = seq;
    }

    /// Forgets the numbers, because another file may have been opened.
    pub(super) fn forget(&self) {
        *self.0.lock() = None;
    }

    /// Returns the number of active pages of a source, at least as new as the snapshot with the
    /// last sequence number `seq`. `count` counts the pages of that snapshot.
    ///
    /// # Errors
    /// Those of `count`.
    pub(super) fn pages(
        &self,
        source: &str,
        seq: u64,
        count: impl FnOnce() -> Result<CountBySource, StoreError>,
    ) -> Result<u64, StoreError> {
        let mut counts = self.0.lock();
        let known = match counts.take().filter(|known| known.seq >= seq) {
            Some(known) => known,
            None => KnownCounts { seq, pages: count()? },
        };
        let pages = known.pages.get(source).copied().unwrap_or_default();
        *counts = Some(known);
        Ok(pages)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_once_and_follow_commits() {
        let counts = PageCounts::default();
        let change = |source: &str, by: i64| CountChanges::from([(source.to_owned(), by)]);
        let counted = || Ok(CountBySource::from([("work".to_owned(), 5)]));
        let again = || -> Result<CountBySource, StoreError> { panic!("they are known") };
        counts.apply(3, change("work", 1));
        assert_eq!(counts.pages("work", 4, counted).unwrap(), 5);
        // The snapshot was newer than this commit.
        counts.apply(4, change("work", 1));
        counts.apply(5, change("work", -2));
        counts.apply(6, change("attic", 7));
        let pages = |source: &str| counts.pages(source, 6, again).unwrap();
        assert_eq!((pages("work"), pages("attic"), pages("none")), (3, 7, 0));
        // A snapshot with a commit whose changes are not here yet.
        assert_eq!(counts.pages("work", 7, counted).unwrap(), 5);
        counts.forget();
        assert_eq!(counts.pages("attic", 7, counted).unwrap(), 0);
    }
}
