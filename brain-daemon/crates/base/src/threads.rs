//! Lowers the priority of threads that do bulk work.

/// The nice value of bulk threads. A thread at 5 gets about a third of the time of one at 0 while
/// both compete for a processor, and all of it otherwise.
const NICE: i32 = 5;

/// Lowers the priority of the calling thread and of threads that it starts later.
///
/// For bulk work, so that requests of callers have priority. It cannot be undone.
pub fn lower_priority() {
    // On Linux the value belongs to the thread. A failure only leaves the priority unchanged.
    let _ = rustix::process::nice(NICE);
}
