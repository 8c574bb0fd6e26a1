use std::sync::atomic::{AtomicU8, Ordering};

use proptest::prelude::*;

use super::*;
use crate::BatchId;

const BRAIN: BrainId = BrainId([1; 16]);
const OTHER: BrainId = BrainId([2; 16]);

/// Fills with 1, then with 2, and so on.
#[derive(Default)]
struct Counter(AtomicU8);

impl RandomSource for Counter {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), brain_base::Error> {
        bytes.fill(self.0.fetch_add(1, Ordering::SeqCst) + 1);
        Ok(())
    }
}

fn batch(keys: &Keys, random: &Counter) -> Batch {
    let id = BatchId([3; 16]);
    let predecessor = Position { number: 6, id: BatchId([4; 16]) };
    let place = BatchPlace { brain: BRAIN, predecessor, id, machine: "laptop" };
    Batch {
        position: Position { number: 7, id },
        predecessor: predecessor.id,
        machine: "laptop".into(),
        time_ms: 5,
        payload: keys.seal_batch(&place, b"my secret page", random).unwrap(),
    }
}

#[test]
fn a_batch_opens_at_its_place_only() {
    let random = Counter::default();
    let keys = Keys::generate(&random).unwrap();
    let sealed = batch(&keys, &random);
    assert_eq!(sealed.payload.len(), b"my secret page".len() + OVERHEAD);
    assert!(!sealed.payload.windows(6).any(|bytes| bytes == b"secret"));
    assert_eq!(keys.open_batch(BRAIN, &sealed).unwrap(), b"my secret page");

    type Change = fn(&mut Batch);
    let changes: [Change; 6] = [
        |batch| batch.position.number += 1,
        |batch| batch.position.id.0[0] ^= 1,
        |batch| batch.predecessor.0[15] ^= 1,
        |batch| batch.machine = "desktop".into(),
        |batch| batch.payload[HEADER] ^= 1,
        |batch| batch.payload.truncate(20),
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut changed = sealed.clone();
        change(&mut changed);
        let refused = keys.open_batch(BRAIN, &changed);
        assert!(matches!(refused, Err(Error::Forged(_))), "change {index}: {refused:?}");
    }
    assert!(matches!(keys.open_batch(OTHER, &sealed), Err(Error::Forged(_))));
    let plain = Batch { payload: b"not encrypted, longer than a header".to_vec(), ..sealed };
    assert!(matches!(keys.open_batch(BRAIN, &plain), Err(Error::Forged(_))));
}

#[test]
fn any_changed_byte_is_noticed() {
    let random = Counter::default();
    let keys = Keys::generate(&random).unwrap();
    let sealed = batch(&keys, &random);
    for index in 0..sealed.payload.len() {
        let mut changed = sealed.clone();
        changed.payload[index] ^= 0x80;
        assert!(keys.open_batch(BRAIN, &changed).is_err(), "byte {index}");
    }
}

#[test]
fn two_messages_of_one_content_differ() {
    let random = Counter::default();
    let keys = Keys::generate(&random).unwrap();
    assert_ne!(batch(&keys, &random).payload, batch(&keys, &random).payload);
}

#[test]
fn a_rotation_keeps_old_batches_and_needs_new_words() {
    let random = Counter::default();
    let (old_root, new_root) =
        (RootKey::generate(&random).unwrap(), RootKey::generate(&random).unwrap());
    let mut keys = Keys::generate(&random).unwrap();
    let former = keys.clone();
    let old_batch = batch(&keys, &random);
    keys.rotate(&random).unwrap();
    let new_batch = batch(&keys, &random);

    let sealed = keys.seal(&new_root, BRAIN, &random).unwrap();
    assert!(matches!(Keys::open(&old_root, BRAIN, &sealed), Err(Error::WrongKey)));
    assert!(matches!(Keys::open(&new_root, OTHER, &sealed), Err(Error::WrongKey)));
    let opened = Keys::open(&new_root, BRAIN, &sealed).unwrap();
    for batch in [&old_batch, &new_batch] {
        assert_eq!(opened.open_batch(BRAIN, batch).unwrap(), b"my secret page");
    }
    assert_eq!(former.open_batch(BRAIN, &old_batch).unwrap(), b"my secret page");
    let refused = former.open_batch(BRAIN, &new_batch);
    assert!(matches!(refused, Err(Error::UnknownKey(_))), "{refused:?}");
}

#[test]
fn a_chunk_opens_at_its_place_only() {
    let random = Counter::default();
    let keys = Keys::generate(&random).unwrap();
    let place = ChunkPlace {
        snapshot: SnapshotId([8; 16]),
        contains: Position { number: 9, id: BatchId([9; 16]) },
        index: 2,
        is_last: false,
    };
    let sealed = keys.seal_chunk(BRAIN, &place, b"pages", &random).unwrap();
    assert_eq!(keys.open_chunk(BRAIN, &place, &sealed).unwrap(), b"pages");
    for other in [
        ChunkPlace { snapshot: SnapshotId([7; 16]), ..place },
        ChunkPlace { contains: Position::START, ..place },
        ChunkPlace { index: 3, ..place },
        ChunkPlace { is_last: true, ..place },
    ] {
        assert!(matches!(keys.open_chunk(BRAIN, &other, &sealed), Err(Error::Forged(_))));
    }
}

#[test]
fn words_make_the_same_key_and_mistakes_are_named() {
    let key = RootKey::generate(&Counter::default()).unwrap();
    let words = key.words().unwrap();
    let words = words.expose();
    assert_eq!(words.split(' ').count(), 24);
    assert_eq!(RootKey::from_words(words).unwrap(), key);
    assert_eq!(RootKey::from_words(&format!("  {}\n", words.to_uppercase())).unwrap(), key);
    assert_eq!(format!("{key:?}"), "RootKey(…)");

    let error = |words: &str| RootKey::from_words(words).unwrap_err().to_string();
    let list: Vec<&str> = words.split(' ').collect();
    assert_eq!(error(&list[1..].join(" ")), "the words are not a key: there are 23, not 24");
    let mut unknown = list.clone();
    unknown[4] = "hunter2";
    let message = error(&unknown.join(" "));
    assert_eq!(message, "the words are not a key: word 5 is not in the word list");
    let mut other = list.clone();
    other[4] = if list[4] == "zoo" { "abandon" } else { "zoo" };
    let message = error(&other.join(" "));
    assert_eq!(message, "the words are not a key: a word is wrong, or two are exchanged");
}

/// Batches stay readable: this one was sealed by the first version.
#[test]
fn the_first_format_is_opened() {
    let random = Counter::default();
    let keys = Keys::generate(&random).unwrap();
    let sealed = batch(&keys, &random);
    let hex: String = sealed.payload.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        hex,
        "0100000001020202020202020202020202020202\
         02eb48d48024b84843eb361f700e842edc3a174a3d5f7c3a450e11f13cd91f"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn arbitrary_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let random = Counter::default();
        let (root, keys) = (RootKey::generate(&random).unwrap(), Keys::generate(&random).unwrap());
        prop_assert!(Keys::open(&root, BRAIN, &bytes).is_err());
        let sealed = Batch { payload: bytes, ..batch(&keys, &random) };
        prop_assert!(keys.open_batch(BRAIN, &sealed).is_err());
    }

    #[test]
    fn arbitrary_words_are_refused(words in "[a-zA-Z ä]{0,200}") {
        prop_assert!(RootKey::from_words(&words).is_err());
    }
}
