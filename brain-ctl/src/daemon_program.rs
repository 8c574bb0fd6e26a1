//! The program of the daemon: where it is installed, and whether a process runs it.

use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use brain_protocol::{Fault, FaultCode};

/// The name of the daemon's program.
pub(crate) const NAME: &str = "brain-daemon";

/// Returns the path of the daemon's program: in the directory of this program, or on `PATH`.
///
/// # Errors
/// `unreachable` without such a program.
pub(crate) fn find() -> Result<PathBuf, Fault> {
    let in_same_directory =
        env::current_exe().ok().and_then(|exe| exe.parent().map(|dir| dir.join(NAME)));
    let on_path = || {
        let path = env::var_os("PATH")?;
        env::split_paths(&path).map(|dir| dir.join(NAME)).find(|file| file.is_file())
    };
    in_same_directory.filter(|file| file.is_file()).or_else(on_path).ok_or_else(|| {
        Fault::new(
            FaultCode::Unreachable,
            format!(
                "no daemon is running, and {NAME} is neither in the directory of brain nor on PATH"
            ),
        )
        .hint("build both programs: cargo build --release; or set PATH")
    })
}

/// Returns whether the process is a daemon. A process id from a container can belong to another
/// program here.
pub(crate) fn is_daemon(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == NAME)
}

/// Returns the program that [`find`] returns if the process runs that file. A daemon that such a
/// program replaced would be the same again.
pub(crate) fn installed_program_of(pid: u32) -> Option<PathBuf> {
    // The link leads to the file of the process even if another one has its path now.
    let file = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let running = file(Path::new(&format!("/proc/{pid}/exe")))?;
    find().ok().filter(|program| file(program) == Some(running))
}
