//! Pages as files: one markdown file a page, and the trash. Knows paths and bytes; must not know the store,
//! slugs, or who asks.
//!
//! A file is written beside its place and renamed into it. What somebody else left there is never touched: a file
//! is ours only when its bytes are what we wrote, and everything else is reported and stays.

mod git;
mod scan;
mod tree;

pub use git::{Pulled, pull};
pub use scan::{Found, MarkdownFile, Stat, markdown_files, stat_of};
pub use tree::{Outcome, TRASH, Tree, digest};
