//! Reads conversations, bookmarks and highlights. Each format has a module with a [`Format`].

mod bookmarks;
mod chatgpt;
mod claude;
mod csv;
mod embedded;
mod export;
#[cfg(test)]
mod faults;
mod formulas;
mod highlight_file;
mod highlights;
mod json;
mod json_array;
mod kindle;
mod long_page;
mod readwise;
mod time;
mod turns;
mod x_archive;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 6] = [
    chatgpt::FORMAT,
    claude::FORMAT,
    bookmarks::FORMAT,
    kindle::FORMAT,
    readwise::FORMAT,
    x_archive::FORMAT,
];
