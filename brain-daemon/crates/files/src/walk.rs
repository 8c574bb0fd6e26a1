//! Walks the markdown files of a directory in the order of their paths.
//!
//! Each entry is opened relative to the handle of its directory. The kernel finds a name in an open
//! directory faster than at the end of a path. A directory that is replaced by a link meanwhile
//! does not lead out of the tree.

use std::cmp::Ordering;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::ignore_rules::{ActiveRules, IgnoreRules, is_rule_file};
use super::root_dir::RootDir;
use super::scan::{MAX_OTHER_PATHS, MarkdownFile, ScanReport, is_reachable};
use super::trash::TRASH;
use brain_page::is_markdown;

/// Hidden directories of git and brain, which are not reported.
const UNREPORTED_DIRECTORIES: [&str; 2] = [".git", TRASH];
/// Maximum depth of directories. Each open directory takes a file descriptor.
const MAX_DEPTH: usize = 500;
/// Flags to open a directory for reading.
const READ_DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Calls `each` with the markdown files of `root`, sorted by the bytes of their paths; see
/// [`super::markdown_files`]. Stops when `each` returns `false`. The report has no files.
pub fn for_each_markdown_file(
    root: &RootDir,
    below: &str,
    rules: &IgnoreRules,
    except: Option<&Path>,
    each: &mut dyn FnMut(MarkdownFile) -> bool,
) -> ScanReport {
    let (active, dir) = (ActiveRules::new(rules), root.path());
    let found = ScanReport::default();
    let mut walk = Walk { root, dir, except, active, each, found, path: Vec::new() };
    if let Err(e) = root.check_path(Path::new(below)) {
        walk.path.extend(below.as_bytes());
        walk.add_unreadable(e.to_string());
        return walk.found;
    }
    let result = if below.is_empty() {
        openat(root, ".", READ_DIRECTORY, Mode::empty())
            .map(|handle| walk.visit_directory(handle, 1))
            .map_err(io::Error::from)
    } else if is_reachable(dir, below) && !rules.leave_out(dir, below, dir.join(below).is_dir()) {
        walk.start_at(below)
    } else {
        Ok(true)
    };
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound && !below.is_empty() => {}
        Err(e) => walk.add_unreadable(e.to_string()),
        Ok(_) => {}
    }
    walk.found
}

/// Returns all `.md`, `.markdown` and `.mdx` files of `dir` at or below the path `below`; an empty
/// path means all of `dir`. Leaves out the directory `except`, directories whose names begin with a
/// dot, paths that the rules leave out, and links.
#[must_use]
pub fn markdown_files(
    dir: &Path,
    below: &str,
    rules: &IgnoreRules,
    except: Option<&Path>,
) -> ScanReport {
    let root = match RootDir::open(dir) {
        Ok(root) => root,
        Err(e) => {
            let unreadable = vec![(String::new(), e.to_string())];
            return ScanReport { unreadable, ..ScanReport::default() };
        }
    };
    let mut files = Vec::new();
    let found = for_each_markdown_file(&root, below, rules, except, &mut |file| {
        files.push(file);
        true
    });
    ScanReport { files, ..found }
}

/// The state of a walk.
struct Walk<'a> {
    root: &'a RootDir,
    dir: &'a Path,
    except: Option<&'a Path>,
    active: ActiveRules<'a>,
    each: &'a mut dyn FnMut(MarkdownFile) -> bool,
    found: ScanReport,
    /// The path of the current entry, relative to `dir`. A directory's ends with `/` while its
    /// entries are visited.
    path: Vec<u8>,
}

/// An entry of a directory.
struct Entry {
    name: CString,
    /// `Unknown` if the file system does not say it.
    kind: FileType,
}

