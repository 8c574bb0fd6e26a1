//! Doors: each turns what came in into a `Request`, says who is asking, and hands both to the one `Brain`. No door
//! opens the store.

pub mod http;
pub mod ipc;
pub mod mcp;
