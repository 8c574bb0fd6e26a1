//! Tests of decisions about files, with a store and real files.

use super::*;
use brain_base::caller::Visibility;
use brain_files::CommitTimes;
use brain_pages::files::read::{FileToRead, read_file};
use brain_store::{FilePlan, Store, StoreOptions};

/// A store with the page `a` in its default source, and that page's file.
struct Fixture {
    dir: tempfile::TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            cache_bytes: 4 << 20,
            min_free_bytes: 0,
            now: 1000,
            new_store_id: 7,
            min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
        };
        let store = Store::open(&dir.path().join("store"), &options, Box::new(|_| {})).unwrap();
        std::fs::create_dir(dir.path().join("pages")).unwrap();
        let fixture = Self { dir, store };
        fixture.write_file("a.md", "Old.\n");
        fixture.put("a.md", "Old.\n", false);
        fixture
    }

    fn write_file(&self, path: &str, text: &str) {
        std::fs::write(self.dir.path().join("pages").join(path), text).unwrap();
    }

    fn read(&self, path: &str) -> ReadFile {
        let slug = Slug::from_path(path).unwrap();
        let file = FileToRead::new(path.into(), 0, slug, None);
        read_file(
            &RootDir::open(&self.dir.path().join("pages")).unwrap(),
            &file,
            &CommitTimes::new(),
            0,
        )
        .unwrap()
    }

    /// Stores the page of `path`: as a write by the daemon, with a pending file, or as a sync. The
    /// text is read from another file, because the page's file must not change.
    fn put(&self, path: &str, text: &str, by_daemon: bool) -> PageRecord {
        self.write_file("text~.md", text);
        let FileText::Page(page) = self.read("text~.md").text else { unreachable!() };
        let file = if by_daemon { FilePlan::Write } else { FilePlan::Keep(path.into()) };
        let (page, slug) = (NewPage { file, ..*page }, Slug::from_path(path).unwrap());
        let write = move |transaction: &mut Transaction<'_>| {
            transaction.write_page(&SourceId::default(), &slug, &page, 1000)
        };
        self.store.write(write).unwrap().record
    }

    /// Returns the context with which the writer decides about this file.
    fn context_for(&self, file: &ReadFile) -> SyncContext {
        let mut context = SyncContext {
            source: SourceId::default(),
            registered_path: None,
            root: self.dir.path().join("pages"),
            files: Some(Arc::new(RootDir::open(&self.dir.path().join("pages")).unwrap())),
            rules: Arc::default(),
            finished_rows: self.store.finished_outbox_rows(),
            recovering_pages: HashSet::new(),
            files_to_remove: HashMap::new(),
            freed_slugs: HashSet::new(),
            observations: Observations::default(),
        };
        let paths = context.observe_pages(&self.reader(), std::iter::once(file)).unwrap();
        context.observe_files(paths);
        context
    }

    fn reader(&self) -> Reader {
        self.store.read(Visibility::All).unwrap()
    }
}

#[test]
fn the_writer_reads_no_files() {
    let fixture = Fixture::new();
    fixture.write_file("a.md", "Newer.\n");
    fixture.write_file("A.md", "Another one with the slug of a.md.\n");
    let (own, new_file) = (fixture.read("a.md"), fixture.read("A.md"));
    let contexts = [fixture.context_for(&own), fixture.context_for(&new_file)];
    std::fs::remove_dir_all(fixture.dir.path().join("pages")).unwrap();
    let verdict = contexts[0].decide(&fixture.reader(), &own).unwrap();
    assert!(
        matches!(verdict, FileVerdict::Write { status: WriteStatus::Updated, .. }),
        "{verdict:?}"
    );
    let verdict = contexts[1].decide(&fixture.reader(), &new_file).unwrap();
    assert!(
        matches!(&verdict, FileVerdict::Refused { reason, .. } if reason.contains("a.md")),
        "{verdict:?}"
    );
}

#[test]
fn later_changes_of_the_daemon_are_not_overwritten() {
    let fixture = Fixture::new();
    // The page changes after the observation.
    fixture.write_file("a.md", "By its author.\n");
    let file = fixture.read("a.md");
    let context = fixture.context_for(&file);
    let newer = fixture.put("a.md", "By the daemon.\n", true);
    let verdict = context.decide(&fixture.reader(), &file).unwrap();
    assert!(matches!(verdict, FileVerdict::Differing(id) if id == newer.id), "{verdict:?}");
    // After a new observation, page and file are known to have different changes.
    let context = fixture.context_for(&file);
    let verdict = context.decide(&fixture.reader(), &file).unwrap();
    assert!(matches!(verdict, FileVerdict::Differing(id) if id == newer.id), "{verdict:?}");
    // The file was not written at the observation, and was written later. The page is unchanged.
    fixture.store.mark_file_written(newer.id, newer.seq);
    fixture.store.flush_done_files(|| Ok(())).unwrap();
    let verdict = context.decide(&fixture.reader(), &file).unwrap();
    assert!(matches!(verdict, FileVerdict::Changed), "{verdict:?}");
    // The page changes after the observation, and its file is written.
    let context = fixture.context_for(&file);
    let newer = fixture.put("a.md", "By the daemon again.\n", true);
    fixture.store.mark_file_written(newer.id, newer.seq);
    fixture.store.flush_done_files(|| Ok(())).unwrap();
    let verdict = context.decide(&fixture.reader(), &file).unwrap();
    assert!(matches!(verdict, FileVerdict::Changed), "{verdict:?}");
}

#[test]
fn a_file_that_may_be_torn_is_not_stored() {
    let fixture = Fixture::new();
    let page = fixture.put("a.md", "By the daemon, and whole.\n", true);
    fixture.write_file("a.md", "By the daemon");
    let file = fixture.read("a.md");
    let mut context = fixture.context_for(&file);
    context.recovering_pages.insert(page.id);
    let verdict = context.decide(&fixture.reader(), &file).unwrap();
    assert!(matches!(verdict, FileVerdict::PendingWrite), "{verdict:?}");
    // The outbox row is gone, so the file was checked.
    fixture.store.mark_file_written(page.id, page.seq);
    fixture.store.flush_done_files(|| Ok(())).unwrap();
    let mut context = fixture.context_for(&file);
    context.recovering_pages.insert(page.id);
    let verdict = context.decide(&fixture.reader(), &file).unwrap();
    assert!(matches!(verdict, FileVerdict::Write { .. }), "{verdict:?}");
}

#[test]
fn a_page_that_takes_the_slug_first_keeps_it() {
    let fixture = Fixture::new();
    fixture.write_file("B.md", "A file without a page.\n");
    let file = fixture.read("B.md");
    let context = fixture.context_for(&file);
    let verdict = context.decide(&fixture.reader(), &file).unwrap();
    assert!(
        matches!(verdict, FileVerdict::Write { status: WriteStatus::Created, .. }),
        "{verdict:?}"
    );
    fixture.put("b.md", "By the daemon.\n", true);
    let verdict = context.decide(&fixture.reader(), &file).unwrap();
    assert!(matches!(verdict, FileVerdict::Changed), "{verdict:?}");
    let verdict = fixture.context_for(&file).decide(&fixture.reader(), &file).unwrap();
    assert!(
        matches!(&verdict, FileVerdict::Refused { reason, .. } if reason.contains("b.md")),
        "{verdict:?}"
    );
}
