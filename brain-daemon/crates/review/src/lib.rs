//! What pages say of each other.
//!
//! [`contradictions`]: two pages state different values of one thing.

pub mod contradictions;
