//! Snapshots: a backup of the store in encrypted chunks beside the log.
//!
//! The chunks together are: format 1, the schema of the store as 4 bytes, the file, and the SHA-256
//! of the file. Each chunk is compressed. The encryption of a chunk includes its snapshot and its
//! number, so a chunk that was exchanged or left out is noticed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use brain_base::random::RandomSource;
use brain_commit_log::cipher::{ChunkPlace, Keys};
use brain_commit_log::{BrainId, BrainSnapshot, Engine, Error, Position, SnapshotId};
use sha2::{Digest, Sha256};

use crate::compression::{pack, unpack};
use crate::{Keyring, SCHEMA};

/// The size of a chunk before encryption: 4 MiB.
const CHUNK: usize = 4 << 20;
const FORMAT: u8 = 1;
const HEADER: usize = 5;
const DIGEST: usize = 32;

/// Receives the bytes that are done and all bytes. Returns whether to continue.
type SnapshotProgress<'a> = &'a dyn Fn(u64, u64) -> bool;

/// A file to upload, and the position that it contains at least.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotFile<'a> {
    /// A backup of the store.
    pub path: &'a Path,
    /// The position of the store before the backup was made.
    pub contains: Position,
    /// The name of this machine.
    pub machine: &'a str,
    /// The brain, which each chunk is encrypted for.
    pub brain: BrainId,
}

/// A downloaded or verified snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotContent {
    /// The log's entry for it.
    pub snapshot: BrainSnapshot,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The SHA-256 of the file.
    pub digest: [u8; 32],
    /// The schema of the store.
    pub schema: u32,
}

fn file_error(path: &Path, source: io::Error) -> Error {
    Error::File { path: path.to_owned(), source }
}

fn cancelled() -> Error {
    let source = io::Error::from(io::ErrorKind::Interrupted);
    Error::File { path: "snapshot".into(), source }
}

/// Uploads a file as a snapshot.
///
/// # Errors
/// Errors of the engine and of the file; the incomplete snapshot is deleted then, if possible.
pub fn upload(
    engine: &dyn Engine,
    keyring: &Keyring,
    file: &SnapshotFile<'_>,
    random: &dyn RandomSource,
    progress: SnapshotProgress<'_>,
) -> Result<BrainSnapshot, Error> {
    let id = SnapshotId::random(random)?;
    engine.begin_snapshot(id, &file.contains, file.machine)?;
    let uploaded = upload_chunks(engine, keyring, file, id, random, progress)
        .and_then(|chunks| engine.complete_snapshot(id, chunks));
    if let Err(error) = uploaded {
        let _ = engine.delete_snapshot(id);
        return Err(error);
    }
    let found = engine.snapshots()?.into_iter().find(|snapshot| snapshot.id == id);
    found.ok_or_else(|| Error::NotFound(format!("snapshot {id}")))
}

fn upload_chunks(
    engine: &dyn Engine,
    keyring: &Keyring,
    file: &SnapshotFile<'_>,
    id: SnapshotId,
    random: &dyn RandomSource,
    progress: SnapshotProgress<'_>,
) -> Result<u32, Error> {
    let failed = |source| file_error(file.path, source);
    let keys = keyring.keys(engine)?;
    let mut input = File::open(file.path).map_err(failed)?;
    let length = input.metadata().map_err(failed)?.len();
    let total = length + (HEADER + DIGEST) as u64;
    let mut header = vec![FORMAT];
    header.extend_from_slice(&SCHEMA.to_be_bytes());
    let (mut digest, mut rest, mut done) = (Sha256::new(), length, 0);
    let mut content = header;
    let mut is_complete = false;
    let mut index = 0;
    loop {
        while content.len() < CHUNK && !is_complete {
            let room = (CHUNK - content.len()).min(usize::try_from(rest).unwrap_or(usize::MAX));
            let start = content.len();
            content.resize(start + room, 0);
            input.read_exact(&mut content[start..]).map_err(failed)?;
            digest.update(&content[start..]);
            rest -= room as u64;
            if rest == 0 {
                content.extend_from_slice(&digest.clone().finalize());
                is_complete = true;
            }
        }
        // The digest may exceed a chunk, so a chunk has up to 4 MiB and 31 bytes.
        let place =
            ChunkPlace { snapshot: id, contains: file.contains, index, is_last: is_complete };
        let packed = pack(&content);
        let sealed = match &keys {
            Some(keys) => keys.seal_chunk(file.brain, &place, &packed, random)?,
            None => packed,
        };
        engine.put_chunk(id, index, &sealed)?;
        done += content.len() as u64;
        index += 1;
        if !progress(done, total) {
            return Err(cancelled());
        }
        if is_complete {
            return Ok(index);
        }
        content.clear();
    }
}

/// Returns the newest complete snapshot.
///
/// # Errors
/// [`Error::NotFound`] if there is none; errors of the engine.
pub fn newest(engine: &dyn Engine) -> Result<BrainSnapshot, Error> {
    let found = engine.snapshots()?.into_iter().find(|snapshot| snapshot.complete);
    found.ok_or_else(|| Error::NotFound("complete snapshot".into()))
}

