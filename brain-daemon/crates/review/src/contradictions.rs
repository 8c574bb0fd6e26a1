//! Contradictions between pages, found by rules without a model.
//!
//! A contradiction is proposed for one thing, one field that can hold one value, and two values
//! whose spans of time meet. Whatever can be read otherwise is none: a succession, a field that may
//! hold many values, another unit or a rounded number, a name of two persons.

mod claims;
mod fact;
mod field_phrase;
mod fields;
mod names;
mod pairs;
mod sentence;
mod span;
mod value;

pub use claims::PageText;
pub use pairs::{Claims, Contradiction, PageNames, Statement};
