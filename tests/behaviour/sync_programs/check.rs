//! What two brains and their directories contain.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use brain_protocol::{Get, History, PageRef, Reply, Request, Slug, SourceId};
use brain_tests::{report, slugs};

use super::Side;
use super::person::Log;

/// Returns whether a sync program made this file to keep the loser of a conflict.
pub(crate) fn is_conflict_copy(path: &str) -> bool {
    [".sync-conflict-", " (conflict", "..path"].iter().any(|mark| path.contains(mark))
}

/// Returns the files below a directory with their bytes, except for hidden ones and backups.
pub(crate) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut pending) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(directory) = pending.pop() {
        // Files and directories come and go meanwhile.
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if name.starts_with('.') || name.ends_with('~') {
                continue;
            }
            if path.is_dir() {
                pending.push(path);
            } else if let Ok(bytes) = fs::read(&path) {
                let path = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// The state of one side.
pub(crate) struct Snapshot {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Inode number and time of change of each file.
    stamps: BTreeMap<String, (u64, i64, i64)>,
    /// Number of the current version and text of each active page, by the path of its file.
    pages: BTreeMap<String, (u32, String)>,
    /// The files that `brain conflicts` names: their pages wait for a person.
    conflicts: BTreeSet<String>,
}

impl Snapshot {
    pub(crate) fn take(side: &Side) -> Self {
        let files = files(&side.notes);
        let stamps = files
            .keys()
            .filter_map(|path| {
                let meta = fs::metadata(side.notes.join(path)).ok()?;
                Some((path.clone(), (meta.ino(), meta.mtime(), meta.mtime_nsec())))
            })
            .collect();
        let mut pages = BTreeMap::new();
        let mut client = side.home.connect().expect("no daemon");
        for slug in listed(side, false) {
            let get = Get { page: page_ref(&slug), version: None };
            if let Ok(Reply::Page(page)) = client.ask(&Request::Get(get)) {
                let path = page.source_path.unwrap_or_else(|| format!("no file of {slug}"));
                pages.insert(path, (page.version, page.content));
            }
        }
        let named = side.home.json(["conflicts"])["conflicts"].clone();
        let named = named.as_array().unwrap().iter();
        let conflicts = named.map(|it| it["path"].as_str().unwrap().to_owned()).collect();
        Self { files, stamps, pages, conflicts }
    }

    /// Returns what changed since this snapshot.
    pub(crate) fn difference(&self, later: &Self) -> Vec<String> {
        let stamps = unlike(&self.stamps, &later.stamps, "written");
        stamps.into_iter().chain(unlike(&self.pages, &later.pages, "new version")).collect()
    }

    pub(crate) fn files_unlike(&self, other: &Self) -> Vec<String> {
        unlike(&self.files, &other.files, "other file")
    }

    /// Returns the pages that differ from their file, except those that wait for a person: of a
    /// named conflict, and of a file that rclone replaced with a copy of each side.
    pub(crate) fn pages_unlike_files(&self) -> Vec<String> {
        let is_settled = |path: &&String| {
            let copies = ["path1", "path2"].map(|side| format!("{path}..{side}"));
            let is_replaced = !self.files.contains_key(*path)
                && copies.iter().any(|copy| self.files.contains_key(copy));
            !is_replaced && !self.conflicts.contains(*path)
        };
        let notes = self.files.keys().filter(|path| path.ends_with(".md")).filter(is_settled);
        let notes = notes.map(|path| (path.clone(), text_of(&self.files[path]))).collect();
        let pages = self.pages.keys().filter(is_settled);
        let pages = pages.map(|path| (path.clone(), self.pages[path].1.clone())).collect();
        unlike(&notes, &pages, "page unlike its file")
    }
}

/// Returns a line for each key with different values.
fn unlike<V: PartialEq + std::fmt::Debug>(
    a: &BTreeMap<String, V>,
    b: &BTreeMap<String, V>,
    what: &str,
) -> Vec<String> {
    let keys: BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let differ = keys.into_iter().filter(|key| a.get(*key) != b.get(*key));
    differ.map(|key| format!("{what}: {key}: {:?} / {:?}", a.get(key), b.get(key))).collect()
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn listed(side: &Side, deleted: bool) -> Vec<String> {
    let mut args = vec!["list", "--source", "notes", "--limit", "1000"];
    args.extend(deleted.then_some("--deleted"));
    slugs(&side.home.json(args)["pages"])
}

fn page_ref(slug: &str) -> PageRef {
    PageRef { source: Some(SourceId::parse("notes").unwrap()), slug: Slug::parse(slug).unwrap() }
}

/// Restores the deleted pages. Returns the lines of all versions of all pages.
fn lines_of_versions(side: &Side) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    let mut client = side.home.connect().expect("no daemon");
    for slug in listed(side, true) {
        // Versions of a deleted page cannot be read.
        side.home.json(["restore", &slug, "--source", "notes"]);
    }
    for slug in listed(side, false) {
        let page = page_ref(&slug);
        let history = match client.ask(&Request::History(History { page: page.clone() })) {
            Ok(Reply::History(history)) => history,
            other => panic!("no history of {slug}: {other:?}"),
        };
        for row in history.versions {
            let get = Get { page: page.clone(), version: Some(row.version) };
            match client.ask(&Request::Get(get)) {
                Ok(Reply::Page(page)) => lines.extend(page.content.lines().map(str::to_owned)),
                other => panic!("no version {} of {slug}: {other:?}", row.version),
            }
        }
    }
    lines
}

/// Returns the acknowledged lines that are nowhere, each with the operation that wrote it. Reports
/// how many are where.
pub(crate) fn find_lost_lines(sides: &[Side; 2], logs: &[Log], program: &str) -> Vec<String> {
    let (mut in_pages, mut in_copies) = (BTreeSet::new(), BTreeSet::new());
    for (path, bytes) in sides.iter().flat_map(|side| files(&side.notes)) {
        let lines = if is_conflict_copy(&path) { &mut in_copies } else { &mut in_pages };
        lines.extend(text_of(&bytes).lines().map(str::to_owned));
    }
    let in_versions: BTreeSet<String> = sides.iter().flat_map(lines_of_versions).collect();
    let (mut counts, mut lost) = ([0; 3], Vec::new());
    for (line, kind) in logs.iter().flat_map(|log| &log.lines) {
        match [&in_pages, &in_copies, &in_versions].iter().position(|place| place.contains(line)) {
            Some(place) => counts[place] += 1,
            None => lost.push(format!("{kind}: {line}")),
        }
    }
    let [pages, copies, versions] = counts;
    report(&format!(
        "{program}: {pages} lines in pages, {copies} in conflict copies, {versions} in versions, \
         {} lost",
        lost.len()
    ));
    lost
}
