//! Paths of the XDG Base Directory Specification.

use std::{env, path::PathBuf};

use brain_protocol::{Fault, FaultCode};

/// Returns `$XDG_CONFIG_HOME` if it is an absolute path, else `~/.config`.
///
/// # Errors
/// `invalid_config` if there is no such path and `HOME` is not set.
pub(crate) fn config_home() -> Result<PathBuf, Fault> {
    base_dir("XDG_CONFIG_HOME", ".config")
}

/// Returns `$XDG_DATA_HOME` if it is an absolute path, else `~/.local/share`.
///
/// # Errors
/// `invalid_config` if there is no such path and `HOME` is not set.
pub(crate) fn data_home() -> Result<PathBuf, Fault> {
    base_dir("XDG_DATA_HOME", ".local/share")
}

fn base_dir(variable: &str, default: &str) -> Result<PathBuf, Fault> {
    // The specification says to ignore relative paths.
    let configured = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || {
        env::var_os("HOME")
            .filter(|home| !home.is_empty())
            .map(|home| PathBuf::from(home).join(default))
    };
    configured.or_else(home).ok_or_else(|| {
        Fault::new(FaultCode::InvalidConfig, format!("neither {variable} nor HOME is set"))
            .hint("set HOME to your home directory")
    })
}
