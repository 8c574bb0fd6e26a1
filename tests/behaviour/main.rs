//! Behaviour tests: one program, one module a topic.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod capture;
mod capture_merge;
mod crash;
mod faults;
mod files;
mod heavy;
mod import;
mod life;
mod links;
mod list;
mod operations;
mod pages;
mod remove;
mod search;
mod search_text;
mod socket;
mod terminal;
mod time;
mod together;
mod wire;
mod wire_replies;
