//! Random histories of two machines of a shared brain end with equal stores.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use brain_base::caller::Visibility;
use brain_protocol::{FaultCode, Slug, SourceId};
use proptest::prelude::*;

use super::fake_log::{LogFault, ServerState};
use super::jobs_tests::job;
use super::ledgers_tests::{given, left, seen};
use super::shared_tests::{Machine, assert_equal, dirs, two_machines};
use super::tests::{page, slug};
use super::*;

#[derive(Debug, Clone)]
enum Step {
    Put { page: u8, body: u8 },
    Delete { page: u8 },
    Restore { page: u8 },
    Purge { page: u8 },
    Move { from: u8, to: u8 },
    Job { key: u8 },
    Record { page: u8 },
    Follow,
    Restart,
    SetServerDown(bool),
    LoseAnswer,
}

fn steps() -> impl Strategy<Value = Vec<(bool, Step)>> {
    let step = prop_oneof![
        6 => (0..4_u8, 0..6_u8).prop_map(|(page, body)| Step::Put { page, body }),
        2 => (0..4_u8).prop_map(|page| Step::Delete { page }),
        1 => (0..4_u8).prop_map(|page| Step::Restore { page }),
        1 => (0..4_u8).prop_map(|page| Step::Purge { page }),
        2 => (0..4_u8, 0..4_u8).prop_map(|(from, to)| Step::Move { from, to }),
        3 => (0..6_u8).prop_map(|key| Step::Job { key }),
        1 => (0..4_u8).prop_map(|page| Step::Record { page }),
        2 => Just(Step::Follow),
        1 => Just(Step::Restart),
        2 => any::<bool>().prop_map(Step::SetServerDown),
        1 => Just(Step::LoseAnswer),
    ];
    proptest::collection::vec((any::<bool>(), step), 1..40)
}

fn move_page(machine: &Machine, from: Slug, to: Slug) -> Result<(), StoreError> {
    machine.store().write(move |transaction| {
        let Some(record) = transaction.page(&SourceId::default(), &from)? else { return Ok(()) };
        if record.deleted_at.is_some() || transaction.page(&SourceId::default(), &to)?.is_some() {
            return Ok(());
        }
        let body = transaction.content(&record)?.body;
        let new = page(&body, &["t"], None);
        transaction
            .move_page(&SourceId::default(), (&from, (&to, None)), &record, &new, 6000)
            .map(|_| ())
    })
}

/// Records a request that left, and a call of an AI client that was given the page.
fn record_calls(machine: &Machine, number: u8, name: Slug) -> Result<(), StoreError> {
    machine.store().write(move |transaction| {
        let Some(record) = transaction.page(&SourceId::default(), &name)? else { return Ok(()) };
        let id = ledger_id(i64::from(number), record.seq);
        transaction.add_left(&[(id, left("a.example"))])?;
        let call = seen("{}", vec![given(record.id, record.version)]);
        transaction.add_seen(&[(id, call)], 5000)
    })
}

fn run_step(
    machine: &mut Machine,
    server: &Mutex<ServerState>,
    step: &Step,
) -> Result<(), StoreError> {
    let source = SourceId::default();
    let name = |n: u8| -> Slug { slug(&format!("page-{n}")) };
    match *step {
        Step::Restart => machine.restart(),
        Step::SetServerDown(is_down) => {
            server.lock().unwrap().fault = is_down.then_some(LogFault::Away);
        }
        Step::LoseAnswer => server.lock().unwrap().fault = Some(LogFault::LostAnswer),
        Step::Follow => _ = machine.store().follow()?,
        Step::Put { page: n, body } => {
            let (name, text) = (name(n), format!("text {body}"));
            machine.store().write(move |transaction| {
                let new = page(&text, &["t"], Some("page-1"));
                transaction.write_page(&source, &name, &new, i64::from(body)).map(|_| ())
            })?;
        }
        Step::Delete { page } | Step::Restore { page } | Step::Purge { page } => {
            let (name, step) = (name(page), step.clone());
            machine.store().write(move |transaction| {
                let Some(record) = transaction.page(&source, &name)? else { return Ok(()) };
                match (&step, record.deleted_at) {
                    (Step::Delete { .. }, None) => {
                        transaction.soft_delete(&source, &name, record, 5000).map(|_| ())
                    }
                    (Step::Restore { .. }, Some(_)) => {
                        transaction.restore(&source, &name, record).map(|_| ())
                    }
                    (Step::Purge { .. }, _) => {
                        transaction.purge_page(&source, &name, record, 5000).map(|_| ())
                    }
                    _ => Ok(()),
                }
            })?;
        }
        Step::Move { from, to } => move_page(machine, name(from), name(to))?,
        Step::Record { page } => record_calls(machine, page, name(page))?,
        Step::Job { key } => {
            let (sender, result) = std::sync::mpsc::sync_channel(1);
            machine.store().write_then(
                move |transaction| {
                    transaction.add_job(&job(&format!("job {key}"), i64::from(key))).map(|_| ())
                },
                move |result| sender.send(result).unwrap(),
            );
            result.recv().unwrap()?;
        }
    }
    Ok(())
}

#[test]
fn a_clock_in_another_year_dates_no_change() {
    const YEAR: i64 = 365 * 24 * 3_600_000;
    const T: i64 = 1_800_000_000_000;
    let dir = dirs();
    let (one, two, _server) = two_machines(dir.path());
    let write = |machine: &Machine, name: &str, text: &str, clock| {
        let (name, new) = (slug(name), page(text, &[], None));
        machine
            .store()
            .write(move |it| it.write_page(&SourceId::default(), &name, &new, clock))
            .unwrap()
            .record
    };
    let step = |machine: &Machine, record: &PageRecord| {
        machine.store().follow().unwrap();
        machine.store().read(Visibility::All).unwrap().step(record.seq).unwrap().unwrap()
    };
    write(&one, "p", "v1", T);
    for ahead in [-YEAR, YEAR] {
        two.log.clock_ahead.store(ahead, Ordering::Relaxed);
        let own = write(&two, "own", &format!("of {ahead}"), T + 10 + ahead);
        let step = step(&one, &own);
        assert_eq!((step.at, step.clock), (T + 10, T + 10 + ahead));
    }
    // Of a machine whose clock is not compared yet, a version is not older than the one before it.
    two.log.clock_ahead.store(0, Ordering::Relaxed);
    write(&one, "p", "v2", T + 20);
    let last = write(&two, "p", "v3", T - YEAR);
    assert_eq!(step(&one, &last).at, T + 20);
    let reader = one.store().read(Visibility::All).unwrap();
    let then = |at| reader.step_at(last.seq, at).unwrap().map(|(_, step)| step.version);
    assert_eq!([T - 1, T, T + 19, T + 20].map(then), [None, Some(1), Some(1), Some(3)]);
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(16) })]
    #[test]
    fn all_histories_end_with_equal_stores(steps in steps()) {
        let dir = dirs();
        let (mut one, mut two, server) = two_machines(dir.path());
        for (is_machine_one, step) in &steps {
            let machine = if *is_machine_one { &mut one } else { &mut two };
            match run_step(machine, &server, step) {
                Ok(()) | Err(StoreError::Away(_)) => {}
                Err(StoreError::Refused(fault)) if fault.code == FaultCode::OutcomeUnknown => {}
                Err(error) => panic!("{step:?}: {error}"),
            }
        }
        server.lock().unwrap().fault = None;
        assert_equal(&one, &two);
    }
}
