//! Finds files and directories that other users can change.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{getegid, geteuid};

/// Returns how other users can change the file or directory at `path`; `None` if they cannot, or if
/// there is nothing at the path.
///
/// The superuser is no other user. A group with the number of the user is private: many systems
/// make one for each user, and let its members write by default.
#[must_use]
pub fn writable_by_others(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let (mode, shown) = (meta.mode() & 0o777, path.display());
    let is_private_group = meta.gid() == group && group == user;
    if meta.uid() != user && meta.uid() != 0 {
        return Some(format!("{shown} belongs to another user ({})", meta.uid()));
    }
    if mode & 0o002 != 0 {
        return Some(format!("all users can change {shown} (mode {mode:04o})"));
    }
    (mode & 0o020 != 0 && !is_private_group).then(|| {
        format!("the members of group {} can change {shown} (mode {mode:04o})", meta.gid())
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_that_others_can_change_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        assert_eq!(writable_by_others(&file), None, "there is no file");
        fs::write(&file, "").unwrap();
        for (mode, is_exposed) in [(0o600, false), (0o644, false), (0o646, true), (0o777, true)] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            assert_eq!(writable_by_others(&file).is_some(), is_exposed, "{mode:o}");
        }
        // As a file of another group and another user, if this user can make one.
        if std::os::unix::fs::chown(&file, None, Some(4711)).is_ok() {
            for (mode, is_exposed) in [(0o640, false), (0o660, true)] {
                fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
                assert_eq!(writable_by_others(&file).is_some(), is_exposed, "{mode:o}");
            }
        }
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        if std::os::unix::fs::chown(&file, Some(4711), Some(4711)).is_ok() {
            let found = writable_by_others(&file).unwrap();
            assert!(found.contains("belongs to another user (4711)"), "{found}");
        }
    }
}
