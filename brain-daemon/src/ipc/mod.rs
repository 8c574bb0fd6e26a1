//! The control socket: brain's own protocol for processes on this machine.

mod access_policy;
mod listener;
mod session;

pub use listener::{Listener, serve};
