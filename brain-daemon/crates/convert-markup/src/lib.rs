//! Reads notes in a markup of their own. Each format has a module with a [`Format`].

mod cherrytree;
mod dokuwiki;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod faults;
mod files;
mod gnote;
mod jrnl;
mod lists;
mod markdown;
mod org;
mod rednotebook;
mod reference;
mod rest;
mod source;
mod wiki;
mod zim;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 7] = [
    zim::FORMAT,
    gnote::FORMAT,
    cherrytree::FORMAT,
    dokuwiki::FORMAT,
    rednotebook::FORMAT,
    jrnl::FORMAT,
    org::FORMAT,
];
