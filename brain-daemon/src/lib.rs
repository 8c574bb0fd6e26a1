//! brain-daemon as a library: its program is a thin `main.rs`, so that tests and benchmarks reach every room.
//!
//! `ARCHITECTURE.md` has the map. Dependencies point down: doors and workers → brain → store, search, files →
//! page → protocol.

pub mod activation;
pub mod brain;
pub mod caller;
pub mod cli;
pub mod clock;
pub mod collector;
pub mod config;
pub mod costs;
pub mod daemon;
pub mod doors;
pub mod embed;
pub mod files;
pub mod home;
pub mod llm;
pub mod net;
pub mod page;
pub mod random;
pub mod schedule;
pub mod search;
pub mod secrets;
pub mod store;
pub mod telephony;
mod threads;
pub mod tunnel;
pub mod vectors;
pub mod workers;
