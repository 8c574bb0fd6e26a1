//! A copy of the store while writing goes on.
//!
//! One read transaction is the moment of the copy: all tables are copied from it, row by row, into a fresh file, which so
//! has no gaps and no leftovers. Writers go on meanwhile; redb only cannot use again, until the copy is done, what they
//! free. The copy is made beside its place under a name of its own, flushed, read back, and published without ever
//! replacing a file.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use brain_protocol::{Fault, FaultCode};
use redb::backends::FileBackend;
use redb::{
    Database, Key, ReadTransaction, ReadableTableMetadata, TableDefinition, TableHandle, Value,
};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::error::naming_damage;
use super::verify::{Digest, Sound, verify_against};
use super::{Store, StoreError, tables as t};

/// Rows that share a commit of the copy, and about how many bytes: bounds the memory.
const CHUNK_ROWS: usize = 50_000;
const CHUNK_BYTES: usize = 8_000_000;

/// The cache of the file that is written.
const CACHE_BYTES: usize = 8_000_000;

/// What a copy ends with until it is whole.
const UNFINISHED: &str = ".brain-backup";

/// Hears how far long work is, in rows, and says whether to go on.
pub(super) type Heard<'a> = &'a dyn Fn(u64, u64) -> bool;

impl Store {
    /// Copies the store to `target`, which must not exist, as it is at this moment, and reads the copy back.
    ///
    /// # Errors
    /// `conflict` when something is at `target`; `cancelled` when `heard` says stop; what the disk says, with the place. No
    /// file is left then.
    pub fn back_up(&self, target: &Path, now: i64, heard: Heard<'_>) -> Result<Sound, StoreError> {
        self.back_up_past(target, now, heard, &|_| ())
    }

    /// The same, and `between` sees the written copy before it is read back: where a disk may do harm.
    pub(super) fn back_up_past(
        &self,
        target: &Path,
        now: i64,
        heard: Heard<'_>,
        between: &dyn Fn(&Path),
    ) -> Result<Sound, StoreError> {
        if fs::symlink_metadata(target).is_ok() {
            return Err(taken(target).into());
        }
        sweep(target);
        // Writes only when items wait in the spool: a home that was moved can still be backed up. A
        // refusal is one of the store, and not of the place of the copy.
        naming_damage(self.path(), || self.read_queue().map(drop))
            .map_err(|e| StoreError::from(Fault::from(e)))?;
        let room = || self.check_room_for(target);
        let made_at = [(t::META_MADE_AT, now.unsigned_abs())];
        let (copy, sound) =
            copy_whole(self.snapshot()?, self.path(), target, &made_at, heard, &room, between)?;
        copy.publish(target)?;
        Ok(sound)
    }
}

/// Copies the store behind `from` to an unfinished file beside `target`, with `marks` as numbers
/// about the store, and reads the copy back. `between` sees it before that.
///
/// # Errors
/// As [`Store::back_up`]; no file is left then.
pub(super) fn copy_whole(
    from: impl Deref<Target = ReadTransaction>,
    store: &Path,
    target: &Path,
    marks: &[(&str, u64)],
    heard: Heard<'_>,
    room: &dyn Fn() -> Result<(), StoreError>,
    between: &dyn Fn(&Path),
) -> Result<(Unfinished, Sound), StoreError> {
    let unfinished = Unfinished::new(target)?;
    // Until it has its name: a sweep takes what nobody holds. Where there are no locks the maker's
    // number has to do.
    let _ = unfinished.file.try_lock();
    let (rows, digest) =
        Copy { from: &from, store, place: target, heard, room }.run(&unfinished, marks)?;
    drop(from);
    between(&unfinished.path);
    // redb gave the lock back; reading wants to share it.
    let _ = unfinished.file.try_lock_shared();
    let sound =
        verify_against(&unfinished.path, &|done, _| heard(rows + done, 2 * rows), Some(digest))
            .map_err(|e| renamed(e, &unfinished.path, target))?;
    if sound.rows != rows {
        let message =
            format!("{}: {} rows of {rows} are in the copy", target.display(), sound.rows);
        return Err(StoreError::Damaged(message));
    }
    Ok((unfinished, sound))
}

/// One run of copying.
struct Copy<'a> {
    from: &'a ReadTransaction,
    store: &'a Path,
    place: &'a Path,
    heard: Heard<'a>,
    room: &'a dyn Fn() -> Result<(), StoreError>,
}

