//! Replaces files of the user and of other programs atomically.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

use brain_protocol::Fault;

use crate::fail;

/// Replaces or creates a file. After a crash, it has the old or the new content. It gets exactly
/// the permission bits `mode`; without them, all users may read it, as far as the umask permits.
/// A link at the path is replaced.
///
/// # Errors
/// `io`, `disk_full` or `read_only` if it cannot be written. The former file stays; but if only the
/// directory cannot be flushed, the path has the new content already.
pub(crate) fn replace_file(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), Fault> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".brain-new-{}", std::process::id()));
    let temporary = path.with_file_name(name);
    let write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        let first_mode = if mode.is_some() { 0o600 } else { 0o644 };
        let mut file = options.write(true).create_new(true).mode(first_mode).open(&temporary)?;
        file.write_all(bytes)?;
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        File::open(dir.unwrap_or(Path::new(".")))?.sync_all()
    };
    write().map_err(|e| {
        let _ = fs::remove_file(&temporary);
        fail::file("write", path, &e)
    })
}
