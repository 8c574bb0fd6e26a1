//! Finds renamed files: a file that is gone, and a new file with the same bytes. The page keeps its
//! id and its versions.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use brain_protocol::Slug;

use super::compare::{KnownFiles, MissingPage, covers};
use super::decide::{SyncContext, View};
use brain_base::clock::zone;
use brain_files::Stat;
use brain_page::{FormerDates, NoteDates, file_title, title_of};
use brain_pages::files::read::{FileToRead, read_bytes, row, uri};
use brain_pages::write_page::{names_and_links, stored_document};
use brain_service::batch::map_in_parallel;
use brain_store::{Hash, LinkRecord, PageRecord, Reader, StoreError, Transaction, unless_damaged};

/// The move of a page to the new path of its file.
#[derive(Debug, Clone)]
pub(super) struct Move {
    /// The page at the time of the comparison.
    pub(super) record: PageRecord,
    pub(super) from: Slug,
    pub(super) to: Slug,
    /// The new path.
    pub(super) path: String,
    stat: Stat,
    is_racy: bool,
    digest: Hash,
    /// The title in the text; `None` for the name of the file.
    title: Option<String>,
    names: Vec<String>,
    links: Vec<LinkRecord>,
    /// The dates in the frontmatter and in the new name.
    dates: NoteDates,
    /// Whether the frontmatter has `source_uri`.
    states_uri: bool,
}

/// A file with the digests of its content.
struct DigestedFile<'a> {
    path: Cow<'a, str>,
    digests: Vec<Hash>,
}

/// What a search for renames compares.
pub(super) struct RenameSearch<'a> {
    pub(super) reader: &'a Reader,
    pub(super) context: &'a SyncContext,
    pub(super) known: &'a KnownFiles,
    /// The paths to sync.
    pub(super) scope: &'a [String],
    /// The end of the last whole sync. Pages stored after it may belong to a sync that was
    /// interrupted.
    pub(super) since: i64,
}

/// The files of missing pages.
#[derive(Default)]
struct GoneFiles<'a> {
    files: Vec<DigestedFile<'a>>,
    /// The sizes that these files may have had.
    sizes: HashSet<u64>,
    /// The digests of all files.
    digests: HashSet<Hash>,
}

/// A new file with its state and the digest of its content.
struct NewFile<'a> {
    file: &'a FileToRead,
    stat: Stat,
    is_racy: bool,
    digest: Hash,
}

