//! Pages as files: one markdown file a page, and the trash. Knows paths and bytes; must not know the store,
//! slugs, or who asks.
//!
//! A file is written beside its place and exchanged with what is there. What somebody else left there is never touched:
//! a file is ours only when its bytes are what we wrote, and everything else is reported and stays. All paths are resolved
//! from a handle of the directory, so that no link leads out of it.

mod beneath;
mod git;
mod git_config;
#[cfg(test)]
mod git_tests;
mod late;
mod own;
mod scan;
mod spot;
mod swap;
mod trash;
mod tree;

#[cfg(test)]
mod tree_tests;

pub use beneath::Root;
pub use git::{Pulled, pull};
pub use late::Save;
pub use own::{Own, digest, is_torn};
pub use scan::{
    Found, MarkdownFile, Stat, each_markdown_file, is_not_there, markdown_files, stat_of,
};
pub use trash::TRASH;
pub use tree::{Outcome, Tree};
