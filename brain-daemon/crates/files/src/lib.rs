//! Pages as markdown files, and the trash; walks through directories; the history in git.
//!
//! This crate knows paths and bytes. It knows no store, slugs or callers.
//!
//! A file is written beside its path and exchanged with the file there. Brain replaces only bytes
//! that it wrote. Any other file is reported and left alone. Paths are resolved from a handle of
//! the directory, so that no symbolic link leads out of it.

pub mod attachment_files;
mod file_entry;
mod git;
mod git_config;
mod git_history;
#[cfg(test)]
mod git_tests;
mod ignore_rules;
mod interrupted;
mod own_contents;
mod parts;
mod place;
mod refusal;
mod replaced_files;
mod root_dir;
mod scan;
pub mod swap;
mod trash;
mod tree;
#[cfg(test)]
mod tree_tests;
mod walk;

pub use attachment_files::AttachmentFiles;
pub use brain_base::mount_table::MountTable;
pub use git::{PullOutcome, pull};
pub use git_history::{CommitTimes, GitHistory};
pub use ignore_rules::{IgnoreRules, is_rule_file};
pub use own_contents::{OwnContents, digest, is_torn};
pub use parts::{AwayPart, Parts, PresentPart, away_error, is_away};
pub use place::{DirId, Likeness, MountEvents, Place};
pub use refusal::refusal;
pub use replaced_files::OverwrittenEdit;
pub use root_dir::RootDir;
pub use scan::{MarkdownFile, ScanReport, Stat, is_missing, stat_of};
pub use trash::TRASH;
pub use tree::{FileOutcome, OpenRoot, Tree};
pub use walk::{for_each_markdown_file, markdown_files};
