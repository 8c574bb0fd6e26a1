//! Signals that mean an error of one call rather than the end of the program.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes a write that meets a limit on the size of files (`ulimit -f`) fail, where it would end this
/// program. Programs that it starts are ended as before.
///
/// # Errors
/// When the system takes no handler.
pub fn survive_size_limits() -> io::Result<()> {
    let signal = rustix::process::Signal::XFSZ.as_raw();
    signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map(drop)
}