impl RenameSearch<'_> {
    /// Finds the renames among missing pages and new files. If `should_continue` returns false, no
    /// more files are read, and the result must not be used.
    pub(super) fn find(
        &self,
        missing: &[MissingPage],
        to_read: &[FileToRead],
        should_continue: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Move>, StoreError> {
        let new: Vec<&FileToRead> = to_read.iter().filter(|file| file.page.is_none()).collect();
        if missing.is_empty() || new.is_empty() {
            return Ok(Vec::new());
        }
        let gone = self.gone_files(missing)?;
        let found = self.read_new_files(new, &gone.sizes, should_continue);
        let files: Vec<DigestedFile<'_>> = found
            .iter()
            .map(|new| DigestedFile {
                path: new.file.path.as_str().into(),
                digests: vec![new.digest],
            })
            .collect();
        let stored_since = self.stored_since(&gone)?;
        pairs(&gone.files, &files, &stored_since)
            .into_iter()
            .map(|(from, to)| self.page_move(&missing[from], &found[to]))
            .collect()
    }

    /// Returns the files of missing pages, with the digests of the contents that they may have had.
    fn gone_files<'a>(&self, missing: &'a [MissingPage]) -> Result<GoneFiles<'a>, StoreError> {
        let mut gone =
            GoneFiles { files: Vec::with_capacity(missing.len()), ..GoneFiles::default() };
        for page in missing {
            let path = page.record.source_path.as_str();
            // A damaged page has no digest, so no file matches it.
            let Some(content) = unless_damaged(self.reader.content(&page.record))? else {
                gone.files.push(DigestedFile { path: path.into(), digests: Vec::new() });
                continue;
            };
            let mut digests = vec![content.file_hash()];
            gone.sizes.insert(content.file_text().len() as u64);
            // The file may have had other bytes than the text of its page.
            if let Some(row) = self.known.rows.get(path)
                && row.page == Some(page.record.id)
                && row.seq == page.record.seq
                && row.problem.is_none()
            {
                digests.push(row.digest);
                gone.sizes.insert(row.size);
            }
            gone.digests.extend(digests.iter().copied());
            gone.files.push(DigestedFile { path: path.into(), digests });
        }
        Ok(gone)
    }

    /// Reads the new files of one of these sizes.
    fn read_new_files<'a>(
        &self,
        mut new: Vec<&'a FileToRead>,
        sizes: &HashSet<u64>,
        should_continue: &(dyn Fn() -> bool + Sync),
    ) -> Vec<NewFile<'a>> {
        new.retain(|file| sizes.contains(&file.size));
        let root = self.context.files.as_deref();
        let found = map_in_parallel(&new, |&file| {
            if !should_continue() {
                return None;
            }
            let content = read_bytes(root?, &file.path).ok().flatten()?;
            let digest = content.digest();
            Some(NewFile { file, stat: content.stat, is_racy: content.is_racy, digest })
        });
        found.into_iter().flatten().collect()
    }

    /// Returns files with a digest of a file that is gone whose page was stored since the last
    /// whole sync, except those that are gone. If the last sync was interrupted, these files were
    /// new in it.
    fn stored_since(&self, gone: &GoneFiles<'_>) -> Result<Vec<DigestedFile<'static>>, StoreError> {
        let (reader, source) = (self.reader, &self.context.source);
        let gone_paths: HashSet<&str> = gone.files.iter().map(|file| &*file.path).collect();
        let mut out = Vec::new();
        for part in self.scope {
            for row in reader.files(source, part)? {
                let (path, row) = row?;
                if !gone.digests.contains(&row.digest)
                    || gone_paths.contains(path.as_str())
                    || !covers(part, &path)
                {
                    continue;
                }
                let page = reader.page_at(source, &path)?.map(|(_, page)| page);
                let page =
                    page.filter(|page| Some(page.id) == row.page && page.deleted_at.is_none());
                if page.is_some_and(|page| page.content_at >= self.since) {
                    out.push(DigestedFile { path: path.into(), digests: vec![row.digest] });
                }
            }
        }
        Ok(out)
    }

    fn page_move(&self, page: &MissingPage, new: &NewFile<'_>) -> Result<Move, StoreError> {
        let file = new.file;
        let slug = file
            .slug()
            .map_err(|e| StoreError::Damaged(format!("slug of the file \"{}\": {e}", file.path)))?;
        let document = stored_document(&self.reader.content(&page.record)?)?;
        let (names, links) =
            names_and_links(&slug, &page.record.aliases, &document.frontmatter, &document.body);
        Ok(Move {
            record: page.record.clone(),
            from: page.slug.clone(),
            path: file.path.clone(),
            stat: new.stat,
            is_racy: new.is_racy,
            digest: new.digest,
            title: title_of(&slug, &document.frontmatter, &document.body),
            names,
            links,
            dates: NoteDates::stated(&slug, &document.frontmatter, &zone()),
            states_uri: document.frontmatter.has("source_uri"),
            to: slug,
        })
    }
}

