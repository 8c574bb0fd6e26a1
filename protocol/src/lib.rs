//! Wire types of the control socket, shared by client and daemon.
//!
//! No I/O: the crate must not know sockets, clocks, files, tokio or redb. So the client stays
//! small, and all rules of the wire are in one place. `docs/protocol.md` describes the wire format.

mod access;
mod ask;
mod attachments;
mod browser;
mod codec;
mod collector;
mod command;
mod completion;
mod conflict;
mod connect;
mod costs;
mod digest;
mod direction;
mod edit;
mod edit_distance;
mod editor;
mod embedding;
mod everyday;
mod fault;
mod frame;
mod health;
mod hello;
mod hint;
mod home_owner;
mod ideas;
mod io_reason;
mod jobs;
mod ledger;
mod links;
mod machines;
mod name;
mod operation;
mod page;
mod page_ref;
mod past;
mod reply;
mod review;
mod run_dir;
mod scope;
mod search;
mod source;
mod synced_folder;
mod transfer;
mod trust;
mod tunnel;
mod voice;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod wire_tests;
mod words;
mod workers;

pub use access::*;
pub use ask::*;
pub use attachments::*;
pub use browser::*;
pub use codec::{CodecError, decode, encode};
pub use collector::*;
pub use command::{Command, shell_word};
pub use completion::*;
pub use conflict::*;
pub use connect::*;
pub use costs::*;
pub use digest::*;
pub use direction::{escape_json, is_direction_control, reorders_text};
pub use edit::*;
pub use edit_distance::{EditDistance, EditRow, MAX_EDITS, nearest};
pub use editor::*;
pub use embedding::*;
pub use everyday::*;
pub use fault::{Exit, Fault, FaultCode, SIZE_LIMIT_HINT};
pub use frame::{FrameError, MAX_FRAME, read_frame, write_frame};
pub use health::*;
pub use hello::{HELLO_LEN, Hello, HelloError};
pub use hint::Hint;
pub use home_owner::{own_home_hint, refuse_root};
pub use ideas::*;
pub use io_reason::io_reason;
pub use jobs::*;
pub use ledger::*;
pub use links::*;
pub use machines::*;
pub use name::{MAX_SLUG_BYTES, NameError, Slug, SourceId};
pub use operation::{AsOf, OPERATIONS, Operation, OperationInfo, PastRequest, Request};
pub use page::*;
pub use page_ref::*;
pub use past::*;
pub use reply::{Answer, AsOfReply, Event, Reply, TagsReply, UnexpectedReply};
pub use review::*;
pub use run_dir::fallback_run_dir;
pub use scope::{GrantType, Scope, Scopes, Secret};
pub use search::*;
pub use source::*;
pub use synced_folder::SyncedFolder;
pub use transfer::*;
pub use trust::*;
pub use tunnel::*;
pub use voice::*;
pub use workers::*;

/// The version of both programs in four numeric parts.
pub const VERSION: &str = "0.1.0.0";

/// The number of the wire format.
///
/// Types are encoded by position, so fields and variants are appended. bincode has no versioning,
/// so every change of the encoding of [`Request`], [`Reply`] or [`Event`] must raise the number.
pub const PROTOCOL: u16 = 22;

/// The hash of the declarations of the wire types, with which a test finds a change of them.
#[cfg(test)]
const WIRE_TYPES: u64 = 0xf20a_5dca_9217_e89c;

/// The skill that tells agents how to use brain: a `SKILL.md` with frontmatter.
pub const SKILL: &str = include_str!("SKILL.md");

/// The name of the file that marks a home as temporary. `brain demo` creates it, and
/// `brain-daemon --temporary` serves and removes only a home that has it.
pub const TEMPORARY_HOME_MARKER: &str = ".temporary-home";

/// Maximum size of a page's content in bytes of UTF-8: 5 MB (decimal).
pub const MAX_CONTENT: usize = 5_000_000;

/// Maximum number of hits of one search.
pub const MAX_HITS: u32 = 200;

/// Maximum size of an MCP message in bytes (8 MiB): room for a page of maximum size as JSON.
pub const MAX_MESSAGE: usize = 8 * 1024 * 1024;
