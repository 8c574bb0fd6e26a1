//! Buffers calls until they are written, within limits of count and size. No I/O.

use std::collections::VecDeque;

use brain_store::AuditRecord;

/// Maximum number of calls in the buffer.
const MAX_CALLS: usize = 100_000;
/// Maximum size of the buffer, in bytes.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of unknown callers' calls that are recorded in one minute.
const MAX_UNKNOWN: u64 = 60;
/// A minute in milliseconds.
pub(super) const MINUTE_MS: i64 = 60 * 1000;

/// Calls that are not written yet.
#[derive(Default)]
pub(super) struct CallBuffer {
    /// The calls, in the order in which they ended.
    pub(super) calls: VecDeque<AuditRecord>,
    /// The size of `calls`, in bytes.
    bytes: usize,
    /// Number of calls that were dropped since the last [`Self::take_dropped`].
    dropped: u64,
    /// The minute in which unknown calls are counted, as a number of minutes since 1970.
    minute: i64,
    /// The number of unknown calls in that minute.
    unknown_calls: u64,
    /// The highest HTTP status of that minute's unknown calls without a record.
    worst_status: u16,
}

impl CallBuffer {
    /// Adds a call that ended at `now`, in Unix milliseconds.
    pub(super) fn record(&mut self, now: i64, call: AuditRecord) {
        if call.client != AuditRecord::UNKNOWN {
            return self.push(call);
        }
        self.advance(now);
        self.unknown_calls += 1;
        if self.unknown_calls <= MAX_UNKNOWN {
            self.push(call);
        } else {
            self.worst_status = self.worst_status.max(call.status);
        }
    }

    /// Begins a new minute if `now` is not in the current one.
    pub(super) fn advance(&mut self, now: i64) {
        let minute = now.div_euclid(MINUTE_MS);
        if minute != self.minute {
            self.summarize_unknown();
            self.minute = minute;
        }
    }

    /// Adds a record with the number of unknown calls without a record, if there are any, and
    /// resets the count.
    pub(super) fn summarize_unknown(&mut self) {
        let omitted = std::mem::take(&mut self.unknown_calls).saturating_sub(MAX_UNKNOWN);
        let status = std::mem::take(&mut self.worst_status);
        if omitted > 0 {
            self.push(AuditRecord {
                at: self.minute * MINUTE_MS,
                client: AuditRecord::UNKNOWN.into(),
                operation: format!("({omitted} more calls of unknown callers)"),
                status,
                took_us: 0,
                parameters: Vec::new(),
            });
        }
    }

    fn push(&mut self, call: AuditRecord) {
        self.bytes += size(&call);
        self.calls.push_back(call);
        while self.calls.len() > MAX_CALLS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.calls.pop_front() else { break };
            self.bytes -= size(&oldest);
            self.dropped += 1;
        }
    }

    /// Takes all calls, to write them.
    pub(super) fn take(&mut self) -> Vec<AuditRecord> {
        self.bytes = 0;
        std::mem::take(&mut self.calls).into()
    }

    /// Returns how many calls were dropped since the last call of this method.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Puts calls that could not be written back, before the newer ones.
    pub(super) fn put_back(&mut self, calls: Vec<AuditRecord>) {
        let newer = self.take();
        calls.into_iter().chain(newer).for_each(|call| self.push(call));
    }
}

/// Returns the size of a call in memory, in bytes.
fn size(call: &AuditRecord) -> usize {
    let size_of_parameter = |parameter: &(String, u64)| size_of_val(parameter) + parameter.0.len();
    let parameters: usize = call.parameters.iter().map(size_of_parameter).sum();
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
    fn the_buffer_is_limited_in_bytes() {
        let mut buffer = CallBuffer::default();
        let long = || AuditRecord { operation: "x".repeat(1 << 20), ..call(0) };
        for _ in 0..20 {
            buffer.push(long());
        }
        assert_eq!((buffer.calls.len(), buffer.dropped), (15, 5));
        let taken = buffer.take();
        buffer.push(long());
        buffer.put_back(taken);
        assert_eq!(
            (buffer.calls.len(), buffer.dropped),
            (15, 6),
            "calls that are put back count, too"
        );
        assert_eq!(buffer.bytes, buffer.calls.iter().map(size).sum::<usize>());
        let _ = buffer.take();
        assert_eq!(buffer.bytes, 0);
    }

    #[test]
    fn the_oldest_calls_are_dropped_and_counted() {
        let mut buffer = CallBuffer::default();
        for n in 0..MAX_CALLS as i64 + 3 {
            buffer.push(call(n));
        }
        assert_eq!((buffer.calls.len(), buffer.dropped), (MAX_CALLS, 3));
        assert_eq!(buffer.calls.front().map(|call| call.at), Some(3));
    }
}
