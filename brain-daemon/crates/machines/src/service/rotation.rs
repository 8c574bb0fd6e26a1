//! `brain machines rotate-key`, and what an interrupted one leaves.

use crate::{Error, Keys, Replica, RootKey};
use brain_protocol::{Command, Fault, FaultCode, MachinesRotateKeyReply, Secret, hint};

use super::MachineService;
use super::access::{KEY, fault};

/// The secret that has new words until the server has the keys for them.
const NEW_KEY: &str = "machines-key-new";

impl MachineService {
    /// Replaces the key that encrypts new batches, so that a removed machine cannot read them.
    ///
    /// # Errors
    /// If the log is not encrypted, or the fault of the log.
    pub fn rotate_key(&self) -> Result<MachinesRotateKeyReply, Fault> {
        let _setup = self.setup.lock();
        let replica = self.replica()?;
        let log = replica.log();
        if !log.keyring().is_encrypted() {
            return Err(Fault::new(FaultCode::Conflict, "this brain is not encrypted").hint(
                hint!("{} on all machines, then init again, encrypts it", Command::MachinesLeave),
            ));
        }
        self.adopt_new_key(&replica)?;
        let (random, brain) = (&*self.env.random, log.identity().brain);
        let engine = log.engine();
        let former = self.stored_root()?;
        let sealed = engine.sealed_keys().map_err(|e| fault(&e))?;
        let mut keys = Keys::open(&former, brain, &sealed.bytes).map_err(|e| fault(&e))?;
        // The words of an interrupted try are used again: the server may carry it out late.
        let root = match self.new_root()? {
            Some(root) => root,
            None => RootKey::generate(random).map_err(|e| fault(&e))?,
        };
        let words = root.words().map_err(|e| fault(&e))?;
        keys.rotate(random).map_err(|e| fault(&e))?;
        let bytes = keys.seal(&root, brain, random).map_err(|e| fault(&e))?;
        // The words are stored first under another name: a crash must not lose the only key.
        self.env.secrets.store(NEW_KEY, &words)?;
        match engine.replace_keys(sealed.generation, &bytes) {
            Ok(_) => {}
            Err(error @ Error::KeysChanged) => {
                if !self.adopt_new_key(&replica)? {
                    let _ = self.env.secrets.remove(NEW_KEY);
                    return Err(fault(&error));
                }
            }
            Err(error) => {
                return Err(fault(&error).hint(hint!(
                    "the new key may be in force; its words are in secrets/{}. Run {} again when \
                     {} says ready",
                    NEW_KEY,
                    Command::MachinesRotateKey,
                    Command::MachinesStatus
                )));
            }
        }
        log.keyring().set_root(root);
        let warnings = self.store_new_words(&words)?;
        tracing::info!("key of the shared brain replaced");
        Ok(MachinesRotateKeyReply { words, warnings })
    }

    /// Stores the words of the key that is in force now. Returns warnings for the owner.
    fn store_new_words(&self, words: &Secret) -> Result<Vec<String>, Fault> {
        let mut warnings = vec![format!(
            "the other machines stop until they get the new words: `{}`",
            Command::MachinesJoinKey
        )];
        match self.env.secrets.store(KEY, words) {
            Ok(_) => {
                let _ = self.env.secrets.remove(NEW_KEY);
            }
            Err(error) => warnings.push(format!(
                "the new words are not stored in secrets/{KEY}: {error}; brain uses them from \
                 secrets/{NEW_KEY}"
            )),
        }
        let found = self.env.secrets.find(KEY, None)?;
        if let Some(found) = found.filter(|found| found.secret != *words) {
            warnings.push(format!(
                "{} has the former words and is used before secrets/{KEY}: replace them there",
                found.origin
            ));
        }
        Ok(warnings)
    }

    /// Uses the new words of an interrupted `rotate-key`, if the server has the keys for them.
    /// Returns whether it does.
    ///
    /// # Errors
    /// Errors of the server; when the words cannot be stored.
    pub(super) fn adopt_new_key(&self, replica: &Replica) -> Result<bool, Fault> {
        let Some(root) = self.new_root()? else { return Ok(false) };
        let log = replica.log();
        let sealed = log.engine().sealed_keys().map_err(|e| fault(&e))?;
        if Keys::open(&root, log.identity().brain, &sealed.bytes).is_err() {
            return Ok(false);
        }
        let words = root.words().map_err(|e| fault(&e))?;
        log.keyring().set_root(root);
        self.env.secrets.store(KEY, &words)?;
        let _ = self.env.secrets.remove(NEW_KEY);
        tracing::info!("the key of an interrupted rotation is in use");
        Ok(true)
    }

    /// Returns the root key of the new words; `None` if there are none.
    fn new_root(&self) -> Result<Option<RootKey>, Fault> {
        let words = self.find(NEW_KEY)?;
        Ok(words.and_then(|words| RootKey::from_words(words.expose()).ok()))
    }
}
