//! Reads mail, contacts and calendars. Each format has a module with a [`Format`].

mod calendar;
mod codec;
mod content_line;
mod mail;
mod sources;
mod vcard;
mod wide_text;

use brain_convert_base::Format;

/// The formats, in the order in which they are tried.
pub static FORMATS: [Format; 5] =
    [calendar::FORMAT, vcard::FORMAT, mail::MBOX, mail::EML, mail::ALL];
