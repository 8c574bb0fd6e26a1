//! The text of a page: what it says about itself and where it may be cut. Pure functions from text to values: frontmatter and
//! body, content hash, title, chunks, sections, links, timeline, and strangers' words made harmless.
//!
//! This room must not know of files, the store, the clock, the index, sources that exist, or who is asking. Whatever depends on
//! other pages (which page a name means, whether a target exists) is the caller's. All functions are total: text from outside gives
//! a value or an error, never a panic, in time linear to its length.
//!
//! The usual order: [`decode_text`] at the door, [`Document::parse`], then [`content_hash`], [`derive_title`], [`chunks`], [`links`], [`body_tags`]
//! and [`timeline`] on the body.

mod address;
mod chunk;
mod cluster;
mod content;
mod dated;
mod document;
mod edit;
mod fence;
mod file;
mod frontmatter;
mod links;
mod markdown;
mod note;
mod payload;
mod plain;
mod prose;
mod section;
mod strangers;
mod tags;
mod timeline;
mod title;
mod windows;
mod yaml;

pub use address::own_address;
pub use chunk::chunks;
pub use content::{NotText, NotTextWhat, content_digest, content_hash, decode_text, hex};
pub use dated::{DatedError, add_dated};
pub use document::{Document, file_text};
pub use edit::{
    EditError, append, excerpt, prepend, replace_section, replace_text, set_frontmatter,
};
pub use file::{file_hash, file_path, is_markdown};
pub use frontmatter::{Frontmatter, FrontmatterError, MAX_FRONTMATTER, normal_tag};
pub use links::{
    LINK_KEYS, Link, MAX_LINKS, MENTIONS, Target, each_link, file_name_key, is_attachment,
    is_link_key, links, normal_name,
};
pub use markdown::each_event;
pub use note::add_note;
pub use payload::{MediaType, Payload, PayloadError, RECEIVED, payload};
pub use section::{Heading, headings, section};
pub use strangers::{escaped, paragraph, plain};
pub use tags::body_tags;
pub use timeline::{TimelineEntry, timeline};
pub use title::{MAX_TITLE, derive_title};
pub use windows::{WINDOWS, Window, windows};
