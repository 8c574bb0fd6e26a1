//! The control socket: brain's own protocol for processes of the same user.

mod admission;
mod listener;
mod session;

pub use listener::{Listener, serve};
