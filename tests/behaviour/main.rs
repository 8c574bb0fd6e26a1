//! Behaviour tests: one program, one module a topic.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod capture;
mod capture_merge;
mod crash;
mod links;
mod list;
mod pages;
mod remove;
