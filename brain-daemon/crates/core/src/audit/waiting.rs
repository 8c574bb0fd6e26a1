//! Calls that wait to be written down: how many there may be, and what unknown callers may take of the room. Pure.

use std::collections::VecDeque;

use brain_store::AuditRecord;

/// The most calls that wait to be written down.
const MOST: usize = 100_000;
/// The most room that they take, in bytes.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The most calls of unknown callers that one minute keeps.
const STRANGERS: u64 = 60;
/// In milliseconds.
pub(super) const MINUTE: i64 = 60 * 1000;

/// Calls that wait, within limits.
#[derive(Default)]
pub(super) struct Waiting {
    /// In the order of their end.
    pub(super) calls: VecDeque<AuditRecord>,
    /// The room that they take.
    bytes: usize,
    /// So many did not find room since the last time that it was said.
    dropped: u64,
    /// The minute that unknown callers are counted in, since 1970.
    minute: i64,
    /// Their calls in it.
    strangers: u64,
    /// The highest status of those that have no record of their own.
    worst: u16,
}

impl Waiting {
    /// A call that ended at `now`.
    pub(super) fn note(&mut self, now: i64, call: AuditRecord) {
        if call.client != AuditRecord::UNKNOWN {
            return self.push(call);
        }
        self.turn(now);
        self.strangers += 1;
        if self.strangers <= STRANGERS {
            self.push(call);
        } else {
            self.worst = self.worst.max(call.status);
        }
    }

    /// Begins another minute when it is time.
    pub(super) fn turn(&mut self, now: i64) {
        let minute = now.div_euclid(MINUTE);
        if minute != self.minute {
            self.sum_up();
            self.minute = minute;
        }
    }

    /// Says how many calls of unknown callers have no record of their own.
    pub(super) fn sum_up(&mut self) {
        let more = std::mem::take(&mut self.strangers).saturating_sub(STRANGERS);
        let status = std::mem::take(&mut self.worst);
        if more > 0 {
            self.push(AuditRecord {
                at: self.minute * MINUTE,
                client: AuditRecord::UNKNOWN.into(),
                operation: format!("({more} more calls of unknown callers)"),
                status,
                took_us: 0,
                parameters: Vec::new(),
            });
        }
    }

    fn push(&mut self, call: AuditRecord) {
        self.bytes += size(&call);
        self.calls.push_back(call);
        while self.calls.len() > MOST || self.bytes > MOST_BYTES {
            let Some(oldest) = self.calls.pop_front() else { break };
            self.bytes -= size(&oldest);
            self.dropped += 1;
        }
    }

    /// All of them, to be written down.
    pub(super) fn take(&mut self) -> Vec<AuditRecord> {
        self.bytes = 0;
        std::mem::take(&mut self.calls).into()
    }

    /// How many did not find room since this was asked last.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Takes back what was to be written down.
    pub(super) fn put_back(&mut self, calls: Vec<AuditRecord>) {
        let newer = self.take();
        calls.into_iter().chain(newer).for_each(|call| self.push(call));
    }
}

/// The room that a call takes, in bytes.
fn size(call: &AuditRecord) -> usize {
    let parameters: usize = call.parameters.iter().map(|it| size_of_val(it) + it.0.len()).sum();
    size_of_val(call) + call.client.len() + call.operation.len() + parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(at: i64) -> AuditRecord {
        let (client, operation) = ("a".into(), "GET /x".into());
        AuditRecord { at, client, operation, status: 200, took_us: 5, parameters: Vec::new() }
    }

    #[test]
    fn calls_that_wait_have_a_limit_in_bytes() {
        let mut waiting = Waiting::default();
        let long = || AuditRecord { operation: "x".repeat(1 << 20), ..call(0) };
        for _ in 0..20 {
            waiting.push(long());
        }
        assert_eq!((waiting.calls.len(), waiting.dropped), (15, 5));
        let taken = waiting.take();
        waiting.push(long());
        waiting.put_back(taken);
        assert_eq!((waiting.calls.len(), waiting.dropped), (15, 6), "what is put back counts, too");
        assert_eq!(waiting.bytes, waiting.calls.iter().map(size).sum::<usize>());
        let _ = waiting.take();
        assert_eq!(waiting.bytes, 0);
    }

    #[test]
    fn when_too_many_come_the_oldest_are_dropped_and_counted() {
        let mut waiting = Waiting::default();
        for n in 0..MOST as i64 + 3 {
            waiting.push(call(n));
        }
        assert_eq!((waiting.calls.len(), waiting.dropped), (MOST, 3));
        assert_eq!(waiting.calls.front().map(|call| call.at), Some(3));
    }
}
