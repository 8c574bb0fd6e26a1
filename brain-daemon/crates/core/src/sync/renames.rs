//! Files that were renamed: one that is gone and a new one with the same bytes. The page keeps its
//! id and its versions.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use brain_protocol::{Slug, SourceId};

use super::compare::{Known, Missing, covers};
use super::decide::{Ground, View};
use super::read::{ToRead, look, row, uri};
use crate::batch::on_all_cores;
use crate::write_page::{called_and_linked, stored_document};
use brain_page::{file_hash, file_text};
use brain_store::files::Stat;
use brain_store::{Draft, Hash, LinkRecord, PageRecord, Reader, StoreError, unless_damaged};

/// A page that is to follow its file.
#[derive(Debug, Clone)]
pub(super) struct Move {
    /// The page as it was compared.
    pub(super) record: PageRecord,
    pub(super) from: Slug,
    pub(super) to: Slug,
    /// The new path.
    pub(super) path: String,
    stat: Stat,
    racy: bool,
    digest: Hash,
    names: Vec<String>,
    links: Vec<LinkRecord>,
    /// Whether the file says itself where the page comes from.
    states_uri: bool,
}

/// A file with a name and what is in it.
struct Named<'a> {
    path: Cow<'a, str>,
    digests: Vec<Hash>,
}

