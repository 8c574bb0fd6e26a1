//! What a program prints: the last lines of it, kept until somebody asks.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// So many lines are kept.
const LINES: usize = 200;
/// So much of each, in bytes.
const BYTES: u64 = 2000;

/// Lines, shared with the threads that read them.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines(Arc<Mutex<VecDeque<String>>>);

impl Lines {
    /// Those since the last time.
    pub(super) fn take(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    fn add(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Reads `from` to its end.
    pub(super) fn read(&self, from: impl Read) {
        let mut from = BufReader::new(from);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            match (&mut from).take(BYTES).read_until(b'\n', &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let whole = bytes.ends_with(b"\n");
            let text = String::from_utf8_lossy(&bytes);
            let text: String = text.chars().filter(|c| !c.is_control()).collect();
            if !text.trim().is_empty() {
                self.add(text);
            }
            // The rest of a long line is left out, without keeping it in memory.
            while !whole && bytes.len() as u64 == BYTES {
                bytes.clear();
                match (&mut from).take(BYTES).read_until(b'\n', &mut bytes) {
                    Ok(0) | Err(_) => return,
                    Ok(_) if bytes.ends_with(b"\n") => break,
                    Ok(_) => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_each_cut_and_without_control_characters() {
        let lines = Lines::default();
        let long = "x".repeat(10_000);
        lines.read(format!("one\r\n\n\u{1b}[31mtwo\n{long}\nthree").as_bytes());
        let kept = lines.take();
        assert_eq!(kept.len(), 4, "{kept:?}");
        assert_eq!(
            (kept[0].as_str(), kept[1].as_str(), kept[3].as_str()),
            ("one", "[31mtwo", "three")
        );
        assert_eq!(kept[2].len(), 2000);
        assert!(lines.take().is_empty());
        let many: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        lines.read(many.as_bytes());
        let kept = lines.take();
        assert_eq!((kept.len(), kept[199].as_str()), (200, "line 999"));
    }
}
