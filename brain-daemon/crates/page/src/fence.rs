//! Fenced code blocks, line by line, for callers that do not need a markdown parser. Ignores
//! lists and quotes: a fence starts a line, after optional white space.

/// Tracks the fences of a text whose lines come in order.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fences {
    /// Character and length of the fence while a block is open.
    open: Option<(u8, usize)>,
}

impl Fences {
    /// Returns whether the next line is inside a block.
    pub(super) fn is_inside(self) -> bool {
        self.open.is_some()
    }

    /// Takes the line at the beginning of `rest`. Returns whether it belongs to a fenced block,
    /// including its fences.
    pub(super) fn push_line(&mut self, rest: &str) -> bool {
        let bytes = rest.as_bytes();
        let indent = bytes.iter().take(64).take_while(|&&b| b == b' ' || b == b'\t').count();
        let bytes = &bytes[indent..];
        let sign = match bytes.first() {
            Some(&sign @ (b'`' | b'~')) => sign,
            _ => return self.is_inside(),
        };
        let len = bytes.iter().take_while(|&&b| b == sign).count();
        let mut tail = bytes[len..].iter().take_while(|&&b| b != b'\n');
        match self.open {
            Some((open_sign, min_len)) => {
                if sign == open_sign && len >= min_len && tail.all(u8::is_ascii_whitespace) {
                    self.open = None;
                }
                true
            }
            // A backtick fence with another backtick after it on the line is a code span.
            None if len >= 3 && (sign == b'~' || tail.all(|&b| b != b'`')) => {
                self.open = Some((sign, len));
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(text: &str) -> Vec<bool> {
        let mut fences = Fences::default();
        text.split_inclusive('\n').map(|line| fences.push_line(line)).collect()
    }

    #[test]
    fn fences_open_and_close() {
        assert_eq!(inside("a\n```rust\nx\n``` \nb"), [false, true, true, true, false]);
        assert_eq!(inside("````\n```\n````\nb"), [true, true, true, false]);
        assert_eq!(inside("~~~\n```\n~~~\nb"), [true, true, true, false]);
        assert_eq!(inside("```a``` b\nc"), [false, false]);
        assert_eq!(inside("``` \n```x\ny"), [true, true, true]);
        assert_eq!(inside("  ```\n  ```\r\nb"), [true, true, false]);
    }
}
