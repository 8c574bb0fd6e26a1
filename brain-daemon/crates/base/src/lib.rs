//! The environment of the daemon: clock, randomness, home directory, secrets, schedule, caller and
//! permission, durable files and JSON lines, the log of outgoing requests, pauses between attempts,
//! priority of threads, and the states of the background workers.
//!
//! Every crate of the daemon may use it. It knows neither pages nor the store nor features.

pub mod backoff;
pub mod caller;
pub mod clock;
pub mod disk;
pub mod durable;
mod error;
pub mod exposure;
pub mod file_system;
pub mod home;
pub mod json_lines;
pub mod leases;
pub mod mount_points;
pub mod mount_table;
pub mod outgoing;
pub mod permission;
pub mod random;
pub mod schedule;
pub mod secrets;
pub mod threads;
pub mod workers;

pub use error::{Error, read_fault, write_code, write_fault};
