//! Cursors: where the next part of a list begins.
//!
//! A cursor names the tool and contains a hash of the arguments, so a cursor of another list is
//! refused. It is not secret and grants nothing: permissions are checked at every call.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brain_protocol::{Fault, FaultCode};
use serde::Serialize;

use super::answer::{DEFAULT_ANSWER, MAX_ANSWER, json_len};
use brain_page::content_hash;

/// The beginning of every cursor.
const PREFIX: &str = "brain";
/// The sizes of the rows of one part, in bytes of JSON. The rest of an answer is for other fields.
const DEFAULT_ROWS_BYTES: usize = DEFAULT_ANSWER - 700;
const MAX_ROWS_BYTES: usize = MAX_ANSWER - 4_000;

/// Returns the maximum size of the rows of a list, in bytes of JSON, unless it has a single larger
/// row. A call with a limit above the default asks for a longer answer.
pub(super) fn max_rows_bytes(limit: usize, default_limit: u32) -> usize {
    if limit > default_limit as usize { MAX_ROWS_BYTES } else { DEFAULT_ROWS_BYTES }
}

/// The cursors of one list.
pub(super) struct Cursors {
    tool: &'static str,
    /// The hash of the arguments, as eight hex digits.
    arguments_hash: String,
}

impl Cursors {
    /// Creates the cursors of the list that `tool` returns for `arguments`: all arguments that
    /// select or order rows.
    pub(super) fn of(tool: &'static str, arguments: &impl Serialize) -> Self {
        let arguments = serde_json::to_string(arguments).unwrap_or_default();
        Self { tool, arguments_hash: short_hash(&arguments) }
    }

    /// Returns the cursor for the rows after `position`.
    pub(super) fn after(&self, position: &str) -> String {
        URL_SAFE_NO_PAD.encode(format!("{PREFIX} {} {} {position}", self.tool, self.arguments_hash))
    }

    /// Returns the position in `cursor`; `None` without a cursor.
    ///
    /// # Errors
    /// `invalid_request` if `cursor` is not a cursor, or belongs to another list.
    pub(super) fn position(&self, cursor: Option<&str>) -> Result<Option<String>, Fault> {
        let Some(cursor) = cursor else { return Ok(None) };
        let bytes = URL_SAFE_NO_PAD.decode(cursor.trim().trim_end_matches('=')).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        let mut parts = text.splitn(4, ' ');
        let (Some(PREFIX), Some(tool), Some(arguments_hash), Some(position)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(invalid_cursor("the cursor is not one of brain's cursors"));
        };
        if tool != self.tool {
            return Err(invalid_cursor("the cursor belongs to another tool"));
        }
        if arguments_hash != self.arguments_hash {
            return Err(invalid_cursor("the cursor belongs to a call with other arguments"));
        }
        Ok(Some(position.to_owned()))
    }
}

fn invalid_cursor(message: &str) -> Fault {
    Fault::new(FaultCode::InvalidRequest, message).hint(
        "send next_cursor unchanged, with the same arguments; without a cursor, the list starts \
            at the beginning",
    )
}

/// Returns a hash of `text` as eight hex digits.
fn short_hash(text: &str) -> String {
    content_hash(text).chars().take(8).collect()
}

#[derive(Debug)]
pub(super) struct ListPart<R> {
    pub(super) rows: Vec<R>,
    /// The position for the next cursor, if there are more rows.
    pub(super) next: Option<String>,
    /// The items of the rows: the first one, and the first one after them.
    pub(super) items: (usize, usize),
}

/// Returns the rows after the position `after`: at most `limit`, and no more than fit into
/// `max_bytes` bytes of JSON. `row` makes a row of an item.
///
/// `has_more` says that there are items after `items`. A position has the number of items before
/// it, and a hash of the last returned item's `key`. If that item has moved, the list continues
/// after it. If the item is gone, the list continues after the same number of items.
///
/// # Errors
/// `invalid_request` if the position is invalid; the error of `row`.
pub(super) fn list_part<T, R: Serialize>(
    items: &[T],
    has_more: bool,
    after: Option<&str>,
    limit: usize,
    max_bytes: usize,
    key: impl Fn(&T) -> String,
    mut row: impl FnMut(&T) -> Result<R, Fault>,
) -> Result<ListPart<R>, Fault> {
    let start = match after {
        None => 0,
        Some(position) => {
            let (count, key_hash) = parse_position(position)?;
            let distance = |at: &usize| at.abs_diff(count.saturating_sub(1));
            let last = (0..items.len())
                .filter(|&at| short_hash(&key(&items[at])) == key_hash)
                .min_by_key(distance);
            last.map_or(count, |at| at + 1)
        }
    };
    let (mut rows, mut bytes, mut end) = (Vec::new(), 0, start.min(items.len()));
    for item in items.iter().skip(start).take(limit) {
        let row = row(item)?;
        bytes += json_len(&row) + 1;
        if bytes > max_bytes && !rows.is_empty() {
            break;
        }
        rows.push(row);
        end += 1;
    }
    let last = end.checked_sub(1).and_then(|at| items.get(at));
    let next = last.filter(|_| !rows.is_empty() && (has_more || end < items.len()));
    let next = next.map(|last| format!("{end}:{}", short_hash(&key(last))));
    Ok(ListPart { rows, next, items: (start, end) })
}

