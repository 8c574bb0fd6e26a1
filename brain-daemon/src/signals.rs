//! Signal handlers of the daemon.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes writes over the limit on file sizes (`ulimit -f`) fail instead of ending this process.
/// Child processes keep the default behaviour.
///
/// # Errors
/// The error of the system if the handler cannot be installed.
pub fn survive_size_limits() -> io::Result<()> {
    let signal = rustix::process::Signal::XFSZ.as_raw();
    signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map(drop)
}
