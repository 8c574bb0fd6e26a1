//! What this process may do: read its input, and write to its standard output.
//!
//! The input comes from outside, and a parser of it can have a defect. So the process gives up all
//! other rights before it reads.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};

/// Maximum memory of the process, in bytes of address space.
const MAX_MEMORY: u64 = 1 << 30;
/// Maximum processor time, in seconds.
const MAX_SECONDS: u64 = 30 * 60;
/// Maximum number of open files.
const MAX_FILES: u64 = 64;
/// The rules of time zones, which are no secret.
const ZONES: &str = "/usr/share/zoneinfo";
/// The newest version of Landlock whose rules are used. An older kernel applies those that it has.
const LANDLOCK: ABI = ABI::V6;

/// Why the rights cannot be given up.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// A limit of the process is refused.
    #[error("cannot limit this process: {0}")]
    Limit(#[from] rustix::io::Errno),
    /// Landlock refuses the rules.
    #[error("cannot restrict this process to its input: {0}")]
    Landlock(#[from] RulesetError),
    /// The input cannot be opened.
    #[error(transparent)]
    Input(#[from] landlock::PathFdError),
}

/// Gives up the rights to write files, to read others than `input`, those below it and the rules of
/// time zones, to use the network, to signal processes outside, and to start programs. Limits
/// memory, time and open files.
///
/// The kernel enforces access to files from Linux 5.13 on, to TCP ports from 6.7 on, and signals
/// and abstract sockets from 6.12 on (landlock(7)). The limits hold everywhere.
///
/// # Errors
/// See [`ConfineError`].
pub fn confine(input: &Path) -> Result<(), ConfineError> {
    let limits = [
        (Resource::As, MAX_MEMORY),
        (Resource::Cpu, MAX_SECONDS),
        (Resource::Nofile, MAX_FILES),
        // A dump of this process would contain the user's text.
        (Resource::Core, 0),
        (Resource::Nproc, 0),
    ];
    for (resource, max) in limits {
        setrlimit(resource, Rlimit { current: Some(max), maximum: Some(max) })?;
    }
    let readable = |path: &Path| {
        Ok::<_, ConfineError>(PathBeneath::new(
            PathFd::new(path)?,
            AccessFs::ReadFile | AccessFs::ReadDir,
        ))
    };
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .handle_access(AccessNet::from_all(LANDLOCK))?
        .scope(Scope::from_all(LANDLOCK))?
        .create()?
        .add_rule(readable(input)?)?;
    // Times of other zones need their rules.
    let rules = match readable(Path::new(ZONES)) {
        Ok(zones) => rules.add_rule(zones)?,
        Err(_) => rules,
    };
    rules.restrict_self()?;
    Ok(())
}
