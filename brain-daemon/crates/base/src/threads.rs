//! Lowers the priority of threads that do bulk work.

/// The increase of a bulk thread's nice value. While a thread at 5 and one at 0 compete for a
/// processor, the first gets about a third of the time of the second.
const NICE_INCREASE: i32 = 5;

/// Lowers the priority of the calling thread and of threads that it starts later.
///
/// Threads of bulk work call this, so that requests of callers have priority. The change cannot be
/// undone.
pub fn lower_priority() {
    // On Linux the value belongs to the thread. A failure only leaves the priority unchanged.
    let _ = rustix::process::nice(NICE_INCREASE);
}
