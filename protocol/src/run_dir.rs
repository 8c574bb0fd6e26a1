//! The directory of the control socket for a read-only home. Client and daemon share the rule.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Returns the socket directory of a home on a read-only file system.
///
/// It is in `runtime` (`XDG_RUNTIME_DIR`) if that path is absolute, else in `/tmp`. Its name has
/// the user's id and a digest of the home's path, so that two homes get different directories.
#[must_use]
pub fn fallback_run_dir(home: &Path, runtime: Option<&Path>, uid: u32) -> PathBuf {
    // FNV-1a is stable across versions. Only two homes of one user can collide, so a collision
    // helps no attacker.
    let digest =
        home.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let base = runtime.filter(|dir| dir.is_absolute()).unwrap_or(Path::new("/tmp"));
    base.join(format!("brain-{uid}-{digest:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_differ_and_a_relative_runtime_is_ignored() {
        let run_dir = |home: &str, runtime: Option<&str>| {
            fallback_run_dir(Path::new(home), runtime.map(Path::new), 7)
        };
        let runtime = "/run/user/7";
        assert_eq!(run_dir("/home/a", Some(runtime)).parent(), Some(Path::new(runtime)));
        assert_ne!(run_dir("/home/a", None), run_dir("/home/b", None));
        assert_eq!(run_dir("/home/a", Some("relative")), run_dir("/home/a", None));
    }
}
