//! What one run leaves to the next: `data/state.json`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use brain_protocol::CollectorRun;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Data, DataFault, PostId, Rates, Stream, disk};

/// Held from reading to writing.
static CHANGING: Mutex<()> = Mutex::new(());

/// The account that is collected for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Its numeric id.
    pub id: String,
    /// Its handle.
    pub username: String,
}

/// What is known of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamState {
    /// The posts of its last complete pull, and those whose deletion is still in doubt; newest first.
    #[serde(default)]
    pub ids: Vec<String>,
    /// The platform's token for what is older than that.
    #[serde(default)]
    pub next_token: Option<String>,
    /// When that pull ended.
    #[serde(default)]
    pub completed_at: Option<String>,
}

/// The whole of it. Fields that a newer version wrote are not kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// The account, as `setup` found it.
    pub user: Option<Account>,
    /// When the last run ended.
    pub last_run: Option<String>,
    /// When the last run began, whatever became of it.
    pub last_started: Option<String>,
    /// What the last run that ended said.
    pub last_report: Option<CollectorRun>,
    /// The streams by name.
    pub streams: BTreeMap<String, StreamState>,
    /// What the platform said of its endpoints last.
    pub rate_limits: Rates,
    /// Whether the last run kept nothing of deleted posts but id and times, so that all that are recorded are like that.
    pub redacted: bool,
    /// The newest post that came by the persistent connection.
    pub stream_newest_id: Option<String>,
}

impl State {
    /// Reads it. A missing file is a first run; a damaged one is moved aside, and said so in the second value.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn load(data: &Data) -> Result<(Self, Option<String>), DataFault> {
        Ok(match Self::read(data)? {
            Ok(state) => (state, None),
            Err(what) => {
                (Self::default(), Some(disk::move_aside(&data.state_file(), &what).to_string()))
            }
        })
    }

    /// As [`State::load`], and touches nothing: for who only looks, so that the next run finds a damaged one and says so.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn look(data: &Data) -> Result<(Self, Option<String>), DataFault> {
        Ok(match Self::read(data)? {
            Ok(state) => (state, None),
            Err(what) => (
                Self::default(),
                Some(format!("{} is damaged ({what})", data.state_file().display())),
            ),
        })
    }

    /// What is in the file; what is wrong with it where that is no state.
    fn read(data: &Data) -> Result<Result<Self, String>, DataFault> {
        let Some(bytes) = disk::read(&data.state_file())? else { return Ok(Ok(Self::default())) };
        // An array would pass for a state without anything in it.
        let object = serde_json::from_slice(&bytes).map(Value::Object);
        Ok(object.and_then(serde_json::from_value).map_err(|error| error.to_string()))
    }

    /// Writes it, on the disk itself when this returns.
    ///
    /// # Errors
    /// What the disk says.
    pub fn save(&self, data: &Data) -> Result<(), DataFault> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| disk::fault(&data.state_file())(error.into()))?;
        text.push(b'\n');
        let _writing = disk::writing();
        disk::replace(&data.state_file(), &text, true)
    }

    /// Reads it, changes it, writes it, and gives it as it is then: several in this process may do so. A damaged one is moved aside.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn change(data: &Data, change: impl FnOnce(&mut Self)) -> Result<Self, DataFault> {
        let _changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut state, _) = Self::load(data)?;
        change(&mut state);
        state.save(data)?;
        Ok(state)
    }

    /// The ids of a stream's last complete pull.
    #[must_use]
    pub fn former(&self, stream: Stream) -> Vec<PostId> {
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
    fn it_comes_back_as_it_was_left() {
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
        let former = ["9007199254740993", "17"].map(|id| PostId::parse(id).unwrap());
        assert_eq!(state.former(Stream::Own), former);
        assert_eq!(state.former(Stream::Mentions), []);
        // One of a newer or of an older program.
        fs::write(
            data.state_file(),
            r#"{"later": 1, "streams": {"own": {"ids": ["17"], "later": []}}}"#,
        )
        .unwrap();
        let (state, damage) = State::load(&data).unwrap();
        assert_eq!((state.former(Stream::Own).len(), damage), (1, None));
    }

    #[test]
    fn a_damaged_one_is_a_first_run_and_kept_aside() {
        let dir = tempfile::tempdir().unwrap();
        let data = Data::new(dir.path());
        data.prepare().unwrap();
        for damaged in ["", "{", "[]", r#"{"streams": 5}"#, "\u{0}\u{0}"] {
            fs::write(data.state_file(), damaged).unwrap();
            let (state, damage) = State::look(&data).unwrap();
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
