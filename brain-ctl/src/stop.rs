//! Stops a running daemon and waits for its end.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use brain_protocol::{Fault, FaultCode, Hello, Operation, Request, StopReply, encode};
use rustix::process::{Pid, Signal, kill_process};

use crate::connect::{self, ConnectError, Exchange};

/// Time limit for a stop; a daemon completes active requests for up to 5 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(6);

/// Stops the daemon behind `socket` and waits for its end.
///
/// Returns its process id, 0 if unknown, or `None` if no daemon runs.
///
/// # Errors
/// `timeout` if the daemon does not end in time. The fault of the connection, of the request or of
/// the signal if it fails.
pub(crate) fn stop_daemon(socket: &Path) -> Result<Option<u32>, Fault> {
    let pid = match request_stop(socket) {
        Ok(hello) => hello.pid,
        Err(ConnectError::NotListening) => return Ok(None),
        Err(ConnectError::ClosedWithoutGreeting) => 0,
        // A daemon with another protocol cannot read the request, so it gets a signal.
        Err(ConnectError::Mismatch(hello)) => {
            terminate(hello.pid)?;
            hello.pid
        }
        Err(error) => return Err(error.into_fault(socket)),
    };
    let started_at = Instant::now();
    while !has_ended(socket, pid) {
        if started_at.elapsed() > STOP_TIMEOUT {
            let process = if pid == 0 { String::new() } else { format!(" (pid {pid})") };
            return Err(Fault::new(
                FaultCode::Timeout,
                format!("the daemon{process} did not stop within {} s", STOP_TIMEOUT.as_secs()),
            )
            .hint("it may still be writing; check again: brain status"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(Some(pid))
}

fn request_stop(socket: &Path) -> Result<Hello, ConnectError> {
    let request = encode(&Request::from(brain_protocol::Stop)).map_err(|e| {
        ConnectError::Fault(Fault::new(
            FaultCode::Internal,
            format!("cannot encode the stop request: {e}"),
        ))
    })?;
    let mut session = Exchange::begin(connect::connect(socket)?, &request)?;
    let hello = session.hello;
    match session.read_answer(STOP_TIMEOUT, |_| {}).and_then(brain_protocol::Stop::read_reply) {
        Ok(StopReply) => Ok(hello),
        // The daemon was already stopping, or ended before it answered.
        Err(fault) if matches!(fault.code, FaultCode::Stopping | FaultCode::Unreachable) => {
            Ok(hello)
        }
        Err(fault) => Err(ConnectError::Fault(fault)),
    }
}

fn terminate(pid: u32) -> Result<(), Fault> {
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
    match target.map(|target| kill_process(target, Signal::TERM)) {
        Some(Ok(())) => Ok(()),
        Some(Err(e)) => Err(Fault::new(
            FaultCode::Forbidden,
            format!("cannot signal the daemon (pid {pid}): {e}"),
        )
        .hint(format!("stop it: kill {pid}"))),
        None => Err(Fault::new(
            FaultCode::BadFrame,
            format!("the daemon reported the invalid process id {pid}"),
        )),
    }
}

/// Returns whether the daemon has ended and released the store: its process is gone or a zombie. If
/// `pid` is 0 (unknown) or there is no `/proc`, checks whether the socket still listens.
fn has_ended(socket: &Path, pid: u32) -> bool {
    let is_silent = || matches!(connect::connect(socket), Err(ConnectError::NotListening));
    if pid == 0 || !Path::new("/proc/self/stat").exists() {
        return is_silent();
    }
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Err(_) => true,
        // The state follows the name in parentheses. A zombie has released the store.
        Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dead_process_has_ended() {
        let missing_socket = Path::new("/no/such.sock");
        assert!(has_ended(missing_socket, u32::MAX - 1));
        assert!(!has_ended(missing_socket, std::process::id()));
        assert!(has_ended(missing_socket, 0));
    }
}
