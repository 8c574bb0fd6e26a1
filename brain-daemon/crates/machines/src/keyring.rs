//! The data keys of a shared brain on this machine.

use std::sync::Arc;

use brain_commit_log::cipher::{Keys, RootKey};
use brain_commit_log::{BrainId, Engine, Error};
use parking_lot::Mutex;

/// The root key on this machine, and the data keys that were decrypted with it.
///
/// The server has the data keys, encrypted with the root key. They are read at the first use.
pub struct Keyring {
    brain: BrainId,
    state: Mutex<KeyringState>,
}

struct KeyringState {
    /// `None` if the brain is not encrypted.
    root: Option<RootKey>,
    keys: Option<Arc<Keys>>,
    /// The generation of `keys`.
    generation: u32,
    /// The newest generation that the server named.
    newest: u32,
}

impl Keyring {
    /// Creates a keyring. Without a root key, batches are not encrypted.
    #[must_use]
    pub fn new(brain: BrainId, root: Option<RootKey>) -> Self {
        let state = KeyringState { root, keys: None, generation: 0, newest: 0 };
        Self { brain, state: Mutex::new(state) }
    }

    /// Returns whether batches are encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.state.lock().root.is_some()
    }

    /// Returns the data keys; `None` if batches are not encrypted. Reads them from the server at
    /// the first use and after a rotation.
    ///
    /// # Errors
    /// [`Error::WrongKey`] if the root key does not decrypt them; errors of the engine.
    pub fn keys(&self, engine: &dyn Engine) -> Result<Option<Arc<Keys>>, Error> {
        {
            let state = self.state.lock();
            if state.root.is_none() {
                return Ok(None);
            }
            if let Some(keys) = &state.keys
                && state.generation >= state.newest
            {
                return Ok(Some(keys.clone()));
            }
        }
        self.reload(engine)
    }

    /// Reads the keys from the server.
    ///
    /// # Errors
    /// As [`Keyring::keys`].
    pub fn reload(&self, engine: &dyn Engine) -> Result<Option<Arc<Keys>>, Error> {
        let Some(root) = self.state.lock().root.clone() else { return Ok(None) };
        let sealed = engine.sealed_keys()?;
        let keys = Arc::new(Keys::open(&root, self.brain, &sealed.bytes)?);
        let mut state = self.state.lock();
        state.keys = Some(keys.clone());
        state.generation = sealed.generation;
        state.newest = state.newest.max(sealed.generation);
        Ok(Some(keys))
    }

    /// Records the generation that the server named. If it is newer, the keys are read again before
    /// their next use.
    pub(crate) fn note_generation(&self, generation: u32) {
        let mut state = self.state.lock();
        state.newest = state.newest.max(generation);
    }

    /// Replaces the root key, for example after a rotation. The data keys are read again.
    pub fn set_root(&self, root: RootKey) {
        let mut state = self.state.lock();
        state.root = Some(root);
        state.keys = None;
    }
}
