//! Reads documents. Each format has a module with a [`Format`].

mod pdf;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 1] = [pdf::FORMAT];