impl Copy<'_> {
    /// Copies every table and leaves the file flushed and closed; the number of rows, and their digest.
    fn run(
        &self,
        unfinished: &Unfinished,
        marks: &[(&str, u64)],
    ) -> Result<(u64, [u8; 32]), StoreError> {
        let file = unfinished.file.try_clone().map_err(|e| self.io(&e))?;
        let mut to = FileBackend::new(file)
            .and_then(|file| {
                Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(file)
            })
            .map_err(|e| self.there(e))?;
        let mut total = 0;
        let mut known = Vec::new();
        macro_rules! measure {
            ($($table:ident),*) => {$(
                total += self.read(|| Ok(self.from.open_table(t::$table)?.len()?))?;
                known.push(t::$table.name());
            )*};
        }
        t::every_table!(measure);
        for table in self.read(|| Ok(self.from.list_tables()?))? {
            if !known.contains(&table.name()) {
                let message = format!(
                    "the store has a table \"{}\" that a backup does not know",
                    table.name()
                );
                return Err(Fault::new(FaultCode::Internal, message)
                    .hint("please report it")
                    .into());
            }
        }
        let (mut done, mut digest) = (0, Digest::default());
        macro_rules! copy {
            ($($table:ident),*) => {$( self.table(&to, t::$table, &mut done, total, &mut digest)?; )*};
        }
        t::every_table!(copy);
        let mut last = to.begin_write().map_err(|e| self.there(e))?;
        // Opened later without a walk through the file.
        last.set_quick_repair(true);
        // A store that was put in its place by hand may be a backup itself, and have marks of its
        // own.
        let mut added = 0;
        {
            let mut meta = last.open_table(t::META).map_err(|e| self.there(e))?;
            for (key, number) in marks {
                let before = meta.insert(*key, *number).map_err(|e| self.there(e))?;
                added += u64::from(before.is_none());
            }
        }
        last.commit().map_err(|e| self.there(e))?;
        // The file grew in large steps; what is free at its end goes.
        to.compact().map_err(|e| self.there(e))?;
        drop(to);
        unfinished.file.sync_all().map_err(|e| self.io(&e))?;
        Ok((total + added, digest.end()))
    }

    fn table<K: Key + 'static, V: Value + 'static>(
        &self,
        to: &Database,
        definition: TableDefinition<'static, K, V>,
        done: &mut u64,
        total: u64,
        digest: &mut Digest,
    ) -> Result<(), StoreError> {
        let mut rows =
            self.read(|| Ok(self.from.open_table(definition)?.range::<K::SelfType<'_>>(..)?))?;
        let mut more = true;
        while more {
            (self.room)()?;
            let txn = to.begin_write().map_err(|e| self.there(e))?;
            {
                let mut copy = txn.open_table(definition).map_err(|e| self.there(e))?;
                let mut bytes = 0;
                for n in 0.. {
                    if n % 256 == 0 && !(self.heard)(*done, 2 * total) {
                        return Err(gave_up(self.place).into());
                    }
                    if n == CHUNK_ROWS || bytes > CHUNK_BYTES {
                        break;
                    }
                    let row = self.read(|| {
                        let Some((key, value)) = rows.next().transpose()? else { return Ok(None) };
                        bytes += V::as_bytes(&value.value()).as_ref().len();
                        digest.row(&definition, &key.value(), &value.value());
                        Ok(Some((key, value)))
                    })?;
                    let Some((key, value)) = row else {
                        more = false;
                        break;
                    };
                    copy.insert(key.value(), value.value()).map_err(|e| self.there(e))?;
                    *done += 1;
                }
            }
            txn.commit().map_err(|e| self.there(e))?;
        }
        Ok(())
    }

    /// Reads from the store, whose damage is told apart from that of the copy.
    fn read<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        naming_damage(self.store, work)
    }

    /// A failure of the copy, with its place: the store itself is well.
    fn there(&self, error: impl Into<redb::Error>) -> StoreError {
        match error.into() {
            redb::Error::Io(e) => self.io(&e),
            redb::Error::Corrupted(what) => {
                StoreError::Damaged(format!("{}: {what}", self.place.display()))
            }
            e => StoreError::Io(format!("{}: {e}", self.place.display())),
        }
    }

    fn io(&self, error: &io::Error) -> StoreError {
        StoreError::from_io(error, &self.place.display().to_string())
    }
}

/// "Somebody does not wait any more", for work at `place`.
pub(super) fn gave_up(place: &Path) -> Fault {
    Fault::new(FaultCode::Cancelled, format!("{}: given up before it was done", place.display()))
        .hint("nothing was left behind; ask again")
}

/// "There is something already."
pub(super) fn taken(target: &Path) -> Fault {
    let fault = Fault::new(FaultCode::Conflict, format!("{} is already there", target.display()));
    match target.is_dir() {
        true => {
            fault.hint(format!("name a file in it: `brain backup {}/brain.redb`", target.display()))
        }
        false => fault.hint("a backup never replaces a file: choose another name"),
    }
}

/// The same failure with the name that the user knows.
pub(super) fn renamed(error: StoreError, from: &Path, to: &Path) -> StoreError {
    let place = to.display().to_string();
    let swap = |text: String| {
        let text = text.replace(&from.display().to_string(), &place);
        // The disk itself names no file.
        text.strip_prefix("store: ").map(|what| format!("{place}: {what}")).unwrap_or(text)
    };
    match error {
        StoreError::Damaged(text) => StoreError::Damaged(swap(text)),
        StoreError::DiskFull(text) => StoreError::DiskFull(swap(text)),
        StoreError::SizeLimit(text) => StoreError::SizeLimit(swap(text)),
        StoreError::ReadOnly(text) => StoreError::ReadOnly(swap(text)),
        StoreError::Io(text) => StoreError::Io(swap(text)),
        StoreError::Refused(fault) => {
            StoreError::Refused(Fault { message: swap(fault.message), ..fault })
        }
        other => other,
    }
}

