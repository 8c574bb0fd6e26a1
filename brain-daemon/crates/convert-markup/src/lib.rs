//! Reads notes in a markup of their own. Each format has a module with a [`Format`].

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
mod rest;
mod source;
mod wiki;
mod zim;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 6] =
    [zim::FORMAT, gnote::FORMAT, dokuwiki::FORMAT, rednotebook::FORMAT, jrnl::FORMAT, org::FORMAT];
