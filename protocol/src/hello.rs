//! The greeting that client and daemon exchange: 20 bytes.
//!
//! Its format is the same in all versions, so that programs can detect that their protocols
//! differ.
//!
//! `b"brain\0"`, protocol `u16`, version 4 × `u16`, process id `u32`; all big endian. The client
//! sends its greeting and its first request together. The daemon sends its own greeting first, and
//! closes the connection after it if the protocols differ.

use crate::{PROTOCOL, VERSION};

/// Length of a greeting in bytes.
pub const HELLO_LEN: usize = 20;

const MAGIC: &[u8; 6] = b"brain\0";

/// The greeting of the client or the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// The number of the sender's wire format; see [`PROTOCOL`].
    pub protocol: u16,
    /// The program's version in four parts.
    pub version: [u16; 4],
    /// The sender's process id.
    pub pid: u32,
}

/// The bytes are not a greeting, so the other end is another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HelloError;

impl std::fmt::Display for HelloError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the other side does not speak brain's protocol")
    }
}

impl std::error::Error for HelloError {}

impl Hello {
    /// Returns the greeting of this build for the process `pid`.
    #[must_use]
    pub fn of_this_build(pid: u32) -> Self {
        let mut version = [0_u16; 4];
        for (number, part) in version.iter_mut().zip(VERSION.split('.')) {
            *number = part.parse().unwrap_or(0);
        }
        Self { protocol: PROTOCOL, version, pid }
    }

    /// Returns whether the sender uses the same protocol as this build.
    #[must_use]
    pub fn has_same_protocol(&self) -> bool {
        self.protocol == PROTOCOL
    }

    /// Returns the version as text: `0.1.0.0`.
    #[must_use]
    pub fn version_text(&self) -> String {
        let [a, b, c, d] = self.version;
        format!("{a}.{b}.{c}.{d}")
    }

    /// Encodes the greeting.
    #[must_use]
    pub fn to_bytes(self) -> [u8; HELLO_LEN] {
        let mut out = [0_u8; HELLO_LEN];
        out[..6].copy_from_slice(MAGIC);
        out[6..8].copy_from_slice(&self.protocol.to_be_bytes());
        for (i, part) in self.version.iter().enumerate() {
            out[8 + 2 * i..10 + 2 * i].copy_from_slice(&part.to_be_bytes());
        }
        out[16..].copy_from_slice(&self.pid.to_be_bytes());
        out
    }

    /// Decodes a greeting.
    ///
    /// # Errors
    /// [`HelloError`] if the bytes do not begin with the magic bytes.
    pub fn from_bytes(bytes: &[u8; HELLO_LEN]) -> Result<Self, HelloError> {
        if &bytes[..6] != MAGIC {
            return Err(HelloError);
        }
        let u16_at = |i: usize| u16::from_be_bytes([bytes[i], bytes[i + 1]]);
        Ok(Self {
            protocol: u16_at(6),
            version: [u16_at(8), u16_at(10), u16_at(12), u16_at(14)],
            pid: u32::from_be_bytes([bytes[16], bytes[17], bytes[18], bytes[19]]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_round_trips_and_other_bytes_are_rejected() {
        let hello = Hello::of_this_build(4242);
        assert_eq!(Hello::from_bytes(&hello.to_bytes()), Ok(hello));
        assert_eq!(hello.version_text(), VERSION);
        assert_eq!(Hello::from_bytes(b"GET / HTTP/1.1\r\nHost"), Err(HelloError));
    }

    #[test]
    fn the_bytes_of_the_greeting_do_not_change() {
        let hello = Hello { protocol: 0x0102, version: [3, 4, 5, 6], pid: 0x0708_090a };
        let bytes = *b"brain\0\x01\x02\0\x03\0\x04\0\x05\0\x06\x07\x08\x09\x0a";
        assert_eq!(hello.to_bytes(), bytes);
        assert_eq!(Hello::from_bytes(&bytes), Ok(hello));
    }
}
