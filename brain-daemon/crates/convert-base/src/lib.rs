//! What all converters share: [`Format`], [`Page`] and [`Output`].
//!
//! A converter reads files of another program and writes pages to an [`Output`]. What it cannot put
//! into a page it reports as lost. Converters know neither the store nor each other.
//! `docs/import.md` describes the lines that an output has.

mod decode;
mod format;
mod hidden_text;
mod kinds;
mod limited_reader;
mod months;
mod output;
mod page;
mod paths;
mod plain_text;
mod sample;
mod tree;
mod unique_names;

pub use brain_page::{count_words, is_entity};
pub use decode::decode_text;
pub use format::{ConvertError, Format, convert, convert_with, recognise};
pub use hidden_text::hidden_text;
pub use limited_reader::LimitedReader;
pub use months::MONTHS;
pub use output::Output;
pub use page::{Page, Value, link, link_address};
pub use paths::Paths;
pub use plain_text::{
    block_start, fenced, literal_line, literal_part, literal_text, plain_hyphens,
};
pub use sample::Sample;
pub use tree::{Entry, Tree};
