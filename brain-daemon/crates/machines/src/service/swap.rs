//! Exchanges the store of a home for the one that `brain machines join` built.
//!
//! The file `machines.joining.json` says that a built store waits. A start renames the former
//! store, the files of its pages and its attachments, then the built store, then that file to
//! `machines.json`. Each step can be repeated after a crash.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::{Identity, write_json};
use brain_base::home::Home;
use brain_base::{read_fault, write_fault};
use brain_protocol::{Fault, FaultCode};
use serde::{Deserialize, Serialize};

/// How the name of a directory of pages begins that a join kept.
pub const KEPT_PAGES: &str = "pages.before-joining-";
/// The directory of files that exist only during an `init`, a `join` or a snapshot.
pub(super) const SETUP_DIR: &str = "machines.setup";
/// The name of the built store in [`SETUP_DIR`].
pub(super) const JOINED_STORE: &str = "joined.redb";

/// The file that says that a built store waits.
pub(super) const JOINING: &str = "machines.joining.json";
/// The file with the id under which a join registered this machine, until the join is done.
pub(super) const REGISTERED: &str = "machines.registered.json";

/// A built store that waits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PendingJoin {
    /// The place of this machine in the brain that it joins.
    pub(super) identity: Identity,
    /// The number in the names of what is kept.
    pub(super) number: u32,
}

fn path(home: &Home) -> PathBuf {
    home.root().join(JOINING)
}

impl PendingJoin {
    /// Returns whether a built store waits in the home.
    pub(super) fn exists(home: &Home) -> bool {
        path(home).symlink_metadata().is_ok()
    }

    /// Forgets the built store of an earlier join, durably. A missing file is no error.
    pub(super) fn remove(home: &Home) -> Result<(), Fault> {
        let path = path(home);
        Identity::remove(&path).map_err(|e| write_fault(&path, e))
    }

    /// Writes the file durably.
    pub(super) fn save(&self, home: &Home) -> Result<(), Fault> {
        let path = path(home);
        write_json(&path, self).map_err(|e| write_fault(&path, e))
    }
}

/// Uses the built store of a join, if one waits and no daemon uses the former store.
///
/// # Errors
/// The fault of a file that cannot be read or renamed.
pub fn complete_join(home: &Home) -> Result<(), Fault> {
    let pending = path(home);
    let bytes = match std::fs::read(&pending) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(read_fault(&pending, error)),
    };
    let joining: PendingJoin = serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("{} is damaged: {error}", pending.display());
        Fault::new(FaultCode::Io, message).hint("remove it, and join again")
    })?;
    let (store, built) = (home.store(), home.root().join(SETUP_DIR).join(JOINED_STORE));
    // A daemon that still runs has locked its store.
    let lock = match File::open(&store) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(read_fault(&store, error)),
    };
    if lock.as_ref().is_some_and(|file| file.try_lock().is_err()) {
        return Ok(());
    }
    if built.exists() {
        let number = joining.number;
        let spool = home.root().join("brain.redb.spool");
        let kept_store = home.root().join(format!("brain.redb.before-joining-{number}"));
        let kept_spool = home.root().join(format!("brain.redb.before-joining-{number}.spool"));
        keep(&home.pages(), &home.root().join(format!("{KEPT_PAGES}{number}")))?;
        keep(
            &home.attachments(),
            &home.root().join(format!("attachments.before-joining-{number}")),
        )?;
        keep(&spool, &kept_spool)?;
        keep(&store, &kept_store)?;
        flush(home)?;
        rename(&built, &store)?;
        flush(home)?;
        tracing::info!(kept = %kept_store.display(), "store of the shared brain in use");
    }
    let saved = joining.identity.save(&home.machines());
    saved.map_err(|e| write_fault(&home.machines(), e))?;
    std::fs::remove_file(&pending).map_err(|e| write_fault(&pending, e))?;
    // A join that a crash interrupted at its end.
    let _ = std::fs::remove_file(home.root().join(REGISTERED));
    flush(home)
}

