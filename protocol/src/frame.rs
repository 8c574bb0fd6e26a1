//! Length-delimited frames: a big-endian `u32` length, then that many bytes.
//!
//! These functions are for blocking streams. The daemon has an async reader with a deadline.

use std::io::{self, Read, Write};

/// Maximum payload of a frame in bytes (16 MiB): room for a page of [`crate::MAX_CONTENT`] with its
/// frontmatter, or for the largest reply.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// Why a frame could not be read or written.
#[derive(Debug)]
pub enum FrameError {
    /// The stream ended before the first byte of a frame.
    Closed,
    /// The length exceeds [`MAX_FRAME`].
    TooLarge(usize),
    /// The stream failed or ended inside a frame.
    Io(io::Error),
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed => f.write_str("the other side closed the connection"),
            Self::TooLarge(n) => write!(f, "a frame of {n} bytes is over the limit of {MAX_FRAME}"),
            Self::Io(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for FrameError {}

impl From<io::Error> for FrameError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

/// Writes one frame with a single `write_all`, and flushes the stream.
///
/// # Errors
/// [`FrameError::TooLarge`] if `payload` exceeds [`MAX_FRAME`], before anything is written;
/// [`FrameError::Io`] when the stream fails.
pub fn write_frame(stream: &mut impl Write, payload: &[u8]) -> Result<(), FrameError> {
    if payload.len() > MAX_FRAME {
        return Err(FrameError::TooLarge(payload.len()));
    }
    let mut frame = Vec::with_capacity(4 + payload.len());
    frame.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    frame.extend_from_slice(payload);
    stream.write_all(&frame)?;
    Ok(stream.flush()?)
}

/// Reads one frame's payload.
///
/// # Errors
/// [`FrameError::Closed`] when the stream ends before the first byte; [`FrameError::TooLarge`] when
/// the length exceeds [`MAX_FRAME`], before the payload is read; [`FrameError::Io`] when the stream
/// fails or ends inside the frame.
pub fn read_frame(stream: &mut impl Read) -> Result<Vec<u8>, FrameError> {
    let mut head = [0_u8; 4];
    let first = loop {
        match stream.read(&mut head[..1]) {
            // A signal that the process handles ends only the call.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    if first == 0 {
        return Err(FrameError::Closed);
    }
    stream.read_exact(&mut head[1..])?;
    let length = u32::from_be_bytes(head) as usize;
    if length > MAX_FRAME {
        return Err(FrameError::TooLarge(length));
    }
    // The length is untrusted, so the buffer grows with the received bytes.
    let mut payload = Vec::with_capacity(length.min(64 * 1024));
    let received = stream.take(length as u64).read_to_end(&mut payload)?;
    if received < length {
        return Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(payload)
}
