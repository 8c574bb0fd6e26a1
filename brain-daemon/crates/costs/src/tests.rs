//! Tests of the ledger with real files: order of writes, crashes, sums.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};

use brain_protocol::Spending;

use super::*;
use brain_base::clock::Clock;

/// In millionths of a USD for a million tokens.
const PRICE: Price = Price { input: 3_000_000, output: 15_000_000 };
const DAY_MS: i64 = 86_400_000;

struct MockClock(AtomicI64);

impl Clock for MockClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

struct TestLedger {
    dir: tempfile::TempDir,
    clock: Arc<MockClock>,
    ledger: Ledger,
}

fn test_ledger() -> TestLedger {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(MockClock(AtomicI64::new(20_000 * DAY_MS)));
    let ledger = Ledger::new(&dir.path().join("costs.jsonl"), Arc::clone(&clock) as Arc<dyn Clock>);
    TestLedger { dir, clock, ledger }
}

impl TestLedger {
    fn path(&self) -> PathBuf {
        self.dir.path().join("costs.jsonl")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn enter<'a>(&'a self, budget: Option<&'a Budget>) -> Result<OpenCall<'a>, CostError> {
        self.ledger.enter("ask", "m", PRICE, budget, 1000, 100)
    }

    fn read(&self) -> brain_protocol::CostsReply {
        self.ledger.read(None, None, 10).unwrap()
    }
}

/// The maximum cost of a test call, in millionths of a USD: 1,000 tokens in and 100 out at `PRICE`.
const MAX_CALL_COST: u64 = 4_500;

#[test]
fn prices_are_rounded_up_and_never_overflow() {
    assert_eq!(PRICE.cost(1000, 100), MAX_CALL_COST);
    assert_eq!(Price { input: 1, output: 0 }.cost(1, 0), 1);
    assert_eq!(Price::default().cost(u64::MAX, u64::MAX), 0);
    assert_eq!(Price { input: u64::MAX, output: u64::MAX }.cost(u64::MAX, u64::MAX), u64::MAX);
}

#[test]
fn a_call_is_in_the_file_before_it_is_made_and_settled_after() {
    let test = test_ledger();
    assert!(test.ledger.check().is_ok() && !test.path().exists());
    assert_eq!(test.read().total, Spending::default());
    let entry = test.enter(None).unwrap();
    assert_eq!(fs::metadata(test.path()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        test.text(),
        "{\"step\":\"enter\",\"call\":0,\"at\":\"2024-10-04T00:00:00.000Z\",\"purpose\":\"ask\",\
         \"model\":\"m\",\"tokens_in\":1000,\"tokens_out\":100,\"micro_usd\":4500}\n"
    );
    let open = test.read();
    assert_eq!((open.total.actual, open.calls[0].state.as_str()), (MAX_CALL_COST, "open"));
    entry.settle(10, 1);
    let done = test.read();
    assert_eq!(
        done.total,
        Spending {
            estimated: MAX_CALL_COST,
            actual: PRICE.cost(10, 1),
            tokens_in: 10,
            tokens_out: 1,
            calls: 1
        }
    );
    assert_eq!((done.calls[0].state.as_str(), done.calls[0].spent), ("done", done.total));
}

#[test]
fn unreported_tokens_count_at_the_maximum() {
    let test = test_ledger();
    drop(test.enter(None).unwrap());
    test.enter(None).unwrap().settle(0, 0);
    test.enter(None).unwrap().cancel();
    // Some services report only one of the two.
    test.enter(None).unwrap().settle(10, 0);
    test.enter(None).unwrap().settle(0, 1);
    // A killed daemon settles nothing.
    std::mem::forget(test.enter(None).unwrap());
    let read = test.read();
    let (no_out, no_in) = (PRICE.cost(10, 100), PRICE.cost(1000, 1));
    assert_eq!(read.total.actual, 3 * MAX_CALL_COST + no_out + no_in);
    let states: Vec<_> =
        read.calls.iter().map(|call| (call.state.as_str(), call.spent.actual)).collect();
    assert_eq!(
        states,
        [
            ("open", MAX_CALL_COST),
            ("done", no_in),
            ("done", no_out),
            ("failed", 0),
            ("done", MAX_CALL_COST),
            ("failed", MAX_CALL_COST)
        ]
    );
}

#[test]
fn implausible_counts_are_reported_and_count_at_the_maximum() {
    let test = test_ledger();
    let budget = Budget::new(1_000_000);
    for (counted, accepted, returned) in [
        ((1 << 62, 1 << 62), (1000, 100), (1000, 100)),
        ((u64::MAX, 0), (1000, 100), (1000, 0)),
        ((10, u64::MAX), (10, 100), (10, 100)),
        // Text of rare symbols, and tokens that the service added.
        ((8096, 4496), (8096, 4496), (8096, 4496)),
        ((8097, 4497), (1000, 100), (1000, 100)),
    ] {
        let before = test.read();
        let entry = test.enter(Some(&budget)).unwrap();
        assert_eq!(entry.settle(counted.0, counted.1), returned);
        let after = test.read();
        let spent = after.calls[0].spent;
        assert_eq!((spent.tokens_in, spent.tokens_out), accepted, "{counted:?}");
        assert_eq!(spent.actual, PRICE.cost(accepted.0, accepted.1));
        assert_eq!(after.implausible - before.implausible, u64::from(counted != accepted));
    }
    assert_eq!(budget.spent().actual, test.read().total.actual, "the budget has the same sum");
    // A former version accepted any count.
    let line = |step: &str, tokens_in: u64, tokens_out: u64, cost: u64| {
        format!(
            "{{\"step\":\"{step}\",\"call\":0,\"at\":\"2024-10-04T00:00:00.000Z\",\"purpose\":\"ask\",\
             \"model\":\"m\",\"tokens_in\":{tokens_in},\"tokens_out\":{tokens_out},\
             \"micro_usd\":{cost}}}\n"
        )
    };
    for (tokens_in, tokens_out) in [(1 << 62, 1 << 62), (1 << 62, 7), (9, 1 << 62)] {
        let done = line("done", tokens_in, tokens_out, u64::MAX);
        fs::write(test.path(), line("enter", 9, 7, 132) + &done).unwrap();
        let read = test.read();
        let spent = Spending { estimated: 132, actual: 132, tokens_in: 9, tokens_out: 7, calls: 1 };
        assert_eq!(
            (read.total, read.calls[0].state.as_str(), read.implausible),
            (spent, "done", 1)
        );
    }
}

#[test]
fn an_exceeded_budget_writes_nothing() {
    let test = test_ledger();
    let budget = Budget::new(2 * MAX_CALL_COST - 1);
    let first = test.enter(Some(&budget)).unwrap();
    assert_eq!(budget.spent().actual, MAX_CALL_COST);
    let error = test.enter(Some(&budget)).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the next call may cost 0.0045 USD, and 0.004499 USD are left of 0.008999 USD"
    );
    assert_eq!(test.text().lines().count(), 1);
    first.settle(10, 1);
    assert_eq!(
        budget.spent(),
        Spending {
            estimated: MAX_CALL_COST,
            actual: PRICE.cost(10, 1),
            tokens_in: 10,
            tokens_out: 1,
            calls: 1
        }
    );
    test.enter(Some(&budget)).unwrap().cancel();
    assert_eq!(budget.spent().actual, PRICE.cost(10, 1));
    // Free calls fit into a budget of 0.
    let no_budget = Budget::new(0);
    test.ledger.enter("ask", "own", Price::default(), Some(&no_budget), 9, 9).unwrap().settle(5, 5);
    assert_eq!((no_budget.spent().actual, no_budget.spent().tokens_in), (0, 5));
    assert!(test.enter(Some(&no_budget)).is_err());
    assert!(
        test.enter(Some(&Budget::resumed(
            MAX_CALL_COST,
            Spending { actual: 1, ..Spending::default() }
        )))
        .is_err()
    );
}

#[test]
fn threads_share_a_budget_and_a_file() {
    let test = test_ledger();
    let budget = Budget::new(20 * MAX_CALL_COST);
    let entered: usize = std::thread::scope(|threads| {
        let running: Vec<_> = (0..8)
            .map(|_| {
                let (test, budget) = (&test, &budget);
                threads.spawn(move || {
                    let entries: Vec<_> =
                        (0..5).filter_map(|_| test.enter(Some(budget)).ok()).collect();
                    entries.len()
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let read = test.read();
    assert_eq!((read.total.calls, read.damaged), (20, 0));
    assert_eq!(
        (entered, read.total.actual, budget.spent().actual),
        (20, 20 * MAX_CALL_COST, 20 * MAX_CALL_COST)
    );
}

#[test]
fn a_torn_last_line_damages_no_other_line() {
    let test = test_ledger();
    test.enter(None).unwrap().settle(10, 1);
    let mut file = File::options().append(true).open(test.path()).unwrap();
    file.write_all(b"{\"step\":\"enter\",\"call\":3").unwrap();
    assert_eq!((test.read().total.calls, test.read().damaged), (1, 1));
    // An editor may leave such lines; a crash does not.
    test.enter(None).unwrap().settle(20, 2);
    let mut file = File::options().append(true).open(test.path()).unwrap();
    file.write_all(&[b'x'; 50_000]).unwrap();
    file.write_all(b"\n\xff\xfe\n{}\n").unwrap();
    test.enter(None).unwrap().settle(30, 3);
    let read = test.read();
    assert_eq!((read.total.calls, read.total.tokens_in, read.damaged), (3, 60, 4));
}

#[test]
fn calls_are_counted_after_the_ledger_file_moves() {
    let test = test_ledger();
    std::mem::forget(test.enter(None).unwrap());
    let late = test.enter(None).unwrap();
    let old = test.text();
    fs::remove_file(test.path()).unwrap();
    std::mem::forget(test.enter(None).unwrap());
    late.settle(10, 1);
    // The line of a settled call is complete without the line of its beginning.
    let read = test.read();
    assert_eq!((read.total.calls, read.total.actual), (2, MAX_CALL_COST + PRICE.cost(10, 1)));
    // In both files together, two calls have the number 0. Both are counted.
    fs::write(test.path(), old + &test.text()).unwrap();
    assert_eq!(test.read().total.calls, 3);
}

#[test]
fn sums_group_by_purpose_and_model() {
    let test = test_ledger();
    test.enter(None).unwrap().settle(10, 1);
    test.clock.0.fetch_add(DAY_MS, Ordering::SeqCst);
    test.ledger.enter("ratings", "m", PRICE, None, 5, 5).unwrap().settle(500, 1);
    test.ledger.enter("ask", "own", Price::default(), None, 5, 5).unwrap().settle(7, 7);
    test.enter(None).unwrap().settle(20, 1);
    let read = test.read();
    let sums: Vec<_> = read
        .sums
        .iter()
        .map(|sum| (sum.purpose.as_str(), sum.model.as_str(), sum.spent.tokens_in, sum.spent.calls))
        .collect();
    assert_eq!(sums, [("ratings", "m", 500, 1), ("ask", "m", 30, 2), ("ask", "own", 7, 1)]);
    let newest = test.ledger.read(None, None, 2).unwrap();
    let tokens: Vec<_> = newest.calls.iter().map(|call| call.spent.tokens_in).collect();
    assert_eq!((tokens, newest.total.calls), (vec![20, 7], 4));
    assert_eq!(test.ledger.read(Some(20_001 * DAY_MS), None, 0).unwrap().total.tokens_in, 527);
    let first = test.ledger.read(None, Some(20_001 * DAY_MS - 1), 5).unwrap();
    assert_eq!((first.total.tokens_in, first.calls.len()), (10, 1));
    let whole = test.ledger.read(Some(20_000 * DAY_MS), Some(20_001 * DAY_MS), 5).unwrap();
    assert_eq!(whole.calls.len(), 4, "both ends belong to the period");
}

#[test]
fn a_paid_call_needs_a_writable_ledger() {
    let dir = tempfile::tempdir().unwrap();
    let file_path = dir.path().join("costs.jsonl");
    fs::create_dir(&file_path).unwrap();
    let ledger = Ledger::new(&file_path, Arc::new(MockClock(AtomicI64::new(0))));
    let budget = Budget::new(MAX_CALL_COST);
    let error = ledger.enter("ask", "m", PRICE, Some(&budget), 1000, 100).err().unwrap();
    assert!(error.to_string().contains("costs.jsonl"), "{error}");
    assert_eq!(budget.spent(), Spending::default());
    assert!(ledger.enter("ask", "own", Price::default(), Some(&budget), 1, 1).is_ok());
    assert!(ledger.read(None, None, 1).is_err() && ledger.check().is_err());
    // What cannot be opened is no missing file.
    let inside_a_file = dir.path().join("file/costs.jsonl");
    fs::write(dir.path().join("file"), "").unwrap();
    let ledger = Ledger::new(&inside_a_file, Arc::new(MockClock(AtomicI64::new(0))));
    assert!(ledger.read(None, None, 1).is_err() && ledger.check().is_err());
}

#[test]
fn many_interrupted_calls_are_all_counted() {
    let test = test_ledger();
    for _ in 0..1100 {
        std::mem::forget(test.ledger.enter("ask", "own", Price::default(), None, 1, 0).unwrap());
    }
    let read = test.read();
    assert_eq!((read.total.calls, read.total.tokens_in, read.calls.len()), (1100, 1100, 10));
}
