//! Reads documents. Each format has a module with a [`Format`].

mod container;
mod decode;
mod docx;
mod draft;
mod epub;
mod facts;
mod flow;
mod label;
mod locked;
mod markdown;
mod model;
mod odt;
mod xhtml;
mod xml;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 3] = [docx::FORMAT, odt::FORMAT, epub::FORMAT];
