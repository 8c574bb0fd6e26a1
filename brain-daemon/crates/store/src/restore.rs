//! Restores a home's store from a backup.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use brain_protocol::TokenKind;
use redb::{Database, ReadableDatabase, ReadableTable, WriteTransaction};
use sha2::{Digest, Sha256};

use super::pending_keys::PendingKeys;
use super::record::{
    FileState, OutboxRow, PageRecord, SourceRecord, TokenRecord, from_bytes, to_bytes,
};
use super::replica::ReplicaPlace;
use super::shared_log::LogPosition;
use super::temporary_file::{TemporaryFile, sweep, with_target_path};

use super::meta::SCHEMA;
use super::verify::{RowProgress, VerifyReport, verify};
use super::{StoreError, StoreOptions, Transaction, migrate, spool, tables as t};

/// Creates the store `to`, which must not exist, from the backup `from`. Verifies it first,
/// migrates an older one, and publishes it when complete. `wants_file` gets the source id, the
/// source and the record of each active page, and tells whether to write the page's file.
///
/// # Errors
/// As [`verify`]; [`StoreError::TargetExists`] when `to` exists; errors of the disk. Then `to` is
/// not created.
pub fn restore(
    from: &Path,
    to: &Path,
    options: &StoreOptions,
    wants_file: &mut dyn FnMut(&str, &SourceRecord, &PageRecord) -> bool,
    progress: RowProgress<'_>,
) -> Result<VerifyReport, StoreError> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(StoreError::TargetExists(to.to_owned()));
    }
    let report = verify(from, progress)?;
    publish_copy(from, to, |path| adapt_to_home(from, path, report.schema, options, wants_file))?;
    Ok(report)
}

/// Creates the store `to`, which must not exist, as a replica of a shared brain, from a snapshot:
/// a backup of another replica, which stays as it is. `machine` is the id of the new machine.
/// Returns the last batch that the store contains. Its first start writes the files of pages.
///
/// # Errors
/// As [`restore`]; [`StoreError::Damaged`] when the snapshot is not one of a shared brain, or has
/// another schema.
pub fn restore_replica(
    from: &Path,
    to: &Path,
    options: &StoreOptions,
    machine: u128,
    progress: RowProgress<'_>,
) -> Result<LogPosition, StoreError> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(StoreError::TargetExists(to.to_owned()));
    }
    let report = verify(from, progress)?;
    if report.schema != SCHEMA {
        return Err(StoreError::Damaged(format!(
            "{} has schema {}, and this program needs {}",
            from.display(),
            report.schema,
            SCHEMA
        )));
    }
    publish_copy(from, to, |path| adapt_to_machine(path, options, machine))
}

/// Copies `from` beside `to`, lets `adapt` change the copy, and publishes it durably.
fn publish_copy<T>(
    from: &Path,
    to: &Path,
    adapt: impl FnOnce(&Path) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    sweep(to);
    let temporary = TemporaryFile::new(to)?;
    let adapted = copy(from, &temporary.path)
        .and_then(|()| adapt(&temporary.path))
        .map_err(|e| with_target_path(e, &temporary.path, to))?;
    File::open(&temporary.path)
        .and_then(|file| file.sync_all())
        .map_err(|e| StoreError::from_io(&e, &to.display().to_string()))?;
    temporary.publish(to)?;
    Ok(adapted)
}

/// Adapts a copy of another machine's store to this machine.
fn adapt_to_machine(
    path: &Path,
    options: &StoreOptions,
    machine: u128,
) -> Result<LogPosition, StoreError> {
    let file_path = path.display().to_string();
    let db = open_copy(path, options)?;
    let mut txn = db.begin_write()?;
    txn.set_quick_repair(true);
    let Some(found) = ReplicaPlace::read(&txn.open_table(t::META)?)? else {
        return Err(StoreError::Damaged(format!("{file_path} is no snapshot of a shared brain")));
    };
    let replica =
        ReplicaPlace { machine, next_spooled: 1, store_id: options.new_store_id, ..found };
    replica.write(&txn)?;
    {
        let mut meta = txn.open_table(t::META)?;
        meta.insert(t::META_STORE_ID, options.new_store_id)?;
        meta.remove(t::META_MADE_AT)?;
        // The time of the other machine's steps: its clock is not this one's.
        meta.remove(t::META_STEP_AT)?;
        txn.open_table(t::FILES)?.retain(|_, _| false)?;
        txn.open_table(t::AUDIT)?.retain(|_, _| false)?;
        let directories = txn.open_table(t::SOURCE_MACHINES)?;
        write_outbox(&txn, &mut |source, _| Ok(directories.get(source)?.is_none()))?;
    }
    txn.commit()?;
    Ok(replica.position)
}

