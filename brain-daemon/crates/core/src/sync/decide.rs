//! What is to become of one file: the same rule for a dry run, which asks a snapshot, and for the
//! writer, which asks the transaction it is in.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;

use brain_protocol::{Fault, FaultCode, Slug, SourceId, WriteStatus};

use super::read::{ReadFile, Text};
use brain_page::file_hash;
use brain_store::files::{Stat, stat_of};
use brain_store::{
    Content, Draft, FileRecord, FileState, NewPage, OutboxRow, PageRecord, Reader, StoreError,
    unless_damaged,
};

/// What a decision looks at.
pub(super) trait View {
    fn page_at(
        &self,
        source: &SourceId,
        path: &str,
    ) -> Result<Option<(Slug, PageRecord)>, StoreError>;
    fn page(&self, source: &SourceId, slug: &Slug) -> Result<Option<PageRecord>, StoreError>;
    fn content(&self, record: &PageRecord) -> Result<Content, StoreError>;
    fn file(&self, source: &SourceId, path: &str) -> Result<Option<FileRecord>, StoreError>;
    fn outbox_row(&self, id: u64) -> Result<Option<OutboxRow>, StoreError>;
}

macro_rules! view {
    ($type:ty, $page:ident) => {
        impl View for $type {
            fn page_at(
                &self,
                of: &SourceId,
                path: &str,
            ) -> Result<Option<(Slug, PageRecord)>, StoreError> {
                self.page_at(of, path)
            }
            fn page(&self, of: &SourceId, slug: &Slug) -> Result<Option<PageRecord>, StoreError> {
                self.$page(of, slug)
            }
            fn content(&self, record: &PageRecord) -> Result<Content, StoreError> {
                self.content(record)
            }
            fn file(&self, of: &SourceId, path: &str) -> Result<Option<FileRecord>, StoreError> {
                self.file(of, path)
            }
            fn outbox_row(&self, id: u64) -> Result<Option<OutboxRow>, StoreError> {
                self.outbox_row(id)
            }
        }
    };
}

view!(Draft<'_>, page);
view!(Reader, page_even_deleted);

/// What the decisions of one batch have in common.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub(super) source: SourceId,
    /// The source's directory as it is registered.
    pub(super) registered: Option<String>,
    pub(super) root: PathBuf,
    /// Outbox rows whose file is as it should be.
    pub(super) done: HashSet<(u64, u64)>,
    /// Pages whose file could not be written.
    pub(super) failing: HashSet<u64>,
    /// Pages whose file was not looked at yet after an end without a flush: what is there may be
    /// torn.
    pub(super) recovering: HashSet<u64>,
    /// For a dry run: slugs whose page would have another one by now.
    pub(super) freed: HashSet<Slug>,
    /// What was there before the writer's turn: see [`Ground::look`].
    pub(super) looks: Looks,
}

/// How things were when they were last looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Looks {
    /// The page that the file at a path has, or would get.
    standings: HashMap<String, Option<Standing>>,
    files: HashMap<String, Result<Option<Stat>, io::ErrorKind>>,
}

/// A page's id, its last change, and the change that its file still waits for: equal ones mean that
/// the daemon has neither changed the page in between nor done what was still to be done to its
/// file.
type Standing = (u64, u64, Option<u64>);

/// What is to become of a file.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It says what its page says.
    Same {
        /// The page.
        id: u64,
        /// That page's last change when the two agreed.
        seq: u64,
    },
    /// The daemon is about to write it or to move it away.
    Ours,
    /// It is not there any more.
    Gone,
    /// It, or its page, changed since it was read.
    Moving,
    /// It is what its page is to be.
    Write {
        /// What that does.
        status: WriteStatus,
        /// The version that keeps what was changed here meanwhile.
        conflict: Option<u32>,
        /// The file that the page had before.
        former: Option<String>,
    },
    /// Its page is to be active again, as it was.
    Restore(Box<PageRecord>),
    /// It cannot be taken in.
    Bad {
        /// Why.
        reason: String,
        /// Its page and that page's last change when the two agreed, to be noted with the reason;
        /// nothing is noted of what does not depend on the file alone.
        note: Option<(Option<u64>, u64)>,
    },
}

