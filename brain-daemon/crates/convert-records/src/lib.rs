//! Reads conversations, bookmarks and highlights. Each format has a module with a [`Format`].

mod chatgpt;
mod claude;
mod embedded;
mod export;
mod json;
mod json_array;
mod long_page;
mod time;
mod turns;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 2] = [chatgpt::FORMAT, claude::FORMAT];
