//! Promises of a torture: writes that a daemon has acknowledged, and the text that each must have.
//!
//! A text follows from the run, the writer, the page and the number of the write. So a check needs
//! no copy of it, and text that an earlier run left on the disk is never mistaken for it.

use std::{collections::BTreeMap, fmt, path::PathBuf, str::FromStr};

/// The first word of the first line of a list.
const HEADING: &str = "brain-torture-1";

/// A small generator of numbers (xorshift64*). It needs no quality, only differing results.
#[derive(Debug, Clone)]
pub(super) struct Numbers(u64);

impl Numbers {
    /// Returns a generator. Equal seeds give equal numbers.
    pub(super) fn new(seed: u64) -> Self {
        Self((seed ^ 0x9e37_79b9_7f4a_7c15).max(1))
    }

    /// Returns a number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % limit
    }
}

/// A page of a torture: its writer, and its number among the pages of this writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestPage {
    pub(super) writer: u32,
    pub(super) number: u32,
}

impl TestPage {
    /// Returns the slug.
    pub(super) fn slug(self) -> String {
        format!("writer-{}/page-{}", self.writer, self.number)
    }

    /// Returns the text of write `write` in the run `seed`: 60 to about 30,000 bytes.
    pub(super) fn text(self, seed: u64, write: u32) -> String {
        let mut text = format!("Write {write} of {} in run {seed:016x}.\n", self.slug());
        let start = seed ^ u64::from(self.writer) << 48 ^ u64::from(self.number) << 20;
        let mut numbers = Numbers::new(start ^ u64::from(write));
        // Most texts are short; a few fill many blocks of the disk.
        for _ in 0..numbers.below(10) * numbers.below(10) * numbers.below(10) {
            text.push_str(&format!(
                "\nLine {:016x}{:016x}\n",
                numbers.below(!0),
                numbers.below(!0)
            ));
        }
        text
    }

    /// Returns the number of the write whose text is `body`, or `None` if it is no such text.
    pub(super) fn write_of(self, seed: u64, body: &str) -> Option<u32> {
        let (write, _) = body.trim_start().strip_prefix("Write ")?.split_once(' ')?;
        let write = write.parse().ok()?;
        (self.text(seed, write).trim() == body.trim()).then_some(write)
    }
}

/// What is promised of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Promised {
    /// The last acknowledged write; 0 for none.
    pub(super) acknowledged: u32,
    /// The last write that was sent. A kill can leave any from `acknowledged` to this one.
    pub(super) sent: u32,
}

impl Promised {
    /// Returns what is wrong with the page that was found; `None` if the promise is kept.
    pub(super) fn problem(self, page: TestPage, seed: u64, body: Option<&str>) -> Option<String> {
        let (slug, acknowledged) = (page.slug(), self.acknowledged);
        let Some(body) = body else {
            return (acknowledged > 0).then(|| {
                format!("{slug}: write {acknowledged} was acknowledged; no page is there")
            });
        };
        match page.write_of(seed, body) {
            Some(write) if (acknowledged..=self.sent).contains(&write) => None,
            Some(write) => Some(format!(
                "{slug}: write {acknowledged} was acknowledged; write {write} is there"
            )),
            None => Some(format!("{slug}: it has a text that was never written")),
        }
    }
}

/// The promises of all pages.
pub(super) type Promises = BTreeMap<TestPage, Promised>;

/// The first line of a list of promises, which is kept on another machine or terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListHeading {
    pub(super) seed: u64,
    /// The kernel's id of this start of the machine.
    pub(super) boot_id: String,
    /// The directory of the test's brain.
    pub(super) dir: PathBuf,
}

impl fmt::Display for ListHeading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEADING} {:016x} {} {}", self.seed, self.boot_id, self.dir.display())
    }
}

impl FromStr for ListHeading {
    type Err = &'static str;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        const NO_LIST: &str = "its first line is not that of a list of promises";
        let mut parts = line.splitn(4, ' ');
        let mut part = || parts.next().ok_or(NO_LIST);
        if part()? != HEADING {
            return Err(NO_LIST);
        }
        let seed = u64::from_str_radix(part()?, 16).map_err(|_| NO_LIST)?;
        Ok(Self { seed, boot_id: part()?.into(), dir: part()?.into() })
    }
}

/// Returns the line of a promise.
pub(super) fn promise_line(page: TestPage, write: u32) -> String {
    format!("{} {} {write}\n", page.writer, page.number)
}

/// Reads a list of promises. Its last line may be torn: without its end, it promises nothing.
///
/// # Errors
/// What is wrong with the list.
pub(super) fn read_list(list: &str) -> Result<(ListHeading, Promises), String> {
    let complete = list.rfind('\n').map_or("", |end| &list[..end]);
    let mut lines = complete.lines().map(|line| line.trim_end_matches('\r'));
    let heading = lines.next().unwrap_or_default().parse::<ListHeading>()?;
    let mut promises = Promises::new();
    for (number, line) in (2..).zip(lines) {
        let parts = line.split(' ').map(str::parse).collect::<Result<Vec<u32>, _>>();
        let Ok(&[writer, page, write]) = parts.as_deref() else {
            return Err(format!("line {number} is no promise: \"{line}\""));
        };
        let promised = promises.entry(TestPage { writer, number: page }).or_default();
        promised.acknowledged = promised.acknowledged.max(write);
        // A write that was acknowledged later need not have reached the list.
        promised.sent = u32::MAX;
    }
    Ok((heading, promises))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: TestPage = TestPage { writer: 2, number: 7 };

    #[test]
    fn a_text_names_its_write_and_no_other_run() {
        for write in [1, 2, 900] {
            let text = PAGE.text(5, write);
            assert_eq!(PAGE.write_of(5, &text), Some(write));
            assert_eq!(PAGE.write_of(6, &text), None, "the text of another run");
            assert_eq!(PAGE.write_of(5, &text.replacen("run", "ruN", 1)), None);
        }
        let lengths: Vec<usize> = (1..200).map(|write| PAGE.text(5, write).len()).collect();
        assert!(lengths.iter().any(|len| *len < 100) && lengths.iter().any(|len| *len > 9000));
    }

    #[test]
    fn a_promise_allows_the_unanswered_write_and_nothing_older() {
        let promised = Promised { acknowledged: 2, sent: 3 };
        let problem = |body: Option<&str>| promised.problem(PAGE, 5, body);
        for (write, is_kept) in [(1, false), (2, true), (3, true), (4, false)] {
            assert_eq!(problem(Some(&PAGE.text(5, write))).is_none(), is_kept, "write {write}");
        }
        assert!(problem(None).is_some() && problem(Some("Write 2 of it")).is_some());
        assert_eq!(Promised::default().problem(PAGE, 5, None), None);
    }

    #[test]
    fn a_torn_last_line_promises_nothing() {
        let heading =
            ListHeading { seed: 5, boot_id: "b".into(), dir: "/a dir/with spaces".into() };
        let list = format!("{heading}\n{}{}2 7 9", promise_line(PAGE, 1), promise_line(PAGE, 3));
        let read = read_list(&list);
        let promised = Promised { acknowledged: 3, sent: u32::MAX };
        assert_eq!(read, Ok((heading, Promises::from([(PAGE, promised)]))));
        assert!(read_list("").is_err() && read_list("# a note\n1 2 3\n").is_err());
        assert!(read_list(&format!("{list} x\n")).is_err());
    }
}
