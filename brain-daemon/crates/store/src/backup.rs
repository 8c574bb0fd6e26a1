//! Backups: copies the store while writes continue.
//!
//! A backup copies all tables row by row from one read transaction into a new file, which therefore
//! has no gaps. Writers continue meanwhile, but redb cannot reuse the space that they free. The
//! copy is written to a temporary file, flushed, read back, and renamed without replacing a file.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;
use redb::{
    Database, Key, ReadTransaction, ReadableTableMetadata, TableDefinition, TableHandle, Value,
};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::error::with_damage_report;
use super::files::AttachmentFiles;
use super::verify::{Digest, VerifyReport, verify_against};
use super::{Store, StoreError, attachments, tables as t};

/// Maximum rows in a commit of the copy; limits memory.
const CHUNK_ROWS: usize = 50_000;
/// Approximate maximum bytes in a commit of the copy; limits memory.
const CHUNK_BYTES: usize = 8_000_000;

/// Cache size for the copy, in bytes.
const CACHE_BYTES: usize = 8_000_000;

/// Suffix of an incomplete copy.
const UNFINISHED: &str = ".brain-backup";

/// Receives progress as rows done and rows in total; returns whether to continue. Each row counts
/// twice: when it is copied, and when it is read back.
pub(super) type Progress<'a> = &'a dyn Fn(u64, u64) -> bool;

impl Store {
    /// Copies the store as of now to `target`, which must not exist, and reads the copy back.
    ///
    /// # Errors
    /// [`StoreError::TargetExists`] when `target` exists; [`StoreError::NoDirectory`] when its
    /// directory does not; [`StoreError::Cancelled`] when `progress` returns `false`;
    /// [`StoreError::Damaged`] when the store or the copy is damaged; errors of the disk, with the
    /// path. No file is left then.
    pub fn back_up(
        &self,
        target: &Path,
        now: i64,
        progress: Progress<'_>,
    ) -> Result<VerifyReport, StoreError> {
        self.back_up_with_hook(target, now, progress, &|_| ())
    }

    /// As [`Store::back_up`]. Tests change the copy in `between`, before it is read back.
    pub(super) fn back_up_with_hook(
        &self,
        target: &Path,
        now: i64,
        progress: Progress<'_>,
        between: &dyn Fn(&Path),
    ) -> Result<VerifyReport, StoreError> {
        if fs::symlink_metadata(target).is_ok() {
            return Err(StoreError::TargetExists(target.to_owned()));
        }
        sweep(target);
        // Writes only when jobs are in the spool, so a read-only home can be backed up. An error
        // here is one of the store, not of the target.
        with_damage_report(self.path(), || self.read_queue().map(drop))
            .map_err(|e| StoreError::BackupSource(Box::new(e)))?;
        let check_space = || self.check_free_space_for(target);
        let plan = CopyPlan {
            store: self.path(),
            target,
            metadata: &[(t::META_MADE_AT, now.unsigned_abs())],
            attachments: Some(self.attachments()),
            progress,
            check_space: &check_space,
        };
        let (copy, report) = copy_whole(self.snapshot()?, &plan, between)?;
        copy.publish(target)?;
        Ok(report)
    }
}

/// What a copy of a store contains, and where it goes.
pub(super) struct CopyPlan<'a> {
    /// The copied store, for messages.
    pub(super) store: &'a Path,
    /// The path of the complete copy.
    pub(super) target: &'a Path,
    /// Keys and numbers to add to the copy's table of metadata.
    pub(super) metadata: &'a [(&'a str, u64)],
    /// The files to add to the copy; `None` for a copy in the same directory, which has them
    /// already.
    pub(super) attachments: Option<&'a AttachmentFiles>,
    pub(super) progress: Progress<'a>,
    /// Called before each commit of the copy.
    pub(super) check_space: &'a dyn Fn() -> Result<(), StoreError>,
}

