//! The priority of threads that work in bulk.

/// How much the priority is lowered. A thread at 5 gets about a third of what one at 0 gets while
/// both want the same processor, and all of it when nobody else does.
const NICE: i32 = 5;

/// Lowers the priority of the calling thread, and of the threads that it starts from now on. For
/// threads that make or read thousands of things: somebody who waits for an answer goes first. It
/// cannot be taken back.
pub fn yield_to_callers() {
    // On Linux this is the thread's own. A system that refuses leaves it as it is.
    let _ = rustix::process::nice(NICE);
}