impl Ground {
    /// In the writer: refuses when the source is not what it was when the work began.
    pub(super) fn check(&self, draft: &Draft<'_>) -> Result<(), StoreError> {
        match draft.source(&self.source)? {
            Some(now) if now.path == self.registered => Ok(()),
            _ => {
                let message =
                    format!("the source \"{}\" was removed while it was synchronised", self.source);
                Err(Fault::new(FaultCode::UnknownSource, message)
                    .hint("see `brain sources list`")
                    .into())
            }
        }
    }

    /// What the file of a page is still to become.
    pub(super) fn pending(
        &self,
        view: &impl View,
        id: u64,
    ) -> Result<Option<OutboxRow>, StoreError> {
        Ok(view.outbox_row(id)?.filter(|row| !self.done.contains(&(id, row.seq))))
    }

    /// Whether the page's file is first to be made whole, or found to be somebody's.
    fn is_recovering(&self, view: &impl View, id: u64) -> Result<bool, StoreError> {
        Ok(self.recovering.contains(&id) && self.pending(view, id)?.is_some())
    }

    /// Whether a sync would find a file at `path`.
    pub(super) fn has_file(&self, path: &str) -> bool {
        // Where that cannot be told, somebody's file may be.
        stat_of(&self.root, path).map_or(true, |stat| stat.is_some())
    }