/// Pairs files that are gone with new files of the same bytes. If several files have the same
/// bytes, pairs those with the same file name, then a single file that is left on each side.
/// Returns the indices of each pair in `gone` and in `new`.
fn pairs(
    gone: &[DigestedFile<'_>],
    new: &[DigestedFile<'_>],
    stored_since: &[DigestedFile<'_>],
) -> Vec<(usize, usize)> {
    let mut by_digest: BTreeMap<Hash, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (i, file) in gone.iter().enumerate() {
        for digest in &file.digests {
            let (gone, _) = by_digest.entry(*digest).or_default();
            // A page may have the same digest twice.
            if gone.last() != Some(&i) {
                gone.push(i);
            }
        }
    }
    for (i, file) in new.iter().enumerate() {
        for digest in &file.digests {
            by_digest.entry(*digest).or_default().1.push(i);
        }
    }
    let mut stored_names: HashMap<Hash, HashSet<&str>> = HashMap::new();
    for file in stored_since {
        for digest in &file.digests {
            stored_names.entry(*digest).or_default().insert(name(&file.path));
        }
    }
    let mut paired = Vec::new();
    let (mut paired_gone, mut paired_new) = (HashSet::new(), HashSet::new());
    for (digest, (mut from, mut to)) in by_digest {
        from.retain(|i| !paired_gone.contains(i));
        let stored = stored_names.remove(&digest).unwrap_or_default();
        // The positions of each name among the gone files and the new files.
        let mut names: HashMap<&str, [Vec<usize>; 2]> = HashMap::new();
        for &i in &from {
            names.entry(name(&gone[i].path)).or_default()[0].push(i);
        }
        for &i in &to {
            names.entry(name(&new[i].path)).or_default()[1].push(i);
        }
        let mut found: Vec<(usize, usize)> = names
            .iter()
            .filter(|(name, _)| !stored.contains(**name))
            .filter_map(|(_, sides)| match sides {
                [a, b] if a.len() == 1 && b.len() == 1 => Some((a[0], b[0])),
                _ => None,
            })
            .collect();
        paired_gone.extend(found.iter().map(|(from, _)| *from));
        paired_new.extend(found.iter().map(|(_, to)| *to));
        from.retain(|i| !paired_gone.contains(i));
        to.retain(|i| !paired_new.contains(i));
        if let ([from], [to]) = (from.as_slice(), to.as_slice())
            && stored.is_empty()
        {
            found.push((*from, *to));
            paired_gone.insert(*from);
        }
        paired.extend(found);
    }
    paired.sort_unstable();
    paired
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Move {
    /// Returns whether the move is possible: page and file are as they were in the comparison, and
    /// no other page has the new slug or path. [`SyncContext::observe_files`] has read the file.
    /// The daemon writes no file without a page, so it has not written this one.
    pub(super) fn is_free(
        &self,
        view: &impl View,
        context: &SyncContext,
    ) -> Result<bool, StoreError> {
        let page = view.page(&context.source, &self.from)?;
        if page.is_none_or(|page| page.id != self.record.id || page.seq != self.record.seq) {
            return Ok(false);
        }
        let holder = view
            .page(&context.source, &self.to)?
            .filter(|_| !context.freed_slugs.contains(&self.to));
        Ok(holder.is_none_or(|holder| holder.id == self.record.id)
            && view.page_at(&context.source, &self.path)?.is_none()
            && context.is_as_observed(&self.path, self.stat))
    }

    /// Moves the page to the path and the slug of its file. Runs in the writer.
    pub(super) fn move_page(
        &self,
        transaction: &mut Transaction<'_>,
        context: &SyncContext,
        now: i64,
    ) -> Result<(), StoreError> {
        let source = &context.source;
        let (mut record, old) = (self.record.clone(), context.root.join(&self.record.source_path));
        let known = record.provenance.source_uri.as_ref();
        if !self.states_uri && known.is_some_and(|known| *known == uri(&old)) {
            record.provenance.source_uri = Some(uri(&context.root.join(&self.path)));
        }
        record.title = self.title.clone().unwrap_or_else(|| file_title(&self.path, None));
        let (created, updated) = (record.created_at, record.updated_at);
        let former = FormerDates { created, updated, is_same_text: true };
        let dates = self.dates.resolve(Some(former), now);
        let derived = (self.names.clone(), self.links.clone());
        let to = (&self.to, self.path.as_str());
        let record = transaction.rename_page(source, &self.from, record, to, derived, dates)?;
        transaction.remove_file_record(source, &self.record.source_path)?;
        let file = row(self.stat, self.is_racy, self.digest, Some(record.id), record.seq, None);
        transaction.put_file(source, &self.path, &file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files_with_bytes<'a>(files: &[(&'a str, u8)]) -> Vec<DigestedFile<'a>> {
        files
            .iter()
            .map(|&(path, n)| DigestedFile { path: path.into(), digests: vec![[n; 32]] })
            .collect()
    }

    #[test]
    fn only_an_unambiguous_pair_is_a_rename() {
        let paired = |gone: &[(&str, u8)], new: &[(&str, u8)], stored_since: &[(&str, u8)]| {
            pairs(&files_with_bytes(gone), &files_with_bytes(new), &files_with_bytes(stored_since))
        };
        assert_eq!(paired(&[("a.md", 1)], &[("b.md", 1)], &[]), [(0, 0)]);
        assert_eq!(paired(&[("a.md", 1)], &[("b.md", 2)], &[]), []);
        // Several files with the same bytes are paired by name, then the last two that are left.
        assert_eq!(
            paired(&[("x/a.md", 1), ("x/b.md", 1)], &[("y/b.md", 1), ("y/a.md", 1)], &[]),
            [(0, 1), (1, 0)]
        );
        assert_eq!(
            paired(&[("x/a.md", 1), ("x/b.md", 1)], &[("y/b.md", 1), ("c.md", 1)], &[]),
            [(0, 1), (1, 0)]
        );
        assert_eq!(paired(&[("a.md", 1)], &[("b.md", 1), ("c.md", 1)], &[]), []);
        assert_eq!(paired(&[("a.md", 1), ("b.md", 1)], &[("c.md", 1)], &[]), []);
        assert_eq!(paired(&[("a.md", 1)], &[("x/a.md", 1), ("y/a.md", 1)], &[]), []);
        // An interrupted sync has stored one of two files: the other one stays ambiguous.
        assert_eq!(paired(&[("a.md", 1)], &[("c.md", 1)], &[("b.md", 1)]), []);
        assert_eq!(paired(&[("a.md", 1)], &[("y/a.md", 1)], &[("x/a.md", 1)]), []);
        assert_eq!(paired(&[("a.md", 1)], &[("y/a.md", 1)], &[("b.md", 1)]), [(0, 0)]);
    }
}
