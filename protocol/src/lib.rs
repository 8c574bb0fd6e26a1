//! Wire types of the control socket, shared by client and daemon.
//!
//! No I/O: the crate must not know sockets, clocks, files, tokio or redb, so that the client stays
//! small and all rules of the wire are in one place. `docs/protocol.md` describes the wire format.

mod access;
mod codec;
mod collector;
mod connect;
mod fault;
mod frame;
mod hello;
mod ideas;
mod jobs;
mod name;
mod reply;
mod request;
mod run_dir;
mod scope;
mod semantic;
mod tunnel;
mod voice;

pub use access::*;
pub use codec::{CodecError, decode, encode};
pub use collector::*;
pub use connect::*;
pub use fault::{Exit, Fault, FaultCode, SIZE_LIMIT_HINT};
pub use frame::{FrameError, MAX_FRAME, read_frame, write_frame};
pub use hello::{HELLO_LEN, Hello, HelloError};
pub use ideas::*;
pub use jobs::*;
pub use name::{MAX_SLUG_BYTES, NameError, Slug, SourceId};
pub use reply::*;
pub use request::*;
pub use run_dir::fallback_run_dir;
pub use scope::{GrantType, Scope, Scopes, Secret};
pub use semantic::*;
pub use tunnel::*;
pub use voice::*;

/// The version of the service in four numeric parts. All programs report this constant.
pub const VERSION: &str = "0.1.0.0";

/// The number of the wire format. Every change to the encoding of [`Request`], [`Reply`] or [`Event`]
/// raises it; bincode has no versioning of its own.
pub const PROTOCOL: u16 = 8;

/// Maximum size of a page's content: 5 MB (decimal) in UTF-8.
pub const MAX_CONTENT: usize = 5_000_000;

/// Maximum number of search hits.
pub const MAX_HITS: u32 = 200;

/// Maximum size of an MCP message in bytes: room for a page of maximum size as JSON.
pub const MAX_MESSAGE: usize = 8 * 1024 * 1024;
