//! Counts broken links by page, without resolving every link at every write.
//!
//! A link breaks when its target disappears. A write records only what it changed: the page whose
//! links must be resolved again, and the names and slugs that appeared or disappeared. A new page
//! records nothing, because a check finds new pages by their ids. A check ([`Store::check_links`])
//! resolves the links of the affected pages and stores their counts. [`super::broken_links`]
//! resolves the links of the last few unchecked pages itself, so its counts are always exact.

use std::collections::BTreeSet;

use brain_protocol::{Slug, SourceId};
use redb::{ReadableTable, ReadableTableMetadata};

use super::broken_links::{LinkCounts, SUMS};
use super::link_changes::LinkChanges;
use super::link_keys::link_keys;
use super::read::Reader;
use super::transaction::add_to_counts;
use super::{Store, StoreError, Transaction, meta, tables as t};
use brain_base::caller::Visibility;

/// Maximum number of new page ids, and of rows of [`t::UNCHECKED`], that one round checks. A round
/// reads one snapshot.
const ROUND_PAGES: usize = 10_000;
/// Rows that a check stores at once; other writes wait meanwhile.
const ROWS_AT_ONCE: usize = 2_000;

/// Pages to check, and the state that the check reaches.
pub(super) struct LinkCheck {
    pub(super) pages: Vec<u64>,
    /// Keys of the rows of [`t::UNCHECKED`] that the check covers.
    rows: Vec<(String, String, u64)>,
    /// Value of [`t::META_LINKS_CHECKED`] after the check.
    checked: u64,
    /// Value of [`t::META_LINKS_KNOWN`] after the check.
    known: u64,
    /// Last change in the snapshot; later changes need another check.
    seq: u64,
    /// Whether this is the last round.
    pub(super) is_last: bool,
}

/// A new row of [`t::BROKEN`].
struct BrokenLinkRow {
    id: u64,
    source: SourceId,
    slug: Slug,
    counts: LinkCounts,
}

impl Transaction<'_> {
    /// Records that a page is active again, or has new names or links. Not called for new pages,
    /// which a check finds by their ids.
    pub(super) fn record_added_names(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        id: u64,
        names: &[String],
    ) {
        self.link_changes.add_page(source, slug, id, names, 1);
    }

    /// Records that an active page disappears or is about to change, and removes its counts.
    pub(super) fn record_removed_names(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        id: u64,
        names: &[String],
    ) -> Result<(), StoreError> {
        self.link_changes.add_page(source, slug, id, names, -1);
        self.put_link_counts(source, slug, LinkCounts::default())
    }

    /// Writes the recorded changes. A name that moved from one page to another changes no link's
    /// state.
    pub(super) fn insert_link_changes(&mut self) -> Result<(), StoreError> {
        let LinkChanges { pages, name_counts, sums } = std::mem::take(&mut self.link_changes);
        for ((source, key, _), _) in name_counts.into_iter().filter(|(_, delta)| *delta != 0) {
            self.pending_link_checks
                .insert((source.as_str(), key.as_str(), 0), self.counters.seq)?;
        }
        for id in pages {
            self.pending_link_checks.insert(("", "", id), self.counters.seq)?;
        }
        add_to_counts(&mut self.broken_link_totals, sums)
    }

    fn put_link_counts(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        counts: LinkCounts,
    ) -> Result<(), StoreError> {
        let key = (source.as_str(), slug.as_str());
        let before = match counts.is_zero() {
            true => self.broken_link_counts.remove(key)?,
            false => self.broken_link_counts.insert(key, <(u32, u32, u32)>::from(counts))?,
        };
        let before = before.map(|guard| LinkCounts::from(guard.value())).unwrap_or_default();
        for ((name, now), before) in SUMS.into_iter().zip(counts.numbers()).zip(before.numbers()) {
            if now != before {
                let sum = self.link_changes.sums.entry((source.to_string(), name.to_owned()));
                *sum.or_default() += now - before;
            }
        }
        Ok(())
    }

    /// Stores the results of a check of the snapshot with the last change `seq`.
    fn put_link_rows(&mut self, rows: &[BrokenLinkRow], seq: u64) -> Result<(), StoreError> {
        // Changes of this transaction count as later ones.
        self.insert_pending_rows()?;
        for row in rows {
            // A page that has changed since needs another check.
            if self
                .pending_link_checks
                .get(("", "", row.id))?
                .is_some_and(|guard| guard.value() > seq)
            {
                continue;
            }
            self.write_count += 1;
            self.put_link_counts(&row.source, &row.slug, row.counts)?;
        }
        Ok(())
    }

    /// Records that a check is complete: its pages need another check only if they changed since.
    fn end_link_check(&mut self, check: &LinkCheck) -> Result<(), StoreError> {
        self.write_count += 1;
        for (source, key, id) in &check.rows {
            let key = (source.as_str(), key.as_str(), *id);
            if self.pending_link_checks.get(key)?.is_some_and(|guard| guard.value() <= check.seq) {
                self.pending_link_checks.remove(key)?;
            }
        }
        self.set_meta(t::META_LINKS_CHECKED, check.checked)?;
        self.set_meta(t::META_LINKS_KNOWN, check.known)
    }
}

impl Store {
    /// Resolves links that changed pages may have broken or repaired, and stores the counts.
    /// Works in rounds; stops before a round if `should_continue` returns `false`.
    ///
    /// # Errors
    /// When the store cannot be read or written; the counts of completed rounds stay.
    pub fn check_links(&self, should_continue: &dyn Fn() -> bool) -> Result<(), StoreError> {
        self.with_damage_report(|| self.check_links_in_rounds(ROUND_PAGES, should_continue))
    }

