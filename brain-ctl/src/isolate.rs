//! Separates a command from the user's own brain.

use std::{env, os::unix::ffi::OsStrExt, process::Command};

/// Separates a command from the user's own brain and accounts: removes the variables that configure
/// them, and lets the daemon listen at a free local port only.
pub(crate) fn isolate(command: &mut Command) {
    for (name, _) in env::vars_os() {
        // The caller sets the home.
        if name.as_bytes().starts_with(b"BRAIN_") && name != "BRAIN_HOME" {
            command.env_remove(&name);
        }
    }
    command.env_remove("CREDENTIALS_DIRECTORY");
    command.env("BRAIN_HTTP_LOCAL", "127.0.0.1:0").env("BRAIN_HTTP_PUBLIC", "off");
}