/// Returns how many items precede a position.
///
/// # Errors
/// `invalid_request` if the position is invalid.
pub(super) fn rows_before(after: Option<&str>) -> Result<usize, Fault> {
    after.map_or(Ok(0), |position| parse_position(position).map(|(count, _)| count))
}

/// Returns the count and the hash in a position.
fn parse_position(position: &str) -> Result<(usize, &str), Fault> {
    let parts = position
        .split_once(':')
        .and_then(|(count, key_hash)| Some((count.parse::<u32>().ok()?, key_hash)));
    let (count, key_hash) =
        parts.ok_or_else(|| invalid_cursor("the cursor is not one of brain's cursors"))?;
    Ok((count as usize, key_hash))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_fits_its_own_list_only() {
        let cursors = Cursors::of("query", &("grüße", Some(1)));
        let cursor = cursors.after("20:ab cd");
        assert_eq!(cursors.position(Some(&cursor)).unwrap().as_deref(), Some("20:ab cd"));
        assert_eq!(
            cursors.position(Some(&format!(" {cursor}== "))).unwrap().as_deref(),
            Some("20:ab cd")
        );
        assert_eq!(cursors.position(None).unwrap(), None);
        let message_of =
            |cursors: &Cursors, cursor: &str| cursors.position(Some(cursor)).unwrap_err().message;
        assert!(
            message_of(&Cursors::of("query", &("grüße", Some(2))), &cursor)
                .contains("other arguments")
        );
        assert!(
            message_of(&Cursors::of("get_links", &("grüße", Some(1))), &cursor)
                .contains("another tool")
        );
        for forged in [
            "20",
            "!",
            "ÄÖ",
            "YnJhaW4",
            &URL_SAFE_NO_PAD.encode([0xff, 0xfe]),
            &"A".repeat(100_000),
        ] {
            let message = message_of(&cursors, forged);
            assert!(message.contains("not one of brain's cursors"), "{forged}");
        }
    }

    fn page(items: &[u32], after: Option<&str>) -> (Vec<u32>, Option<String>) {
        let part =
            list_part(items, false, after, 3, 99, ToString::to_string, |item| Ok(*item)).unwrap();
        (part.rows, part.next)
    }

    #[test]
    fn all_parts_together_are_the_list() {
        let items: Vec<u32> = (0..8).collect();
        let (mut rows_so_far, mut after) = (Vec::new(), None);
        loop {
            let (rows, next) = page(&items, after.as_deref());
            rows_so_far.extend(rows);
            match next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(rows_so_far, items);
        assert_eq!(page(&[], None), (vec![], None));
        assert_eq!(page(&[1, 2, 3], None), (vec![1, 2, 3], None));
    }

    #[test]
    fn a_changed_list_continues_after_the_last_row() {
        let (rows, next) = page(&[1, 2, 3, 4, 5], None);
        assert_eq!(rows, [1, 2, 3]);
        let next = next.as_deref();
        assert_eq!(page(&[9, 8, 1, 2, 3, 4, 5], next).0, [4, 5]);
        assert_eq!(page(&[3, 4, 5], next).0, [4, 5]);
        // The last row of the first part is gone.
        assert_eq!(page(&[1, 2, 4, 5, 6], next).0, [5, 6]);
        assert_eq!(page(&[1, 2], next), (vec![], None));
        assert_eq!(page(&[], next), (vec![], None));
    }

    #[test]
    fn a_part_fits_into_an_answer() {
        let items = vec![1_u32; 10];
        let long = |_: &u32| Ok("x".repeat(30_000));
        let rows = |limit, default_limit| {
            let max_bytes = max_rows_bytes(limit, default_limit);
            list_part(&items, false, None, limit, max_bytes, |_| "key".into(), long).unwrap()
        };
        let part = rows(10, 9);
        assert_eq!(part.rows.len(), 2);
        assert!(part.next.unwrap().starts_with("2:"));
        assert_eq!(rows(10, 10).rows.len(), 1, "one row, however long");
    }

    #[test]
    fn an_invalid_position_is_refused() {
        for position in ["", "x:1", "-1:ab", "99999999999:ab", "5"] {
            let refused =
                list_part(&[1], false, Some(position), 1, 9, |_| String::new(), |item| Ok(*item));
            assert_eq!(refused.unwrap_err().code, FaultCode::InvalidRequest, "{position}");
            assert!(rows_before(Some(position)).is_err());
        }
    }
}