impl Walk<'_> {
    /// Visits the file or directory at `below`.
    fn start_at(&mut self, below: &str) -> io::Result<bool> {
        let (parent, name) = below.rsplit_once('/').unwrap_or(("", below));
        let mut dir = self.dir.to_owned();
        self.active.load_directory(&dir, 0);
        for part in parent.split('/').filter(|part| !part.is_empty()) {
            dir.push(part);
            self.active.load_directory(&dir, 0);
        }
        if !parent.is_empty() {
            self.path.extend(parent.bytes().chain([b'/']));
        }
        let handle = self.root.open_dir(Path::new(parent))?;
        let name = CString::new(name)?;
        let kind = kind_of(handle.as_fd(), &name)?;
        Ok(self.visit_entry(handle.as_fd(), &Entry { name, kind }, 0))
    }

    /// Visits the entries of a directory. `depth` is their depth. Returns `false` to end the walk.
    fn visit_directory(&mut self, handle: OwnedFd, depth: usize) -> bool {
        let mut dir = match Dir::new(handle) {
            Ok(dir) => dir,
            Err(e) => return self.skip(e),
        };
        let mut entries = Vec::new();
        while let Some(entry) = dir.read() {
            match entry {
                Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                Ok(entry) => entries
                    .push(Entry { name: entry.file_name().to_owned(), kind: entry.file_type() }),
                Err(e) => return self.skip(e),
            }
        }
        let Ok(handle) = dir.fd() else { return self.skip(Errno::BADF) };
        for entry in entries.iter_mut().filter(|entry| entry.kind == FileType::Unknown) {
            entry.kind = kind_of(handle, &entry.name).unwrap_or(FileType::Unknown);
        }
        entries.sort_unstable_by(by_path);
        // A directory's rule files come before its other entries.
        for entry in entries.iter().filter(|entry| is_rule_file(entry.name.as_bytes())) {
            self.active.load(&self.full_path().join(os_name(entry)), depth);
        }
        let should_continue = entries.iter().all(|entry| self.visit_entry(handle, entry, depth));
        self.active.leave(depth.saturating_sub(1));
        should_continue
    }

    /// Visits an entry of a directory. Returns `false` to end the walk.
    fn visit_entry(&mut self, parent: BorrowedFd<'_>, entry: &Entry, depth: usize) -> bool {
        let begin = self.path.len();
        if entry.name.as_bytes() == b".git" && begin > 0 {
            let repository = String::from_utf8_lossy(&self.path[..begin - 1]).into_owned();
            self.found.repositories.push(repository);
        }
        self.path.extend_from_slice(entry.name.as_bytes());
        let should_continue = match entry.kind {
            FileType::Directory => self.visit_subdirectory(parent, entry, depth),
            _ => self.visit_file(parent, entry),
        };
        self.path.truncate(begin);
        should_continue
    }

    fn visit_subdirectory(&mut self, parent: BorrowedFd<'_>, entry: &Entry, depth: usize) -> bool {
        let full_path = self.full_path();
        if self.except == Some(full_path.as_path()) {
            return true;
        }
        let is_dotted = entry.name.as_bytes().starts_with(b".");
        if is_dotted || self.active.leave_out(&full_path, true) {
            if !UNREPORTED_DIRECTORIES.iter().any(|name| os_name(entry) == *name) {
                self.found.ignored.add(self.reported_path(), true);
            }
            return true;
        }
        if depth >= MAX_DEPTH {
            self.add_unreadable(format!("it is more than {MAX_DEPTH} directories deep"));
            return true;
        }
        match openat(parent, &*entry.name, READ_DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(handle) => {
                // The files of another file system are not those of the pages here.
                let path = Path::new(OsStr::from_bytes(&self.path));
                if let Err(e) = self.root.check(path, &handle) {
                    self.add_unreadable(e.to_string());
                    return true;
                }
                self.path.push(b'/');
                self.visit_directory(handle, depth + 1)
            }
            Err(e) => self.skip(e),
        }
    }

    fn visit_file(&mut self, parent: BorrowedFd<'_>, entry: &Entry) -> bool {
        let is_left_out =
            self.active.has_rules() && self.active.leave_out(&self.full_path(), false);
        if is_left_out {
            self.found.ignored.add(self.reported_path(), false);
            return true;
        }
        if !is_markdown(Path::new(os_name(entry))) {
            self.add_other_file();
            if entry.kind == FileType::Symlink
                && statat(parent, &*entry.name, AtFlags::empty())
                    .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
            {
                self.found.links.push(self.reported_path());
            }
            return true;
        }
        if entry.kind != FileType::RegularFile {
            self.add_other_file();
            if entry.kind == FileType::Symlink {
                self.found.links.push(self.reported_path());
            }
            return true;
        }
        let Ok(path) = std::str::from_utf8(&self.path) else {
            self.add_unreadable("its name is not UTF-8".into());
            return true;
        };
        match statat(parent, &*entry.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => (self.each)(MarkdownFile { path: path.to_owned(), stat: stat.into() }),
            Err(e) => self.skip(e),
        }
    }

    /// Reports the current entry as unreadable, unless it disappeared or became a link during the
    /// walk. Returns `true`.
    fn skip(&mut self, error: Errno) -> bool {
        if !matches!(error, Errno::NOENT | Errno::LOOP | Errno::NOTDIR) {
            self.add_unreadable(io::Error::from(error).to_string());
        }
        true
    }

    fn add_other_file(&mut self) {
        self.found.other_files += 1;
        if self.found.other_paths.len() < MAX_OTHER_PATHS {
            let path = self.reported_path();
            self.found.other_paths.push(path);
        }
    }

    fn add_unreadable(&mut self, reason: String) {
        self.found.unreadable.push((self.reported_path(), reason));
    }

    /// Returns the path of the current entry, relative to `dir`, for the report.
    fn reported_path(&self) -> String {
        let path = self.path.strip_suffix(b"/").unwrap_or(&self.path);
        String::from_utf8_lossy(path).into_owned()
    }

    /// Returns the path of the current entry, including `dir`.
    fn full_path(&self) -> PathBuf {
        let path = self.path.strip_suffix(b"/").unwrap_or(&self.path);
        if path.is_empty() { self.dir.to_owned() } else { self.dir.join(OsStr::from_bytes(path)) }
    }
}

