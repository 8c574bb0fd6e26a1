//! Background workers, run by timers and notifications. They call `Brain` and nothing below it.

mod backup;
mod collector;
mod collector_stream;
mod cron_trigger;
mod embed;
mod ingest;
mod minute_allocator;
mod tunnel;
mod upkeep;
mod watch;
mod watchdog;

pub use backup::backup;
pub use collector::collector;
pub use collector_stream::collector_stream;
pub use embed::embed;
pub use ingest::ingest;
pub use minute_allocator::MinuteAllocator;
pub use tunnel::tunnel;
pub use upkeep::upkeep;
pub use watch::watch;
pub use watchdog::watchdog;
