//! Reads programs that write markdown. Each format has a module with a [`Format`].

mod archive;
mod bear;
mod dendron;
mod frontmatter;
mod joplin_markdown;
mod logseq;
mod notion;
mod outline;
mod rewrite;
mod roam;
mod vault;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 8] = [
    notion::FORMAT,
    logseq::FORMAT,
    roam::FORMAT,
    bear::FORMAT,
    dendron::FORMAT,
    joplin_markdown::FORMAT,
    archive::CANVAS,
    // Archives of the formats above have markdown, too.
    archive::FORMAT,
];
