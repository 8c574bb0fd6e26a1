//! A log in memory, for tests. Clones share the log, so each stands for a machine.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use brain_base::clock::Clock;
use parking_lot::{Condvar, Mutex};

use crate::storage::{Change, Fault, State, Storage};
use crate::{BrainId, Error, LocalLog, NewBatch, Position};

/// A log in memory.
pub type MemoryLog = LocalLog<Memory>;

/// The storage of [`MemoryLog`].
#[derive(Clone)]
pub struct Memory(Arc<Shared>);

struct Shared {
    writer: Mutex<()>,
    content: Mutex<Content>,
    changed: Condvar,
}

#[derive(Clone)]
struct Content {
    state: State,
    bytes: BTreeMap<String, Vec<u8>>,
    faults: VecDeque<Option<Fault>>,
    delayed: Vec<(Position, NewBatch)>,
    hides_batches: bool,
}

impl MemoryLog {
    /// Creates an empty log that is written in `schema`.
    #[must_use]
    pub fn create(brain: BrainId, schema: u32, clock: Arc<dyn Clock>) -> Self {
        let state = Self::new_state(brain, schema, &*clock);
        let content = Content {
            state,
            bytes: BTreeMap::new(),
            faults: VecDeque::new(),
            delayed: Vec::new(),
            hides_batches: false,
        };
        Self::over(Memory::of(content), clock, schema)
    }

    /// Returns another handle of the same log, for a program with this schema.
    #[must_use]
    pub fn connect(&self, schema: u32, clock: Arc<dyn Clock>) -> Self {
        Self::over(self.storage.clone(), clock, schema)
    }

    /// Returns a copy that shares nothing with this log. Its clock is the same.
    #[must_use]
    pub fn fork(&self) -> Self {
        let content = self.storage.0.content.lock().clone();
        Self::over(Memory::of(content), self.clock.clone(), self.schema)
    }

    /// Adds to the queue what happens to the next append without an entry: a fault or nothing.
    pub fn plan(&self, fault: Option<Fault>) {
        self.storage.0.content.lock().faults.push_back(fault);
    }

    /// Sets whether reads find no batches though the head names them, as behind a pooler that keeps
    /// results of queries.
    pub fn hide_batches(&self, hides: bool) {
        self.storage.0.content.lock().hides_batches = hides;
    }

    /// Carries out the delayed requests, the oldest first. Refused ones are dropped.
    pub fn deliver(&self) {
        let delayed = std::mem::take(&mut self.storage.0.content.lock().delayed);
        for (expected, batch) in delayed {
            drop(self.append_now(&expected, &batch));
        }
    }

    /// Removes all batches after a number, as a server does that is restored from a backup.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the log does not have this batch.
    pub fn rewind(&self, number: u64) -> Result<(), Error> {
        let position = match number {
            0 => Position::START,
            _ => match self.batch(number)? {
                Some(batch) => batch.position,
                None => return Err(Error::NotFound(format!("change {number}"))),
            },
        };
        self.storage.write(&mut |state| {
            state.0.position = position;
            Ok(())
        })
    }
}

impl Memory {
    fn of(content: Content) -> Self {
        Self(Arc::new(Shared {
            writer: Mutex::new(()),
            content: Mutex::new(content),
            changed: Condvar::new(),
        }))
    }
}

impl Storage for Memory {
    fn write(&self, change: Change<'_>) -> Result<(), Error> {
        // A change reads and stores bytes, so it runs without the lock of the content.
        let _writer = self.0.writer.lock();
        let mut state = self.0.content.lock().state.clone();
        change(&mut state)?;
        let mut content = self.0.content.lock();
        for name in std::mem::take(&mut state.0.garbage) {
            content.bytes.remove(&name);
        }
        content.state = state;
        self.0.changed.notify_all();
        Ok(())
    }

    fn state(&self) -> Result<State, Error> {
        Ok(self.0.content.lock().state.clone())
    }

    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        self.0.content.lock().bytes.insert(name.to_owned(), bytes);
        Ok(())
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let content = self.0.content.lock();
        let is_hidden = content.hides_batches && name.starts_with("batch-");
        Ok(content.bytes.get(name).filter(|_| !is_hidden).cloned())
    }

    fn wait(&self, timeout: Duration) {
        let mut content = self.0.content.lock();
        self.0.changed.wait_for(&mut content, timeout);
    }

    fn next_fault(&self, expected: &Position, batch: &NewBatch) -> Option<Fault> {
        let mut content = self.0.content.lock();
        let fault = content.faults.pop_front().flatten();
        if fault == Some(Fault::DelayedRequest) {
            content.delayed.push((*expected, batch.clone()));
        }
        fault
    }

    fn address(&self) -> String {
        "memory".to_owned()
    }
}
