//! What tests need of the machine. Each function reports a skip if it is not there.

use rustix::process::{Resource, getrlimit, setrlimit};
use test_skips::{Need, skip};

/// Returns whether this program can be started. Reports a skip otherwise.
#[must_use]
pub fn has_program(name: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&paths).any(|dir| dir.join(name).is_file());
    if !is_there {
        skip(Need::Program(name.into()));
    }
    is_there
}

/// Returns whether tests can act as other users. Reports a skip otherwise.
#[must_use]
pub fn can_change_user() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip(Need::Root("other users of the machine".into()));
    }
    is_root && has_program("setpriv")
}

/// Opens as many files as the system allows. Returns whether `number` files can be open; reports a
/// skip otherwise.
#[must_use]
pub fn can_open_files(number: u64) -> bool {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    let is_enough = getrlimit(Resource::Nofile).current.is_none_or(|current| current >= number);
    if !is_enough {
        skip(Need::OpenFiles(number.to_string()));
    }
    is_enough
}
