//! A part of a file, or bytes in memory, as a file of its own.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// A part of a file, or bytes in memory. Clones have positions of their own.
#[derive(Clone)]
pub(super) struct Part {
    bytes: Bytes,
    start: u64,
    len: u64,
    position: u64,
}

#[derive(Clone)]
enum Bytes {
    File(Arc<File>),
    Memory(Arc<Vec<u8>>),
}

impl Part {
    /// The whole file.
    pub(super) fn of(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { bytes: Bytes::File(Arc::new(file)), start: 0, len, position: 0 })
    }

    /// Bytes in memory.
    pub(super) fn in_memory(bytes: Vec<u8>) -> Self {
        let len = bytes.len() as u64;
        Self { bytes: Bytes::Memory(Arc::new(bytes)), start: 0, len, position: 0 }
    }

    /// A part of this part. It ends at the latest where this one ends.
    pub(super) fn section(&self, start: u64, len: u64) -> Self {
        let start = start.min(self.len);
        let len = len.min(self.len - start);
        Self { bytes: self.bytes.clone(), start: self.start + start, len, position: 0 }
    }
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.len.saturating_sub(self.position);
        let max = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = &mut buffer[..max];
        let at = self.start + self.position;
        let count = match &self.bytes {
            Bytes::File(file) => file.read_at(buffer, at)?,
            Bytes::Memory(bytes) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                (&bytes[at..]).read(buffer)?
            }
        };
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for Part {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.len.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let outside = || io::Error::new(io::ErrorKind::InvalidInput, "a position before the start");
        self.position = position.ok_or_else(outside)?;
        Ok(self.position)
    }
}
