//! The state between runs: `data/state.json`.

use std::collections::BTreeMap;

use brain_protocol::CollectorRun;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Data, DataFault, PostId, Rates, Stream};
use brain_base::disk;

/// Held by [`State::change`], so that two changes do not overlap.
static STATE_LOCK: Mutex<()> = Mutex::new(());

/// The collected account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The numeric id.
    pub id: String,
    /// The handle.
    pub username: String,
}

/// The state of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamState {
    /// Posts of the last complete pull, and missing posts whose deletion is not confirmed yet;
    /// newest first.
    #[serde(default)]
    pub ids: Vec<String>,
    /// The platform's token for older posts.
    #[serde(default)]
    pub next_token: Option<String>,
    /// When the last complete pull ended, in RFC 3339.
    #[serde(default)]
    pub completed_at: Option<String>,
}

/// The state. Unknown fields of newer versions are dropped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// The account found by `setup`.
    pub user: Option<Account>,
    /// When the last run ended, in RFC 3339.
    pub last_run: Option<String>,
    /// When the last run began, whatever its result, in RFC 3339.
    pub last_started: Option<String>,
    /// The report of the last finished run.
    pub last_report: Option<CollectorRun>,
    /// The streams by name.
    pub streams: BTreeMap<String, StreamState>,
    /// The last known rate limits.
    pub rate_limits: Rates,
    /// Whether the last run redacted deleted posts, so that all posts recorded as deleted are
    /// redacted.
    pub redacted: bool,
    /// The id of the newest post of the persistent connection.
    pub stream_newest_id: Option<String>,
}

impl State {
    /// Loads the state. Returns the default for a missing or damaged file. A damaged file is moved
    /// aside and described by the second value.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    pub fn load(data: &Data) -> Result<(Self, Option<String>), DataFault> {
        Ok(match Self::read(data)? {
            Ok(state) => (state, None),
            Err(damage) => {
                (Self::default(), Some(disk::move_aside(&data.state_file(), &damage).to_string()))
            }
        })
    }

    /// Loads the state without moving a damaged file, so that the next run still reports it.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    pub fn peek(data: &Data) -> Result<(Self, Option<String>), DataFault> {
        Ok(match Self::read(data)? {
            Ok(state) => (state, None),
            Err(damage) => (
                Self::default(),
                Some(format!("{} is damaged ({damage})", data.state_file().display())),
            ),
        })
    }

    /// Reads the file; the inner error describes damage.
    fn read(data: &Data) -> Result<Result<Self, String>, DataFault> {
        let Some(bytes) = disk::read(&data.state_file())? else { return Ok(Ok(Self::default())) };
        // An array would deserialise as an empty state.
        let object = serde_json::from_slice(&bytes).map(Value::Object);
        Ok(object.and_then(serde_json::from_value).map_err(|error| error.to_string()))
    }

    /// Saves the state durably.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, data: &Data) -> Result<(), DataFault> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| disk::fault(&data.state_file())(error.into()))?;
        text.push(b'\n');
        let _write_lock = disk::lock_writes();
        disk::replace(&data.state_file(), &text, true)
    }

    /// Loads, changes and saves the state under a lock, and returns it. A damaged file is moved
    /// aside.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn change(data: &Data, change: impl FnOnce(&mut Self)) -> Result<Self, DataFault> {
        let _changing = STATE_LOCK.lock();
        let (mut state, _) = Self::load(data)?;
        change(&mut state);
        state.save(data)?;
        Ok(state)
    }

    /// Returns the valid ids in a stream's state: see [`StreamState::ids`].
    #[must_use]
    pub fn previous_ids(&self, stream: Stream) -> Vec<PostId> {
        let state = self.streams.get(stream.as_str());
        state.map(|s| s.ids.iter().filter_map(|id| PostId::parse(id)).collect()).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_saved_state_is_loaded() {
        let dir = tempfile::tempdir().unwrap();
        let data = Data::new(dir.path());
        data.prepare().unwrap();
        assert_eq!(State::load(&data).unwrap(), (State::default(), None));
        let mut state =
            State { last_run: Some("2026-11-21T10:30:45.123Z".into()), ..State::default() };
        let ids = vec!["9007199254740993".into(), "17".into(), "no id".into()];
        state.streams.insert("own".into(), StreamState { ids, ..StreamState::default() });
        state.save(&data).unwrap();
        assert_eq!(State::load(&data).unwrap(), (state.clone(), None));
        let previous_ids = ["9007199254740993", "17"].map(|id| PostId::parse(id).unwrap());
        assert_eq!(state.previous_ids(Stream::Own), previous_ids);
        assert_eq!(state.previous_ids(Stream::Mentions), []);
        // A file of another version has unknown fields and lacks known ones.
        fs::write(
            data.state_file(),
            r#"{"later": 1, "streams": {"own": {"ids": ["17"], "later": []}}}"#,
        )
        .unwrap();
        let (state, damage) = State::load(&data).unwrap();
        assert_eq!((state.previous_ids(Stream::Own).len(), damage), (1, None));
    }

    #[test]
    fn a_damaged_file_is_moved_aside_and_loaded_as_default() {
        let dir = tempfile::tempdir().unwrap();
        let data = Data::new(dir.path());
        data.prepare().unwrap();
        for damaged in ["", "{", "[]", r#"{"streams": 5}"#, "\u{0}\u{0}"] {
            fs::write(data.state_file(), damaged).unwrap();
            let (state, damage) = State::peek(&data).unwrap();
            assert_eq!(state, State::default());
            assert!(
                damage.unwrap().contains("state.json is damaged") && data.state_file().exists()
            );
            let (state, damage) = State::load(&data).unwrap();
            assert_eq!(state, State::default());
            assert!(damage.unwrap().contains("state.json.damaged"));
            assert!(!data.state_file().exists());
            assert_eq!(
                fs::read_to_string(data.root().join("state.json.damaged")).unwrap(),
                damaged
            );
        }
    }
}
