//! The trash: where the files of deleted pages go, come back from, and are purged.

use std::io::{self, Write};
use std::path::PathBuf;

use super::late::Save;
use super::own::Own;
use super::spot::Seen;
use super::swap::rename_new;
use super::tree::{Outcome, Tree};

/// The directory, beside the pages, that deleted files go to.
pub const TRASH: &str = ".trash";

impl Tree {
    /// After a restore: removes the copy in the trash that it came from. A crash may have left it beside the file.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn untrash(&self, path: &str, text: &str, own: &Own<'_>, tag: u64) -> io::Result<()> {
        for trashed in self.trash_places(path)? {
            self.remove(&trashed, tag, |bytes| own.has(bytes) || bytes == text.as_bytes())?;
        }
        Ok(())
    }

    /// Whether the file at `path` is one that `same` accepts by its bytes. When there is none, such a one comes back from the
    /// trash as it is.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn keep(&self, path: &str, same: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        if let Some(spot) = self.spot(path)? {
            match spot.look()? {
                Seen::Nothing => {}
                Seen::File(found) => return Ok(same(&found.bytes)),
                Seen::Other => return Ok(false),
            }
        }
        for trashed in self.trash_places(path)?.into_iter().rev() {
            let Some(from) = self.spot(&trashed)? else { continue };
            if matches!(from.look()?, Seen::File(found) if same(&found.bytes)) {
                let to = self.make_spot(path)?;
                match rename_new(&from.dir, &from.name, &to.dir, &to.name) {
                    // Another program's, which came a moment ago.
                    Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                    other => other?,
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves the page's file to the trash. One that was changed since we wrote it goes there as it is, for its author to
    /// find; when we never wrote it (`strict`), only a file of our own is moved.
    ///
    /// # Errors
    /// When the disk refuses; the file is where it was then.
    pub fn trash(&self, path: &str, own: &Own<'_>, strict: bool) -> io::Result<Outcome> {
        let Some(spot) = self.spot(path)? else { return Ok(Outcome::Done) };
        match spot.look()? {
            Seen::Nothing => return Ok(Outcome::Done),
            Seen::Other => return Ok(Outcome::Foreign),
            Seen::File(found) if strict && !own.has(&found.bytes) => return Ok(Outcome::Foreign),
            Seen::File(_) => {}
        }
        let mut n = self.trash_places(path)?.len();
        loop {
            let trashed = self.make_spot(&trash_place(path, n))?;
            match rename_new(&spot.dir, &spot.name, &trashed.dir, &trashed.name) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => n += 1,
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Outcome::Done),
                Err(e) => return Err(e),
                Ok(()) if !strict => return Ok(Outcome::Done),
                // It may have been saved since it was looked at.
                Ok(()) => match trashed.look()? {
                    Seen::File(found) if own.has(&found.bytes) => return Ok(Outcome::Done),
                    Seen::Nothing => return Ok(Outcome::Done),
                    _ => {
                        match rename_new(&trashed.dir, &trashed.name, &spot.dir, &spot.name) {
                            // There is a newer one already; this one is found in the trash.
                            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                            other => other?,
                        }
                        return Ok(Outcome::Foreign);
                    }
                },
            }
        }
    }

    /// Removes what is ours of a page's file from the trash, and from its place if it never got to the trash
    /// (`everywhere`).
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn purge(
        &self,
        path: &str,
        own: &Own<'_>,
        everywhere: bool,
        tag: u64,
    ) -> io::Result<Outcome> {
        let mut outcome = Outcome::Done;
        for trashed in self.trash_places(path)? {
            // A power loss leaves empty ones, and nobody writes there.
            if !self.remove(&trashed, tag, |bytes| own.has(bytes) || bytes.is_empty())? {
                outcome = Outcome::Foreign;
            }
        }
        if everywhere && !self.remove(path, tag, |bytes| own.has(bytes))? {
            outcome = Outcome::Foreign;
        }
        Ok(outcome)
    }

    /// After an end without a flush: removes temporary files of the page, and what is torn or double in the trash. A file
    /// that is to be in the trash is made whole there.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn recover(
        &self,
        path: &str,
        text: &str,
        own: &Own<'_>,
        trashed: bool,
        tag: u64,
    ) -> io::Result<()> {
        for place in [path.to_owned(), trash_place(path, 0)] {
            if let Some(spot) = self.spot(&place)? {
                self.clear(&spot.beside(tag), path, own, tag)?;
            }
        }
        if !trashed {
            return Ok(());
        }
        let at_place = match self.spot(path)? {
            Some(spot) => spot.look()?,
            None => Seen::Nothing,
        };
        let is_gone = matches!(at_place, Seen::Nothing);
        let at_place = matches!(at_place, Seen::File(found) if own.has(&found.bytes));
        let mut whole = at_place;
        for place in self.trash_places(path)? {
            let Some(spot) = self.spot(&place)? else { continue };
            let Seen::File(found) = spot.look()? else { continue };
            match own.has(&found.bytes) {
                true if whole => _ = self.remove(&place, tag, |bytes| own.has(bytes))?,
                true => {
                    self.put(&place, text, own, tag)?;
                    whole = true;
                }
                false => {}
            }
        }
        if at_place {
            self.put(path, text, own, tag)?;
        }
        if is_gone && !whole {
            // Neither name was on the disk.
            let (path, bytes) = (path.to_owned(), text.as_bytes().to_vec());
            self.keep_in_trash(&Save { tag, path, bytes })?;
        }
        Ok(())
    }

    /// Keeps in the trash what another program saved and can be nothing else.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn keep_in_trash(&self, save: &Save) -> io::Result<PathBuf> {
        let mut n = self.trash_places(&save.path)?.len();
        loop {
            let place = trash_place(&save.path, n);
            let spot = self.make_spot(&place)?;
            match spot.create() {
                Ok(mut file) => {
                    file.write_all(&save.bytes)?;
                    return Ok(self.place(&place));
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => n += 1,
                Err(e) => return Err(e),
            }
        }
    }

    /// The places in the trash that are taken for `path`.
    fn trash_places(&self, path: &str) -> io::Result<Vec<String>> {
        let mut places = Vec::new();
        let Some(first) = self.spot(&trash_place(path, 0))? else { return Ok(places) };
        if first.is_taken(&first.name) {
            places.push(trash_place(path, 0));
        }
        for n in 1.. {
            if !first.is_taken(&format!("{}~{n}", first.name)) {
                break;
            }
            // The first one counts, though it is gone.
            if n == 1 && places.is_empty() {
                places.push(trash_place(path, 0));
            }
            places.push(trash_place(path, n));
        }
        Ok(places)
    }

    /// Removes a file that `ours` accepts by its bytes; whether nothing else is there. It is taken away before it is looked at
    /// for the last time, so that a save in between goes back to its place.
    fn remove(&self, path: &str, tag: u64, ours: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        let Some(spot) = self.spot(path)? else { return Ok(true) };
        match spot.look()? {
            Seen::Nothing => return Ok(true),
            Seen::File(found) if ours(&found.bytes) => {}
            Seen::File(_) | Seen::Other => return Ok(false),
        }
        let out = spot.beside(tag);
        match rename_new(&spot.dir, &spot.name, &out.dir, &out.name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(true),
            other => other?,
        }
        match out.look()? {
            Seen::File(found) if ours(&found.bytes) => {
                self.discard(&out, path, tag, found)?;
                return Ok(true);
            }
            Seen::Nothing => return Ok(true),
            seen => match rename_new(&out.dir, &out.name, &spot.dir, &spot.name) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                    if let Seen::File(found) = seen {
                        self.late.add(tag, path, found.bytes.clone());
                        self.discard(&out, path, tag, found)?;
                    }
                }
                other => other?,
            },
        }
        Ok(false)
    }
}

/// The `n`th place in the trash for a file that may be deleted more than once.
fn trash_place(path: &str, n: usize) -> String {
    if n == 0 { format!("{TRASH}/{path}") } else { format!("{TRASH}/{path}~{n}") }
}