/// Copies the store that `from` reads to a temporary file beside the target, calls `between`, and
/// reads the copy back.
///
/// # Errors
/// As [`Store::back_up`]; no file is left then.
pub(super) fn copy_whole(
    from: impl Deref<Target = ReadTransaction>,
    plan: &CopyPlan<'_>,
    between: &dyn Fn(&Path),
) -> Result<(TemporaryFile, VerifyReport), StoreError> {
    let (target, progress) = (plan.target, plan.progress);
    let temporary = TemporaryFile::new(target)?;
    // A sweep removes incomplete copies that no process has locked. On file systems without locks,
    // the process id in the name decides.
    let _ = temporary.file.try_lock();
    let (rows, digest) = Copy { from: &from, plan }.run(&temporary)?;
    drop(from);
    between(&temporary.path);
    // redb released the lock; reading needs a shared one.
    let _ = temporary.file.try_lock_shared();
    let report =
        verify_against(&temporary.path, &|done, _| progress(rows + done, 2 * rows), Some(digest))
            .map_err(|e| with_target_path(e, &temporary.path, target))?;
    if report.rows != rows {
        let message =
            format!("{}: {} rows of {rows} are in the copy", target.display(), report.rows);
        return Err(StoreError::Damaged(message));
    }
    Ok((temporary, report))
}

/// A copy that is being made.
struct Copy<'a> {
    from: &'a ReadTransaction,
    plan: &'a CopyPlan<'a>,
}

impl Copy<'_> {
    /// Copies all tables and the attachments to the temporary file and flushes it. Returns the
    /// number of rows and their digest.
    fn run(&self, temporary: &TemporaryFile) -> Result<(u64, [u8; 32]), StoreError> {
        let file = temporary.file.try_clone().map_err(|e| self.io(&e))?;
        let mut to = FileBackend::new(file)
            .and_then(|file| {
                Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(file)
            })
            .map_err(|e| self.copy_error(e))?;
        let mut total = 0;
        let mut copied_tables = Vec::new();
        macro_rules! measure {
            ($($table:ident),*) => {$(
                total += self.read(|| Ok(self.from.open_table(t::$table)?.len()?))?;
                copied_tables.push(t::$table.name());
            )*};
        }
        t::every_table!(measure);
        for table in self.read(|| Ok(self.from.list_tables()?))? {
            if !copied_tables.contains(&table.name()) {
                return Err(StoreError::UnknownTable(table.name().to_owned()));
            }
        }
        let (mut done, mut digest) = (0, Digest::default());
        macro_rules! copy {
            ($($table:ident),*) => {$( self.copy_table(&to, t::$table, &mut done, total,
                &mut digest)?; )*};
        }
        t::every_table!(copy);
        total += self.copy_attachments(&to, &mut digest)?;
        let mut last = to.begin_write().map_err(|e| self.copy_error(e))?;
        // With quick repair, opening the copy needs no walk through the file.
        last.set_quick_repair(true);
        // A backup that was copied into place by hand already has such metadata.
        let mut added = 0;
        {
            let mut meta = last.open_table(t::META).map_err(|e| self.copy_error(e))?;
            for (key, number) in self.plan.metadata {
                let before = meta.insert(*key, *number).map_err(|e| self.copy_error(e))?;
                added += u64::from(before.is_none());
            }
        }
        last.commit().map_err(|e| self.copy_error(e))?;
        // The file grew in large steps; this returns the free space at its end.
        to.compact().map_err(|e| self.copy_error(e))?;
        drop(to);
        temporary.file.sync_all().map_err(|e| self.io(&e))?;
        Ok((total + added, digest.end()))
    }

    /// Copies a table in several commits. `done` counts copied rows, `total` all rows of the store.
    fn copy_table<K: Key + 'static, V: Value + 'static>(
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
            (self.plan.check_space)()?;
            let txn = to.begin_write().map_err(|e| self.copy_error(e))?;
            {
                let mut copy = txn.open_table(definition).map_err(|e| self.copy_error(e))?;
                let mut bytes = 0;
                for n in 0.. {
                    if n % 256 == 0 && !(self.plan.progress)(*done, 2 * total) {
                        return Err(StoreError::Cancelled(self.plan.target.to_owned()));
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
                    copy.insert(key.value(), value.value()).map_err(|e| self.copy_error(e))?;
                    *done += 1;
                }
            }
            txn.commit().map_err(|e| self.copy_error(e))?;
        }
        Ok(())
    }

    /// Adds the files of attachments and returns the number of added rows. Leaves out missing and
    /// damaged files, so that all others are backed up.
    fn copy_attachments(&self, to: &Database, digest: &mut Digest) -> Result<u64, StoreError> {
        let Some(files) = self.plan.attachments else { return Ok(0) };
        let table = self.read(|| Ok(self.from.open_table(t::ATTACHMENT_FILES)?))?;
        let rows = self.read(|| Ok(table.range::<(&[u8; 32], u64, &str)>(..)?))?;
        let (mut copied, mut added, mut last) = (Vec::new(), 0, None);
        let mut bytes = 0;
        for row in rows {
            let hash = self.read(|| Ok(*row?.0.value().0))?;
            if last.replace(hash) == Some(hash) {
                continue;
            }
            match files.read(&hash) {
                Ok(content) => {
                    bytes += content.len();
                    copied.push((hash, content));
                }
                Err(error) => {
                    tracing::warn!(
                        %error,
                        file = %files.path(&hash).display(),
                        "an attachment is not in the backup"
                    );
                }
            }
            if bytes > CHUNK_BYTES {
                added += self.add_files(to, &copied, digest)?;
                (copied, bytes) = (Vec::new(), 0);
            }
        }
        Ok(added + self.add_files(to, &copied, digest)?)
    }

    /// Adds files to the copy, in the order of their hashes. Returns the number of added rows.
    fn add_files(
        &self,
        to: &Database,
        files: &[([u8; 32], Vec<u8>)],
        digest: &mut Digest,
    ) -> Result<u64, StoreError> {
        (self.plan.check_space)()?;
        let txn = to.begin_write().map_err(|e| self.copy_error(e))?;
        let mut added = 0;
        {
            let mut table = txn.open_table(t::ATTACHMENT_PARTS).map_err(|e| self.copy_error(e))?;
            for (hash, content) in files {
                for (number, part) in attachments::parts(content) {
                    table.insert((hash, number), part).map_err(|e| self.copy_error(e))?;
                    digest.row(&t::ATTACHMENT_PARTS, &(hash, number), &part);
                    added += 1;
                }
            }
        }
        txn.commit().map_err(|e| self.copy_error(e))?;
        Ok(added)
    }

    /// Reads from the store, so that its damage is distinguished from the copy's.
    fn read<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        with_damage_report(self.plan.store, work)
    }

    /// Converts an error of the copy and adds the target's path: the store itself is intact.
    fn copy_error(&self, error: impl Into<redb::Error>) -> StoreError {
        match error.into() {
            redb::Error::Io(e) => self.io(&e),
            redb::Error::Corrupted(problem) => {
                StoreError::Damaged(format!("{}: {problem}", self.plan.target.display()))
            }
            e => StoreError::other(&self.plan.target.display().to_string(), e),
        }
    }

    /// Converts an I/O error of the copy and adds the target's path.
    fn io(&self, error: &io::Error) -> StoreError {
        StoreError::from_io(error, &self.plan.target.display().to_string())
    }
}