/// Downloads a snapshot into a new file, and verifies it.
///
/// # Errors
/// [`Error::Forged`] if the content is not what was uploaded; errors of the engine and of the file,
/// which is removed then.
pub fn download(
    engine: &dyn Engine,
    keyring: &Keyring,
    brain: BrainId,
    snapshot: &BrainSnapshot,
    to: &Path,
    progress: SnapshotProgress<'_>,
) -> Result<SnapshotContent, Error> {
    let failed = |source| file_error(to, source);
    let create = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    let mut file = create.map_err(failed)?;
    let downloaded = read(engine, keyring, brain, snapshot, &mut file, progress)
        .and_then(|downloaded| file.sync_all().map_err(failed).map(|()| downloaded));
    if downloaded.is_err() {
        let _ = std::fs::remove_file(to);
    }
    downloaded
}

/// Reads all chunks of a snapshot and verifies them, without storing them.
///
/// # Errors
/// As [`download`].
pub fn verify(
    engine: &dyn Engine,
    keyring: &Keyring,
    brain: BrainId,
    snapshot: &BrainSnapshot,
    progress: SnapshotProgress<'_>,
) -> Result<SnapshotContent, Error> {
    read(engine, keyring, brain, snapshot, &mut io::sink(), progress)
}

fn read(
    engine: &dyn Engine,
    keyring: &Keyring,
    brain: BrainId,
    snapshot: &BrainSnapshot,
    out: &mut dyn Write,
    progress: SnapshotProgress<'_>,
) -> Result<SnapshotContent, Error> {
    let forged = || Error::Forged(format!("snapshot {}", snapshot.id));
    let write = |source| file_error(Path::new("the snapshot's file"), source);
    let mut keys = keyring.keys(engine)?;
    let (mut digest, mut done, mut bytes) = (Sha256::new(), 0, 0);
    let mut schema: Option<u32> = None;
    // The last bytes so far: the digest may begin in one chunk and end in the next.
    let mut tail: Vec<u8> = Vec::new();
    for index in 0..snapshot.chunks {
        let (content, sealed_bytes) =
            read_chunk(engine, keyring, &mut keys, brain, snapshot, index)?;
        done += sealed_bytes;
        tail.extend_from_slice(&content);
        if schema.is_none() {
            schema = Some(schema_in(&tail, snapshot)?);
            tail.drain(..HEADER);
        }
        let ready = tail.len().saturating_sub(DIGEST);
        digest.update(&tail[..ready]);
        out.write_all(&tail[..ready]).map_err(write)?;
        bytes += ready as u64;
        tail.drain(..ready);
        if !progress(done, snapshot.bytes) {
            return Err(cancelled());
        }
    }
    let digest: [u8; 32] = digest.finalize().into();
    if tail != digest {
        return Err(forged());
    }
    let schema = schema.ok_or_else(forged)?;
    Ok(SnapshotContent { snapshot: snapshot.clone(), bytes, digest, schema })
}

/// Returns the schema of the store in a snapshot. Reads the first chunk.
///
/// # Errors
/// As [`download`].
pub fn schema(
    engine: &dyn Engine,
    keyring: &Keyring,
    brain: BrainId,
    snapshot: &BrainSnapshot,
) -> Result<u32, Error> {
    let mut keys = keyring.keys(engine)?;
    let (content, _) = read_chunk(engine, keyring, &mut keys, brain, snapshot, 0)?;
    schema_in(&content, snapshot)
}

/// Returns the schema in the first bytes of a snapshot.
fn schema_in(content: &[u8], snapshot: &BrainSnapshot) -> Result<u32, Error> {
    let forged = || Error::Forged(format!("snapshot {}", snapshot.id));
    let header = content.get(..HEADER).ok_or_else(forged)?;
    if header[0] != FORMAT {
        let (schema, supported) = (u32::from(header[0]), SCHEMA);
        return Err(Error::TooNew { schema, min_reader: schema, supported });
    }
    Ok(u32::from_be_bytes(header[1..].try_into().map_err(|_| forged())?))
}

/// Reads and opens a chunk. Returns its content, and its size on the server.
fn read_chunk(
    engine: &dyn Engine,
    keyring: &Keyring,
    keys: &mut Option<std::sync::Arc<Keys>>,
    brain: BrainId,
    snapshot: &BrainSnapshot,
    index: u32,
) -> Result<(Vec<u8>, u64), Error> {
    let sealed = engine.read_chunk(snapshot.id, index)?;
    let bytes = sealed.len() as u64;
    let (id, contains) = (snapshot.id, snapshot.contains);
    let is_last = index + 1 == snapshot.chunks;
    let place = ChunkPlace { snapshot: id, contains, index, is_last };
    let packed = open(engine, keyring, keys, brain, &place, sealed)?;
    let content = unpack(&packed, CHUNK + DIGEST);
    let content = content.ok_or_else(|| Error::Forged(format!("snapshot {id}")))?;
    Ok((content, bytes))
}

/// Opens a chunk. After an unknown key, the keys are read again once.
fn open(
    engine: &dyn Engine,
    keyring: &Keyring,
    keys: &mut Option<std::sync::Arc<Keys>>,
    brain: BrainId,
    place: &ChunkPlace,
    sealed: Vec<u8>,
) -> Result<Vec<u8>, Error> {
    let Some(known) = keys.clone() else { return Ok(sealed) };
    match known.open_chunk(brain, place, &sealed) {
        Err(Error::UnknownKey(name)) => {
            *keys = keyring.reload(engine)?;
            let known = keys.as_ref().ok_or(Error::UnknownKey(name))?;
            known.open_chunk(brain, place, &sealed).map_err(crate::log::as_forged)
        }
        opened => opened,
    }
}
