//! Reads documents. Each format has a module with a [`Format`].

mod container;
mod csv;
mod decode;
mod docx;
mod draft;
mod epub;
mod facts;
mod flow;
mod html;
mod label;
mod locked;
mod markdown;
mod math;
mod model;
mod odt;
mod pdf;
mod text;
mod xhtml;
mod xml;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 7] =
    [pdf::FORMAT, docx::FORMAT, odt::FORMAT, epub::FORMAT, html::FORMAT, csv::FORMAT, text::FORMAT];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod faults;