    /// Notes how the pages of these files stand, and which paths are to be looked at next, with
    /// [`Ground::look`].
    pub(super) fn stand<'a>(
        &mut self,
        view: &impl View,
        files: impl Iterator<Item = &'a ReadFile>,
    ) -> Result<Vec<String>, StoreError> {
        let mut paths = Vec::new();
        for file in files {
            let page = self.page_of(view, file)?;
            self.looks.standings.insert(file.path.clone(), self.standing(view, page.as_ref())?);
            paths.extend(page.map(|page| page.source_path).filter(|path| *path != file.path));
            paths.push(file.path.clone());
        }
        Ok(paths)
    }

    /// Looks at the files at these paths. Never in the writer: a disk that hangs would stop every
    /// write there.
    pub(super) fn look(&mut self, paths: impl IntoIterator<Item = String>) {
        for path in paths {
            let stat = stat_of(&self.root, &path).map_err(|e| e.kind());
            self.looks.files.insert(path, stat);
        }
    }

    /// Whether the file at `path` was so when it was looked at.
    pub(super) fn was(&self, path: &str, stat: Stat) -> bool {
        self.looks.files.get(path) == Some(&Ok(Some(stat)))
    }

    fn page_of(&self, view: &impl View, file: &ReadFile) -> Result<Option<PageRecord>, StoreError> {
        match view.page_at(&self.source, &file.path)? {
            Some((_, record)) => Ok(Some(record)),
            None => view.page(&self.source, &file.slug),
        }
    }

    fn standing(
        &self,
        view: &impl View,
        page: Option<&PageRecord>,
    ) -> Result<Option<Standing>, StoreError> {
        let Some(page) = page else { return Ok(None) };
        let waits = self.pending(view, page.id)?.map(|row| row.seq);
        Ok(Some((page.id, page.seq, waits)))
    }

    /// What is to become of the file. Asks no disk: [`Ground::look`] has.
    pub(super) fn decide(&self, view: &impl View, file: &ReadFile) -> Result<Verdict, StoreError> {
        if let Text::Gone = file.text {
            return Ok(Verdict::Gone);
        }
        if let Text::Unreadable(reason) = &file.text {
            return Ok(Verdict::Bad { reason: reason.clone(), note: None });
        }
        let verdict = match view.page_at(&self.source, &file.path)? {
            // It was stored by somebody else since, and not under the slug that the links were
            // worked out for.
            Some((slug, _)) if slug != file.slug => Verdict::Moving,
            Some((_, record)) if record.deleted_at.is_some() => self.deleted(view, file, record)?,
            Some((_, record)) => self.active(view, file, &record)?,
            None => self.stranger(view, file)?,
        };
        if !matches!(verdict, Verdict::Write { .. } | Verdict::Restore(_)) {
            return Ok(verdict);
        }
        // What the daemon has written or moved since the file was read is newer than what was read:
        // until the look the file itself tells, and after it the page. Another program's change
        // after the look is seen by the next sync, because what is noted of the file is how it was
        // when it was read.
        let standing = self.standing(view, self.page_of(view, file)?.as_ref())?;
        if self.looks.standings.get(&file.path) != Some(&standing) {
            return Ok(Verdict::Moving);
        }
        Ok(match self.looks.files.get(&file.path) {
            Some(Ok(Some(stat))) if *stat == file.stat => verdict,
            Some(Ok(None)) => Verdict::Gone,
            _ => Verdict::Moving,
        })
    }

    /// A file whose page is active.
    fn active(
        &self,
        view: &impl View,
        file: &ReadFile,
        record: &PageRecord,
    ) -> Result<Verdict, StoreError> {
        let id = record.id;
        if self.is_recovering(view, id)? {
            return Ok(Verdict::Ours);
        }
        let row = view.file(&self.source, &file.path)?.filter(|row| row.page == Some(id));
        let recorded =
            row.as_ref().filter(|row| row.problem.is_none() && row.digest == file.digest);
        if recorded.is_some_and(|row| row.seq == record.seq) {
            return Ok(Verdict::Same { id, seq: record.seq });
        }
        // A damaged page is made whole by its file.
        let stored = unless_damaged(view.content(record))?;
        let own = stored.as_ref().map(|stored| file_hash(&stored.frontmatter, &stored.body));
        if own == Some(file.digest)
            || matches!((&file.text, &stored), (Text::Page(page), Some(stored)) if page.content == *stored)
        {
            return Ok(Verdict::Same { id, seq: record.seq });
        }
        if let Some(row) = recorded.filter(|_| stored.is_some()) {
            // The page has changed here, and its file is still to be written.
            return Ok(Verdict::Same { id, seq: row.seq });
        }
        let agreed = row.as_ref().map_or(record.seq, |row| row.seq);
        let page = match &file.text {
            Text::Page(page) => page,
            Text::Bad(reason) => return Ok(bad(reason, Some(id), agreed)),
            _ => return Ok(Verdict::Moving),
        };
        if self.pending(view, id)?.is_some_and(|row| row.ours.contains(&file.digest)) {
            return Ok(Verdict::Ours);
        }
        if stored.is_some_and(|stored| blanks(page, &stored)) {
            return Ok(bad(BLANK, Some(id), agreed));
        }
        let changed_here = row
            .is_some_and(|row| row.seq != record.seq && own.is_some_and(|own| row.digest != own));
        let conflict = (changed_here || self.failing.contains(&id)).then_some(record.version);
        Ok(Verdict::Write { status: WriteStatus::Updated, conflict, former: None })
    }

    /// A file whose page is deleted.
    fn deleted(
        &self,
        view: &impl View,
        file: &ReadFile,
        record: PageRecord,
    ) -> Result<Verdict, StoreError> {
        let id = record.id;
        if self.is_recovering(view, id)? {
            return Ok(Verdict::Ours);
        }
        let row = view.file(&self.source, &file.path)?.filter(|row| row.page == Some(id));
        let recorded =
            row.as_ref().is_some_and(|row| row.problem.is_none() && row.digest == file.digest);
        // On its way to the trash.
        if self.pending(view, id)?.is_some_and(|row| recorded || row.ours.contains(&file.digest)) {
            return Ok(Verdict::Ours);
        }
        let page = match &file.text {
            Text::Page(page) => page,
            Text::Bad(reason) => {
                return Ok(bad(reason, Some(id), row.map_or(record.seq, |row| row.seq)));
            }
            _ => return Ok(Verdict::Moving),
        };
        if let Some(stored) = unless_damaged(view.content(&record))? {
            if page.content == stored {
                return Ok(Verdict::Restore(Box::new(record)));
            }
            if blanks(page, &stored) {
                return Ok(bad(BLANK, Some(id), record.seq));
            }
        }
        Ok(Verdict::Write { status: WriteStatus::Restored, conflict: None, former: None })
    }

    /// A file without a page.
    fn stranger(&self, view: &impl View, file: &ReadFile) -> Result<Verdict, StoreError> {
        let holder =
            view.page(&self.source, &file.slug)?.filter(|_| !self.freed.contains(&file.slug));
        if let Some(holder) = &holder {
            let waits =
                self.pending(view, holder.id)?.is_some_and(|row| row.want == FileState::Present);
            let Some(own) = self.looks.files.get(&holder.source_path) else {
                return Ok(Verdict::Moving);
            };
            if waits || *own != Ok(None) {
                let reason = format!(
                    "it would have the slug \"{}\", which is that of {}",
                    file.slug, holder.source_path
                );
                return Ok(Verdict::Bad { reason, note: None });
            }
        }
        let page = match &file.text {
            Text::Page(page) => page,
            Text::Bad(reason) => return Ok(bad(reason, None, 0)),
            _ => return Ok(Verdict::Moving),
        };
        let Some(holder) = holder else {
            return Ok(Verdict::Write {
                status: WriteStatus::Created,
                conflict: None,
                former: None,
            });
        };
        // The page's own file is gone, and this one has its slug: `note.md` became `Note.md`.
        if unless_damaged(view.content(&holder))?.is_some_and(|stored| blanks(page, &stored)) {
            return Ok(bad(BLANK, None, 0));
        }
        let status =
            if holder.deleted_at.is_some() { WriteStatus::Restored } else { WriteStatus::Updated };
        Ok(Verdict::Write { status, conflict: None, former: Some(holder.source_path) })
    }
}

