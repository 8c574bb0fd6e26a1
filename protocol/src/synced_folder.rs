//! Recognises the folders of sync programs by the marks that they leave in them.

use crate::{Command, Hint, hint};
use std::path::{Path, PathBuf};

/// A folder that a program syncs with other machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncedFolder {
    /// The name of the program.
    pub program: &'static str,
    /// The folder that it syncs.
    pub folder: PathBuf,
}

impl SyncedFolder {
    /// Returns the synced folder that is `dir` or contains it. `names` lists the entries of a
    /// directory; it returns none for a directory that it cannot read.
    #[must_use]
    pub fn around(dir: &Path, names: impl Fn(&Path) -> Vec<String>) -> Option<Self> {
        dir.ancestors().find_map(|folder| {
            let by_name = folder.file_name().and_then(|name| name.to_str());
            let program = names(folder)
                .iter()
                .find_map(|name| program_of_mark(name))
                .or_else(|| by_name.filter(|name| is_onedrive(name)).map(|_| "OneDrive"))?;
            Some(Self { program, folder: folder.to_owned() })
        })
    }

    /// Returns the warning about a home at `home` in this folder.
    #[must_use]
    pub fn warning(&self, home: &Path) -> String {
        format!(
            "the home {} is in a folder that {} syncs, {}: it copies brain.redb while brain writes \
             it, and two machines replace each other's store",
            home.display(),
            self.program,
            self.folder.display()
        )
    }

    /// Returns what to do about it.
    #[must_use]
    pub fn way_out(&self, home: &Path) -> Hint {
        hint!(
            "run {}, move {} to a directory that is not synced, and set BRAIN_HOME to it; notes in \
             {} can be a source: {}",
            Command::Stop,
            home.display().to_string(),
            self.folder.display().to_string(),
            Command::SourcesAdd { source: None, path: None }
        )
    }
}

/// Returns the program that leaves an entry of this name in the folders that it syncs.
fn program_of_mark(name: &str) -> Option<&'static str> {
    let is_nextcloud = (name.starts_with(".sync_") || name.starts_with("._sync_"))
        && (name.ends_with(".db") || name.ends_with(".db-wal"));
    match name {
        ".stfolder" => Some("Syncthing"),
        ".dropbox" | ".dropbox.cache" => Some("Dropbox"),
        // The client for Windows and macOS creates it.
        ".849C9593-D756-4E56-8D6E-42412F2A707B" => Some("OneDrive"),
        _ if is_nextcloud => Some("Nextcloud"),
        _ => None,
    }
}

fn is_onedrive(name: &str) -> bool {
    name == "OneDrive" || name.starts_with("OneDrive - ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_beside_or_above_the_home_are_found() {
        let program = |home: &str, marked: &str, mark: &str| {
            let names = |dir: &Path| match dir == Path::new(marked) {
                true => vec!["notes.md".to_owned(), mark.to_owned()],
                false => Vec::new(),
            };
            SyncedFolder::around(Path::new(home), names).map(|found| found.program)
        };
        for (mark, expected) in [
            (".stfolder", Some("Syncthing")),
            (".dropbox.cache", Some("Dropbox")),
            (".sync_8f5e0a1b2c3d.db", Some("Nextcloud")),
            ("._sync_8f5e0a1b2c3d.db", Some("Nextcloud")),
            (".849C9593-D756-4E56-8D6E-42412F2A707B", Some("OneDrive")),
            (".sync_notes.md", None),
            ("stfolder", None),
        ] {
            assert_eq!(program("/home/a/Sync/.brain", "/home/a/Sync", mark), expected, "{mark}");
            assert_eq!(program("/home/a/Sync", "/home/a/Sync", mark), expected, "{mark}");
            assert_eq!(program("/home/a/.brain", "/home/a/Sync", mark), None, "{mark}");
        }
        assert_eq!(program("/home/a/OneDrive - Work/brain", "/", "x"), Some("OneDrive"));
    }
}
