//! Encryption of batches and snapshots on this machine, so that no server sees their content.
//!
//! A root key, which people have as 24 words, seals the data keys. The sealed keys are in the log
//! beside the batches, so one set of words opens everything, and a wrong root key is told at once.
//! A rotation adds a data key for later batches and seals all data keys with a new root key.
//!
//! A sealed message is: format 1, the data key's id, a random salt of 16 bytes, then ciphertext
//! and tag of ChaCha20-Poly1305. Key and nonce come from the data key and the salt by HKDF-SHA256,
//! so a salt may repeat after 2^64 messages only. The associated data binds a message to its
//! place: brain, number, predecessor, id and machine of a batch; brain, snapshot and index of a
//! chunk. A server can drop the newest batches, but not change, move or exchange any.

mod root_key;

use std::collections::BTreeMap;
use std::fmt;

use brain_base::random::RandomSource;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf;

pub use root_key::RootKey;

use crate::{Batch, BatchId, BrainId, Error, Position, SnapshotId};

const FORMAT: u8 = 1;
const HEADER: usize = 1 + 4 + 16;
/// How many bytes a sealed message is longer than its content.
pub const OVERHEAD: usize = HEADER + 16;

/// The data keys of a brain. Batches and chunks are sealed with the newest one.
#[derive(Clone)]
pub struct Keys {
    keys: BTreeMap<u32, [u8; 32]>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({:?})", self.keys.keys())
    }
}

/// Where a batch belongs in the log.
#[derive(Debug, Clone, Copy)]
pub struct BatchPlace<'a> {
    /// The brain.
    pub brain: BrainId,
    /// The batch before it.
    pub predecessor: Position,
    /// The id of the batch.
    pub id: BatchId,
    /// The machine that writes it.
    pub machine: &'a str,
}

impl<'a> BatchPlace<'a> {
    /// Returns the place of a batch that was read.
    #[must_use]
    pub fn of(brain: BrainId, batch: &'a Batch) -> Self {
        let number = batch.position.number.saturating_sub(1);
        Self {
            brain,
            predecessor: Position { number, id: batch.predecessor },
            id: batch.position.id,
            machine: &batch.machine,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"brain batch".to_vec();
        bytes.extend_from_slice(&self.brain.0);
        bytes.extend_from_slice(&self.predecessor.number.to_be_bytes());
        bytes.extend_from_slice(&self.predecessor.id.0);
        bytes.extend_from_slice(&self.id.0);
        bytes.extend_from_slice(self.machine.as_bytes());
        bytes
    }
}

impl Keys {
    /// Creates the first data key of a brain.
    ///
    /// # Errors
    /// [`Error::Random`]
    pub fn generate(random: &dyn RandomSource) -> Result<Self, Error> {
        let mut keys = Self { keys: BTreeMap::new() };
        keys.rotate(random)?;
        Ok(keys)
    }

    /// Adds a data key, with which later messages are sealed.
    ///
    /// # Errors
    /// [`Error::Random`]
    pub fn rotate(&mut self, random: &dyn RandomSource) -> Result<(), Error> {
        let mut key = [0; 32];
        random.fill(&mut key)?;
        let id = self.keys.last_key_value().map_or(1, |(id, _)| id + 1);
        self.keys.insert(id, key);
        Ok(())
    }

    /// Seals the keys with a root key, for [`crate::Administration::replace_keys`].
    ///
    /// # Errors
    /// [`Error::Random`]
    pub fn seal(
        &self,
        root: &RootKey,
        brain: BrainId,
        random: &dyn RandomSource,
    ) -> Result<Vec<u8>, Error> {
        let mut content = Vec::with_capacity(self.keys.len() * 36);
        for (id, key) in &self.keys {
            content.extend_from_slice(&id.to_be_bytes());
            content.extend_from_slice(key);
        }
        seal(&root.0, 0, &keys_place(brain), &content, random)
    }

    /// Opens sealed keys.
    ///
    /// # Errors
    /// [`Error::WrongKey`] if the root key or the brain is another one.
    pub fn open(root: &RootKey, brain: BrainId, sealed: &[u8]) -> Result<Self, Error> {
        let content = open(&root.0, &keys_place(brain), sealed).ok_or(Error::WrongKey)?;
        let mut keys = BTreeMap::new();
        for entry in content.chunks(36) {
            let (Some((id, key)), 36) = (entry.split_first_chunk::<4>(), entry.len()) else {
                return Err(Error::WrongKey);
            };
            keys.insert(u32::from_be_bytes(*id), key.try_into().map_err(|_| Error::WrongKey)?);
        }
        if keys.is_empty() { Err(Error::WrongKey) } else { Ok(Self { keys }) }
    }

    /// Seals the payload of a batch. A batch that is appended at another place is sealed again.
    ///
    /// # Errors
    /// [`Error::Random`]
    pub fn seal_batch(
        &self,
        place: &BatchPlace<'_>,
        content: &[u8],
        random: &dyn RandomSource,
    ) -> Result<Vec<u8>, Error> {
        self.seal_with_newest(&place.bytes(), content, random)
    }

    /// Opens the payload of a batch.
    ///
    /// # Errors
    /// - [`Error::UnknownKey`] if the keys were rotated since they were read
    /// - [`Error::Forged`] if the payload was changed, moved or is not encrypted
    pub fn open_batch(&self, brain: BrainId, batch: &Batch) -> Result<Vec<u8>, Error> {
        let name = || format!("change {}", batch.position.number);
        self.open_named(&BatchPlace::of(brain, batch).bytes(), &batch.payload, name)
    }

