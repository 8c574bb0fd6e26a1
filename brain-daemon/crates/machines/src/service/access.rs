//! URLs, words and names: from the request, else from the places of secrets.

use std::sync::Arc;
use std::time::Duration;

use crate::connection::wait_until_notifying;
use crate::server::open_log;
use crate::{BrainId, Engine, Error, Identity, Keys, RootKey, ServerSecrets};
use brain_protocol::{Command, Fault, FaultCode, MachinesAccess, Secret, hint};

use super::MachineService;

/// The names of the secrets.
pub(super) const URL: &str = "machines-url";
pub(super) const DIRECT_URL: &str = "machines-direct-url";
pub(super) const KEY: &str = "machines-key";

/// The PostgreSQL schema of the tables, if the request names none.
const NAMESPACE: &str = "brain";
/// How long the setup waits for a first notification.
const LISTEN_LIMIT: Duration = Duration::from_secs(3);
/// The longest name of a machine in bytes.
const MAX_NAME: usize = 100;

/// How this machine reaches the server, complete.
pub(super) struct ServerAccess {
    pub(super) secrets: ServerSecrets,
    pub(super) name: String,
    pub(super) namespace: String,
}

/// A secret of the home before a setup replaced it; `None` if there was none.
pub(super) struct FormerSecret {
    name: &'static str,
    secret: Option<Secret>,
}

/// Converts an error of the log outside of a running replica.
pub(super) fn fault(error: &Error) -> Fault {
    match error {
        Error::AlreadyCreated { .. } => Fault::new(FaultCode::Conflict, error.to_string()).hint(
            hint!("{} joins it; or name another schema with --namespace", Command::MachinesJoin),
        ),
        Error::NotCreated { .. } => Fault::new(FaultCode::NotSetUp, error.to_string()).hint(hint!(
            "{} on the machine that has your pages comes first",
            Command::MachinesInit
        )),
        Error::NameTaken { .. } => Fault::new(FaultCode::Conflict, error.to_string())
            .hint("choose another name with --name NAME"),
        Error::WrongKey | Error::InvalidWords(_) => {
            Fault::new(FaultCode::InvalidRequest, error.to_string()).hint(hint!(
                "{} and `rotate-key` showed the 24 words; a machine of this brain has them in \
                 secrets/machines-key",
                Command::MachinesInit
            ))
        }
        Error::NotFound(what) if what.contains("snapshot") => {
            Fault::new(FaultCode::NotFound, "the server has no snapshot to join from")
                .hint("a running machine of this brain writes one within a minute; then join again")
        }
        Error::NotBuilt => {
            Fault::new(FaultCode::NotSetUp, error.to_string()).hint(crate::condition::BUILD_HINT)
        }
        // The message has the way out.
        Error::Denied { .. }
        | Error::Tls { .. }
        | Error::NoDatabase { .. }
        | Error::Unsuitable { .. }
        | Error::ServerTooOld { .. } => Fault::new(FaultCode::ServiceFailed, error.to_string()),
        other => crate::fault(other),
    }
}

impl MachineService {
    pub(super) fn find(&self, name: &str) -> Result<Option<Secret>, Fault> {
        Ok(self.env.secrets.find(name, None)?.map(|found| found.secret))
    }

    /// Returns the stored URLs.
    ///
    /// # Errors
    /// `machine_stopped` if there is none.
    pub(super) fn stored_access(&self) -> Result<ServerSecrets, Fault> {
        let url = self.find(URL)?.ok_or_else(|| missing(URL, "the URL of its server"))?;
        Ok(ServerSecrets { url, direct_url: self.find(DIRECT_URL)? })
    }

    /// Returns the stored key.
    ///
    /// # Errors
    /// `machine_stopped` if there is none, or if the words are not a key.
    pub(super) fn stored_root(&self) -> Result<RootKey, Fault> {
        let words = self.find(KEY)?.ok_or_else(|| missing(KEY, "the words of its key"))?;
        RootKey::from_words(words.expose()).map_err(|error| {
            Fault::new(FaultCode::MachineStopped, format!("the secret {KEY}: {error}"))
                .hint(hint!("give this machine its words: {}", Command::MachinesJoinKey))
        })
    }

