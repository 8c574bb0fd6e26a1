//! Signals that end this process: Ctrl-C, SIGTERM, and a closed terminal.

use std::{io, os::unix::net::UnixStream, sync::Arc, thread, time::Duration};

use brain_protocol::{Fault, FaultCode};
use rustix::process::Signal;

use crate::fail;

/// The signals.
const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// Calls `before_end` on a thread of its own when a signal arrives. Its argument ends this process
/// as the signal would have done.
///
/// # Errors
/// `internal` if the process cannot wait for signals.
pub(crate) fn at_end_signals(
    before_end: impl Fn(&dyn Fn()) + Send + Sync + 'static,
) -> Result<(), Fault> {
    let fault = |e: io::Error| {
        Fault::new(FaultCode::Internal, format!("cannot wait for signals: {}", fail::reason(&e)))
    };
    let before_end = Arc::new(before_end);
    for signal in SIGNALS {
        let (mut arrival, sender) = UnixStream::pair().map_err(fault)?;
        signal_hook::low_level::pipe::register(signal.as_raw(), sender).map_err(fault)?;
        let before_end = Arc::clone(&before_end);
        thread::spawn(move || {
            if io::Read::read_exact(&mut arrival, &mut [0]).is_ok() {
                before_end(&|| {
                    let _ = signal_hook::low_level::emulate_default_handler(signal.as_raw());
                });
            }
        });
    }
    Ok(())
}

/// Waits until a signal ends this process.
pub(crate) fn wait_for_end() -> ! {
    loop {
        thread::park_timeout(Duration::from_secs(60));
    }
}
