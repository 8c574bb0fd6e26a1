//! Answers and ideas by language models.
//!
//! [`ask`] answers a question from pages that its caller can see, with citations. [`ideas`]
//! combines distant pages and keeps its runs. No model's output decides what is read, asked next,
//! or spent; each paid call is within its budget. All calls block.

pub mod ask;
pub mod ideas;
