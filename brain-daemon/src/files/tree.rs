//! Making one file be as it should.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The directory, beside the pages, that deleted files go to.
pub const TRASH: &str = ".trash";

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
#[derive(Debug, Clone)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The tree below `root`, which need not exist yet.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
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
            Seen::File(found) if ours.contains(&found) => false,
            Seen::File(_) | Seen::Other => return Ok(Outcome::Foreign),
        };
        if !there {
            let dir = place.parent().unwrap_or(&self.root);
            self.make_dir(dir)?;
            let temporary = dir.join(format!(".brain-{tag}.tmp"));
            let written = fs::File::create(&temporary)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .and_then(|()| fs::rename(&temporary, &place));
            if let Err(error) = written {
                let _ = fs::remove_file(&temporary);
                return Err(error);
            }
        }
        // A copy in the trash is what a restore came from; a crash may have left it beside the file.
        let trashed = self.trash_place(path);
        if let Seen::File(found) = look(&trashed)?
            && (ours.contains(&found) || found == digest(text.as_bytes()))
        {
            fs::remove_file(&trashed)?;
        }
        Ok(Outcome::Done)
    }

    /// Moves the file to the trash. Whoever changed it finds it there, as they left it.
    ///
    /// # Errors
    /// What the disk says; the file is where it was then.
    pub fn trash(&self, path: &str) -> io::Result<Outcome> {
        let place = self.place(path);
        match look(&place)? {
            Seen::Nothing => return Ok(Outcome::Done),
            Seen::Other => return Ok(Outcome::Foreign),
            Seen::File(_) => {}
        }
        let mut target = self.trash_place(path);
        if let Some(dir) = target.parent() {
            self.make_dir(dir)?;
        }
        for n in 1_u32.. {
            match look(&target)? {
                Seen::Nothing => break,
                _ => target = self.trash_place(&format!("{path}~{n}")),
            }
        }
        fs::rename(&place, &target)?;
        Ok(Outcome::Done)
    }

    /// Removes the file from the trash, if it is ours.
    ///
    /// # Errors
    /// What the disk says.
    pub fn purge(&self, path: &str, ours: &[[u8; 32]]) -> io::Result<Outcome> {
        let place = self.trash_place(path);
        match look(&place)? {
            Seen::Nothing => Ok(Outcome::Done),
            Seen::File(found) if ours.contains(&found) => {
                fs::remove_file(&place)?;
                Ok(Outcome::Done)
            }
            _ => Ok(Outcome::Foreign),
        }
    }

    fn trash_place(&self, path: &str) -> PathBuf {
        self.root.join(TRASH).join(path)
    }

    /// Makes `dir`, and refuses one that a link leads out of the tree.
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        if dir == self.root || dir.canonicalize()?.starts_with(self.root.canonicalize()?) {
            return Ok(());
        }
        Err(io::Error::other(format!("{} leads out of {}", dir.display(), self.root.display())))
    }
}

enum Seen {
    Nothing,
    File([u8; 32]),
    /// A link, a directory: nothing that we made.
    Other,
}

fn look(place: &Path) -> io::Result<Seen> {
    match fs::symlink_metadata(place) {
        Ok(meta) if meta.is_file() => Ok(Seen::File(digest(&fs::read(place)?))),
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
        assert!(tree.place("x.md").exists() && !dir.path().join(".trash/x.md").exists());
    }

    #[test]
    fn the_trash_keeps_what_it_has() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::new(dir.path());
        for text in ["first", "second"] {
            tree.put("x.md", text, &[], 1).unwrap();
            tree.trash("x.md").unwrap();
        }
        assert_eq!(fs::read_to_string(dir.path().join(".trash/x.md")).unwrap(), "first");
        assert_eq!(fs::read_to_string(dir.path().join(".trash/x.md~1")).unwrap(), "second");
        assert_eq!(tree.purge("x.md", &[digest(b"other")]).unwrap(), Outcome::Foreign);
        assert_eq!(tree.purge("x.md", &[digest(b"first")]).unwrap(), Outcome::Done);
        assert!(!dir.path().join(".trash/x.md").exists());
    }

    #[test]
    fn a_link_out_of_the_tree_is_refused() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(outside.path(), dir.path().join("out")).unwrap();
        let tree = Tree::new(dir.path());
        assert!(tree.put("out/x.md", "text", &[], 1).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
