//! What every crate of the daemon takes from its surroundings: time, randomness, the home directory,
//! secrets, the plan of the daemon's own tasks, the caller.
//!
//! Knows no pages, no store and no feature.

pub mod caller;
pub mod clock;
pub mod home;
pub mod random;
pub mod schedule;
pub mod secrets;
pub mod threads;
