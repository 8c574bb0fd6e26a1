//! The ledger is added up, line by line. What is held is bounded: the open calls, the sums, and the newest calls.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Read};

use brain_protocol::{CostCall, CostSum, CostsReply, Spent};

use super::budget::add;
use super::line::{LONGEST, Line, Step, believed};
use brain_base::clock::parse_instant;

/// So many open calls are waited for at once. More are only there when that many were interrupted; the oldest of them is taken as never settled then.
const OPEN: usize = 1024;

/// Which calls count.
pub(super) struct Wanted {
    /// From this moment on, Unix milliseconds.
    pub(super) since: Option<i64>,
    /// Up to this moment.
    pub(super) until: Option<i64>,
    /// How many single calls to give.
    pub(super) limit: usize,
}

/// Adds up a ledger.
///
/// # Errors
/// What the disk says.
pub(super) fn add_up(file: impl Read, wanted: &Wanted) -> io::Result<CostsReply> {
    let mut sums = Sums::new(wanted);
    let mut open: BTreeMap<u64, Line> = BTreeMap::new();
    let mut lines = BufReader::with_capacity(LONGEST, file);
    let mut bytes = Vec::new();
    while next(&mut lines, &mut bytes)? {
        let line =
            Line::read(&bytes).and_then(|line| Some((parse_instant(&line.at, false)?, line)));
        let Some((at, line)) = line else {
            sums.damaged += 1;
            continue;
        };
        match line.step {
            Step::Enter => {
                // Two calls have one number when the file was put away by hand in between: the former one was never settled.
                let former = open.insert(line.call, line);
                let oldest =
                    if open.len() > OPEN { open.pop_first().map(|(_, line)| line) } else { None };
                former.into_iter().chain(oldest).for_each(|line| sums.open(&line));
            }
            Step::Done | Step::Failed => {
                let entered = open.remove(&line.call);
                let line = match &entered {
                    Some(entered) => plausible(line, entered),
                    None => line,
                };
                let estimated = entered.map_or(line.micro_usd, |entered| entered.micro_usd);
                let state = if line.step == Step::Done { "done" } else { "failed" };
                sums.add(at, &line, state, Spent { estimated, ..line.spent() });
            }
        }
    }
    open.values().for_each(|line| sums.open(line));
    Ok(sums.reply())
}

/// The second line of a call; at its worst where an older version wrote down what cannot be.
fn plausible(line: Line, entered: &Line) -> Line {
    let over = |counted, worst| believed(counted, worst).1;
    if over(line.tokens_in, entered.tokens_in) || over(line.tokens_out, entered.tokens_out) {
        return Line { step: line.step, implausible: true, ..entered.clone() };
    }
    line
}

/// The next line without its end, in `bytes`; of one that is too long only the beginning, which is no JSON then. `false` at the end.
fn next(lines: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<bool> {
    bytes.clear();
    let mut part = lines.by_ref().take(LONGEST as u64);
    if part.read_until(b'\n', bytes)? == 0 {
        return Ok(false);
    }
    let mut is_whole = bytes.last() == Some(&b'\n') || bytes.len() < LONGEST;
    let mut rest = Vec::new();
    while !is_whole {
        rest.clear();
        let read = lines.by_ref().take(LONGEST as u64).read_until(b'\n', &mut rest)?;
        is_whole = read < LONGEST || rest.last() == Some(&b'\n');
    }
    Ok(true)
}

/// What was found.
struct Sums<'a> {
    wanted: &'a Wanted,
    total: Spent,
    by_kind: HashMap<(String, String), Spent>,
    /// The newest calls, by when they were made, and the order in which they were found.
    newest: BTreeMap<(i64, u64), CostCall>,
    found: u64,
    damaged: u64,
    implausible: u64,
}

impl<'a> Sums<'a> {
    fn new(wanted: &'a Wanted) -> Self {
        Self {
            wanted,
            total: Spent::default(),
            by_kind: HashMap::new(),
            newest: BTreeMap::new(),
            found: 0,
            damaged: 0,
            implausible: 0,
        }
    }

    /// A call that nobody settled.
    fn open(&mut self, line: &Line) {
        if let Some(at) = parse_instant(&line.at, false) {
            self.add(at, line, "open", line.spent());
        }
    }

    fn add(&mut self, at: i64, line: &Line, state: &str, spent: Spent) {
        let Wanted { since, until, limit } = *self.wanted;
        if since.is_some_and(|since| at < since) || until.is_some_and(|until| at > until) {
            return;
        }
        add(&mut self.total, spent);
        add(self.by_kind.entry((line.purpose.clone(), line.model.clone())).or_default(), spent);
        self.found += 1;
        self.implausible += u64::from(line.implausible);
        if limit == 0 {
            return;
        }
        let call = CostCall {
            at: line.at.clone(),
            purpose: line.purpose.clone(),
            model: line.model.clone(),
            state: state.into(),
            spent,
        };
        self.newest.insert((at, self.found), call);
        if self.newest.len() > limit {
            self.newest.pop_first();
        }
    }

    fn reply(self) -> CostsReply {
        let mut sums: Vec<CostSum> = self
            .by_kind
            .into_iter()
            .map(|((purpose, model), spent)| CostSum { purpose, model, spent })
            .collect();
        let weight = |sum: &CostSum| {
            (sum.spent.actual, sum.spent.tokens_in.saturating_add(sum.spent.tokens_out))
        };
        sums.sort_by(|one, other| {
            weight(other)
                .cmp(&weight(one))
                .then_with(|| (&one.purpose, &one.model).cmp(&(&other.purpose, &other.model)))
        });
        let calls = self.newest.into_values().rev().collect();
        let Self { total, damaged, implausible, .. } = self;
        CostsReply { total, sums, calls, damaged, implausible }
    }
}
