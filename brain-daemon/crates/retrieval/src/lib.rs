//! Finding pages: by words, by links, by meaning.
//!
//! [`search`] merges the rankings of the full-text index, of vectors and of links, and says what is
//! missing in `degraded`. [`embedding`] keeps the vectors of pages: the store's commits mark pages,
//! rounds compute their vectors. A result never depends on a page that its caller cannot see. This
//! crate writes no page and knows no language model. All calls block.

pub mod embedding;
pub mod search;