    /// Seals a chunk of a snapshot. `is_last` marks the last chunk, so that a shortened snapshot
    /// is noticed.
    ///
    /// # Errors
    /// [`Error::Random`]
    pub fn seal_chunk(
        &self,
        brain: BrainId,
        chunk: &ChunkPlace,
        content: &[u8],
        random: &dyn RandomSource,
    ) -> Result<Vec<u8>, Error> {
        self.seal_with_newest(&chunk.bytes(brain), content, random)
    }

    /// Opens a chunk of a snapshot.
    ///
    /// # Errors
    /// As [`Keys::open_batch`].
    pub fn open_chunk(
        &self,
        brain: BrainId,
        chunk: &ChunkPlace,
        sealed: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let name = || format!("chunk {} of snapshot {}", chunk.index, chunk.snapshot);
        self.open_named(&chunk.bytes(brain), sealed, name)
    }

    fn seal_with_newest(
        &self,
        place: &[u8],
        content: &[u8],
        random: &dyn RandomSource,
    ) -> Result<Vec<u8>, Error> {
        let (id, key) = self.keys.last_key_value().ok_or(Error::WrongKey)?;
        seal(key, *id, place, content, random)
    }

    fn open_named(
        &self,
        place: &[u8],
        sealed: &[u8],
        name: impl Fn() -> String,
    ) -> Result<Vec<u8>, Error> {
        let id = key_id(sealed).ok_or_else(|| Error::Forged(name()))?;
        let key = self.keys.get(&id).ok_or_else(|| Error::UnknownKey(name()))?;
        open(key, place, sealed).ok_or_else(|| Error::Forged(name()))
    }
}

/// Where a chunk belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPlace {
    /// The snapshot.
    pub snapshot: SnapshotId,
    /// The last batch that the snapshot contains.
    pub contains: Position,
    /// The index of the chunk, from 0.
    pub index: u32,
    /// Whether no chunk follows.
    pub is_last: bool,
}

impl ChunkPlace {
    fn bytes(&self, brain: BrainId) -> Vec<u8> {
        let mut bytes = b"brain chunk".to_vec();
        bytes.extend_from_slice(&brain.0);
        bytes.extend_from_slice(&self.snapshot.0);
        bytes.extend_from_slice(&self.contains.number.to_be_bytes());
        bytes.extend_from_slice(&self.contains.id.0);
        bytes.extend_from_slice(&self.index.to_be_bytes());
        bytes.push(u8::from(self.is_last));
        bytes
    }
}

fn keys_place(brain: BrainId) -> Vec<u8> {
    [b"brain keys".as_slice(), &brain.0].concat()
}

fn key_id(sealed: &[u8]) -> Option<u32> {
    let (format, rest) = sealed.split_first()?;
    let (id, _) = rest.split_first_chunk::<4>()?;
    (*format == FORMAT && sealed.len() >= OVERHEAD).then(|| u32::from_be_bytes(*id))
}

/// The length of a message's key and nonce together.
struct MessageKeyLength;

impl hkdf::KeyType for MessageKeyLength {
    fn len(&self) -> usize {
        32 + 12
    }
}

/// Returns the key and the nonce of one message.
fn message_key(key: &[u8; 32], salt: &[u8]) -> Option<(LessSafeKey, Nonce)> {
    let mut bytes = [0; 32 + 12];
    let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(key);
    secret.expand(&[b"brain message"], MessageKeyLength).ok()?.fill(&mut bytes).ok()?;
    let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes[..32]).ok()?;
    Some((LessSafeKey::new(key), Nonce::try_assume_unique_for_key(&bytes[32..]).ok()?))
}

fn seal(
    key: &[u8; 32],
    id: u32,
    place: &[u8],
    content: &[u8],
    random: &dyn RandomSource,
) -> Result<Vec<u8>, Error> {
    let mut salt = [0; 16];
    random.fill(&mut salt)?;
    let too_large = || Error::TooLarge {
        subject: "the message",
        size: content.len() as u64,
        max: crate::MAX_PAYLOAD as u64,
    };
    let (key, nonce) = message_key(key, &salt).ok_or_else(too_large)?;
    let mut sealed = Vec::with_capacity(content.len() + OVERHEAD);
    sealed.push(FORMAT);
    sealed.extend_from_slice(&id.to_be_bytes());
    sealed.extend_from_slice(&salt);
    sealed.extend_from_slice(content);
    let tag = key
        .seal_in_place_separate_tag(nonce, Aad::from(place), &mut sealed[HEADER..])
        .map_err(|_| too_large())?;
    sealed.extend_from_slice(tag.as_ref());
    Ok(sealed)
}

fn open(key: &[u8; 32], place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    key_id(sealed)?;
    let (header, message) = sealed.split_at(HEADER);
    let (key, nonce) = message_key(key, &header[5..])?;
    let mut content = message.to_vec();
    let length = key.open_in_place(nonce, Aad::from(place), &mut content).ok()?.len();
    content.truncate(length);
    Some(content)
}

#[cfg(test)]
#[path = "cipher/tests.rs"]
#[allow(clippy::unwrap_used)]
mod tests;