    /// Completes the access of a request. A member keeps its name and namespace.
    ///
    /// # Errors
    /// `invalid_request` if the URL is missing or the name is not usable.
    pub(super) fn complete(
        &self,
        request: &MachinesAccess,
        member: Option<&Identity>,
    ) -> Result<ServerAccess, Fault> {
        let url = match &request.url {
            Some(url) => url.clone(),
            None => self.find(URL)?.ok_or_else(|| {
                Fault::new(FaultCode::InvalidRequest, "the URL of the server is missing").hint(
                    "write it to a file, and name the file: --url-file FILE; - is standard input",
                )
            })?,
        };
        let direct_url = match &request.direct_url {
            Some(url) => Some(url.clone()),
            None => self.find(DIRECT_URL)?,
        };
        let name = request.name.clone().or_else(|| member.map(|m| m.name.clone()));
        let name = name.unwrap_or_else(host_name);
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            let message = format!("a machine's name has 1 to {MAX_NAME} bytes, no control signs");
            return Err(Fault::new(FaultCode::InvalidRequest, message).hint("use --name NAME"));
        }
        let namespace = request.namespace.clone().or_else(|| member.map(|m| m.namespace.clone()));
        let namespace = namespace.unwrap_or_else(|| NAMESPACE.to_owned());
        Ok(ServerAccess { secrets: ServerSecrets { url, direct_url }, name, namespace })
    }

    /// Opens the log for the setup. Does not wait for the server.
    pub(super) fn open(&self, access: &ServerAccess) -> Result<Arc<dyn Engine>, Fault> {
        let opened = open_log(&access.secrets, &access.namespace, false, self.log_parts());
        opened.map_err(|error| fault(&error))
    }

    /// Returns whether the server notifies through the main URL. Waits for it for some seconds.
    pub(super) fn listens(&self, access: &ServerAccess) -> bool {
        if access.secrets.direct_url.is_some() {
            return false;
        }
        let opened = open_log(&access.secrets, &access.namespace, true, self.log_parts());
        opened.is_ok_and(|engine| wait_until_notifying(&*engine, LISTEN_LIMIT))
    }

    /// Returns the root key for the log of a brain, and checks that it opens the data keys. `None`
    /// if the log is not encrypted.
    ///
    /// # Errors
    /// `invalid_request` if the words are missing or wrong.
    pub(super) fn root_for(
        &self,
        engine: &dyn Engine,
        brain: BrainId,
        words: Option<&Secret>,
    ) -> Result<Option<RootKey>, Fault> {
        let sealed = engine.sealed_keys().map_err(|e| fault(&e))?;
        if sealed.bytes.is_empty() {
            return Ok(None);
        }
        let words = match words {
            Some(words) => words.clone(),
            None => self.find(KEY)?.ok_or_else(|| {
                Fault::new(FaultCode::InvalidRequest, "this brain is encrypted; its key is missing")
                    .hint("write the 24 words to a file, and name the file: --key-file FILE")
            })?,
        };
        let root = RootKey::from_words(words.expose()).map_err(|e| fault(&e))?;
        Keys::open(&root, brain, &sealed.bytes).map_err(|e| fault(&e))?;
        Ok(Some(root))
    }

    /// Stores the secrets of a request in the home. Returns what was there before, and records
    /// in the identity which secrets are new.
    pub(super) fn store_secrets(
        &self,
        request: &MachinesAccess,
        words: Option<&Secret>,
        identity: &mut Identity,
    ) -> Result<Vec<FormerSecret>, Fault> {
        let given = [
            (URL, request.url.as_ref()),
            (DIRECT_URL, request.direct_url.as_ref()),
            (KEY, words.or(request.key.as_ref())),
        ];
        let mut replaced = Vec::new();
        for (name, secret) in given {
            let Some(secret) = secret else { continue };
            // A file that cannot be read is replaced, too.
            let former = self.env.secrets.find_in_home(name).ok().flatten();
            if former.is_none() && !identity.secrets.iter().any(|known| known == name) {
                identity.secrets.push(name.to_owned());
            }
            replaced.push(FormerSecret { name, secret: former });
            if let Err(error) = self.env.secrets.store(name, secret) {
                self.restore_secrets(&replaced);
                return Err(error.into());
            }
        }
        Ok(replaced)
    }

    /// Undoes [`MachineService::store_secrets`]. Returns the names of secrets for which that
    /// failed.
    pub(super) fn restore_secrets(&self, replaced: &[FormerSecret]) -> Vec<&'static str> {
        let secrets = &self.env.secrets;
        let restore = |former: &&FormerSecret| match &former.secret {
            Some(secret) => secrets.store(former.name, secret).is_err(),
            None => secrets.remove(former.name).is_err(),
        };
        replaced.iter().filter(restore).map(|former| former.name).collect()
    }

    /// Removes the secrets that the setup wrote to the home. Returns those that are still there.
    pub(super) fn remove_secrets(&self, identity: Option<&Identity>) -> Vec<&'static str> {
        let written = identity.map(|identity| identity.secrets.as_slice()).unwrap_or_default();
        for name in written {
            if let Err(error) = self.env.secrets.remove(name) {
                tracing::warn!(%error, "cannot remove a secret");
            }
        }
        let is_there = |name: &&str| !matches!(self.env.secrets.find_in_home(name), Ok(None));
        [URL, DIRECT_URL, KEY].into_iter().filter(is_there).collect()
    }
}

fn missing(name: &str, description: &str) -> Fault {
    let message = format!("this brain is shared, and this machine lacks {description}");
    Fault::new(FaultCode::MachineStopped, message).hint(hint!(
        "restore the secret {}, as secrets/{} in the home or as BRAIN_{}; or give it with {}",
        name.to_string(),
        name.to_string(),
        name.to_uppercase().replace('-', "_"),
        Command::MachinesJoin
    ))
}

fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "machine".to_owned() } else { name }
}
