//! Making one file be as it should.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::beneath::Root;
use super::late::{Late, Save};
use super::own::Own;
use super::spot::{Looked, Owner, Seen, Spot, keep_mode_and_owner};
use super::swap::{exchange, rename_new};

/// How often a file is tried that another program changes at the same time.
const TRIES: usize = 8;

/// How an attempt on a file ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The file is as it should be.
    Done,
    /// Somebody else changed it; it was left alone.
    Foreign,
    /// Somebody else emptied it, and may be about to write it; it was left alone.
    Emptied,
}

/// The directory of one source.
///
/// A file is written beside its place and exchanged with what is there; what comes out is looked at before it is removed. So
/// a save of another program is never overwritten, however close it comes.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    pub(super) late: Late,
}

impl Tree {
    /// The tree below `root`, which need not exist yet.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), late: Late::default() }
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

    /// Saves of other programs that are in no file any more, because brain wrote at the same time. Each is given once.
    #[must_use]
    pub fn late_saves(&self) -> Vec<Save> {
        self.late.take()
    }

    /// Makes the file at `path` hold `text`, with the mode and the owner of the file that is there. `tag` keeps temporary files
    /// apart.
    ///
    /// # Errors
    /// When the disk refuses; the file is as it was then.
    pub fn put(&self, path: &str, text: &str, own: &Own<'_>, tag: u64) -> io::Result<Outcome> {
        for _ in 0..TRIES {
            let (spot, seen) = match self.spot(path)? {
                Some(spot) => {
                    let seen = spot.look()?;
                    (spot, seen)
                }
                None => (self.make_spot(path)?, Seen::Nothing),
            };
            let former = match seen {
                Seen::Nothing => None,
                Seen::File(found) if found.bytes == text.as_bytes() => return Ok(Outcome::Done),
                Seen::File(found) if own.has(&found.bytes) => Some(found.owner),
                Seen::File(found) if found.bytes.is_empty() => return Ok(Outcome::Emptied),
                Seen::File(_) | Seen::Other => return Ok(Outcome::Foreign),
            };
            let new = self.stage(&spot, path, text, former, own, tag)?;
            let placed = match former {
                None => rename_new(&spot.dir, &new.name, &spot.dir, &spot.name),
                Some(_) => exchange(&spot.dir, &new.name, &spot.name),
            };
            match placed {
                Ok(()) if former.is_none() => return Ok(Outcome::Done),
                Ok(()) => return self.inspect(&spot, &new, (path, tag), text, own),
                Err(e) => {
                    let _ = new.remove();
                    // It came or went since it was looked at.
                    if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) {
                        return Err(e);
                    }
                }
            }
        }
        Err(io::Error::other("other programs change it again and again"))
    }

    /// Looks at what came out of a page's place, and is at `out` now. What is not ours goes back, and ours goes again.
    fn inspect(
        &self,
        spot: &Spot,
        out: &Spot,
        (path, tag): (&str, u64),
        text: &str,
        own: &Own<'_>,
    ) -> io::Result<Outcome> {
        let mut came = match out.look()? {
            Seen::File(found) if own.has(&found.bytes) => {
                self.discard(out, path, tag, found)?;
                return Ok(Outcome::Done);
            }
            seen => seen,
        };
        // What was put in last, as far as it is known.
        let mut there = Some(text.as_bytes().to_vec());
        for _ in 0..TRIES {
            match exchange(&out.dir, &out.name, &spot.name) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    // Somebody removed ours: theirs goes back all the same.
                    match rename_new(&out.dir, &out.name, &spot.dir, &spot.name) {
                        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                        other => other?,
                    }
                    return Ok(Outcome::Foreign);
                }
                other => other?,
            }
            let next = out.look()?;
            match next {
                Seen::File(found) if there.as_ref() == Some(&found.bytes) => {
                    if found.bytes != text.as_bytes() {
                        self.late.add(tag, path, found.bytes.clone());
                    }
                    self.discard(out, path, tag, found)?;
                    return Ok(match came {
                        Seen::File(found) if found.bytes.is_empty() => Outcome::Emptied,
                        _ => Outcome::Foreign,
                    });
                }
                Seen::Nothing => return Ok(Outcome::Foreign),
                // A newer save came in between: it goes back in its turn.
                _ => {
                    there = match came {
                        Seen::File(found) => Some(found.bytes),
                        _ => None,
                    };
                    came = next;
                }
            }
        }
        if let Seen::File(found) = came {
            self.late.add(tag, path, found.bytes.clone());
            self.discard(out, path, tag, found)?;
        }
        Ok(Outcome::Foreign)
    }

    /// Puts on the disk itself whatever was written below the tree, so that a power loss cannot take it.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn sync(&self) -> io::Result<()> {
        match File::open(&self.root) {
            Ok(root) => Ok(rustix::fs::syncfs(&root)?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Removes a temporary file that was looked at. A program that still has it open may yet write to it.
    pub(super) fn discard(
        &self,
        out: &Spot,
        path: &str,
        tag: u64,
        found: Looked,
    ) -> io::Result<()> {
        out.remove()?;
        self.late.watch(tag, path, found.file, &found.bytes);
        Ok(())
    }

    /// Removes a temporary file that a kill left. It may be somebody's save that had just come out of its place.
    pub(super) fn clear(
        &self,
        temporary: &Spot,
        path: &str,
        own: &Own<'_>,
        tag: u64,
    ) -> io::Result<()> {
        match temporary.look()? {
            Seen::Nothing => return Ok(()),
            Seen::File(found) if !own.has_temporary(&found.bytes) => {
                self.late.add(tag, path, found.bytes)
            }
            Seen::File(_) | Seen::Other => {}
        }
        temporary.remove()
    }

    /// Writes `text` beside its place, with the mode and the owner of the file that it replaces.
    fn stage(
        &self,
        spot: &Spot,
        path: &str,
        text: &str,
        former: Option<Owner>,
        own: &Own<'_>,
        tag: u64,
    ) -> io::Result<Spot> {
        let new = spot.beside(tag);
        let mut file = match new.create() {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                self.clear(&new, path, own, tag)?;
                new.create()?
            }
            other => other?,
        };
        let written = file.write_all(text.as_bytes()).and_then(|()| match former {
            Some(former) => keep_mode_and_owner(&file, former),
            None => Ok(()),
        });
        if let Err(e) = written {
            let _ = new.remove();
            return Err(e);
        }
        Ok(new)
    }

    /// The place of a file; `None` when its directory is not there.
    pub(super) fn spot(&self, path: &str) -> io::Result<Option<Spot>> {
        let (dir, name) = parts(path);
        match Root::open(&self.root).and_then(|root| root.dir(dir)) {
            Ok(dir) => Ok(Some(Spot::new(dir, name))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The place of a file, whose directory is made. The directory above the tree must be there: else it was moved away.
    pub(super) fn make_spot(&self, path: &str) -> io::Result<Spot> {
        let (dir, name) = parts(path);
        let root = match Root::open(&self.root) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                std::fs::create_dir(&self.root)?;
                Root::open(&self.root)?
            }
            other => other?,
        };
        Ok(Spot::new(root.make_dir(dir)?, name))
    }
}

/// The directory and the name of a path.
fn parts(path: &str) -> (&Path, &str) {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    (Path::new(dir), name)
}
