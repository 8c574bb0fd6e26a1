//! Limits the bytes of text that are parsed and stored at the same time. A page with its links,
//! dated lines and copies can take many times the length of its text. Requests wait until the
//! budget has room, so their memory is bounded. No request is refused.

use brain_protocol::{MAX_CONTENT, Request};
use parking_lot::{Condvar, Mutex};

/// The maximum number of bytes in use: one page of the largest size, and some smaller ones.
const LIMIT: usize = MAX_CONTENT + MAX_CONTENT / 2;

/// The budget of bytes.
#[derive(Debug)]
pub struct TextBudget {
    free_bytes: Mutex<usize>,
    release_signal: Condvar,
}

/// A share of the budget. Dropping it returns the share.
#[must_use]
pub struct TextPermit<'a> {
    budget: &'a TextBudget,
    bytes: usize,
}

impl Default for TextBudget {
    fn default() -> Self {
        Self { free_bytes: Mutex::new(LIMIT), release_signal: Condvar::new() }
    }
}

impl TextBudget {
    /// Waits until `bytes` are free, and returns a share of that size. If `bytes` is more than the
    /// whole budget, the share is the whole budget. Blocks.
    ///
    /// A thread that holds a share must not take another one. The store's writer takes none.
    pub fn take(&self, bytes: usize) -> TextPermit<'_> {
        let bytes = bytes.min(LIMIT);
        let mut free_bytes = self.free_bytes.lock();
        self.release_signal.wait_while(&mut free_bytes, |free_bytes| *free_bytes < bytes);
        *free_bytes -= bytes;
        TextPermit { budget: self, bytes }
    }
}

impl Drop for TextPermit<'_> {
    fn drop(&mut self) {
        *self.budget.free_bytes.lock() += self.bytes;
        self.budget.release_signal.notify_all();
    }
}

/// Returns the number of bytes of text or file content in a request.
pub fn text_bytes(request: &Request) -> usize {
    match request {
        Request::Capture(capture) => capture.content.len(),
        Request::Put(put) => put.content.len(),
        Request::Append(append) => append.content.len(),
        Request::Attach(attach) => attach.content.len(),
        _ => 0,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn shares_never_exceed_the_limit_and_all_are_served() {
        let (budget, bytes_in_use) = (TextBudget::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for n in 0..40 {
                let (budget, bytes_in_use) = (&budget, &bytes_in_use);
                scope.spawn(move || {
                    // Some shares are larger than the budget.
                    let bytes = (n % 10) * MAX_CONTENT / 4;
                    let _permit = budget.take(bytes);
                    let share = bytes.min(LIMIT);
                    let in_use = bytes_in_use.fetch_add(share, Ordering::SeqCst) + share;
                    assert!(in_use <= LIMIT, "{in_use}");
                    std::thread::sleep(Duration::from_millis(1));
                    bytes_in_use.fetch_sub(share, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(*budget.free_bytes.lock(), LIMIT);
    }
}