const BLANK: &str = "it is empty, and would blank its page; to remove the page, remove the file";

fn bad(reason: &str, page: Option<u64>, seq: u64) -> Verdict {
    Verdict::Bad { reason: reason.to_owned(), note: Some((page, seq)) }
}

/// Whether there is nothing at all in the file, and something in the page.
fn blanks(page: &NewPage, stored: &Content) -> bool {
    page.content.frontmatter.is_empty()
        && page.content.body.trim().is_empty()
        && !stored.body.trim().is_empty()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sync::read::{ToRead, read_file};
    use brain_base::caller::Visibility;
    use brain_store::{FilePlan, Store, StoreOptions};

    /// A store with the page `a` in its default source, and that page's file.
    struct Scene {
        dir: tempfile::TempDir,
        store: Store,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let options = StoreOptions {
                cache_bytes: 4 << 20,
                min_free_bytes: 0,
                now: 1000,
                fresh_id: 7,
                min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
            };
            let store = Store::open(&dir.path().join("store"), &options, Box::new(|_| {})).unwrap();
            std::fs::create_dir(dir.path().join("pages")).unwrap();
            let scene = Self { dir, store };
            scene.edit("a.md", "Old.\n");
            scene.put("a.md", "Old.\n", false);
            scene
        }

        fn edit(&self, path: &str, text: &str) {
            std::fs::write(self.dir.path().join("pages").join(path), text).unwrap();
        }

        fn read(&self, path: &str) -> ReadFile {
            let slug = Slug::from_path(path).unwrap();
            let file = ToRead {
                path: path.into(),
                size: 0,
                slug,
                known: true,
                recorded: None,
                provenance: None,
            };
            read_file(&self.dir.path().join("pages"), &file, 0)
        }

        /// Stores the page of `path`: from the daemon, with a file that waits to be written, or as
        /// a sync does.
        fn put(&self, path: &str, text: &str, daemon: bool) -> PageRecord {
            self.edit("text~.md", text);
            let Text::Page(page) = self.read("text~.md").text else { unreachable!() };
            let file = if daemon { FilePlan::Write } else { FilePlan::Keep(path.into()) };
            let (page, slug) = (NewPage { file, ..*page }, Slug::from_path(path).unwrap());
            let write = move |draft: &mut Draft<'_>| {
                draft.write_page(&SourceId::default(), &slug, page.clone(), 1000)
            };
            self.store.write(write).unwrap().record
        }

        /// What the file's way into the writer begins with.
        fn looked(&self, file: &ReadFile) -> Ground {
            let mut ground = Ground {
                source: SourceId::default(),
                registered: None,
                root: self.dir.path().join("pages"),
                done: self.store.done_rows(),
                failing: HashSet::new(),
                recovering: HashSet::new(),
                freed: HashSet::new(),
                looks: Looks::default(),
            };
            let paths = ground.stand(&self.reader(), std::iter::once(file)).unwrap();
            ground.look(paths);
            ground
        }

        fn reader(&self) -> Reader {
            self.store.read(Visibility::All).unwrap()
        }
    }

    #[test]
    fn the_writer_asks_no_disk() {
        let scene = Scene::new();
        scene.edit("a.md", "Newer.\n");
        scene.edit("A.md", "Another one with the slug of a.md.\n");
        let (own, stranger) = (scene.read("a.md"), scene.read("A.md"));
        let grounds = [scene.looked(&own), scene.looked(&stranger)];
        std::fs::remove_dir_all(scene.dir.path().join("pages")).unwrap();
        let verdict = grounds[0].decide(&scene.reader(), &own).unwrap();
        assert!(
            matches!(verdict, Verdict::Write { status: WriteStatus::Updated, .. }),
            "{verdict:?}"
        );
        let verdict = grounds[1].decide(&scene.reader(), &stranger).unwrap();
        assert!(
            matches!(&verdict, Verdict::Bad { reason, .. } if reason.contains("a.md")),
            "{verdict:?}"
        );
    }

    #[test]
    fn what_the_daemon_did_after_the_look_is_not_overwritten() {
        let scene = Scene::new();
        // A page that changes.
        scene.edit("a.md", "By its author.\n");
        let file = scene.read("a.md");
        let ground = scene.looked(&file);
        let newer = scene.put("a.md", "By the daemon.\n", true);
        let verdict = ground.decide(&scene.reader(), &file).unwrap();
        assert!(matches!(verdict, Verdict::Moving), "{verdict:?}");
        // Looked at once more, it is its author's edit of an older page.
        let ground = scene.looked(&file);
        let verdict = ground.decide(&scene.reader(), &file).unwrap();
        assert!(matches!(verdict, Verdict::Write { .. }), "{verdict:?}");
        // A file that was still to be written at the look, and then was: the page is as it was.
        scene.store.file_done(newer.id, newer.seq);
        scene.store.flush_done_files(|| Ok(())).unwrap();
        let verdict = ground.decide(&scene.reader(), &file).unwrap();
        assert!(matches!(verdict, Verdict::Moving), "{verdict:?}");
        // A page that changed, and whose file was written as well.
        let ground = scene.looked(&file);
        let newer = scene.put("a.md", "By the daemon again.\n", true);
        scene.store.file_done(newer.id, newer.seq);
        scene.store.flush_done_files(|| Ok(())).unwrap();
        let verdict = ground.decide(&scene.reader(), &file).unwrap();
        assert!(matches!(verdict, Verdict::Moving), "{verdict:?}");
    }

    #[test]
    fn a_file_that_may_be_torn_is_not_taken_in() {
        let scene = Scene::new();
        let page = scene.put("a.md", "By the daemon, and whole.\n", true);
        scene.edit("a.md", "By the daemon");
        let file = scene.read("a.md");
        let mut ground = scene.looked(&file);
        ground.recovering.insert(page.id);
        let verdict = ground.decide(&scene.reader(), &file).unwrap();
        assert!(matches!(verdict, Verdict::Ours), "{verdict:?}");
        // Its row is gone, so the file was looked at.
        scene.store.file_done(page.id, page.seq);
        scene.store.flush_done_files(|| Ok(())).unwrap();
        let mut ground = scene.looked(&file);
        ground.recovering.insert(page.id);
        let verdict = ground.decide(&scene.reader(), &file).unwrap();
        assert!(matches!(verdict, Verdict::Write { .. }), "{verdict:?}");
    }

    #[test]
    fn a_page_that_gets_the_slug_after_the_look_keeps_it() {
        let scene = Scene::new();
        scene.edit("B.md", "A file without a page.\n");
        let file = scene.read("B.md");
        let ground = scene.looked(&file);
        let verdict = ground.decide(&scene.reader(), &file).unwrap();
        assert!(
            matches!(verdict, Verdict::Write { status: WriteStatus::Created, .. }),
            "{verdict:?}"
        );
        scene.put("b.md", "By the daemon.\n", true);
        let verdict = ground.decide(&scene.reader(), &file).unwrap();
        assert!(matches!(verdict, Verdict::Moving), "{verdict:?}");
        let verdict = scene.looked(&file).decide(&scene.reader(), &file).unwrap();
        assert!(
            matches!(&verdict, Verdict::Bad { reason, .. } if reason.contains("b.md")),
            "{verdict:?}"
        );
    }
}
