//! Checks that pages, files and search have the acknowledged writes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use brain_protocol::{
    FaultCode, Get, List, Page, PageRef, PageRow, Reply, Request, Search, Slug, Sort, Status,
};
use brain_tests::{Client, TestHome, expect_reply};

use super::write_log::{Entry, State, Text, WriteLog};

/// Checks all pages of the writers, and that there are no others.
pub(crate) fn check_everything(home: &TestHome, logs: &[WriteLog]) {
    std::thread::scope(|scope| {
        for part in logs.chunks(logs.len().div_ceil(3)) {
            scope.spawn(move || {
                let mut check = Check::new(home);
                part.iter().flat_map(|log| &log.entries).for_each(|entry| check.check_entry(entry));
            });
        }
    });
    let slugs_in_state = |is_included: fn(&State) -> bool| {
        let entries = logs.iter().flat_map(|log| &log.entries);
        let mut slugs: Vec<Slug> =
            entries.filter(|e| is_included(&e.now)).map(|e| e.slug.clone()).collect();
        slugs.sort();
        slugs
    };
    let active = slugs_in_state(|state| matches!(state, State::Active(_)));
    let deleted = slugs_in_state(|state| matches!(state, State::Deleted(_)));
    let mut check = Check::new(home);
    let listed = |rows: Vec<PageRow>| rows.into_iter().map(|row| row.slug).collect::<Vec<_>>();
    assert_eq!(listed(check.list(false)), active, "the active pages are those that were written");
    let mut trashed = listed(check.list(true));
    trashed.sort();
    assert_eq!(trashed, deleted, "the trash has exactly the deleted pages");
    check.assert_no_other_files(&active, &deleted);
    let status = expect_reply!(check.client.ask(&Request::Status(Status)), Status);
    assert_eq!((status.pages, status.deleted), (active.len() as u64, deleted.len() as u64));
    assert_eq!(status.outbox, 0, "every file is written");
}

/// Checks pages, files and search of a running daemon.
pub(crate) struct Check {
    client: Client,
    pages: PathBuf,
}

impl Check {
    pub(crate) fn new(home: &TestHome) -> Self {
        Self {
            client: home.connect().expect("no answer of the daemon"),
            pages: home.path().join("pages"),
        }
    }

    /// Resolves unacknowledged writes: the page has either the old or the new state.
    pub(crate) fn resolve_pending(&mut self, log: &mut WriteLog) {
        for entry in log.entries.iter_mut().filter(|entry| entry.pending.is_some()) {
            let Some(pending) = entry.pending.take() else { continue };
            let page = self.page(&entry.slug);
            let was_stored = match (&page, &pending, &entry.now) {
                (Some(page), State::Active(text), _) if page.body == text.body => true,
                (Some(page), _, State::Active(text)) if page.body == text.body => false,
                (None, State::Deleted(_), _) => true,
                (None, _, State::Absent | State::Deleted(_)) => false,
                _ => panic!(
                    "neither the old nor the new state: {entry}, found {:?}",
                    page.map(|p| p.body)
                ),
            };
            if was_stored {
                entry.set_state(pending);
            } else if let Some(text) =
                pending.text().filter(|_| matches!(pending, State::Active(_)))
            {
                self.assert_not_found(&text.word, &entry.slug);
            }
            self.check_entry(entry);
        }
    }

    /// Checks that the page of `entry`, its file and search have its acknowledged state.
    pub(crate) fn check_entry(&mut self, entry: &Entry) {
        match &entry.now {
            State::Active(text) => {
                let page = self
                    .page(&entry.slug)
                    .unwrap_or_else(|| panic!("an acknowledged page is lost: {entry}"));
                assert_eq!(page.body, text.body, "{entry}");
                if let Some(title) = &text.title {
                    assert_eq!(&page.title, title, "{entry}");
                    assert_eq!(page.tags, ["crash", "harbour"], "{entry}");
                }
                self.assert_file(&page);
                self.assert_found(&text.word, &entry.slug);
                if let Some(former) = &entry.former {
                    let version = self.version(&entry.slug, page.version - 1);
                    assert!(
                        version.body.contains(former),
                        "the former version has another text: {entry}"
                    );
                }
            }
            State::Deleted(text) => {
                assert!(self.page(&entry.slug).is_none(), "{entry}");
                assert!(
                    !self.path_of(&entry.slug).exists(),
                    "the file of a deleted page remains: {entry}"
                );
                self.assert_trashed(entry, text);
                self.assert_not_found(&text.word, &entry.slug);
            }
            State::Absent => {
                assert!(self.page(&entry.slug).is_none(), "a page that was never stored: {entry}");
                assert!(
                    !self.path_of(&entry.slug).exists(),
                    "a file that was never stored: {entry}"
                );
            }
        }
        if let Some(word) = &entry.former {
            self.assert_not_found(word, &entry.slug);
        }
    }

