//! Workers: what the daemon does by itself, on a timer or because there is something to do. They call the brain and know nothing below it.

mod backup;
mod intake;
mod upkeep;
mod watch;
mod watchdog;

pub use backup::backup;
pub use intake::intake;
pub use upkeep::upkeep;
pub use watch::watch;
pub use watchdog::watchdog;
