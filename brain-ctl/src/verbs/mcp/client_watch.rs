//! Notices that the client of `brain mcp` is gone, and ends the program if it does not end by itself.
//!
//! The end of standard input is only seen when everything before it was read. The relay does not
//! read on while too many requests are unanswered, or while the client reads no answers.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// How long the program may run after the client is gone. The relay needs half a minute to answer
/// what it can, and longer only if it is stuck in a write.
const MAX_RUN_TIME: Duration = Duration::from_secs(300);

/// Starts to watch standard input. The value becomes true when nobody can write to it any more.
pub(super) fn start() -> Arc<AtomicBool> {
    let is_gone = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_gone);
    thread::spawn(move || {
        if wait_for_end() {
            flag.store(true, Ordering::Relaxed);
            thread::sleep(MAX_RUN_TIME);
            std::process::exit(1);
        }
    });
    is_gone
}

/// Waits until nobody can write to standard input. Returns false if that cannot be known.
fn wait_for_end() -> bool {
    let input = io::stdin();
    // A half-closed socket is reported on request only.
    #[cfg(target_os = "linux")]
    let events = PollFlags::RDHUP;
    #[cfg(not(target_os = "linux"))]
    let events = PollFlags::empty();
    loop {
        let mut watched = [PollFd::new(&input, events)];
        match poll(&mut watched, None) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return !watched[0].revents().contains(PollFlags::NVAL),
            Err(_) => return false,
        }
    }
}
