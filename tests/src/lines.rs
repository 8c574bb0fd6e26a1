//! Where event lines go in a test.

use std::sync::Mutex;

use brain_core::EventLines;

/// Event lines, kept in order.
#[derive(Debug, Default)]
pub struct Kept(pub Mutex<Vec<String>>);

impl EventLines for Kept {
    fn emit(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}