/// Replaces the outbox by rows for the files of all active pages that `wants_file` accepts.
fn write_outbox(
    txn: &WriteTransaction,
    wants_file: &mut dyn FnMut(&str, &PageRecord) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let mut outbox = txn.open_table(t::OUTBOX)?;
    outbox.retain(|_, _| false)?;
    for row in txn.open_table(t::PAGES)?.iter()? {
        let (key, value) = row?;
        let record: PageRecord = from_bytes(value.value())?;
        let (source, _) = key.value();
        if record.deleted_at.is_none() && wants_file(source, &record)? {
            // No digests: brain wrote none of the existing files, so it replaces none.
            let row = OutboxRow {
                seq: record.seq,
                source: source.to_owned(),
                path: record.source_path.clone(),
                target_state: FileState::Present,
                own_digests: Vec::new(),
            };
            outbox.insert(record.id, to_bytes(&row)?.as_slice())?;
        }
    }
    Ok(())
}

fn open_copy(path: &Path, options: &StoreOptions) -> Result<Database, StoreError> {
    let file_path = path.display().to_string();
    Database::builder().set_cache_size(options.cache_bytes).open(path).map_err(|e| match e {
        redb::DatabaseError::Storage(redb::StorageError::Io(e)) => {
            StoreError::from_io(&e, &file_path)
        }
        e => StoreError::Damaged(format!("{file_path}: {e}")),
    })
}

/// Copies a file and compares the copy with it.
fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let read = |e: std::io::Error| StoreError::from_read(&e, &from.display().to_string());
    let write = |e: std::io::Error| StoreError::from_io(&e, &to.display().to_string());
    let mut source = File::open(from).map_err(read)?;
    let mut target = File::options().write(true).truncate(true).open(to).map_err(write)?;
    std::io::copy(&mut source, &mut target).map_err(write)?;
    target.sync_all().map_err(write)?;
    if digest(from).map_err(read)? != digest(to).map_err(write)? {
        return Err(StoreError::Io(
            format!("the copy of {} differs from it", from.display()).into(),
        ));
    }
    Ok(())
}

fn digest(path: &Path) -> std::io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    let (mut sum, mut buffer) = (Sha256::new(), vec![0; 256 * 1024]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.finalize().into()),
            n => sum.update(&buffer[..n]),
        }
    }
}

/// Adapts a store copied from `from` to this home.
fn adapt_to_home(
    from: &Path,
    path: &Path,
    schema: u64,
    options: &StoreOptions,
    wants_file: &mut dyn FnMut(&str, &SourceRecord, &PageRecord) -> bool,
) -> Result<(), StoreError> {
    let db = open_copy(path, options)?;
    if schema < SCHEMA {
        migrate::migrate(&db, schema)?;
    }
    // Jobs that a daemon accepted before it was killed.
    let accepted = spool::unstored_jobs(from, &db.begin_read()?)?.jobs;
    let sources = {
        let mut sources = std::collections::BTreeMap::<String, SourceRecord>::new();
        for row in db.begin_read()?.open_table(t::SOURCES)?.iter()? {
            let (key, value) = row?;
            sources.insert(key.value().to_owned(), from_bytes(value.value())?);
        }
        sources
    };
    let mut txn = db.begin_write()?;
    txn.set_quick_repair(true);
    {
        let pending_keys = PendingKeys::default();
        let mut transaction = Transaction::open(&txn, &pending_keys)?;
        for item in &accepted {
            transaction.add_job(item)?;
        }
        transaction.finish()?;
    }
    {
        let mut meta = txn.open_table(t::META)?;
        // The store diverges from now on: an index of the original would be ahead of it.
        meta.insert(t::META_STORE_ID, options.new_store_id)?;
        meta.remove(t::META_MADE_AT)?;
        // A backup of a shared brain restores an ordinary one.
        for key in ReplicaPlace::KEYS {
            meta.remove(key)?;
        }
        txn.open_table(t::SOURCE_MACHINES)?.retain(|_, _| false)?;
        // Access may have been revoked since the backup, so clients must authenticate again.
        // Personal tokens stay; the owner reviews them.
        let mut tokens = txn.open_table(t::TOKENS)?;
        let mut client_tokens = Vec::new();
        for row in tokens.iter()? {
            let (hash, value) = row?;
            if from_bytes::<TokenRecord>(value.value())?.kind != TokenKind::Personal {
                client_tokens.push(*hash.value());
            }
        }
        for hash in client_tokens {
            tokens.remove(&hash)?;
        }
        // Outbox rows belong to the files of the former home.
        write_outbox(&txn, &mut |source, record| {
            Ok(sources.get(source).is_some_and(|found| wants_file(source, found, record)))
        })?;
    }
    txn.commit()?;
    Ok(())
}
