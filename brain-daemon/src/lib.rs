//! brain-daemon as a library: its program is a thin `main.rs`, so that tests and benchmarks reach every room.
//!
//! `ARCHITECTURE.md` has the map. Dependencies point down: doors and workers → brain → store, search, files →
//! page → protocol.

pub mod activation;
pub mod brain;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod doors;
pub mod workers;