/// The renames among what is missing and what is new. `since` is when the last whole sync ended:
/// what came after it may be a part of this one, which was cut short. When `goes_on` says no,
/// nothing more is read: what is found then is of no use.
pub(super) fn find(
    reader: &Reader,
    ground: &Ground,
    (known, scope): (&Known, &[String]),
    missing: &[Missing],
    to_read: &[ToRead],
    since: i64,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Move>, StoreError> {
    let new: Vec<&ToRead> = to_read.iter().filter(|file| !file.known).collect();
    if missing.is_empty() || new.is_empty() {
        return Ok(Vec::new());
    }
    let mut gone = Vec::with_capacity(missing.len());
    let (mut sizes, mut wanted) = (HashSet::new(), HashSet::new());
    for page in missing {
        let path = page.record.source_path.as_str();
        // A digest that nobody knows is found in no file.
        let Some(content) = unless_damaged(reader.content(&page.record))? else {
            gone.push(Named { path: path.into(), digests: Vec::new() });
            continue;
        };
        let mut digests = vec![file_hash(&content.frontmatter, &content.body)];
        sizes.insert(file_text(&content.frontmatter, &content.body).len() as u64);
        // What was read there may have other bytes, and be the same page all the same.
        if let Some(row) = known.rows.get(path)
            && row.page == Some(page.record.id)
            && row.seq == page.record.seq
            && row.problem.is_none()
        {
            digests.push(row.digest);
            sizes.insert(row.size);
        }
        wanted.extend(digests.iter().copied());
        gone.push(Named { path: path.into(), digests });
    }
    let new: Vec<&ToRead> = new.into_iter().filter(|file| sizes.contains(&file.size)).collect();
    let seen = on_all_cores(&new, |file| {
        if !goes_on() {
            return None;
        }
        look(&ground.root, &file.path)
            .ok()
            .flatten()
            .map(|seen| (seen.stat, seen.racy, seen.digest()))
    });
    let found: Vec<_> =
        new.into_iter().zip(seen).filter_map(|(file, seen)| Some((file, seen?))).collect();
    let files: Vec<Named<'_>> = found
        .iter()
        .map(|(file, (_, _, digest))| Named {
            path: file.path.as_str().into(),
            digests: vec![*digest],
        })
        .collect();
    let earlier = earlier(reader, &ground.source, scope, &gone, &wanted, since)?;
    let mut moves = Vec::new();
    for (from, to) in pairs(&gone, &files, &earlier) {
        let (page, (file, (stat, racy, digest))) = (&missing[from], &found[to]);
        let document = stored_document(&reader.content(&page.record)?)?;
        let (names, links) = called_and_linked(
            &file.slug,
            &page.record.aliases,
            &document.frontmatter,
            &document.body,
        );
        moves.push(Move {
            record: page.record.clone(),
            from: page.slug.clone(),
            to: file.slug.clone(),
            path: file.path.clone(),
            stat: *stat,
            racy: *racy,
            digest: *digest,
            names,
            links,
            states_uri: document.frontmatter.has("source_uri"),
        });
    }
    Ok(moves)
}

/// Files with one of these digests, but for those that are gone, whose page was stored after
/// `since`. If this sync was cut short, they were as new as those that still are.
fn earlier(
    reader: &Reader,
    source: &SourceId,
    scope: &[String],
    gone: &[Named<'_>],
    wanted: &HashSet<Hash>,
    since: i64,
) -> Result<Vec<Named<'static>>, StoreError> {
    let gone: HashSet<&str> = gone.iter().map(|file| &*file.path).collect();
    let mut out = Vec::new();
    for part in scope {
        for row in reader.files(source, part)? {
            let (path, row) = row?;
            if !wanted.contains(&row.digest) || gone.contains(path.as_str()) || !covers(part, &path)
            {
                continue;
            }
            let page = reader.page_at(source, &path)?.map(|(_, page)| page);
            let page = page.filter(|page| Some(page.id) == row.page && page.deleted_at.is_none());
            if page.is_some_and(|page| page.created_at >= since) {
                out.push(Named { path: path.into(), digests: vec![row.digest] });
            }
        }
    }
    Ok(out)
}

/// Which of the gone files became which of the new ones: where only one can have become only one,
/// and where several have the same bytes, those with the same file name.
fn pairs(gone: &[Named<'_>], new: &[Named<'_>], earlier: &[Named<'_>]) -> Vec<(usize, usize)> {
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
    let mut rests: HashMap<Hash, HashSet<&str>> = HashMap::new();
    for file in earlier {
        for digest in &file.digests {
            rests.entry(*digest).or_default().insert(name(&file.path));
        }
    }
    let mut paired = Vec::new();
    let (mut used, mut met) = (HashSet::new(), HashSet::new());
    for (digest, (mut from, mut to)) in by_digest {
        from.retain(|i| !used.contains(i));
        let rest = rests.remove(&digest).unwrap_or_default();
        // How often a name is on each side, and where.
        let mut names: HashMap<&str, [Vec<usize>; 2]> = HashMap::new();
        for &i in &from {
            names.entry(name(&gone[i].path)).or_default()[0].push(i);
        }
        for &i in &to {
            names.entry(name(&new[i].path)).or_default()[1].push(i);
        }
        let mut found: Vec<(usize, usize)> = names
            .iter()
            .filter(|(name, _)| !rest.contains(**name))
            .filter_map(|(_, sides)| match sides {
                [a, b] if a.len() == 1 && b.len() == 1 => Some((a[0], b[0])),
                _ => None,
            })
            .collect();
        used.extend(found.iter().map(|(from, _)| *from));
        met.extend(found.iter().map(|(_, to)| *to));
        from.retain(|i| !used.contains(i));
        to.retain(|i| !met.contains(i));
        if let ([from], [to]) = (from.as_slice(), to.as_slice())
            && rest.is_empty()
        {
            found.push((*from, *to));
            used.insert(*from);
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
    /// Whether the page may follow its file, which [`Ground::look`] has looked at: both are as they
    /// were compared, and nobody has the new slug. The daemon writes no file that no page has, so
    /// it has not come between.
    pub(super) fn is_free(&self, view: &impl View, ground: &Ground) -> Result<bool, StoreError> {
        let page = view.page(&ground.source, &self.from)?;
        if page.is_none_or(|page| page.id != self.record.id || page.seq != self.record.seq) {
            return Ok(false);
        }
        let holder =
            view.page(&ground.source, &self.to)?.filter(|_| !ground.freed.contains(&self.to));
        Ok(holder.is_none_or(|holder| holder.id == self.record.id)
            && view.page_at(&ground.source, &self.path)?.is_none()
            && ground.was(&self.path, self.stat))
    }

    /// In the writer: lets the page follow its file.
    pub(super) fn follow(&self, draft: &mut Draft<'_>, ground: &Ground) -> Result<(), StoreError> {
        let source = &ground.source;
        let (mut record, old) = (self.record.clone(), ground.root.join(&self.record.source_path));
        let known = record.provenance.source_uri.as_ref();
        if !self.states_uri && known.is_some_and(|known| *known == uri(&old)) {
            record.provenance.source_uri = Some(uri(&ground.root.join(&self.path)));
        }
        let derived = (self.names.clone(), self.links.clone());
        let record =
            draft.rename_page(source, &self.from, record, (&self.to, &self.path), derived)?;
        draft.forget_file(source, &self.record.source_path)?;
        let file = row(self.stat, self.racy, self.digest, Some(record.id), record.seq, None);
        draft.put_file(source, &self.path, &file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'a>(files: &[(&'a str, u8)]) -> Vec<Named<'a>> {
        files.iter().map(|&(path, n)| Named { path: path.into(), digests: vec![[n; 32]] }).collect()
    }

    #[test]
    fn only_what_is_clear_is_a_rename() {
        let same = |gone: &[(&str, u8)], new: &[(&str, u8)], earlier: &[(&str, u8)]| {
            pairs(&named(gone), &named(new), &named(earlier))
        };
        assert_eq!(same(&[("a.md", 1)], &[("b.md", 1)], &[]), [(0, 0)]);
        assert_eq!(same(&[("a.md", 1)], &[("b.md", 2)], &[]), []);
        // Several with the same bytes: by their names, and what is left over then.
        assert_eq!(
            same(&[("x/a.md", 1), ("x/b.md", 1)], &[("y/b.md", 1), ("y/a.md", 1)], &[]),
            [(0, 1), (1, 0)]
        );
        assert_eq!(
            same(&[("x/a.md", 1), ("x/b.md", 1)], &[("y/b.md", 1), ("c.md", 1)], &[]),
            [(0, 1), (1, 0)]
        );
        assert_eq!(same(&[("a.md", 1)], &[("b.md", 1), ("c.md", 1)], &[]), []);
        assert_eq!(same(&[("a.md", 1), ("b.md", 1)], &[("c.md", 1)], &[]), []);
        assert_eq!(same(&[("a.md", 1)], &[("x/a.md", 1), ("y/a.md", 1)], &[]), []);
        // A sync that was cut short has stored one of two: what is left is no clearer than before.
        assert_eq!(same(&[("a.md", 1)], &[("c.md", 1)], &[("b.md", 1)]), []);
        assert_eq!(same(&[("a.md", 1)], &[("y/a.md", 1)], &[("x/a.md", 1)]), []);
        assert_eq!(same(&[("a.md", 1)], &[("y/a.md", 1)], &[("b.md", 1)]), [(0, 0)]);
    }
}