    pub(super) fn check_links_in_rounds(
        &self,
        round: usize,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<(), StoreError> {
        // The results of an older snapshot must not replace those of a newer one.
        let _guard = self.link_checks.lock();
        while should_continue() {
            let reader = self.read(Visibility::All)?;
            let no_limit = usize::MAX;
            let Some(check) = reader.link_check(round, no_limit)? else { break };
            if check.pages.is_empty() && check.rows.is_empty() && check.is_last {
                break;
            }
            let (seq, is_last) = (check.seq, check.is_last);
            let mut rows = Vec::new();
            for &id in &check.pages {
                rows.extend(reader.changed_link_row(id)?);
                if rows.len() == ROWS_AT_ONCE {
                    let part = std::mem::take(&mut rows);
                    self.write(move |transaction| transaction.put_link_rows(&part, seq))?;
                }
            }
            drop(reader);
            self.write(move |transaction| {
                transaction.put_link_rows(&rows, seq)?;
                transaction.end_link_check(&check)
            })?;
            if is_last {
                break;
            }
        }
        Ok(())
    }
}

impl Reader {
    /// Returns the page's counts if they differ from the stored ones.
    fn changed_link_row(&self, id: u64) -> Result<Option<BrokenLinkRow>, StoreError> {
        let Some((source, slug, _)) = self.by_id(id)? else { return Ok(None) };
        let counts = self.count_links((&source, &slug), id, |_, _| true)?;
        let stored = self.table(t::BROKEN)?.get((source.as_str(), slug.as_str()))?;
        let stored = stored.map(|guard| LinkCounts::from(guard.value())).unwrap_or_default();
        Ok((stored != counts).then_some(BrokenLinkRow { id, source, slug, counts }))
    }

    /// Returns the pages of the next check: up to `round` new pages, the pages of up to `round`
    /// rows of [`t::UNCHECKED`], and the pages that link to either. Returns `None` for more than
    /// `max` pages.
    pub(super) fn link_check(
        &self,
        round: usize,
        max: usize,
    ) -> Result<Option<LinkCheck>, StoreError> {
        let number = |key: &str| meta::number(&self.txn, key);
        let next = number(t::META_NEXT_ID)?.unwrap_or(1);
        let checked = number(t::META_LINKS_CHECKED)?.unwrap_or(1).min(next);
        // Before the first check, every existing page counts as known.
        let known = number(t::META_LINKS_KNOWN)?.filter(|_| checked > 1).unwrap_or(next);
        let end = if checked < known { known } else { next };
        let to = end.min(checked.saturating_add(round as u64));
        let mut collector = PageCollector { reader: self, pages: BTreeSet::new(), to, max };
        collector.add_new(checked, known)?;
        let unchecked = self.table(t::UNCHECKED)?;
        let mut rows = Vec::new();
        for row in unchecked.iter()?.take(round) {
            if collector.exceeds_max() {
                return Ok(None);
            }
            let key = row?.0;
            let (source, key, id) = key.value();
            rows.push((source.to_owned(), key.to_owned(), id));
            collector.add_row(source, key, id)?;
        }
        if collector.exceeds_max() {
            return Ok(None);
        }
        let is_last = to == next && rows.len() as u64 == unchecked.len()?;
        let (known, seq) = (known.max(to), number(t::META_SEQ)?.unwrap_or(0));
        let pages = collector.pages.into_iter().collect();
        Ok(Some(LinkCheck { pages, rows, checked: to, known, seq, is_last }))
    }
}

/// Collects pages whose links must be resolved.
struct PageCollector<'r> {
    reader: &'r Reader,
    pages: BTreeSet<u64>,
    /// Pages with this id or a greater one belong to a later check.
    to: u64,
    /// Maximum number of pages; collecting ends soon after it is exceeded.
    max: usize,
}

impl PageCollector<'_> {
    fn exceeds_max(&self) -> bool {
        self.pages.len() > self.max
    }

    /// Adds the pages with ids from `checked` on. Also adds the pages that link to a page with an
    /// id from `known` on, because that page did not exist when the links were checked.
    fn add_new(&mut self, checked: u64, known: u64) -> Result<(), StoreError> {
        for row in self.reader.table(t::IDS)?.range(checked..self.to)? {
            let (id, key) = row?;
            let (id, (source, slug)) = (id.value(), key.value());
            self.pages.insert(id);
            if id >= known {
                for key in self.reader.derived(id)?.names.into_iter().chain(link_keys(slug)) {
                    self.add_linking(source, &key)?;
                }
            }
            if self.exceeds_max() {
                break;
            }
        }
        Ok(())
    }

    /// Adds the pages that a row of [`t::UNCHECKED`] affects.
    fn add_row(&mut self, source: &str, key: &str, id: u64) -> Result<(), StoreError> {
        if source.is_empty() {
            if id < self.to {
                self.pages.insert(id);
            }
            return Ok(());
        }
        self.add_linking(source, key)?;
        match key.strip_prefix('/') {
            Some(slug) => link_keys(slug).try_for_each(|key| self.add_linking(source, &key)),
            None => Ok(()),
        }
    }

    /// Adds the pages that may link to a name or slug.
    fn add_linking(&mut self, source: &str, key: &str) -> Result<(), StoreError> {
        let limit = self.max.saturating_add(1);
        self.pages.extend(self.reader.linking_by_key(source, key, self.to, limit)?);
        Ok(())
    }
}