/// Replaces the path of the temporary file in the error by the target's.
pub(super) fn with_target_path(error: StoreError, from: &Path, to: &Path) -> StoreError {
    let shown_path = to.display().to_string();
    let with_target = |text: String| {
        let text = text.replace(&from.display().to_string(), &shown_path);
        // Errors of the disk do not name the file.
        text.strip_prefix("store: ")
            .map(|problem| format!("{shown_path}: {problem}"))
            .unwrap_or(text)
    };
    match error {
        StoreError::Damaged(text) => StoreError::Damaged(with_target(text)),
        StoreError::DiskFull(failure) => StoreError::DiskFull(failure.map_text(with_target)),
        StoreError::SizeLimit(failure) => StoreError::SizeLimit(failure.map_text(with_target)),
        StoreError::ReadOnly(failure) => StoreError::ReadOnly(failure.map_text(with_target)),
        StoreError::Io(failure) => StoreError::Io(failure.map_text(with_target)),
        StoreError::UnequalCopy(shown_path) => StoreError::UnequalCopy(with_target(shown_path)),
        StoreError::Cancelled(path) if path == from => StoreError::Cancelled(to.to_owned()),
        other => other,
    }
}

/// A temporary file beside its target, readable by the owner only. Removed on drop unless it was
/// published.
pub(super) struct TemporaryFile {
    /// Its path until it is published.
    pub(super) path: PathBuf,
    file: File,
}

