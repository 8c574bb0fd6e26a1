//! Limits the bytes of text that are parsed and stored at the same time. What a page becomes
//! (links, dated lines, copies on their way to the store) can take many times its length; requests
//! wait here for their turn, so that any number of them takes bounded memory. Nothing is refused.

use std::sync::{Condvar, Mutex, PoisonError};

use brain_protocol::{MAX_CONTENT, Request};

/// The bytes of text under way. One page of the largest size, and some smaller ones.
const LIMIT: usize = MAX_CONTENT + MAX_CONTENT / 2;

/// The budget.
#[derive(Debug)]
pub(crate) struct TextBudget {
    left: Mutex<usize>,
    freed: Condvar,
}

/// A share of the budget. Dropping it gives it back.
#[must_use]
pub struct TextPermit<'a> {
    budget: &'a TextBudget,
    bytes: usize,
}

impl TextBudget {
    pub(crate) fn new() -> Self {
        Self { left: Mutex::new(LIMIT), freed: Condvar::new() }
    }

    /// Waits for a share of `bytes`, or of the whole budget when that is less. Blocks. A thread
    /// that holds a share must not take another one; the store's writer never takes one.
    pub(crate) fn take(&self, bytes: usize) -> TextPermit<'_> {
        let bytes = bytes.min(LIMIT);
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = self
            .freed
            .wait_while(left, |left| *left < bytes)
            .unwrap_or_else(PoisonError::into_inner);
        *left -= bytes;
        TextPermit { budget: self, bytes }
    }
}

impl Drop for TextPermit<'_> {
    fn drop(&mut self) {
        *self.budget.left.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.budget.freed.notify_all();
    }
}

/// The bytes of text in a request.
pub(crate) fn text_of(request: &Request) -> usize {
    match request {
        Request::Capture(capture) => capture.content.len(),
        Request::Put(put) => put.content.len(),
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
        let (budget, under_way) = (TextBudget::new(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for n in 0..40 {
                let (budget, under_way) = (&budget, &under_way);
                scope.spawn(move || {
                    // Also more than there is.
                    let bytes = (n % 10) * MAX_CONTENT / 4;
                    let _permit = budget.take(bytes);
                    let now =
                        under_way.fetch_add(bytes.min(LIMIT), Ordering::SeqCst) + bytes.min(LIMIT);
                    assert!(now <= LIMIT, "{now}");
                    std::thread::sleep(Duration::from_millis(1));
                    under_way.fetch_sub(bytes.min(LIMIT), Ordering::SeqCst);
                });
            }
        });
        assert_eq!(*budget.left.lock().unwrap(), LIMIT);
    }
}