    pub(crate) fn page(&mut self, slug: &Slug) -> Option<Page> {
        let page = PageRef { source: None, slug: slug.clone() };
        match self.client.ask(&Request::Get(Get { page, version: None })) {
            // A beginning of another page's slug opens that page.
            Ok(Reply::Page(page)) => (page.slug == *slug).then_some(page),
            Err(fault) if matches!(fault.code, FaultCode::NotFound | FaultCode::AmbiguousSlug) => {
                None
            }
            other => panic!("{slug}: {other:?}"),
        }
    }

    fn version(&mut self, slug: &Slug, version: u32) -> Page {
        let page = PageRef { source: None, slug: slug.clone() };
        match self.client.ask(&Request::Get(Get { page, version: Some(version) })) {
            Ok(Reply::Page(page)) => page,
            other => panic!("{slug}, version {version}: {other:?}"),
        }
    }

    fn path_of(&self, slug: &Slug) -> PathBuf {
        self.pages.join(format!("{slug}.md"))
    }

    /// Asserts that the page's file has the page's content.
    pub(crate) fn assert_file(&self, page: &Page) {
        let path = self.path_of(&page.slug);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(text, page.content, "{}", path.display());
    }

    /// Asserts that the trash has the file of a deleted page. It may have another file of an
    /// earlier deletion.
    fn assert_trashed(&self, entry: &Entry, text: &Text) {
        let first = self.pages.join(".trash").join(format!("{}.md", entry.slug));
        let paths = std::iter::once(first.clone())
            .chain((1..).map(|n| PathBuf::from(format!("{}~{n}", first.display()))));
        let mut texts = paths.map_while(|path| std::fs::read_to_string(path).ok());
        assert!(texts.any(|found| found.ends_with(&text.body)), "not in the trash: {entry}");
    }

    /// Returns the pages with exactly this word: without the quotes, similar words count, too.
    fn hits(&mut self, word: &str) -> Vec<Slug> {
        let request = Request::Search(Search {
            query: format!("\"{word}\""),
            limit: 10,
            ..Search::default()
        });
        match self.client.ask(&request) {
            Ok(Reply::Hits(hits)) => hits.hits.into_iter().map(|hit| hit.slug).collect(),
            other => panic!("{word}: {other:?}"),
        }
    }

    pub(crate) fn assert_found(&mut self, word: &str, slug: &Slug) {
        let hits = self.hits(word);
        assert_eq!(hits, std::slice::from_ref(slug), "search for {word}");
    }

    pub(crate) fn assert_not_found(&mut self, word: &str, slug: &Slug) {
        let hits = self.hits(word);
        assert!(!hits.contains(slug), "{slug} is found by {word}, which it no longer contains");
    }

    /// Returns all pages in the order of their slugs.
    pub(crate) fn list(&mut self, deleted: bool) -> Vec<PageRow> {
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let list = List { deleted, sort: Sort::Slug, limit: 1000, after, ..List::default() };
            match self.client.ask(&Request::List(list)) {
                Ok(Reply::Pages(pages)) => {
                    rows.extend(pages.pages);
                    after = pages.next;
                }
                other => panic!("{other:?}"),
            }
            if after.is_none() {
                return rows;
            }
        }
    }

    /// Asserts that the home's pages directory has the files of these pages and no others, not even
    /// partial ones.
    pub(crate) fn assert_no_other_files(&self, active: &[Slug], deleted: &[Slug]) {
        let paths =
            |slugs: &[Slug]| slugs.iter().map(|slug| format!("{slug}.md")).collect::<BTreeSet<_>>();
        let (trashed, found): (BTreeSet<String>, BTreeSet<String>) =
            files_below(&self.pages).into_iter().partition(|path| path.starts_with(".trash/"));
        assert_eq!(found, paths(active), "files of pages");
        let trashed: BTreeSet<String> = trashed
            .iter()
            .map(|path| path.trim_start_matches(".trash/").split('~').next().unwrap().to_owned())
            .collect();
        assert_eq!(trashed, paths(deleted), "files in the trash");
    }
}

fn files_below(dir: &Path) -> BTreeSet<String> {
    let (mut found, mut pending_dirs) = (BTreeSet::new(), vec![dir.to_owned()]);
    while let Some(folder) = pending_dirs.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending_dirs.push(path);
            } else {
                found.insert(path.strip_prefix(dir).unwrap().display().to_string());
            }
        }
    }
    found
}