/// Renames a file or directory, unless it is missing or an earlier try kept it.
fn keep(from: &Path, to: &Path) -> Result<(), Fault> {
    if from.symlink_metadata().is_err() || to.symlink_metadata().is_ok() {
        return Ok(());
    }
    rename(from, to)
}

fn rename(from: &Path, to: &Path) -> Result<(), Fault> {
    std::fs::rename(from, to).map_err(|e| write_fault(to, e))
}

fn flush(home: &Home) -> Result<(), Fault> {
    let flushed = File::open(home.root()).and_then(|dir| dir.sync_all());
    flushed.map_err(|e| write_fault(home.root(), e))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{BrainId, MachineId};

    use super::*;

    fn home_with_join(dir: &Path) -> Home {
        let home = Home::at(dir.to_owned());
        let identity = Identity {
            brain: BrainId([1; 16]),
            machine: MachineId([2; 16]),
            name: "laptop".into(),
            encrypted: true,
            namespace: "brain".into(),
            listens: true,
            secrets: Vec::new(),
        };
        PendingJoin { identity, number: 3 }.save(&home).unwrap();
        std::fs::write(home.store(), "former").unwrap();
        std::fs::create_dir(dir.join(SETUP_DIR)).unwrap();
        std::fs::write(dir.join(SETUP_DIR).join(JOINED_STORE), "joined").unwrap();
        std::fs::create_dir(home.pages()).unwrap();
        std::fs::write(home.pages().join("note.md"), "text").unwrap();
        home
    }

    fn check_done(home: &Home, dir: &Path) {
        assert_eq!(std::fs::read_to_string(home.store()).unwrap(), "joined");
        let kept = dir.join("brain.redb.before-joining-3");
        assert_eq!(std::fs::read_to_string(kept).unwrap(), "former");
        assert!(dir.join("pages.before-joining-3/note.md").exists());
        assert!(!path(home).exists() && !dir.join(SETUP_DIR).join(JOINED_STORE).exists());
        assert_eq!(Identity::load(&home.machines()).unwrap().unwrap().name, "laptop");
    }

    #[test]
    fn the_built_store_is_used_and_the_former_kept() {
        let dir = tempfile::tempdir().unwrap();
        let home = home_with_join(dir.path());
        complete_join(&home).unwrap();
        check_done(&home, dir.path());
        complete_join(&home).unwrap();
        check_done(&home, dir.path());
    }

    #[test]
    fn an_interrupted_exchange_is_completed() {
        let dir = tempfile::tempdir().unwrap();
        let home = home_with_join(dir.path());
        std::fs::rename(home.pages(), dir.path().join("pages.before-joining-3")).unwrap();
        // A start creates the directory before it completes the exchange.
        std::fs::create_dir(home.pages()).unwrap();
        std::fs::rename(home.store(), dir.path().join("brain.redb.before-joining-3")).unwrap();
        complete_join(&home).unwrap();
        check_done(&home, dir.path());
    }

    #[test]
    fn a_forgotten_join_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let home = home_with_join(dir.path());
        PendingJoin::remove(&home).unwrap();
        complete_join(&home).unwrap();
        assert_eq!(std::fs::read_to_string(home.store()).unwrap(), "former");
        assert!(!home.machines().exists());
        PendingJoin::remove(&home).unwrap();
    }

    #[test]
    fn a_store_in_use_is_not_exchanged() {
        let dir = tempfile::tempdir().unwrap();
        let home = home_with_join(dir.path());
        let in_use = File::open(home.store()).unwrap();
        in_use.try_lock().unwrap();
        complete_join(&home).unwrap();
        assert_eq!(std::fs::read_to_string(home.store()).unwrap(), "former");
        drop(in_use);
        complete_join(&home).unwrap();
        check_done(&home, dir.path());
    }
}
