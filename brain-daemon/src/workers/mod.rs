//! Workers: what the daemon does by itself, on a timer. They call the brain and know nothing below it.

mod backup;
mod upkeep;
mod watchdog;
mod watch;

pub use backup::backup;
pub use upkeep::upkeep;
pub use watchdog::watchdog;
pub use watch::watch;
