//! Reads programs that write markdown. Each format has a module with a [`Format`].

mod dendron;
mod frontmatter;
mod logseq;
mod notion;
mod outline;
mod rewrite;
mod roam;
mod vault;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 4] = [notion::FORMAT, logseq::FORMAT, roam::FORMAT, dendron::FORMAT];
