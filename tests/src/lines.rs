//! A recorder of event lines.

use std::sync::Mutex;

use brain_core::EventLines;

/// The emitted event lines, in order.
#[derive(Debug, Default)]
pub struct RecordedLines(pub Mutex<Vec<String>>);

impl EventLines for RecordedLines {
    fn emit(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}
