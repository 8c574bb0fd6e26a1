//! SIGKILL at random moments of an import, for the daemon and the programs that convert. The next
//! import ends in the state of an import that nobody disturbed.
//!
//! `BRAIN_CRASH_ROUNDS` is the number of kills (12; the full run has 50).

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use brain_protocol::{
    Attachment, AttachmentList, ImportFailure, ImportReply, Page, Request, Slug, SyncStatus,
};
use brain_tests::{TestHome, expect_reply, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::crash::{Check, Run, import, settle};

/// Time limit of a run with the default number of kills.
const TIME_LIMIT: Duration = Duration::from_secs(45);
/// The number of copies of each document in the mixed directory.
const COPIES: usize = 3;
/// The id of a page in an export of Notion.
const NOTION_ID: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn a_killed_import_of_exports_is_finished_by_the_next() {
    let run = Run::new(12);
    let mut rng = run.rng();
    let inputs = Inputs::new();
    let began = brain_base::clock::rfc3339(now());
    let undisturbed = {
        let home = TestHome::new();
        let _daemon = home.daemon();
        let replies = inputs.import(&home).expect("the daemon runs");
        State::of(&home, &replies, &began)
    };
    assert!(undisturbed.pages.len() > 40, "{:?}", undisturbed.pages.keys());
    assert!(undisturbed.attachments.len() > 5, "{:?}", undisturbed.attachments);
    let mut usual = undisturbed.took;
    let (mut kills, mut homes) = (0, 0);
    while kills < run.rounds && !(run.is_default && run.started_at.elapsed() > TIME_LIMIT) {
        let home = TestHome::new();
        homes += 1;
        loop {
            let daemon = home.daemon();
            let moment = Duration::from_micros(rng.below(usual.as_micros() as u64));
            let should_kill_converters = rng.one_in(2);
            let is_complete = std::thread::scope(|scope| {
                let importing = scope.spawn(|| inputs.import(&home));
                std::thread::sleep(moment);
                daemon.kill();
                if should_kill_converters {
                    inputs.kill_converters();
                }
                let replies = importing.join().expect("the import panicked");
                usual = replies.as_deref().map_or(usual, took);
                replies.is_some()
            });
            wait_for("a program that converts still runs", || inputs.converters().is_empty());
            kills += usize::from(!is_complete);
            if is_complete || rng.one_in(3) {
                break;
            }
        }
        let _daemon = home.daemon();
        let replies = inputs.import(&home).expect("the daemon runs");
        let state = State::of(&home, &replies, &began);
        state.assert_equal(&undisturbed);
        assert_eq!(state.written_again, 0, "{replies:?}");
    }
    let duration = run.started_at.elapsed();
    run.report(&format!("imports of exports: {kills} kills, {homes} homes, {duration:.0?}"));
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

fn took(replies: &[ImportReply]) -> Duration {
    Duration::from_millis(replies.iter().map(|reply| reply.took_ms).sum())
}

/// A mixed directory and two exports, in a directory outside of all homes.
struct Inputs {
    dir: tempfile::TempDir,
}

impl Inputs {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("brain-inputs").tempdir().unwrap();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import");
        let mixed = dir.path().join("mixed");
        for copy in 1..=COPIES {
            let folder = mixed.join(copy.to_string());
            fs::create_dir_all(&folder).unwrap();
            for file in [
                "evernote/export/Harbour.enex",
                "mail/crew.mbox",
                "documents/libreoffice.docx",
                "documents/pandoc.epub",
                "pdf/labels.pdf",
                "pdf/locked.pdf",
                "pdf/writer.pdf",
            ] {
                let path = fixtures.join(file);
                fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
            }
            let note = format!("# Note {copy}\n\n![[map {copy}.png]]\n");
            fs::write(folder.join("note.md"), note).unwrap();
            fs::write(folder.join(format!("map {copy}.png")), vec![copy as u8; 50_000]).unwrap();
        }
        fs::copy(fixtures.join("joplin/garden.jex"), dir.path().join("garden.jex")).unwrap();
        fs::write(dir.path().join("notion.zip"), notion_export()).unwrap();
        Self { dir }
    }

    /// Imports all of them. Returns `None` if the daemon was killed.
    fn import(&self, home: &TestHome) -> Option<Vec<ImportReply>> {
        ["mixed", "garden.jex", "notion.zip"]
            .iter()
            .map(|name| import(home, &self.dir.path().join(name)))
            .collect()
    }

    /// Returns the programs that read these inputs now.
    fn converters(&self) -> Vec<Pid> {
        let inputs = self.dir.path().to_str().unwrap().as_bytes();
        let is_reader = |process: &PathBuf| {
            let command = fs::read(process.join("cmdline")).unwrap_or_default();
            command.windows(inputs.len()).any(|part| part == inputs)
        };
        let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let names = processes.filter(is_reader).filter_map(|process| {
            process.file_name()?.to_str()?.parse().ok().and_then(Pid::from_raw)
        });
        names.collect()
    }

    fn kill_converters(&self) {
        for pid in self.converters() {
            // It may have ended.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A ZIP archive with the names and fields of Notion: pages, a database, pictures.
fn notion_export() -> Vec<u8> {
    let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let mut add = |name: &str, content: &[u8]| {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    };
    let mut rows = String::from("\u{feff}Name,Done\n");
    for n in 0..30 {
        let id = format!("{n:032x}");
        let text = format!("# Task {n}\n\nDone: No\n\n![map](Task%20{n}/map.png)\n");
        add(&format!("Tasks/Task {n} {id}.md"), text.as_bytes());
        add(&format!("Tasks/Task {n}/map.png"), &vec![n; 40_000]);
        rows.push_str(&format!("Task {n},No\n"));
    }
    add(&format!("Tasks {NOTION_ID}_all.csv"), rows.as_bytes());
    archive.finish().unwrap().into_inner()
}

/// What imports left behind.
struct State {
    pages: BTreeMap<Slug, Page>,
    /// The name, the hash and the pages of each file.
    attachments: Vec<String>,
    /// The paths of the kept files.
    kept: Vec<PathBuf>,
    reports: Vec<Report>,
    /// The number of pages that the imports wrote a second time.
    written_again: u64,
    took: Duration,
}

/// What an import says of its input, whatever was there before.
#[derive(Debug, PartialEq)]
struct Report {
    status: SyncStatus,
    format: Option<String>,
    files: u64,
    pages: u64,
    failed: Vec<ImportFailure>,
    not_imported: Vec<ImportFailure>,
    warnings: Vec<String>,
}

impl Report {
    fn of(reply: &ImportReply) -> Self {
        let sorted = |failures: &[ImportFailure]| {
            let mut failures = failures.to_vec();
            failures.sort_by(|a, b| (&a.path, &a.reason).cmp(&(&b.path, &b.reason)));
            failures
        };
        Self {
            status: reply.status,
            format: reply.format.clone(),
            files: reply.files,
            pages: reply.created + reply.updated + reply.restored + reply.unchanged,
            failed: sorted(&reply.failed),
            not_imported: sorted(&reply.not_imported),
            warnings: reply.warnings.clone(),
        }
    }
}

impl State {
    /// Reads the state of a home whose daemon runs, after these imports. Times after `began` are
    /// those of the import, and left out.
    fn of(home: &TestHome, replies: &[ImportReply], began: &str) -> Self {
        settle(home);
        let mut check = Check::new(home);
        let slugs: Vec<Slug> = check.list(false).into_iter().map(|row| row.slug).collect();
        let mut pages = BTreeMap::new();
        for slug in &slugs {
            let mut page = check.page(slug).expect("a listed page cannot be read");
            check.assert_file(&page);
            for time in [&mut page.created_at, &mut page.updated_at] {
                if time.as_str() >= began {
                    time.clear();
                }
            }
            let stated = page.ingested_at.take().unwrap_or_default();
            for text in [&mut page.frontmatter, &mut page.content] {
                *text = text.replace(&format!("ingested_at: {stated}\n"), "");
            }
            pages.insert(slug.clone(), page);
        }
        check.assert_no_other_files(&slugs, &[]);
        let request = Request::AttachmentList(AttachmentList { page: None, source: None });
        let list = expect_reply!(home.connect().unwrap().ask(&request), Attachments);
        let shown = |file: &Attachment| format!("{}, {}: {:?}", file.name, file.hash, file.pages);
        let mut attachments: Vec<String> = list.attachments.iter().map(shown).collect();
        attachments.sort();
        let converted = fs::read_dir(home.path().join("run/converted")).map_or(0, Iterator::count);
        assert_eq!(converted, 0, "converted files stayed");
        Self {
            pages,
            attachments,
            kept: files_below(&home.path().join("attachments")),
            reports: replies.iter().map(Report::of).collect(),
            written_again: replies.iter().map(|reply| reply.updated + reply.restored).sum(),
            took: took(replies),
        }
    }

    fn assert_equal(&self, other: &Self) {
        let slugs = |state: &Self| state.pages.keys().cloned().collect::<Vec<_>>();
        assert_eq!(slugs(self), slugs(other));
        for (slug, page) in &self.pages {
            assert_eq!(page, &other.pages[slug], "{slug}");
        }
        assert_eq!(self.attachments, other.attachments);
        assert_eq!(self.kept, other.kept);
        assert_eq!(self.reports, other.reports);
    }
}

/// Returns the paths of all finished files below a directory, relative to it, sorted.
fn files_below(dir: &Path) -> Vec<PathBuf> {
    let (mut found, mut pending) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => pending.push(path),
                // A kill leaves an unfinished file, which a sweep removes later.
                false if path.file_name().unwrap().to_string_lossy().starts_with('.') => {}
                false => found.push(path.strip_prefix(dir).unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}
