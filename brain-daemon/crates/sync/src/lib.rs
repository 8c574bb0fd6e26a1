//! Between the store and files that a person owns: sync, import, export, backup.
//!
//! [`sync`] takes changes of files into the store, and deletes a page only while the directory of
//! its source is verified. [`backup`] copies the store while the daemon works, and verifies each
//! copy. This crate knows no HTTP and no feature. All calls block.

pub mod backup;
pub mod sync;