impl TemporaryFile {
    /// Creates an empty file beside `target`.
    pub(super) fn new(target: &Path) -> Result<Self, StoreError> {
        let shown_path = target.display().to_string();
        let name = target.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| StoreError::NoFileName(shown_path.clone()))?;
        for n in 0..1000 {
            let path =
                target.with_file_name(format!(".{name}.{}-{n}{UNFINISHED}", std::process::id()));
            match File::options().read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok(Self { path, file }),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) if e.kind() == ErrorKind::NotFound => {
                    let dir = target.parent().unwrap_or(target).display().to_string();
                    return Err(StoreError::NoDirectory { path: shown_path, dir });
                }
                Err(e) => return Err(StoreError::from_io(&e, &shown_path)),
            }
        }
        Err(StoreError::Io(format!("{shown_path}: too many unfinished copies beside it").into()))
    }

    /// Renames the file durably to `target`, which must be free.
    pub(super) fn publish(self, target: &Path) -> Result<(), StoreError> {
        let io = |e: &io::Error| StoreError::from_io(e, &target.display().to_string());
        match renameat_with(CWD, &self.path, CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(StoreError::TargetExists(target.to_owned())),
            // Some file systems lack that call; a hard link does not replace a file either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                match fs::hard_link(&self.path, target) {
                    Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                        return Err(StoreError::TargetExists(target.to_owned()));
                    }
                    other => other.map_err(|e| io(&e))?,
                }
            }
            Err(e) => return Err(io(&e.into())),
        }
        flush_dir_of(target).map_err(|e| io(&e))
    }

    /// Replaces the file at `target` durably, with this mode.
    pub(super) fn replace(self, target: &Path, mode: fs::Permissions) -> Result<(), StoreError> {
        self.file
            .set_permissions(mode)
            .and_then(|()| self.file.sync_all())
            .and_then(|()| fs::rename(&self.path, target))
            .and_then(|()| flush_dir_of(target))
            .map_err(|e| StoreError::from_io(&e, &target.display().to_string()))
    }
}

/// Flushes the directory of `path`, so that the name is durable.
fn flush_dir_of(path: &Path) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After the rename there is no file with this name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes incomplete copies to `target` that killed processes left.
pub(super) fn sweep(target: &Path) {
    if let (Some(dir), Some(name)) =
        (target.parent(), target.file_name().and_then(|name| name.to_str()))
    {
        sweep_unfinished(dir, |target_name| target_name == name);
    }
}

/// Removes incomplete copies in `dir` that no process writes any more. `is_ours` decides by the
/// file name of the target.
pub fn sweep_unfinished(dir: &Path, is_ours: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|found| creator_pid(found, &is_ours))
        else {
            continue;
        };
        // In containers, daemons can have equal process ids. So for this process's own id, the lock
        // below decides whether a process writes the file.
        let is_dead = pid == std::process::id().cast_signed()
            || rustix::process::Pid::from_raw(pid)
                .is_none_or(|pid| rustix::process::test_kill_process(pid) == Err(Errno::SRCH));
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_dead && is_file && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            match fs::remove_file(entry.path()) {
                Ok(()) => tracing::info!(file = %entry.path().display(), "unfinished copy removed"),
                Err(error) => {
                    tracing::warn!(
                        %error,
                        file = %entry.path().display(),
                        "cannot remove an unfinished copy"
                    );
                }
            }
        }
    }
}

/// Returns the process id in the name of the incomplete copy `found`, if `is_ours` accepts the file
/// name of its target.
fn creator_pid(found: &str, is_ours: impl Fn(&str) -> bool) -> Option<i32> {
    let (name, numbers) = found.strip_prefix('.')?.strip_suffix(UNFINISHED)?.rsplit_once('.')?;
    let number =
        |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<i32>().ok())?;
    let (pid, n) = numbers.split_once('-')?;
    is_ours(name).then(|| number(n).and(number(pid)))?
}

/// Whether two paths are on the same file system.
pub(super) fn are_on_one_disk(a: &Path, b: &Path) -> bool {
    matches!((fs::metadata(a), fs::metadata(b)), (Ok(a), Ok(b)) if a.dev() == b.dev())
}
