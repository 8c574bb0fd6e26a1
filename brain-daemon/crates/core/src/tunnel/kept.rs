//! What of the tunnel outlives the daemon: whether it was stopped, and which address was told last. A file in the home, whose loss costs no
//! more than telling things twice.

use std::io::ErrorKind;
use std::path::PathBuf;

use brain_protocol::{Fault, FaultCode};
use serde::{Deserialize, Serialize};

use super::Work;
use brain_base::home::Home;

/// The file's contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kept {
    /// Stopped by `brain tunnel stop`.
    pub(super) stopped: bool,
    /// The public address that was told last.
    pub(super) address: Option<String>,
}

fn path(home: &Home) -> PathBuf {
    home.root().join("integrations/tunnel/state.json")
}

impl Kept {
    fn load(home: &Home) -> Self {
        let path = path(home);
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!(%error, path = %path.display(), "the tunnel's state cannot be read; it begins anew");
                Self::default()
            }),
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    tracing::warn!(%error, path = %path.display(), "the tunnel's state cannot be read; it begins anew");
                }
                Self::default()
            }
        }
    }

    /// Keeps it.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn save(&self, home: &Home) -> Result<(), Fault> {
        let path = path(home);
        let write = || -> std::io::Result<()> {
            if let Some(dir) = path.parent() {
                std::fs::create_dir_all(dir)?;
            }
            let fresh = path.with_extension("new");
            let mut file = std::fs::File::create(&fresh)?;
            serde_json::to_writer(&mut file, self)?;
            file.sync_all()?;
            std::fs::rename(&fresh, &path)
        };
        write().map_err(|error| {
            let code = match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => FaultCode::DiskFull,
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => FaultCode::ReadOnly,
                _ => FaultCode::Io,
            };
            Fault::new(code, format!("{} cannot be written: {error}", path.display()))
                .hint("look at that directory and its disk, and try again")
        })
    }
}

impl Work {
    /// What is kept, read when it is first asked for.
    pub(super) fn kept(&mut self, home: &Home) -> &mut Kept {
        self.kept.get_or_insert_with(|| Kept::load(home))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_again_and_what_is_broken_begins_anew() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_owned());
        assert_eq!(Kept::load(&home), Kept::default());
        let kept = Kept { stopped: true, address: Some("https://a.example".into()) };
        kept.save(&home).unwrap();
        assert_eq!(Kept::load(&home), kept);
        std::fs::write(path(&home), "{").unwrap();
        assert_eq!(Kept::load(&home), Kept::default());
    }
}
