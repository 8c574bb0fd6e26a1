//! Adds up the ledger line by line, in bounded memory.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Read};

use brain_protocol::{CallState, CostCall, CostDay, CostSum, CostsReply, Spending};

use super::budget::add;
use super::line::{CallStep, LedgerLine, MAX_LINE_BYTES, plausible_tokens};
use brain_base::clock::{day, parse_instant};

/// Maximum number of open calls in memory. When there are more, the oldest counts as never settled.
const MAX_OPEN_CALLS: usize = 1024;

/// Selects calls by time. The reply lists only the newest of them; its sums include all of them.
pub(super) struct CallPeriod {
    /// First moment, in Unix milliseconds.
    pub(super) since: Option<i64>,
    /// Last moment, in Unix milliseconds.
    pub(super) until: Option<i64>,
    /// Maximum number of calls in the list.
    pub(super) limit: usize,
}

/// Adds up a ledger.
///
/// # Errors
/// [`io::Error`] when the file cannot be read.
pub(super) fn summarize(file: impl Read, filter: &CallPeriod) -> io::Result<CostsReply> {
    let mut sums = Sums::new(filter);
    let mut open: BTreeMap<u64, LedgerLine> = BTreeMap::new();
    let mut lines = BufReader::with_capacity(MAX_LINE_BYTES, file);
    let mut bytes = Vec::new();
    while next_line(&mut lines, &mut bytes)? {
        let line =
            LedgerLine::parse(&bytes).and_then(|line| Some((parse_instant(&line.at)?, line)));
        let Some((at, line)) = line else {
            sums.damaged += 1;
            continue;
        };
        match line.step {
            CallStep::Enter => {
                // Two calls have the same number only if the file was changed by hand. The former
                // call was never settled.
                let former = open.insert(line.call, line);
                let oldest = if open.len() > MAX_OPEN_CALLS {
                    open.pop_first().map(|(_, line)| line)
                } else {
                    None
                };
                former.into_iter().chain(oldest).for_each(|line| sums.add_open(&line));
            }
            CallStep::Done | CallStep::Failed => {
                let enter_line = open.remove(&line.call);
                let line = match &enter_line {
                    Some(enter_line) => limit_to_estimate(line, enter_line),
                    None => line,
                };
                let estimated =
                    enter_line.map_or(line.micro_usd, |enter_line| enter_line.micro_usd);
                let is_done = line.step == CallStep::Done;
                let state = if is_done { CallState::Done } else { CallState::Failed };
                sums.add(at, &line, state, Spending { estimated, ..line.spent() });
            }
        }
    }
    open.values().for_each(|line| sums.add_open(line));
    Ok(sums.reply())
}

/// Returns the last line of a call. If its counts are implausible, the estimate replaces them.
/// Older versions wrote implausible counts.
fn limit_to_estimate(line: LedgerLine, enter_line: &LedgerLine) -> LedgerLine {
    let is_implausible = |counted, maximum| plausible_tokens(counted, maximum).1;
    if is_implausible(line.tokens_in, enter_line.tokens_in)
        || is_implausible(line.tokens_out, enter_line.tokens_out)
    {
        return LedgerLine { step: line.step, implausible: true, ..enter_line.clone() };
    }
    line
}

/// Reads the next line into `bytes`; returns `false` at the end of the file.
///
/// Of a line that is too long, `bytes` gets only the beginning, which is not valid JSON.
fn next_line(lines: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<bool> {
    bytes.clear();
    let mut part = lines.by_ref().take(MAX_LINE_BYTES as u64);
    if part.read_until(b'\n', bytes)? == 0 {
        return Ok(false);
    }
    if bytes.last() != Some(&b'\n') {
        lines.skip_until(b'\n')?;
    }
    Ok(true)
}

/// The sums so far.
struct Sums<'a> {
    filter: &'a CallPeriod,
    total: Spending,
    /// Spending by purpose and model.
    by_purpose_and_model: HashMap<(String, String), Spending>,
    /// The actual cost by day and purpose.
    by_day: BTreeMap<(String, String), u64>,
    /// The newest calls, by time and by `call_count` when they were added.
    newest: BTreeMap<(i64, u64), CostCall>,
    /// Number of selected calls.
    call_count: u64,
    /// Number of damaged lines.
    damaged: u64,
    /// Number of selected calls with implausible counts.
    implausible: u64,
}

impl<'a> Sums<'a> {
    fn new(filter: &'a CallPeriod) -> Self {
        Self {
            filter,
            total: Spending::default(),
            by_purpose_and_model: HashMap::new(),
            by_day: BTreeMap::new(),
            newest: BTreeMap::new(),
            call_count: 0,
            damaged: 0,
            implausible: 0,
        }
    }

    /// Adds a call that was never settled.
    fn add_open(&mut self, line: &LedgerLine) {
        if let Some(at) = parse_instant(&line.at) {
            self.add(at, line, CallState::Open, line.spent());
        }
    }

    fn add(&mut self, at: i64, line: &LedgerLine, state: CallState, spent: Spending) {
        let CallPeriod { since, until, limit } = *self.filter;
        if since.is_some_and(|since| at < since) || until.is_some_and(|until| at > until) {
            return;
        }
        add(&mut self.total, spent);
        let kind = (line.purpose.clone(), line.model.clone());
        add(self.by_purpose_and_model.entry(kind).or_default(), spent);
        let on_day = self.by_day.entry((day(at), line.purpose.clone())).or_default();
        *on_day = on_day.saturating_add(spent.actual);
        self.call_count += 1;
        self.implausible += u64::from(line.implausible);
        if limit == 0 {
            return;
        }
        let call = CostCall {
            at: line.at.clone(),
            purpose: line.purpose.clone(),
            model: line.model.clone(),
            state,
            spent,
        };
        self.newest.insert((at, self.call_count), call);
        if self.newest.len() > limit {
            self.newest.pop_first();
        }
    }

    fn reply(self) -> CostsReply {
        let mut sums: Vec<CostSum> = self
            .by_purpose_and_model
            .into_iter()
            .map(|((purpose, model), spent)| CostSum { purpose, model, spent })
            .collect();
        let cost_and_tokens = |sum: &CostSum| {
            (sum.spent.actual, sum.spent.tokens_in.saturating_add(sum.spent.tokens_out))
        };
        sums.sort_by(|one, other| {
            cost_and_tokens(other)
                .cmp(&cost_and_tokens(one))
                .then_with(|| (&one.purpose, &one.model).cmp(&(&other.purpose, &other.model)))
        });
        let calls = self.newest.into_values().rev().collect();
        let days = self.by_day.into_iter();
        let days = days.map(|((date, purpose), actual)| CostDay { date, purpose, actual });
        let days = days.collect();
        let Self { total, damaged, implausible, .. } = self;
        CostsReply { total, sums, calls, damaged, implausible, days }
    }
}
