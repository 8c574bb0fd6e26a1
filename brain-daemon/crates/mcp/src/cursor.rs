//! Cursors: where a list goes on. A text that says what it is for, so that one of another tool, of other arguments, or of nobody's
//! making is told from one that fits. It is no secret and gives no right: what a caller may see is checked at every call.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brain_protocol::{Fault, FaultCode};
use serde::Serialize;

use super::answer::{LONGEST, weight};
use brain_page::content_hash;

/// What a cursor begins with.
const MADE_BY: &str = "brain";
/// How much the rows of a list may have together, in bytes of JSON. The rest is for what stands beside them.
const ROWS: usize = LONGEST - 4_000;

/// The cursors of one list.
pub(super) struct Cursors {
    tool: &'static str,
    /// What was asked, as eight hex digits.
    asked: String,
}

impl Cursors {
    /// Those of the list that `tool` answers `asked` with: all arguments that decide about what is in it and in which order.
    pub(super) fn of(tool: &'static str, asked: &impl Serialize) -> Self {
        let asked = serde_json::to_string(asked).unwrap_or_default();
        Self { tool, asked: digits(&asked) }
    }

    /// The cursor for what comes after `place`.
    pub(super) fn after(&self, place: &str) -> String {
        URL_SAFE_NO_PAD.encode(format!("{MADE_BY} {} {} {place}", self.tool, self.asked))
    }

    /// The place that `cursor` was made for.
    ///
    /// # Errors
    /// When it is no cursor, or one of another list.
    pub(super) fn place(&self, cursor: Option<&str>) -> Result<Option<String>, Fault> {
        let Some(cursor) = cursor else { return Ok(None) };
        let bytes = URL_SAFE_NO_PAD.decode(cursor.trim().trim_end_matches('=')).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        let mut parts = text.splitn(4, ' ');
        let (Some(MADE_BY), Some(tool), Some(asked), Some(place)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad("the cursor is none that brain has made"));
        };
        if tool != self.tool {
            return Err(bad("the cursor is one of another tool"));
        }
        if asked != self.asked {
            return Err(bad("the cursor belongs to a call with other arguments"));
        }
        Ok(Some(place.to_owned()))
    }
}

/// The refusal of a cursor.
fn bad(message: &str) -> Fault {
    Fault::new(FaultCode::InvalidRequest, message)
        .hint("give next_cursor as it came, with the same arguments; without a cursor the list begins anew")
}

/// Eight hex digits that stand for `text`.
fn digits(text: &str) -> String {
    content_hash(text).chars().take(8).collect()
}

/// A part of a list.
#[derive(Debug)]
pub(super) struct Part<R> {
    pub(super) rows: Vec<R>,
    /// The place for a cursor, when there is more.
    pub(super) next: Option<String>,
}

/// The part of `items` behind `after`: at most `limit` rows, and not more than an answer holds. `more` says that there are items
/// behind these. A place is a position together with the `key` of the item there: when edits have moved that item, the
/// list goes on behind it; when it is gone, at its old position.
///
/// # Errors
/// When the place is none, or `row` fails.
pub(super) fn part<T, R: Serialize>(
    items: &[T],
    more: bool,
    after: Option<&str>,
    limit: usize,
    key: impl Fn(&T) -> String,
    mut row: impl FnMut(&T) -> Result<R, Fault>,
) -> Result<Part<R>, Fault> {
    let start = match after {
        None => 0,
        Some(place) => {
            let (count, mark) = read(place)?;
            let moved = |at: &usize| at.abs_diff(count.saturating_sub(1));
            let same =
                (0..items.len()).filter(|&at| digits(&key(&items[at])) == mark).min_by_key(moved);
            same.map_or(count, |at| at + 1)
        }
    };
    let (mut rows, mut bytes, mut end) = (Vec::new(), 0, start.min(items.len()));
    for item in items.iter().skip(start).take(limit) {
        let made = row(item)?;
        bytes += weight(&made) + 1;
        if bytes > ROWS && !rows.is_empty() {
            break;
        }
        rows.push(made);
        end += 1;
    }
    let last = end.checked_sub(1).and_then(|at| items.get(at));
    let next = last.filter(|_| !rows.is_empty() && (more || end < items.len()));
    Ok(Part { rows, next: next.map(|last| format!("{end}:{}", digits(&key(last)))) })
}

