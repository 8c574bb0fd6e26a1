//! The daemon as a library, so that tests and benchmarks can run it in their own process.
//!
//! Connects the crates of the daemon; `ARCHITECTURE.md` describes them.

pub mod activation;
pub mod cli;
pub mod daemon;
pub mod ipc;
pub mod signals;
pub mod temporary_home;
pub mod workers;
