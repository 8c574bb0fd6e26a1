//! Where the collector's event lines go: standard output, which has nothing else on it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Whoever reads has this long to make room for a line.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the event lines of every run of the collector go.
pub trait EventLines: Send + Sync {
    /// One line, without its end.
    fn emit(&self, line: &str);
}

/// Standard output. Nobody need read it: what a line tells of is in files, too, and no run waits
/// for a reader who does not come.
#[derive(Debug, Default)]
pub struct StandardOutput {
    /// The last line found no room: the next one is not waited for.
    full: AtomicBool,
}

impl EventLines for StandardOutput {
    fn emit(&self, line: &str) {
        // One line at a time.
        let out = io::stdout().lock();
        self.write(out.as_fd(), line);
    }
}

impl StandardOutput {
    fn write(&self, out: BorrowedFd<'_>, line: &str) {
        let patience = if self.full.load(Ordering::Relaxed) { Duration::ZERO } else { PATIENCE };
        let full = write_within(out, format!("{line}\n").as_bytes(), patience) == Err(Errno::AGAIN);
        if full && !self.full.swap(full, Ordering::Relaxed) {
            tracing::warn!(
                "nobody reads standard output: event lines are left out until somebody does"
            );
        }
        self.full.store(full, Ordering::Relaxed);
    }
}

/// Writes `bytes` when there is room for them.
///
/// # Errors
/// `EAGAIN` when there was none for so long; what the system says, when nobody is at the other end
/// any more.
fn write_within(out: BorrowedFd<'_>, mut bytes: &[u8], patience: Duration) -> Result<(), Errno> {
    let until = Instant::now() + patience;
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
        match poll(&mut [PollFd::from_borrowed_fd(out, PollFlags::OUT)], Some(&left)) {
            Ok(0) => return Err(Errno::AGAIN),
            Err(Errno::INTR) => continue,
            other => other?,
        };
        // A pipe that is writable has room for a page of memory, which no line is longer than: this
        // does not block.
        match rustix::io::write(out, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR | Errno::AGAIN) if Instant::now() < until => {}
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
    fn a_pipe_that_nobody_reads_holds_nobody_up_and_gets_lines_again_when_somebody_does() {
        let (mut reader, writer) = io::pipe().unwrap();
        let out = StandardOutput::default();
        out.write(writer.as_fd(), "first");
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // More than any pipe of an unprivileged process holds.
            (0..300).for_each(|_| out.write(writer.as_fd(), &"x".repeat(4000)));
            done.send((out, writer)).unwrap();
        });
        let (out, writer) = ended.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(out.full.load(Ordering::Relaxed));
        let mut kept = vec![0; 64 * 4001];
        let read = reader.read(&mut kept).unwrap();
        assert!(
            kept[..read].starts_with(b"first\nxxx") && kept[..read].ends_with(b"x\n"),
            "whole lines only"
        );
        out.write(writer.as_fd(), "last");
        assert!(!out.full.load(Ordering::Relaxed));
        drop(writer);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"last\n");
    }

    #[test]
    fn whoever_went_away_is_no_reason_to_stop() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let out = StandardOutput::default();
        out.write(writer.as_fd(), "to nobody");
        assert!(!out.full.load(Ordering::Relaxed));
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
