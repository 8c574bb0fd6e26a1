//! Reads documents. Each format has a module with a [`Format`].

mod container;
mod decode;
mod docx;
mod draft;
mod facts;
mod flow;
mod locked;
mod markdown;
mod model;
mod xml;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 1] = [docx::FORMAT];
