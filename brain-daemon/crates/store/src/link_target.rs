//! Resolves a link to a page, by the rules of Obsidian.
//!
//! An exact path wins. Otherwise a link means a file with its name: one in the folder of the
//! linking page, else the nearest one below that folder, else the one with the shortest path.
//! Aliases come after file names, and only an alias of a single page is a target.

use brain_page as page;
use brain_protocol::{Slug, SourceId};

use super::links::Resolution;
use super::read::{PageEntry, Reader};
use super::record::LinkRecord;
use super::{StoreError, tables as t};

/// Maximum number of pages with one name that are compared: those with the lowest ids.
const MAX_CANDIDATES: usize = 1000;

/// Rank of a page with the name of a link; the lowest is best: whether the page is outside the
/// linking page's folder, characters of its slug, its slug.
type LinkRank = (bool, usize, String);

impl Reader {
    /// Resolves a link of the page `own_slug` in the source `own_source`.
    pub fn resolve(
        &self,
        link: &LinkRecord,
        (own_source, own_slug): (&SourceId, &Slug),
    ) -> Result<Resolution, StoreError> {
        let source = link.source.as_deref().map_or_else(|| Ok(own_source.clone()), SourceId::parse);
        if let Ok(source) = source {
            for slug in &link.slugs {
                let Ok(slug) = Slug::parse(slug.as_str()) else { continue };
                if let Some(record) = self.page(&source, &slug)? {
                    return Ok(Resolution::Page(Box::new((source, slug, record))));
                }
            }
        }
        let folder = own_slug.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
        if let Some(path) = link.path_end() {
            let name = path.rsplit('/').next().unwrap_or(path);
            let end = format!("/{path}");
            let is_file = |slug: &str| slug.ends_with(&end);
            let name = page::normalize_name(name);
            if let Some(page) = self.nearest_file(own_source, folder, &name, is_file)? {
                return Ok(Resolution::Page(Box::new(page)));
            }
        }
        let names: Vec<String> = link.names().collect();
        for name in &names {
            let is_file = |slug: &str| page::normalize_name(last_part(slug)) == *name;
            if let Some(page) = self.nearest_file(own_source, folder, name, is_file)? {
                return Ok(Resolution::Page(Box::new(page)));
            }
        }
        for name in &names {
            // Two pages are enough to make the alias ambiguous.
            let mut pages = self.pages_by_name(own_source, name, 2)?;
            match (pages.pop(), pages.is_empty()) {
                (Some(page), true) => return Ok(Resolution::Page(Box::new(page))),
                (Some(_), false) => return Ok(Resolution::Ambiguous),
                (None, _) => {}
            }
        }
        Ok(Resolution::Missing)
    }

    /// Returns the best page of a source with a normalised name whose slug `is_file` accepts, for a
    /// link in `folder`.
    fn nearest_file(
        &self,
        source: &SourceId,
        folder: &str,
        name: &str,
        is_file: impl Fn(&str) -> bool,
    ) -> Result<Option<PageEntry>, StoreError> {
        if !self.view.shows(source.as_str()) {
            return Ok(None);
        }
        let ids = self.table(t::IDS)?;
        let mut best: Option<(LinkRank, u64)> = None;
        let source_id = source.as_str();
        let names = self.table(t::NAMES)?;
        let rows = names.range((source_id, name, 0)..=(source_id, name, u64::MAX))?;
        for row in rows.take(MAX_CANDIDATES) {
            let id = row?.0.value().2;
            let Some(guard) = ids.get(id)? else { continue };
            let slug = guard.value().1;
            if !is_file(slug) {
                continue;
            }
            let rank = rank(folder, slug);
            if best.as_ref().is_none_or(|(known, _)| rank < *known) {
                best = Some((rank, id));
            }
        }
        best.map_or(Ok(None), |(_, id)| self.by_id(id))
    }
}

fn rank(folder: &str, slug: &str) -> LinkRank {
    let below = slug.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    (!(below || folder.is_empty()), slug.chars().count(), slug.to_owned())
}

fn last_part(slug: &str) -> &str {
    slug.rsplit('/').next().unwrap_or(slug)
}

impl LinkRecord {
    /// Returns the path of a link such as `[[folder/name]]` if it can be the suffix of a longer
    /// path. Links with a source, and those from the root (`/a/b`) or by dots (`../b`), are exact.
    pub(super) fn path_end(&self) -> Option<&str> {
        let raw = self.raw.trim_start();
        let is_exact = self.source.is_some() || raw.starts_with(['/', '.']);
        self.slugs.first().map(String::as_str).filter(|slug| !is_exact && slug.contains('/'))
    }

    /// Whether the link can mean a page with this slug by its path.
    pub(super) fn may_name_path(&self, slug: &str) -> bool {
        self.slugs.iter().any(|own| own == slug)
            || self.path_end().is_some_and(|end| {
                slug.strip_suffix(end).is_some_and(|before| before.ends_with('/'))
            })
    }
}
