//! The program `brain-convert`: all formats, and the rights of the process.

mod confine;
mod helper;
mod pdf_text;
mod system_calls;

use brain_convert_base::Format;

pub use confine::{ConfineError, confine};
pub use helper::Helper;
pub use pdf_text::pdf_text;

/// Returns all formats, in the order in which they are tried.
pub fn formats() -> impl Iterator<Item = &'static Format> {
    let notes = brain_convert_notes::FORMATS.iter();
    notes
        .chain(&brain_convert_vaults::FORMATS)
        .chain(&brain_convert_markup::FORMATS)
        .chain(&brain_convert_records::FORMATS)
        .chain(&brain_convert_mail::FORMATS)
        // A document can be a file of the formats above.
        .chain(&brain_convert_documents::FORMATS)
}
