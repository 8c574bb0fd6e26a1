//! Reads documents. Each format has a module with a [`Format`].

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 0] = [];
