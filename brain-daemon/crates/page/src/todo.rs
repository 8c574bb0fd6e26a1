//! Tasks of a page: list items with a box.

use super::fence::Fences;

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// The line of the text, from 0.
    pub line: usize,
    /// The text after the box.
    pub text: String,
    /// Whether the box is checked.
    pub is_done: bool,
}

/// Returns the tasks of `body`: lines `- [ ] text` and `- [x] text`, with any bullet or number,
/// also in quotations, outside of fenced code. Ignores tasks without text.
#[must_use]
pub fn todos(body: &str) -> Vec<Todo> {
    let mut found = Vec::new();
    let mut fences = Fences::default();
    for (number, line) in body.split('\n').enumerate() {
        if !fences.push_line(line)
            && let Some((text, is_done)) = todo(line)
        {
            found.push(Todo { line: number, text: text.to_owned(), is_done });
        }
    }
    found
}

/// Returns the text of a task, and whether it is done.
fn todo(line: &str) -> Option<(&str, bool)> {
    let item = line.trim_start_matches(['>', ' ', '\t']);
    let digits = item.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => item.strip_prefix(['-', '*', '+'])?,
        _ => item[digits..].strip_prefix(['.', ')'])?,
    };
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let (is_done, rest) = match rest.get(..4)? {
        "[ ] " => (false, &rest[4..]),
        "[x] " | "[X] " => (true, &rest[4..]),
        _ => return None,
    };
    let text = rest.trim();
    (!text.is_empty()).then_some((text, is_done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_list_items_with_a_box() {
        let body = "# A\n- [ ] buy milk\r\n  * [x] call Ann\n1. [X] third\n> - [ ] quoted\n\
                    - [y] no\n[ ] no\n-[ ] no\n- [ ]\n```\n- [ ] code\n```\n- [ ] last é";
        let found: Vec<(usize, String, bool)> =
            todos(body).into_iter().map(|todo| (todo.line, todo.text, todo.is_done)).collect();
        let task = |line, text: &str, is_done| (line, text.to_owned(), is_done);
        assert_eq!(
            found,
            [
                task(1, "buy milk", false),
                task(2, "call Ann", true),
                task(3, "third", true),
                task(4, "quoted", false),
                task(12, "last é", false),
            ]
        );
    }
}