fn os_name(entry: &Entry) -> &OsStr {
    OsStr::from_bytes(entry.name.as_bytes())
}

fn kind_of(parent: BorrowedFd<'_>, name: &CStr) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode))
}

/// Orders entries so that the walk visits files in byte order of their paths; a directory's name
/// ends with `/`.
fn by_path(a: &Entry, b: &Entry) -> Ordering {
    fn parts(entry: &Entry) -> (&[u8], &[u8]) {
        let end: &[u8] = if entry.kind == FileType::Directory { b"/" } else { b"" };
        (entry.name.as_bytes(), end)
    }
    let ((a, a_end), (b, b_end)) = (parts(a), parts(b));
    let common = a.len().min(b.len());
    // The common length is compared as a slice; the ends decide only if one name is a prefix.
    a[..common]
        .cmp(&b[..common])
        .then_with(|| a[common..].iter().chain(a_end).cmp(b[common..].iter().chain(b_end)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::scan::stat_of;
    use super::*;
    use std::fs;

    #[test]
    fn a_directory_too_deep_is_reported_and_others_are_read() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("z.md"), "x").unwrap();
        let deep = "d/".repeat(MAX_DEPTH + 1);
        fs::create_dir_all(root.path().join(&deep)).unwrap();
        let last = "d/".repeat(MAX_DEPTH - 1);
        fs::write(root.path().join(&last).join("x.md"), "x").unwrap();
        let found = markdown_files(root.path(), "", &IgnoreRules::off(), None);
        let paths: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [format!("{last}x.md").as_str(), "z.md"]);
        let [(path, reason)] = found.unreadable.as_slice() else { panic!("{found:?}") };
        assert_eq!(path.len(), 2 * MAX_DEPTH - 1);
        assert!(reason.contains("500 directories deep"), "{reason}");
    }

    #[test]
    fn a_file_in_place_of_the_directory_is_reported() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.md"), "x").unwrap();
        let found = markdown_files(&root.path().join("a.md"), "", &IgnoreRules::off(), None);
        assert_eq!((found.files.len(), found.unreadable.len()), (0, 1));
    }

    fn write(dir: &Path, path: &str) {
        let file_path = dir.join(path);
        fs::create_dir_all(file_path.parent().unwrap()).unwrap();
        fs::write(file_path, "x").unwrap();
    }

    fn paths(found: &ScanReport) -> Vec<&str> {
        found.files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn hidden_and_linked_files_are_not_found() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = dir.path();
        write(outside.path(), "secret.md");
        for path in [
            "a.md",
            "b/c.MDX",
            "b/.hidden/x.md",
            ".trash/x.md",
            "b/pic.png",
            "lib/.git/HEAD",
            "lib/r.md",
        ] {
            write(root, path);
        }
        std::os::unix::fs::symlink(outside.path(), root.join("out")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.md"), root.join("link.md")).unwrap();
        let found = markdown_files(root, "", &IgnoreRules::off(), None);
        assert_eq!(paths(&found), ["a.md", "b/c.MDX", "lib/r.md"]);
        assert_eq!((found.other_files, found.repositories), (3, vec!["lib".to_owned()]));
        assert_eq!(found.links, ["link.md", "out"]);
        assert_eq!(paths(&markdown_files(root, "b", &IgnoreRules::off(), None)), ["b/c.MDX"]);
        assert_eq!(paths(&markdown_files(root, "a.md", &IgnoreRules::off(), None)), ["a.md"]);
        for below in
            ["out", "out/secret.md", "link.md", ".trash", "b/.hidden/x.md", "none", "a.md/x"]
        {
            let found = markdown_files(root, below, &IgnoreRules::off(), None);
            assert_eq!(paths(&found), Vec::<&str>::new(), "{below}");
            assert_eq!(stat_of(&RootDir::open(root).unwrap(), below).unwrap(), None, "{below}");
        }
        assert_eq!(
            stat_of(&RootDir::open(root).unwrap(), "a.md").unwrap(),
            Some(found.files[0].stat)
        );
    }

    #[test]
    fn rules_leave_files_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for path in [
            "a.md",
            "!first.md",
            "node_modules/x/README.md",
            "p/.venv/x.md",
            "p/target/x.md",
            "p/draft.md",
            "q/draft.md",
        ] {
            write(root, path);
        }
        fs::write(root.join("p/.brainignore"), "draft.md\n!target/\n").unwrap();
        fs::write(root.join(".gitignore"), "\\!first.md\n").unwrap();
        let rules = IgnoreRules::new(root, &[], &[]).unwrap();
        let found = markdown_files(root, "", &rules, None);
        assert_eq!(paths(&found), ["a.md", "p/target/x.md", "q/draft.md"]);
        assert_eq!((found.ignored.files, found.ignored.directories), (2, 2));
        let left_out = ["!first.md", "node_modules/", "p/.venv/", "p/draft.md"];
        assert_eq!(found.ignored.paths, left_out);
        assert_eq!(paths(&markdown_files(root, "p", &rules, None)), ["p/target/x.md"]);
        assert_eq!(paths(&markdown_files(root, "p/target/x.md", &rules, None)), ["p/target/x.md"]);
        for below in ["p/draft.md", "node_modules", "node_modules/x/README.md"] {
            assert!(markdown_files(root, below, &rules, None).files.is_empty(), "{below}");
        }
    }

    #[test]
    fn files_are_sorted_by_path() {
        let dir = tempfile::tempdir().unwrap();
        for path in
            ["a/x.md", "a-b/x.md", "a.md", "a/b/c.md", "a/b-c.md", "b/é.md", "b/z.md", "B.md"]
        {
            write(dir.path(), path);
        }
        let found = markdown_files(dir.path(), "", &IgnoreRules::off(), None);
        assert_eq!(found.files.len(), 8);
        assert!(paths(&found).is_sorted(), "{:?}", paths(&found));
    }

    #[test]
    fn a_missing_directory_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let found = markdown_files(&dir.path().join("none"), "", &IgnoreRules::off(), None);
        assert_eq!((found.files.len(), found.unreadable[0].0.as_str()), (0, ""));
    }
}
