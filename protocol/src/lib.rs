//! What crosses brain's control socket, and the value types that both ends name.
//!
//! This crate is pure: it knows bytes and values. It must not know sockets, clocks, files, tokio or
//! redb, so that the client stays small and every rule about the wire stands in one place. The wire
//! format itself is described in `docs/protocol.md`.

mod access;
mod codec;
mod collector;
mod connect;
mod fault;
mod frame;
mod grant;
mod hello;
mod ideas;
mod jobs;
mod meaning;
mod name;
mod place;
mod reply;
mod request;
mod tunnel;
mod voice;

pub use access::*;
pub use codec::{CodecError, decode, encode};
pub use collector::*;
pub use connect::*;
pub use fault::{Exit, Fault, FaultCode, SIZE_LIMIT_HINT};
pub use frame::{FrameError, MAX_FRAME, read_frame, write_frame};
pub use grant::{GrantType, Scope, Scopes, Secret};
pub use hello::{HELLO_LEN, Hello, HelloError};
pub use ideas::*;
pub use jobs::*;
pub use meaning::*;
pub use name::{MAX_SLUG_BYTES, NameError, Slug, SourceId};
pub use place::fallback_run_dir;
pub use reply::*;
pub use request::*;
pub use tunnel::*;
pub use voice::*;

/// The service's version, in four numeric parts. Every surface that tells a version takes it from
/// here.
pub const VERSION: &str = "0.1.0.0";

/// The number of the wire format. It grows whenever a byte of [`Request`], [`Reply`] or [`Event`]
/// would be read differently; bincode has no evolution of its own.
pub const PROTOCOL: u16 = 8;

/// The largest content that a page may have: 5 MB (decimal), counted in bytes of UTF-8.
pub const MAX_CONTENT: usize = 5_000_000;

/// The most pages that a search answers with.
pub const MAX_HITS: u32 = 200;

/// The largest message of MCP, in bytes: a page of the largest size, as JSON.
pub const MAX_MESSAGE: usize = 8 * 1024 * 1024;
