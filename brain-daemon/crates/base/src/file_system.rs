//! Facts about the file system of a path that its calls do not tell.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::mount_table::MountTable;

/// File systems where `chmod` succeeds and changes nothing: their mount options decide the modes.
/// `fuseblk` is the kernel's name for the programs ntfs-3g and exfat-fuse.
const WITHOUT_MODES: [&str; 6] = ["vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk"];

/// Network file systems, and eCryptfs, which shows the files of another directory. Those of FUSE have
/// names that begin with `fuse`.
const OF_OTHERS: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "ecryptfs"];

/// Returns whether files in `path` can change without an event of the kernel: another machine changes
/// them, or another program changes the directory that the mount shows. On a block device
/// (`fuseblk`), nobody else does.
#[must_use]
pub fn changes_without_events(path: &Path) -> bool {
    type_of(path).is_some_and(|name| {
        name == "fuse" || name.starts_with("fuse.") || OF_OTHERS.contains(&name.as_str())
    })
}

/// Returns what to do instead of `chmod`, if the file system of `path` ignores it.
#[must_use]
pub fn instead_of_chmod(path: &Path) -> Option<String> {
    let name = type_of(path).filter(|name| WITHOUT_MODES.contains(&name.as_str()))?;
    Some(format!(
        "chmod changes nothing on {name}: mount it with `umask=077` and the `uid` of this user"
    ))
}

/// Returns the type of the file system of `path`, as `/proc/self/mountinfo` names it. `None` if it
/// cannot be found.
#[must_use]
pub fn type_of(path: &Path) -> Option<String> {
    let device = std::fs::symlink_metadata(path).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    MountTable::read().of_device(&format!("{major}:{minor}")).map(|mount| mount.kind.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_mounted_file_system_is_found() {
        assert_eq!(type_of(Path::new("/proc")).as_deref(), Some("proc"));
        assert_eq!(instead_of_chmod(Path::new("/proc")), None);
    }
}
