//! Finds pages by name and by their links. [`super::link_target`] resolves links.

use std::collections::BTreeSet;

use brain_base::caller::Visibility;
use brain_page as page;
use brain_protocol::{Slug, SourceId};
use redb::ReadableTable;

use super::link_keys::{link_keys, slug_keys};
use super::read::{PageEntry, Reader};
use super::record::{LinkRecord, PageRecord};
use super::{StoreError, tables as t};

/// Target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The link leads to this page.
    Page(Box<(SourceId, Slug, PageRecord)>),
    /// The link leads to no existing page.
    Missing,
    /// Several pages have the link's name as an alias.
    Ambiguous,
}

impl Reader {
    /// Returns up to `limit` active pages of a source whose file name or alias is this normalised
    /// name.
    pub fn pages_by_name(
        &self,
        source: &SourceId,
        name: &str,
        limit: usize,
    ) -> Result<Vec<PageEntry>, StoreError> {
        let mut out = Vec::new();
        let source = source.as_str();
        for row in self.table(t::NAMES)?.range((source, name, 0)..=(source, name, u64::MAX))? {
            if out.len() == limit {
                break;
            }
            out.extend(self.by_id(row?.0.value().2)?);
        }
        Ok(out)
    }

    /// Returns whether one page of a visible source, and no other, has this normalised name.
    pub fn has_one_page(&self, source: &SourceId, name: &str) -> Result<bool, StoreError> {
        let source = source.as_str();
        let names = self.table(t::NAMES)?;
        let rows = names.range((source, name, 0)..=(source, name, u64::MAX))?;
        Ok(rows.take(2).collect::<Result<Vec<_>, _>>()?.len() == 1)
    }

    /// Returns up to `limit` active pages of a source with a normalised name that begins with the
    /// words of `beginning` and has more words.
    pub fn named_longer(
        &self,
        source: &SourceId,
        beginning: &str,
        limit: usize,
    ) -> Result<Vec<PageEntry>, StoreError> {
        let from = format!("{beginning} ");
        let mut out = Vec::new();
        for row in self.table(t::NAMES)?.range((source.as_str(), from.as_str(), 0)..)? {
            let key = row?.0;
            let (row_source, name, id) = key.value();
            if out.len() == limit || row_source != source.as_str() || !name.starts_with(&from) {
                break;
            }
            out.extend(self.by_id(id)?);
        }
        Ok(out)
    }

    /// Returns up to `limit` active pages of a source whose slug, or its last part, begins with
    /// `beginning`: first those by slug, then those by last part.
    pub fn beginning_with(
        &self,
        source: &SourceId,
        beginning: &str,
        limit: usize,
    ) -> Result<Vec<PageEntry>, StoreError> {
        let mut out: Vec<PageEntry> = Vec::new();
        let source_id = source.as_str();
        for row in self.table(t::PAGES)?.range((source_id, beginning)..)? {
            let key = row?.0;
            let (row_source, slug) = key.value();
            if out.len() == limit || row_source != source_id || !slug.starts_with(beginning) {
                break;
            }
            let Ok(slug) = Slug::parse(slug) else { continue };
            if let Some(record) = self.page(source, &slug)? {
                out.push((source.clone(), slug, record));
            }
        }
        let name = page::normalize_name(beginning);
        if name.is_empty() || beginning.contains('/') {
            return Ok(out);
        }
        for row in self.table(t::NAMES)?.range((source_id, name.as_str(), 0)..)? {
            let key = row?.0;
            let (row_source, row_name, id) = key.value();
            if out.len() == limit || row_source != source_id || !row_name.starts_with(&name) {
                break;
            }
            // The table also has aliases.
            let page = self.by_id(id)?.filter(|page| page.1.name().starts_with(beginning));
            out.extend(page.filter(|page| out.iter().all(|known| known.2.id != page.2.id)));
        }
        Ok(out)
    }

    /// Returns the active pages that link to this page, with those links.
    pub fn backlinks(&self, to: &PageEntry) -> Result<Vec<(PageEntry, LinkRecord)>, StoreError> {
        let names = self.derived(to.2.id)?.names;
        let mut out = Vec::new();
        for id in self.linking(to, usize::MAX)? {
            let Some(page) = self.by_id(id)? else { continue };
            out.extend(
                self.links_between(&page, to, &names)?.into_iter().map(|link| (page.clone(), link)),
            );
        }
        out.sort_by(|a, b| (&a.0.0, &a.0.1).cmp(&(&b.0.0, &b.0.1)));
        Ok(out)
    }

