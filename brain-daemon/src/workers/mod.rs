//! Workers: what the daemon does by itself, on a timer. They call the brain and know nothing below it.

mod upkeep;

pub use upkeep::upkeep;
