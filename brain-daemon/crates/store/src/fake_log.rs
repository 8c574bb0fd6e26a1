//! A log in memory for tests of several machines.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brain_protocol::FaultCode;

use super::*;

/// What went wrong with an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogFault {
    /// The batch is in the log, and the answer is lost.
    LostAnswer,
    /// The server does not answer.
    Away,
    /// The server answers reads only.
    AwayForAppends,
}

#[derive(Default)]
pub(super) struct ServerState {
    pub(super) batches: Vec<(u128, LogPosition, Vec<u8>)>,
    pub(super) fault: Option<LogFault>,
    /// How often another machine had written first.
    pub(super) refusals: usize,
}

/// A log in memory, as one machine sees it.
pub(super) struct FakeLog {
    pub(super) machine: u128,
    pub(super) server: Arc<Mutex<ServerState>>,
    pub(super) clock_ahead: AtomicI64,
}

impl FakeLog {
    pub(super) fn of(machine: u128, server: Arc<Mutex<ServerState>>) -> Self {
        Self { machine, server, clock_ahead: AtomicI64::new(0) }
    }

    fn batches(&self, server: &ServerState, after: u64) -> Vec<LogBatch> {
        let missing = server.batches.iter().filter(|(_, position, _)| position.number > after);
        missing
            .take(3)
            .map(|(_, position, changes)| LogBatch {
                position: *position,
                changes: changes.clone(),
            })
            .collect()
    }
}

impl SharedLog for FakeLog {
    fn append(
        &self,
        expected: LogPosition,
        changes: &[u8],
        _lease: Option<&'static str>,
    ) -> Result<AppendResult, StoreError> {
        let mut server = self.server.lock().unwrap();
        let fault = server.fault;
        if matches!(fault, Some(LogFault::Away | LogFault::AwayForAppends)) {
            return Err(StoreError::Away("test".into()));
        }
        let head = server.batches.last().map_or(LogPosition::default(), |(_, head, _)| *head);
        if head != expected {
            server.refusals += 1;
            return Ok(AppendResult::Moved(self.batches(&server, expected.number)));
        }
        let position =
            LogPosition { number: head.number + 1, id: 1 << 100 | u128::from(head.number) };
        server.batches.push((self.machine, position, changes.to_vec()));
        if fault == Some(LogFault::LostAnswer) {
            server.fault = None;
            let fault = brain_protocol::Fault::new(FaultCode::OutcomeUnknown, "test");
            return Err(StoreError::Refused(fault));
        }
        Ok(AppendResult::Appended(position))
    }

    fn read(&self, after: LogPosition) -> Result<Vec<LogBatch>, StoreError> {
        let server = self.server.lock().unwrap();
        match server.fault {
            Some(LogFault::Away) => Err(StoreError::Away("test".into())),
            _ => Ok(self.batches(&server, after.number)),
        }
    }

    fn wait_for_notification(&self, after: LogPosition, _: Duration) -> bool {
        self.read(after).is_ok_and(|batches| !batches.is_empty())
    }

    fn clock_ahead(&self) -> i64 {
        self.clock_ahead.load(Ordering::Relaxed)
    }
}
