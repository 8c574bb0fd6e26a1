use super::*;
use crate::sync::read::{FileToRead, read_file};
use brain_base::caller::Visibility;
use brain_store::files::CommitTimes;
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
            new_store_id: 7,
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
        let file = FileToRead {
            path: path.into(),
            size: 0,
            slug,
            has_page: true,
            synced_digest: None,
            provenance: None,
        };
        read_file(&self.dir.path().join("pages"), &file, &CommitTimes::new(), 0)
    }

    /// Stores the page of `path`: as a write by the daemon, with a pending file, or as a sync.
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

    /// Returns the context with which the writer gets this file.
    fn context_for(&self, file: &ReadFile) -> SyncContext {
        let mut context = SyncContext {
            source: SourceId::default(),
            registered: None,
            root: self.dir.path().join("pages"),
            rules: Arc::default(),
            finished: self.store.finished_outbox_rows(),
            failing: HashSet::new(),
            recovering: HashSet::new(),
            freed: HashSet::new(),
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
    let scene = Scene::new();
    scene.edit("a.md", "Newer.\n");
    scene.edit("A.md", "Another one with the slug of a.md.\n");
    let (own, new_file) = (scene.read("a.md"), scene.read("A.md"));
    let contexts = [scene.context_for(&own), scene.context_for(&new_file)];
    std::fs::remove_dir_all(scene.dir.path().join("pages")).unwrap();
    let verdict = contexts[0].decide(&scene.reader(), &own).unwrap();
    assert!(matches!(verdict, Verdict::Write { status: WriteStatus::Updated, .. }), "{verdict:?}");
    let verdict = contexts[1].decide(&scene.reader(), &new_file).unwrap();
    assert!(
        matches!(&verdict, Verdict::Refused { reason, .. } if reason.contains("a.md")),
        "{verdict:?}"
    );
}

#[test]
fn later_changes_of_the_daemon_are_not_overwritten() {
    let scene = Scene::new();
    // A page that changes.
    scene.edit("a.md", "By its author.\n");
    let file = scene.read("a.md");
    let context = scene.context_for(&file);
    let newer = scene.put("a.md", "By the daemon.\n", true);
    let verdict = context.decide(&scene.reader(), &file).unwrap();
    assert!(matches!(verdict, Verdict::Changing), "{verdict:?}");
    // After a new observation, the file counts as an edit of an older version.
    let context = scene.context_for(&file);
    let verdict = context.decide(&scene.reader(), &file).unwrap();
    assert!(matches!(verdict, Verdict::Write { .. }), "{verdict:?}");
    // The file was not written at the observation, and was written later. The page is unchanged.
    scene.store.file_done(newer.id, newer.seq);
    scene.store.flush_done_files(|| Ok(())).unwrap();
    let verdict = context.decide(&scene.reader(), &file).unwrap();
    assert!(matches!(verdict, Verdict::Changing), "{verdict:?}");
    // A page that changed, and its file was written too.
    let context = scene.context_for(&file);
    let newer = scene.put("a.md", "By the daemon again.\n", true);
    scene.store.file_done(newer.id, newer.seq);
    scene.store.flush_done_files(|| Ok(())).unwrap();
    let verdict = context.decide(&scene.reader(), &file).unwrap();
    assert!(matches!(verdict, Verdict::Changing), "{verdict:?}");
}

#[test]
fn a_file_that_may_be_torn_is_not_stored() {
    let scene = Scene::new();
    let page = scene.put("a.md", "By the daemon, and whole.\n", true);
    scene.edit("a.md", "By the daemon");
    let file = scene.read("a.md");
    let mut context = scene.context_for(&file);
    context.recovering.insert(page.id);
    let verdict = context.decide(&scene.reader(), &file).unwrap();
    assert!(matches!(verdict, Verdict::PendingWrite), "{verdict:?}");
    // The outbox row is gone, so the file was checked.
    scene.store.file_done(page.id, page.seq);
    scene.store.flush_done_files(|| Ok(())).unwrap();
    let mut context = scene.context_for(&file);
    context.recovering.insert(page.id);
    let verdict = context.decide(&scene.reader(), &file).unwrap();
    assert!(matches!(verdict, Verdict::Write { .. }), "{verdict:?}");
}

#[test]
fn a_page_that_gets_the_slug_later_keeps_it() {
    let scene = Scene::new();
    scene.edit("B.md", "A file without a page.\n");
    let file = scene.read("B.md");
    let context = scene.context_for(&file);
    let verdict = context.decide(&scene.reader(), &file).unwrap();
    assert!(matches!(verdict, Verdict::Write { status: WriteStatus::Created, .. }), "{verdict:?}");
    scene.put("b.md", "By the daemon.\n", true);
    let verdict = context.decide(&scene.reader(), &file).unwrap();
    assert!(matches!(verdict, Verdict::Changing), "{verdict:?}");
    let verdict = scene.context_for(&file).decide(&scene.reader(), &file).unwrap();
    assert!(
        matches!(&verdict, Verdict::Refused { reason, .. } if reason.contains("b.md")),
        "{verdict:?}"
    );
}
