//! brain-daemon as a library: its program is a thin `main.rs`, so that tests and benchmarks start it in
//! their own process.
//!
//! `ARCHITECTURE.md` has the map. What the daemon does is in the crates below; here they are put together.

pub mod activation;
pub mod cli;
pub mod daemon;
pub mod ipc;
pub mod signals;
pub mod workers;
