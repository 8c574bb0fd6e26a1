//! Reads the exports of note programs. Each format has a module with a [`Format`].

mod evernote;
mod joplin;
mod keep;
#[cfg(test)]
mod testing;
mod tiddlywiki;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 4] =
    [joplin::FORMAT, evernote::FORMAT, tiddlywiki::FORMAT, keep::FORMAT];
