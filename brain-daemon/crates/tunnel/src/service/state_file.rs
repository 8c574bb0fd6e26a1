//! Persistent state of the tunnel, in a file of the home.
//!
//! If the file is lost, a notification may be repeated, and a tunnel that `brain tunnel stop`
//! stopped starts again.

use std::io::ErrorKind;
use std::path::PathBuf;

use brain_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::WatchdogState;
use brain_base::home::Home;
use brain_base::{durable, write_fault};

/// The contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PersistentState {
    /// Stopped by `brain tunnel stop`.
    pub(super) stopped: bool,
    /// The public address of the last notification.
    pub(super) address: Option<String>,
}

fn path(home: &Home) -> PathBuf {
    home.root().join("integrations/tunnel/state.json")
}

impl PersistentState {
    /// Loads the state. Returns the default, with a warning in the log, if the file is damaged.
    fn load(home: &Home) -> Self {
        let path = path(home);
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!(%error, path = %path.display(), "cannot read the tunnel's state; \
                        using the default");
                Self::default()
            }),
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    tracing::warn!(%error, path = %path.display(), "cannot read the tunnel's \
                            state; using the default");
                }
                Self::default()
            }
        }
    }

    /// Saves the state.
    ///
    /// # Errors
    /// `disk_full`, `read_only` or `io`, with the path, if the file cannot be written.
    pub(super) fn save(&self, home: &Home) -> Result<(), Fault> {
        let path = path(home);
        let write = || -> std::io::Result<()> {
            if let Some(dir) = path.parent() {
                std::fs::create_dir_all(dir)?;
            }
            durable::replace(&path, &serde_json::to_vec(self)?)
        };
        write().map_err(|error| write_fault(&path, error))
    }
}

impl WatchdogState {
    /// Returns the persistent state. The first call loads it.
    pub(super) fn persistent_state(&mut self, home: &Home) -> &mut PersistentState {
        self.persistent_state.get_or_insert_with(|| PersistentState::load(home))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn state_is_reloaded_and_damage_resets_it() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_owned());
        assert_eq!(PersistentState::load(&home), PersistentState::default());
        let persistent_state =
            PersistentState { stopped: true, address: Some("https://a.example".into()) };
        persistent_state.save(&home).unwrap();
        assert_eq!(PersistentState::load(&home), persistent_state);
        std::fs::write(path(&home), "{").unwrap();
        assert_eq!(PersistentState::load(&home), PersistentState::default());
    }
}