    /// Returns the ids of up to `limit` visible pages that may link to this page, highest id first.
    pub fn linking(&self, to: &PageEntry, limit: usize) -> Result<Vec<u64>, StoreError> {
        self.linking_with_names(to, &self.derived(to.2.id)?.names, limit)
    }

    /// As [`Reader::linking`], for a page whose names are known (`DerivedRows::names`).
    pub fn linking_with_names(
        &self,
        (source, slug, _): &PageEntry,
        names: &[String],
        limit: usize,
    ) -> Result<Vec<u64>, StoreError> {
        let keys: BTreeSet<_> = names.iter().cloned().chain(link_keys(slug.as_str())).collect();
        let mut from = BTreeSet::new();
        for key in keys {
            from.extend(self.linking_by_key(source.as_str(), &key, u64::MAX, limit)?);
        }
        Ok(from.into_iter().rev().take(limit).collect())
    }

    /// Returns the ids below `end` of visible pages with a row for this source and key in
    /// [`t::LINKS_IN`]: of each source up to `limit`, those with the highest ids. Reads no row of a
    /// hidden source.
    pub(super) fn linking_by_key(
        &self,
        to: &str,
        key: &str,
        end: u64,
        limit: usize,
    ) -> Result<Vec<u64>, StoreError> {
        let table = self.table(t::LINKS_IN)?;
        let mut out = Vec::new();
        for from in self.source_ids()? {
            let first = t::link_source(to, &from);
            let first = first.as_str();
            let mut count = 0;
            for row in table.range((first, key, 0)..(first, key, end))?.rev() {
                if count == limit {
                    break;
                }
                let id = row?.0.value().2;
                // A machine of a shared brain with an older program writes rows of the former form.
                if self.may_show(id)? {
                    out.push(id);
                    count += 1;
                }
            }
        }
        Ok(out)
    }

    /// Returns the ids of the visible sources.
    fn source_ids(&self) -> Result<Vec<String>, StoreError> {
        match &self.view {
            Visibility::Only(sources) => Ok(sources.iter().map(SourceId::to_string).collect()),
            Visibility::All => {
                let sources = self.table(t::SOURCES)?;
                sources.iter()?.map(|row| Ok(row?.0.value().to_owned())).collect()
            }
        }
    }

    /// Whether the page's source is visible.
    fn may_show(&self, id: u64) -> Result<bool, StoreError> {
        if self.view == Visibility::All {
            return Ok(true);
        }
        Ok(self.table(t::IDS)?.get(id)?.is_some_and(|guard| self.view.shows(guard.value().0)))
    }

    /// Returns the links of the page `from` that lead to the page `to`, whose names are `names`
    /// (`DerivedRows::names`).
    pub fn links_between(
        &self,
        from: &PageEntry,
        to: &PageEntry,
        names: &[String],
    ) -> Result<Vec<LinkRecord>, StoreError> {
        let mut out = Vec::new();
        for link in self.derived(from.2.id)?.links {
            let may_link =
                link.may_name_path(to.1.as_str()) || link.names().any(|name| names.contains(&name));
            if may_link
                && let Resolution::Page(target) = self.resolve(&link, (&from.0, &from.1))?
                && target.2.id == to.2.id
            {
                out.push(link);
            }
        }
        Ok(out)
    }

    /// Returns the active pages with a link to a slug that has no page, with those links.
    pub fn links_to_missing(
        &self,
        source: &SourceId,
        slug: &Slug,
    ) -> Result<Vec<(PageEntry, LinkRecord)>, StoreError> {
        let mut out = Vec::new();
        let mut from = BTreeSet::new();
        for key in slug_keys(slug.as_str()) {
            from.extend(self.linking_by_key(source.as_str(), &key, u64::MAX, usize::MAX)?);
        }
        for id in from {
            let Some(page) = self.by_id(id)? else { continue };
            for link in self.derived(id)?.links {
                let names_slug = link.slugs.iter().any(|s| s == slug.as_str());
                if names_slug && self.resolve(&link, (&page.0, &page.1))? == Resolution::Missing {
                    out.push((page.clone(), link));
                }
            }
        }
        Ok(out)
    }
}
