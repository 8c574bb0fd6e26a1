//! Operations on pages, and what they stand on: the files of pages, sources, provenance.
//!
//! A write goes through the store's writer, then to the file of its page; [`files`] replaces only
//! bytes that brain wrote or read. [`provenance`] decides which lines are trusted: what came from
//! outside stays marked. [`index`] feeds the full-text index from the store. Each read passes the
//! caller's visibility. This crate knows no search by meaning, no model, no HTTP, and decides no
//! permission. All calls block.

pub mod editor;
pub mod file_input;
pub mod files;
pub mod index;
pub mod made_page;
mod page_days;
pub mod pages;
pub mod preferred_source;
pub mod presence;
pub mod provenance;
pub mod sources;
pub mod write_page;
