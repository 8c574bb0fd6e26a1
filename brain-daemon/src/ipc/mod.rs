//! The control socket: brain's own protocol for processes of the same user.

mod access_policy;
mod listener;
mod session;

pub use listener::{Listener, serve};
