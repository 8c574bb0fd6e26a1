//! Directories that `/etc/fstab` mounts a file system on, and whether one is mounted there.

use std::path::{Path, PathBuf};

use crate::mount_table::{MountTable, unescape};

/// Returns the mount point of `/etc/fstab` that contains `path`, if no file system is mounted
/// there or between it and `path`.
#[must_use]
pub fn absent_mount_point(path: &Path) -> Option<PathBuf> {
    let fstab = std::fs::read_to_string("/etc/fstab").ok()?;
    let mounts = MountTable::read();
    if mounts.is_empty() {
        return None;
    }
    // The path of a new home need not exist; the part that exists can have links.
    let existing = path.ancestors().find(|dir| dir.exists()).unwrap_or(path);
    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
    let resolved = existing.canonicalize().map_or_else(|_| path.to_owned(), |dir| dir.join(rest));
    absent_in(&resolved, &fstab, &mounts)
}

fn absent_in(path: &Path, fstab: &str, mounts: &MountTable) -> Option<PathBuf> {
    let lines = fstab.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let points = lines
        .filter_map(|line| line.split_ascii_whitespace().nth(1))
        .map(|point| PathBuf::from(unescape(point)))
        .filter(|point| point.is_absolute() && path.starts_with(point));
    let depth = |point: &Path| point.components().count();
    let expected = points.max_by_key(|point| depth(point))?;
    let mounted = mounts.deepest_above(path).map_or(0, |mount| depth(&mount.at));
    (mounted < depth(&expected)).then_some(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_without_a_mount_is_absent() {
        let fstab = "# a comment\nUUID=1 / ext4 defaults 0 1\nUUID=2 none swap sw 0 0\n\
                     UUID=3 /mnt/my\\040stick vfat noauto,user 0 0\n";
        let root = "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
        let stick = "30 21 8:17 / /mnt/my\\040stick rw - vfat /dev/sdb1 rw\n";
        let absent = |path: &str, mounts: &str| {
            absent_in(Path::new(path), fstab, &MountTable::parse(mounts.as_bytes()))
        };
        let point = Some(PathBuf::from("/mnt/my stick"));
        assert_eq!(absent("/mnt/my stick/brain", root), point);
        assert_eq!(absent("/mnt/my stick", root), point);
        assert_eq!(absent("/mnt/my stick/brain", &format!("{root}{stick}")), None);
        assert_eq!(absent("/mnt/my stick 2/brain", root), None);
        assert_eq!(absent("/home/a/.brain", root), None);
        assert_eq!(absent_mount_point(Path::new("/proc/self")), None, "it is mounted");
        let deeper = "31 21 8:18 / /mnt/my\\040stick/brain rw - ext4 /dev/sdc1 rw\n";
        assert_eq!(absent("/mnt/my stick/brain", &format!("{root}{deeper}")), None);
    }
}
