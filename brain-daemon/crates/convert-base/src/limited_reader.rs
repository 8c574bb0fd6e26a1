//! A reader that fails when one part of a file is too long.

use std::io::{self, BufRead, Read};

/// A reader for XML of unknown origin: it fails when one event has more than its maximum of bytes.
#[derive(Debug)]
pub struct LimitedReader<R> {
    inner: R,
    /// Maximum bytes of an event.
    max: usize,
    /// How many bytes the event may still have.
    left: usize,
}

impl<R> LimitedReader<R> {
    /// Creates a reader whose events have at most `max` bytes.
    pub fn new(inner: R, max: usize) -> Self {
        Self { inner, max, left: max }
    }

    /// Begins the next event.
    pub fn begin_event(&mut self) {
        self.left = self.max;
    }
}

impl<R: BufRead> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}

impl<R: BufRead> BufRead for LimitedReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            let reason = format!("an element has more than {} bytes", self.max);
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        self.left = self.left.saturating_sub(length);
        self.inner.consume(length);
    }
}
