//! Who acts. A door or a worker says it once for all that it does; every write takes it along.

use std::cell::RefCell;

use super::record::{Actor, Origin};

/// Who changes pages, when, and what from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Act {
    /// Who.
    pub actor: Actor,
    /// The clock's time, Unix milliseconds; `None` if the writes know it.
    pub at: Option<i64>,
    /// What the written texts are made from.
    pub made_from: Vec<Origin>,
}

thread_local! {
    static CURRENT: RefCell<Act> = RefCell::default();
}

/// Runs `work`, whose writes on this thread are those of `act`.
pub fn acting<T>(act: Act, work: impl FnOnce() -> T) -> T {
    struct Former(Act);
    impl Drop for Former {
        fn drop(&mut self) {
            CURRENT.set(std::mem::take(&mut self.0));
        }
    }
    let _former = Former(CURRENT.replace(act));
    work()
}

/// Returns who acts on this thread.
#[must_use]
pub fn current_act() -> Act {
    CURRENT.with_borrow(Act::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(door: &str) -> Act {
        Act { actor: Actor { door: door.into(), ..Actor::default() }, ..Act::default() }
    }

    #[test]
    fn an_act_ends_with_its_work_even_by_a_panic() {
        acting(act("cli"), || {
            acting(act("sync"), || assert_eq!(current_act(), act("sync")));
            let failed = std::panic::catch_unwind(|| acting(act("mcp"), || panic!("on purpose")));
            assert!(failed.is_err());
            assert_eq!(current_act(), act("cli"));
        });
        assert_eq!(current_act(), Act::default());
    }
}
