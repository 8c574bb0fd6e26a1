//! Preserves the files of attachments that a restored store does not know: they were attached after
//! its copy was made, and the daemon removes files that no row names.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use brain_base::home::{Home, create_private_dir};
use brain_page::hex;
use brain_store::Hash;

/// A directory with second names of all attachments.
pub struct UnknownAttachments {
    dir: PathBuf,
}

impl UnknownAttachments {
    /// Gives each file in `attachments/` a second name in the new directory `name` of the home.
    ///
    /// # Errors
    /// The I/O error, also where the file system has no hard links.
    pub fn preserve(home: &Home, name: &str) -> io::Result<Self> {
        let dir = home.root().join(name);
        for file in files_of(&home.attachments())? {
            create_private_dir(&dir)?;
            fs::hard_link(&file, dir.join(file.file_name().unwrap_or_default()))?;
        }
        Ok(Self { dir })
    }

    /// Removes the second names of files that the store knows. Returns the directory if others are
    /// left in it.
    pub fn forget_known(self, known: &BTreeMap<Hash, u64>) -> Option<PathBuf> {
        for hash in known.keys() {
            let _ = fs::remove_file(self.dir.join(hex(hash)));
        }
        // Succeeds if nothing is left.
        let is_empty = !self.dir.exists() || fs::remove_dir(&self.dir).is_ok();
        (!is_empty).then_some(self.dir)
    }
}

/// Returns the files in the directories of `root`, except unfinished ones.
fn files_of(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let dirs = match fs::read_dir(root) {
        Ok(dirs) => dirs,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(files),
        Err(e) => return Err(e),
    };
    for dir in dirs {
        let dir = dir?;
        if !dir.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(dir.path())? {
            let file = file?;
            let is_finished = !file.file_name().as_encoded_bytes().starts_with(b".");
            if is_finished && file.file_type()?.is_file() {
                files.push(file.path());
            }
        }
    }
    Ok(files)
}
