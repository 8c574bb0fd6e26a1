//! Writes the collector's event lines to standard output, which has no other content.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How long a line waits for a reader of standard output.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Receives the event lines of all collector runs.
pub trait EventLines: Send + Sync {
    /// Writes a line. `line` has no line end.
    fn emit(&self, line: &str);
}

/// Standard output. A program need not read it, because the journal has the same events. After one
/// timeout, lines are dropped until the pipe has room again.
#[derive(Debug, Default)]
pub struct StandardOutput {
    /// Whether the last line timed out. Then the next line does not wait.
    is_stalled: AtomicBool,
}

impl EventLines for StandardOutput {
    fn emit(&self, line: &str) {
        // The lock keeps lines of several threads apart.
        let out = io::stdout().lock();
        self.write(out.as_fd(), line);
    }
}

impl StandardOutput {
    /// Writes a line, or drops it if the pipe has no room.
    fn write(&self, out: BorrowedFd<'_>, line: &str) {
        let was_stalled = self.is_stalled.load(Ordering::Relaxed);
        let timeout = if was_stalled { Duration::ZERO } else { WRITE_TIMEOUT };
        let bytes = format!("{line}\n");
        let is_stalled = write_within(out, bytes.as_bytes(), timeout) == Err(Errno::AGAIN);
        if is_stalled && !self.is_stalled.swap(is_stalled, Ordering::Relaxed) {
            tracing::warn!(
                "standard output has no reader; event lines are dropped until it has one"
            );
        }
        self.is_stalled.store(is_stalled, Ordering::Relaxed);
    }
}

/// Writes `bytes`, and waits at most `timeout` for room in the pipe.
///
/// # Errors
/// `EAGAIN` after the timeout; otherwise the error of the system, such as `EPIPE` if the reader has
/// closed the pipe.
fn write_within(out: BorrowedFd<'_>, mut bytes: &[u8], timeout: Duration) -> Result<(), Errno> {
    let deadline = Instant::now() + timeout;
    while !bytes.is_empty() {
        let remaining = deadline.saturating_duration_since(Instant::now());
        let remaining = Timespec::try_from(remaining).map_err(|_| Errno::INVAL)?;
        match poll(&mut [PollFd::from_borrowed_fd(out, PollFlags::OUT)], Some(&remaining)) {
            Ok(0) => return Err(Errno::AGAIN),
            Err(Errno::INTR) => continue,
            other => other?,
        };
        // A writable pipe has room for a page of memory. No line is longer, so this does not block.
        match rustix::io::write(out, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR | Errno::AGAIN) if Instant::now() < deadline => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn lines_are_dropped_while_a_pipe_has_no_reader() {
        let (mut reader, writer) = io::pipe().unwrap();
        let out = StandardOutput::default();
        out.write(writer.as_fd(), "first");
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // More than any pipe of an unprivileged process holds.
            (0..300).for_each(|_| out.write(writer.as_fd(), &"x".repeat(4000)));
            sender.send((out, writer)).unwrap();
        });
        let (out, writer) = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(out.is_stalled.load(Ordering::Relaxed));
        let mut buffer = vec![0; 64 * 4001];
        let read = reader.read(&mut buffer).unwrap();
        assert!(
            buffer[..read].starts_with(b"first\nxxx") && buffer[..read].ends_with(b"x\n"),
            "whole lines only"
        );
        out.write(writer.as_fd(), "last");
        assert!(!out.is_stalled.load(Ordering::Relaxed));
        drop(writer);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"last\n");
    }

    #[test]
    fn a_closed_pipe_and_a_file_do_not_stall() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let out = StandardOutput::default();
        out.write(writer.as_fd(), "to nobody");
        assert!(!out.is_stalled.load(Ordering::Relaxed));
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"before\n").unwrap();
        let file = OwnedFd::from(file);
        out.write(file.as_fd(), "after");
        let mut text = String::new();
        let mut file = std::fs::File::from(file);
        std::io::Seek::rewind(&mut file).unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "before\nafter\n");
    }
}
