//! Which system calls this process may make.
//!
//! A filter of seccomp(2) refuses all others with `EPERM`: so there are no sockets of any family,
//! and nothing that a later kernel adds. It also covers what Landlock leaves out, such as UDP, Unix
//! sockets with a path, and `ptrace`. A thread gets it, and its children inherit it.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// What reads files, writes to open ones and uses memory.
const READ: &[c_long] = &[
    // Files.
    libc::SYS_close,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_lseek,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_pread64,
    libc::SYS_read,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_statx,
    libc::SYS_write,
    libc::SYS_writev,
    // Memory.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // Time, random numbers, the process itself.
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
];

/// What starts a program, confines it and waits for it, and what its beginning needs.
const START: &[c_long] = &[
    // Programs and their files.
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_execve,
    libc::SYS_fadvise64,
    libc::SYS_fstatfs,
    libc::SYS_ioctl,
    libc::SYS_kill,
    libc::SYS_memfd_create,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_statfs,
    libc::SYS_tgkill,
    libc::SYS_tkill,
    libc::SYS_wait4,
    libc::SYS_waitid,
    // Fewer rights.
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_restrict_self,
    libc::SYS_prctl,
    libc::SYS_prlimit64,
    libc::SYS_seccomp,
    // Threads, and what a program asks about itself and the machine.
    libc::SYS_getcpu,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getppid,
    libc::SYS_getrusage,
    libc::SYS_getuid,
    libc::SYS_membarrier,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_sysinfo,
    libc::SYS_times,
    libc::SYS_umask,
    libc::SYS_uname,
];

/// Earlier forms of the calls in [`READ`], which only this architecture has.
#[cfg(target_arch = "x86_64")]
const EARLIER_READ: &[c_long] = &[
    libc::SYS_access,
    libc::SYS_lstat,
    libc::SYS_open,
    libc::SYS_readlink,
    libc::SYS_stat,
    libc::SYS_time,
];
/// Earlier forms of the calls in [`START`].
#[cfg(target_arch = "x86_64")]
const EARLIER_START: &[c_long] = &[
    libc::SYS_arch_prctl,
    libc::SYS_dup2,
    libc::SYS_fork,
    libc::SYS_getrlimit,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_setrlimit,
    libc::SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
const EARLIER_READ: &[c_long] = &[];
#[cfg(not(target_arch = "x86_64"))]
const EARLIER_START: &[c_long] = &[];

/// Lets this thread read files, write to open ones and end itself, and nothing else. A kernel
/// without filters goes on without one.
///
/// # Errors
/// If the filter cannot be built.
pub(crate) fn allow_reading() -> Result<(), Error> {
    // A program that aborts sends itself a signal.
    let to_itself = || {
        let pid = u64::from(std::process::id());
        let is_own = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, pid)?;
        Ok::<_, Error>(vec![SeccompRule::new(vec![is_own])?])
    };
    let mut rules = rules(&[READ, EARLIER_READ]);
    rules.insert(libc::SYS_tgkill, to_itself()?);
    rules.insert(libc::SYS_tkill, to_itself()?);
    apply(rules)
}

/// Lets this thread do what [`allow_reading`] does, start programs and give up further rights. A
/// kernel without filters goes on without one.
///
/// # Errors
/// If the filter cannot be built.
pub(crate) fn allow_starting() -> Result<(), Error> {
    apply(rules(&[READ, EARLIER_READ, START, EARLIER_START]))
}

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Rules that allow these calls with any arguments.
fn rules(calls: &[&[c_long]]) -> Rules {
    calls.iter().copied().flatten().map(|call| (*call, Vec::new())).collect()
}

fn apply(rules: Rules) -> Result<(), Error> {
    // Another architecture has no filter here.
    let Ok(architecture) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(()) };
    let refusal = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let filter = SeccompFilter::new(rules, refusal, SeccompAction::Allow, architecture)?;
    match apply_filter(&Vec::try_from(filter)?) {
        // The kernel has no filters, or a service manager refuses this one.
        Ok(()) | Err(Error::Seccomp(_) | Error::Prctl(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