/// A file in the making, beside its place, for nobody but the owner. Gone when this goes, unless it was published.
pub(super) struct Unfinished {
    /// Where it is until then.
    pub(super) path: PathBuf,
    file: File,
}

impl Unfinished {
    /// An empty file beside `target`.
    pub(super) fn new(target: &Path) -> Result<Self, StoreError> {
        let place = target.display().to_string();
        let name = target.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| {
            Fault::new(FaultCode::Usage, format!("\"{place}\" does not name a file"))
                .hint("brain backup FILE")
        })?;
        for n in 0..1000 {
            let path =
                target.with_file_name(format!(".{name}.{}-{n}{UNFINISHED}", std::process::id()));
            match File::options().read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok(Self { path, file }),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) if e.kind() == ErrorKind::NotFound => {
                    let dir = target.parent().unwrap_or(target).display().to_string();
                    return Err(Fault::new(
                        FaultCode::Io,
                        format!("{place}: there is no directory {dir}"),
                    )
                    .hint(format!("mkdir -p {dir}"))
                    .into());
                }
                Err(e) => return Err(StoreError::from_io(&e, &place)),
            }
        }
        Err(StoreError::Io(format!("{place}: too many unfinished copies beside it")))
    }

    /// Gives the file its name, if nothing has that name, for good.
    pub(super) fn publish(self, target: &Path) -> Result<(), StoreError> {
        let io = |e: &io::Error| StoreError::from_io(e, &target.display().to_string());
        match renameat_with(CWD, &self.path, CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(taken(target).into()),
            // Not every file system can do that; a link never replaces either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                match fs::hard_link(&self.path, target) {
                    Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                        return Err(taken(target).into());
                    }
                    other => other.map_err(|e| io(&e))?,
                }
            }
            Err(e) => return Err(io(&e.into())),
        }
        flush_dir_of(target).map_err(|e| io(&e))
    }

    /// Puts the file, with this mode, in the place of the one at `target`, for good.
    pub(super) fn replace(self, target: &Path, mode: fs::Permissions) -> Result<(), StoreError> {
        self.file
            .set_permissions(mode)
            .and_then(|()| self.file.sync_all())
            .and_then(|()| fs::rename(&self.path, target))
            .and_then(|()| flush_dir_of(target))
            .map_err(|e| StoreError::from_io(&e, &target.display().to_string()))
    }
}

/// Flushes the directory of the file at `place`, so that its name lasts.
fn flush_dir_of(place: &Path) -> io::Result<()> {
    let dir = place.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After it was renamed there is nothing under this name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what copies to `target` left that were killed: ours by name, and in nobody's hands.
pub(super) fn sweep(target: &Path) {
    if let (Some(dir), Some(name)) =
        (target.parent(), target.file_name().and_then(|name| name.to_str()))
    {
        sweep_unfinished(dir, |of| of == name);
    }
}

/// Removes from `dir` what killed copies left whose file was to have a name that `is_ours` accepts.
pub fn sweep_unfinished(dir: &Path, is_ours: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Some(maker) = entry.file_name().to_str().and_then(|found| maker(found, &is_ours))
        else {
            continue;
        };
        // In a container every daemon has the same number: the lock tells whether it is this one that writes.
        let away = maker == std::process::id().cast_signed()
            || rustix::process::Pid::from_raw(maker)
                .is_none_or(|pid| rustix::process::test_kill_process(pid) == Err(Errno::SRCH));
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if away && is_file && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            match fs::remove_file(entry.path()) {
                Ok(()) => tracing::info!(file = %entry.path().display(), "unfinished copy removed"),
                Err(error) => {
                    tracing::warn!(%error, file = %entry.path().display(), "unfinished copy stays")
                }
            }
        }
    }
}

/// The number of the process that made the unfinished copy `found`, if that is one of a file that `is_ours` accepts.
fn maker(found: &str, is_ours: impl Fn(&str) -> bool) -> Option<i32> {
    let (name, numbers) = found.strip_prefix('.')?.strip_suffix(UNFINISHED)?.rsplit_once('.')?;
    let number =
        |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<i32>().ok())?;
    let (pid, n) = numbers.split_once('-')?;
    is_ours(name).then(|| number(n).and(number(pid)))?
}

/// Whether two places are on one disk.
pub(super) fn one_disk(a: &Path, b: &Path) -> bool {
    matches!((fs::metadata(a), fs::metadata(b)), (Ok(a), Ok(b)) if a.dev() == b.dev())
}
