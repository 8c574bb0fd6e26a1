//! Two ledgers: what left the machine, and what AI clients were given.
//!
//! A request to another host is a line in a file of the home before its first byte leaves, and a
//! second line when it has ended ([`OutgoingFile`]). [`LeftService`] moves ended requests into the
//! store, where all machines see them, and lists both. [`SeenService`] records calls of AI clients,
//! compactly: versions of pages instead of their text. `replay` makes the replies of a call again
//! from these versions, and runs nothing. The interface that answered renders them ([`Renderer`]).
//!
//! Lines of the first ledger have neither text nor slugs. A purge empties the records of the second
//! one that gave or named what is purged. The crate knows neither HTTP nor MCP.

mod left;
mod list_filter;
mod outgoing_file;
mod recording;
mod replay;
mod seen;

pub use left::LeftService;
pub use outgoing_file::OutgoingFile;
pub use recording::{AnsweredCall, RecordedReply};
pub use replay::{RecordedCall, Renderer};
pub use seen::{SeenService, answer_hash};
