//! Workers: what the daemon does by itself, on a timer or because there is something to do. They call the brain and know nothing below it.

mod backup;
mod bell;
mod collector;
mod embed;
mod intake;
mod minutes;
mod stream;
mod tunnel;
mod upkeep;
mod watch;
mod watchdog;

pub use backup::backup;
pub use collector::collector;
pub use embed::embed;
pub use intake::intake;
pub use minutes::Minutes;
pub use stream::stream;
pub use tunnel::tunnel;
pub use upkeep::upkeep;
pub use watch::watch;
pub use watchdog::watchdog;
