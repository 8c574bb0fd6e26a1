//! The last output lines of a program.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use parking_lot::Mutex;

/// Maximum number of lines kept.
const MAX_LINES: usize = 200;
/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: u64 = 2000;

/// Output lines, shared with the reading threads.
#[derive(Debug, Clone, Default)]
pub(super) struct OutputLines(Arc<Mutex<VecDeque<String>>>);

impl OutputLines {
    /// Removes and returns the lines.
    pub(super) fn take(&self) -> Vec<String> {
        self.0.lock().drain(..).collect()
    }

    fn add(&self, line: String) {
        let mut lines = self.0.lock();
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Reads `from` to its end and adds its lines: without control characters, without empty lines,
    /// and cut at the maximum length.
    pub(super) fn read(&self, from: impl Read) {
        let mut from = BufReader::new(from);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            match (&mut from).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let is_complete = bytes.ends_with(b"\n");
            let text = String::from_utf8_lossy(&bytes);
            let text: String = text.chars().filter(|c| !c.is_control()).collect();
            if !text.trim().is_empty() {
                self.add(text);
            }
            // The rest of a long line is skipped without buffering it.
            while !is_complete && bytes.len() as u64 == MAX_LINE_BYTES {
                bytes.clear();
                match (&mut from).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes) {
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
    fn last_lines_are_kept_cut_and_cleaned() {
        let lines = OutputLines::default();
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
