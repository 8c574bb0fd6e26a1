//! What this process may do: read its input, and write to its standard output.
//!
//! The input comes from outside, and a parser of it can have a defect. So the process gives up all
//! other rights before it reads. [`confine_to`] is an earlier step for one other program that reads
//! the input first: it and this process may read the input and the system's libraries, and nothing
//! else.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::system_calls::{allow_reading, allow_starting};

/// Maximum memory of the process, in bytes of address space.
const MAX_MEMORY: u64 = 1 << 30;
/// Maximum processor time, in seconds.
const MAX_SECONDS: u64 = 30 * 60;
/// Maximum number of open files.
const MAX_FILES: u64 = 64;
/// The rules of time zones, which are no secret.
const ZONES: &str = "/usr/share/zoneinfo";
/// The directories of shared libraries.
const LIBRARIES: [&str; 5] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"];
/// The beginning of the names of programs that load shared libraries, in the first two of them.
const LOADER: &str = "ld-";
/// The list of shared libraries.
const LIBRARY_LIST: &str = "/etc/ld.so.cache";
/// The input of a program that gets none.
const NOTHING: &str = "/dev/null";
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
    /// The filter of system calls cannot be built.
    #[error("cannot filter the system calls of this process: {0}")]
    SystemCalls(#[from] seccompiler::Error),
    /// The input cannot be opened.
    #[error(transparent)]
    Input(#[from] landlock::PathFdError),
}

/// Gives up the rights to write files, to read others than `input`, those below it and the rules of
/// time zones, to use the network, to signal processes outside, and to start programs. Limits
/// memory, time and open files.
///
/// The kernel enforces access to files from Linux 5.13 on, to TCP ports from 6.7 on, and signals
/// and abstract sockets from 6.12 on (landlock(7)). It refuses all other system calls, such as those
/// of sockets of any family, if it has filters of seccomp(2). The limits hold everywhere.
///
/// # Errors
/// See [`ConfineError`].
pub fn confine(input: &Path) -> Result<(), ConfineError> {
    limit()?;
    set_limit(Resource::Nproc, 0)?;
    // Times of other zones need their rules.
    restrict(input, &[(PathBuf::from(ZONES), reading())])?;
    allow_reading()?;
    Ok(())
}

/// Gives up the rights that [`confine`] gives up, except for those that `program` needs: to execute
/// it, and to read the system's libraries and its `data`. Returns whether the kernel enforces this.
///
/// # Errors
/// See [`ConfineError`].
pub(crate) fn confine_to(
    input: &Path,
    program: &Path,
    data: &[&str],
) -> Result<bool, ConfineError> {
    limit()?;
    let execution = AccessFs::ReadFile | AccessFs::Execute;
    let mut rules = vec![
        (PathBuf::from(ZONES), reading()),
        (program.to_owned(), execution),
        (PathBuf::from(LIBRARY_LIST), reading()),
        (PathBuf::from(NOTHING), AccessFs::ReadFile | AccessFs::WriteFile),
    ];
    rules.extend(loaders().map(|loader| (loader, execution)));
    rules.extend(LIBRARIES.iter().chain(data).map(|path| (PathBuf::from(path), reading())));
    let is_enforced = restrict(input, &rules)?;
    allow_starting()?;
    Ok(is_enforced)
}

fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

/// Returns the programs that the kernel starts to load the libraries of another one.
fn loaders() -> impl Iterator<Item = PathBuf> {
    let directories = LIBRARIES.iter().take(2).filter_map(|path| std::fs::read_dir(path).ok());
    let entries = directories.flatten().filter_map(Result::ok);
    let loaders = entries.filter(|it| it.file_name().to_string_lossy().starts_with(LOADER));
    loaders.map(|entry| entry.path())
}

fn limit() -> Result<(), ConfineError> {
    let limits = [
        (Resource::As, MAX_MEMORY),
        (Resource::Cpu, MAX_SECONDS),
        (Resource::Nofile, MAX_FILES),
        // A dump of this process would contain the user's text.
        (Resource::Core, 0),
    ];
    limits.into_iter().try_for_each(|(resource, max)| set_limit(resource, max))
}

fn set_limit(resource: Resource, max: u64) -> Result<(), ConfineError> {
    Ok(setrlimit(resource, Rlimit { current: Some(max), maximum: Some(max) })?)
}

/// Restricts this process to read the input and to what the rules allow. A path of a rule that does
/// not exist is left out. Returns whether the kernel enforces it.
fn restrict(input: &Path, rules: &[(PathBuf, BitFlags<AccessFs>)]) -> Result<bool, ConfineError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .handle_access(AccessNet::from_all(LANDLOCK))?
        .scope(Scope::from_all(LANDLOCK))?
        .create()?
        .add_rule(PathBeneath::new(PathFd::new(input)?, reading()))?;
    for (path, access) in rules {
        if let Ok(path) = PathFd::new(path) {
            ruleset = ruleset.add_rule(PathBeneath::new(path, *access))?;
        }
    }
    Ok(ruleset.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}
