//! Directories that `/etc/fstab` mounts a file system on, and whether one is mounted there.

use std::path::{Path, PathBuf};

/// Returns the mount point of `/etc/fstab` that contains `path`, if no file system is mounted
/// there or between it and `path`.
#[must_use]
pub fn absent_mount_point(path: &Path) -> Option<PathBuf> {
    let fstab = std::fs::read_to_string("/etc/fstab").ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    // The path of a new home need not exist; the part that exists can have links.
    let existing = path.ancestors().find(|dir| dir.exists()).unwrap_or(path);
    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
    let resolved = existing.canonicalize().map_or_else(|_| path.to_owned(), |dir| dir.join(rest));
    absent_in(&resolved, &fstab, &mounts)
}

fn absent_in(path: &Path, fstab: &str, mounts: &str) -> Option<PathBuf> {
    let points = |text: &str, field: usize| -> Vec<PathBuf> {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| line.split_ascii_whitespace().nth(field))
            .map(|point| PathBuf::from(unescape(point)))
            .filter(|point| point.is_absolute() && path.starts_with(point))
            .collect()
    };
    let depth = |point: &PathBuf| point.components().count();
    let expected = points(fstab, 1).into_iter().max_by_key(depth)?;
    let mounted = points(mounts, 4).iter().map(depth).max().unwrap_or_default();
    (mounted < depth(&expected)).then_some(expected)
}

/// Decodes blanks, tabs, line ends and backslashes, which both files write as octal numbers.
fn unescape(point: &str) -> String {
    [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", r"\")]
        .iter()
        .fold(point.to_owned(), |text, (code, letter)| text.replace(code, letter))
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
        let absent = |path: &str, mounts: &str| absent_in(Path::new(path), fstab, mounts);
        let point = Some(PathBuf::from("/mnt/my stick"));
        assert_eq!(absent("/mnt/my stick/brain", root), point);
        assert_eq!(absent("/mnt/my stick", root), point);
        assert_eq!(absent("/mnt/my stick/brain", &format!("{root}{stick}")), None);
        assert_eq!(absent("/mnt/my stick 2/brain", root), None);
        assert_eq!(absent("/home/a/.brain", root), None);
        let deeper = "31 21 8:18 / /mnt/my\\040stick/brain rw - ext4 /dev/sdc1 rw\n";
        assert_eq!(absent("/mnt/my stick/brain", &format!("{root}{deeper}")), None);
    }
}
