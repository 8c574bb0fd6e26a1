//! Workers: what the daemon does by itself, on a timer. They call the brain and know nothing below it.

mod backup;
mod upkeep;
mod watch;
mod watchdog;

pub use backup::backup;
pub use upkeep::upkeep;
pub use watch::watch;
pub use watchdog::watchdog;
