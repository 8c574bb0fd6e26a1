//! Reads mail, contacts and calendars. Each format has a module with a [`Format`].

mod codec;
mod mail;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 2] = [mail::MBOX, mail::EML];
