//! Making one file be as it should.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

/// The directory, beside the pages, that deleted files go to.
pub const TRASH: &str = ".trash";

/// How long a directory that was looked at needs no second look.
const GOOD_FOR: Duration = Duration::from_secs(1);

/// How an attempt on a file ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The file is as it should be.
    Done,
    /// Somebody else changed it; it was left alone.
    Foreign,
}

/// SHA-256 of a file's bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The directory of one source.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    /// The directory that was written to last, and when it was looked at.
    last_dir: Mutex<Option<(PathBuf, Instant)>>,
}

impl Tree {
    /// The tree below `root`, which need not exist yet.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), last_dir: Mutex::default() }
    }

    /// The directory itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The absolute place of a file.
    #[must_use]
    pub fn place(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Makes the file at `path` hold `text`. `ours` are digests of what we may have left there before; `tag` keeps
    /// temporary files apart.
    ///
    /// # Errors
    /// What the disk says; the file is as it was then.
    pub fn put(&self, path: &str, text: &str, ours: &[[u8; 32]], tag: u64) -> io::Result<Outcome> {
        let place = self.place(path);
        let there = match look(&place)? {
            Seen::Nothing => false,
            Seen::File(found) if found == digest(text.as_bytes()) => true,
            // An empty file is what a power loss leaves of ours, and holds nobody's work.
            Seen::File(found) if ours.contains(&found) || found == digest(b"") => false,
            Seen::File(_) | Seen::Other => return Ok(Outcome::Foreign),
        };
        if !there {
            let dir = place.parent().unwrap_or(&self.root);
            self.ready(dir)?;
            let temporary = dir.join(format!(".brain-{tag}.tmp"));
            if let Err(error) = write_new(&temporary, text).and_then(|()| fs::rename(&temporary, &place)) {
                let _ = fs::remove_file(&temporary);
                return Err(error);
            }
        }
        Ok(Outcome::Done)
    }

    /// After a restore: removes the copy in the trash that it came from. A crash may have left it beside the file.
    ///
    /// # Errors
    /// What the disk says.
    pub fn untrash(&self, path: &str, text: &str, ours: &[[u8; 32]]) -> io::Result<()> {
        let wanted = digest(text.as_bytes());
        for trashed in self.trash_places(path) {
            if let Seen::File(found) = look(&trashed)?
                && (ours.contains(&found) || found == wanted)
            {
                fs::remove_file(&trashed)?;
            }
        }
        Ok(())
    }

    /// Whether the file at `path` is one that `same` accepts by its bytes. When there is none, such a one comes back from the
    /// trash as it is.
    ///
    /// # Errors
    /// What the disk says.
    pub fn keep(&self, path: &str, same: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        let place = self.place(path);
        let read = |place: &Path| match fs::symlink_metadata(place) {
            Ok(meta) if meta.is_file() && meta.len() < TOO_LARGE => fs::read(place).map(Some),
            Ok(_) => Ok(None),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        };
        if fs::symlink_metadata(&place).is_ok() {
            return Ok(read(&place)?.is_some_and(|bytes| same(&bytes)));
        }
        for trashed in self.trash_places(path).into_iter().rev() {
            if read(&trashed)?.is_some_and(|bytes| same(&bytes)) {
                self.ready(place.parent().unwrap_or(&self.root))?;
                fs::rename(&trashed, &place)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves the page's file to the trash. One that was changed since we wrote it goes there as it is, for its author to
    /// find; when we never wrote it (`strict`), only a file with one of our digests is moved.
    ///
    /// # Errors
    /// What the disk says; the file is where it was then.
    pub fn trash(&self, path: &str, ours: &[[u8; 32]], strict: bool) -> io::Result<Outcome> {
        let place = self.place(path);
        match look(&place)? {
            Seen::Nothing => return Ok(Outcome::Done),
            Seen::Other => return Ok(Outcome::Foreign),
            Seen::File(found) if strict && !ours.contains(&found) => return Ok(Outcome::Foreign),
            Seen::File(_) => {}
        }
        self.inside(place.parent().unwrap_or(&self.root))?;
        let target = self.trash_place(path, self.trash_places(path).len());
        if let Some(dir) = target.parent() {
            self.make_dir(dir)?;
        }
        fs::rename(&place, &target)?;
        Ok(Outcome::Done)
    }

    /// Removes what is ours of a page's file from the trash, and from its place if it never got to the trash
    /// (`everywhere`).
    ///
    /// # Errors
    /// What the disk says.
    pub fn purge(&self, path: &str, ours: &[[u8; 32]], everywhere: bool) -> io::Result<Outcome> {
        let mut outcome = Outcome::Done;
        let mut places = self.trash_places(path);
        places.extend(everywhere.then(|| self.place(path)));
        for place in places {
            match look(&place)? {
                Seen::Nothing => {}
                Seen::File(found) if ours.contains(&found) => fs::remove_file(&place)?,
                Seen::File(_) | Seen::Other => outcome = Outcome::Foreign,
            }
        }
        Ok(outcome)
    }

    /// Puts on the disk itself whatever was written below the tree, so that a power loss cannot take it.
    ///
    /// # Errors
    /// What the disk says.
    pub fn sync(&self) -> io::Result<()> {
        match fs::File::open(&self.root) {
            Ok(root) => Ok(rustix::fs::syncfs(&root)?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// The `n`th place in the trash for a file that may be deleted more than once.
    fn trash_place(&self, path: &str, n: usize) -> PathBuf {
        let trash = self.root.join(TRASH);
        if n == 0 { trash.join(path) } else { trash.join(format!("{path}~{n}")) }
    }

    /// The places in the trash that are taken for `path`.
    fn trash_places(&self, path: &str) -> Vec<PathBuf> {
        let there = |place: &PathBuf| fs::symlink_metadata(place).is_ok();
        let first = self.trash_place(path, 0);
        let mut places: Vec<PathBuf> = (1..).map(|n| self.trash_place(path, n)).take_while(there).collect();
        if there(&first) || !places.is_empty() {
            places.insert(0, first);
        }
        places
    }

    /// Makes `dir`, unless it was made or found good a moment ago: looking takes longer than writing a page.
    fn ready(&self, dir: &Path) -> io::Result<()> {
        let now = Instant::now();
        let fresh = |seen: &Option<(PathBuf, Instant)>| {
            seen.as_ref().is_some_and(|(known, at)| known == dir && now.duration_since(*at) < GOOD_FOR)
        };
        if fresh(&self.last_dir.lock().unwrap_or_else(PoisonError::into_inner)) && dir.is_dir() {
            return Ok(());
        }
        self.make_dir(dir)?;
        *self.last_dir.lock().unwrap_or_else(PoisonError::into_inner) = Some((dir.to_owned(), now));
        Ok(())
    }

    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(&self.root)?;
        self.inside(dir)?;
        fs::create_dir_all(dir)
    }

    /// Refuses a directory that a link leads out of the tree. It need not exist yet.
    fn inside(&self, dir: &Path) -> io::Result<()> {
        let nearest = dir.ancestors().find(|d| fs::symlink_metadata(d).is_ok()).unwrap_or(&self.root);
        if nearest == self.root || nearest.canonicalize()?.starts_with(self.root.canonicalize()?) {
            return Ok(());
        }
        Err(io::Error::other(format!("{} leads out of {}", nearest.display(), self.root.display())))
    }
}

/// Writes a file that is not there yet; a leftover of ours is replaced, a link is not followed.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let create = || fs::File::options().write(true).create_new(true).open(path);
    let mut file = match create() {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            create()?
        }
        other => other?,
    };
    file.write_all(text.as_bytes())
}

enum Seen {
    Nothing,
    File([u8; 32]),
    /// A link, a directory, a file larger than any page: nothing that we made.
    Other,
}

/// Larger than the file of the largest page, in bytes.
const TOO_LARGE: u64 = 8_000_000;

fn look(place: &Path) -> io::Result<Seen> {
    match fs::symlink_metadata(place) {
        Ok(meta) if meta.is_file() && meta.len() < TOO_LARGE => Ok(Seen::File(digest(&fs::read(place)?))),
        Ok(_) => Ok(Seen::Other),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Seen::Nothing),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_somebody_changed_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::new(dir.path());
        assert_eq!(tree.put("a/b.md", "one", &[], 1).unwrap(), Outcome::Done);
        assert_eq!(tree.put("a/b.md", "two", &[digest(b"one")], 1).unwrap(), Outcome::Done);
        fs::write(tree.place("a/b.md"), "mine").unwrap();
        assert_eq!(tree.put("a/b.md", "three", &[digest(b"two")], 1).unwrap(), Outcome::Foreign);
        assert_eq!(fs::read_to_string(tree.place("a/b.md")).unwrap(), "mine");
        assert_eq!(fs::read_dir(dir.path().join("a")).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_restore_that_was_cut_short_leaves_no_copy_in_the_trash() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::new(dir.path());
        for place in ["x.md", ".trash/x.md"] {
            fs::create_dir_all(dir.path().join(".trash")).unwrap();
            fs::write(dir.path().join(place), "text").unwrap();
        }
        assert_eq!(tree.put("x.md", "text", &[digest(b"text")], 1).unwrap(), Outcome::Done);
        tree.untrash("x.md", "text", &[digest(b"text")]).unwrap();
        assert!(tree.place("x.md").exists() && !dir.path().join(".trash/x.md").exists());
    }

    #[test]
    fn the_trash_keeps_what_it_has() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::new(dir.path());
        for text in ["first", "second"] {
            tree.put("x.md", text, &[], 1).unwrap();
            tree.trash("x.md", &[digest(text.as_bytes())], true).unwrap();
        }
        assert_eq!(fs::read_to_string(dir.path().join(".trash/x.md")).unwrap(), "first");
        assert_eq!(fs::read_to_string(dir.path().join(".trash/x.md~1")).unwrap(), "second");
        assert_eq!(tree.purge("x.md", &[digest(b"other")], true).unwrap(), Outcome::Foreign);
        assert_eq!(tree.purge("x.md", &[digest(b"first"), digest(b"second")], true).unwrap(), Outcome::Done);
        assert_eq!(fs::read_dir(dir.path().join(".trash")).unwrap().count(), 0);
    }

    #[test]
    fn a_link_out_of_the_tree_is_refused() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(outside.path(), dir.path().join("out")).unwrap();
        let tree = Tree::new(dir.path());
        assert!(tree.put("out/deep/x.md", "text", &[], 1).is_err());
        fs::write(dir.path().join("mine.md"), "mine").unwrap();
        assert_eq!(tree.trash("mine.md", &[], true).unwrap(), Outcome::Foreign);
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