/// How many items a place has before it.
///
/// # Errors
/// When it is none.
pub(super) fn passed(after: Option<&str>) -> Result<usize, Fault> {
    after.map_or(Ok(0), |place| read(place).map(|(count, _)| count))
}

fn read(place: &str) -> Result<(usize, &str), Fault> {
    let parts =
        place.split_once(':').and_then(|(count, mark)| Some((count.parse::<u32>().ok()?, mark)));
    let (count, mark) = parts.ok_or_else(|| bad("the cursor is none that brain has made"))?;
    Ok((count as usize, mark))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_for_its_list_only() {
        let cursors = Cursors::of("query", &("grüße", Some(1)));
        let cursor = cursors.after("20:ab cd");
        assert_eq!(cursors.place(Some(&cursor)).unwrap().as_deref(), Some("20:ab cd"));
        assert_eq!(
            cursors.place(Some(&format!(" {cursor}== "))).unwrap().as_deref(),
            Some("20:ab cd")
        );
        assert_eq!(cursors.place(None).unwrap(), None);
        let refusal =
            |cursors: &Cursors, cursor: &str| cursors.place(Some(cursor)).unwrap_err().message;
        assert!(
            refusal(&Cursors::of("query", &("grüße", Some(2))), &cursor)
                .contains("other arguments")
        );
        assert!(
            refusal(&Cursors::of("get_links", &("grüße", Some(1))), &cursor)
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
            assert!(refusal(&cursors, forged).contains("none that brain has made"), "{forged}");
        }
    }

    fn page(items: &[u32], after: Option<&str>) -> (Vec<u32>, Option<String>) {
        let part = part(items, false, after, 3, ToString::to_string, |item| Ok(*item)).unwrap();
        (part.rows, part.next)
    }

    #[test]
    fn parts_make_the_whole() {
        let items: Vec<u32> = (0..8).collect();
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let (rows, next) = page(&items, after.as_deref());
            seen.extend(rows);
            match next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, items);
        assert_eq!(page(&[], None), (vec![], None));
        assert_eq!(page(&[1, 2, 3], None), (vec![1, 2, 3], None));
    }

    #[test]
    fn a_list_that_changes_goes_on_behind_what_was_seen() {
        let (seen, next) = page(&[1, 2, 3, 4, 5], None);
        assert_eq!(seen, [1, 2, 3]);
        let next = next.as_deref();
        assert_eq!(page(&[9, 8, 1, 2, 3, 4, 5], next).0, [4, 5]);
        assert_eq!(page(&[3, 4, 5], next).0, [4, 5]);
        // What stood there is gone.
        assert_eq!(page(&[1, 2, 4, 5, 6], next).0, [5, 6]);
        assert_eq!(page(&[1, 2], next), (vec![], None));
        assert_eq!(page(&[], next), (vec![], None));
    }

    #[test]
    fn a_part_is_never_longer_than_an_answer() {
        let items = vec![1_u32; 10];
        let long = |_: &u32| Ok("x".repeat(30_000));
        let part = part(&items, false, None, 10, |_| "key".into(), long).unwrap();
        assert_eq!(part.rows.len(), 2);
        assert!(part.next.unwrap().starts_with("2:"));
    }

    #[test]
    fn a_place_that_is_none_is_refused() {
        for place in ["", "x:1", "-1:ab", "99999999999:ab", "5"] {
            let refused = part(&[1], false, Some(place), 1, |_| String::new(), |item| Ok(*item));
            assert_eq!(refused.unwrap_err().code, FaultCode::InvalidRequest, "{place}");
            assert!(passed(Some(place)).is_err());
        }
    }
}
