//! Random histories of two machines of a shared brain end with equal stores.

use std::sync::Mutex;

use brain_protocol::{FaultCode, Slug, SourceId};
use proptest::prelude::*;

use super::jobs_tests::job;
use super::shared_tests::{LogFault, Machine, ServerState, assert_equal, dirs, two_machines};
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
        2 => Just(Step::Follow),
        1 => Just(Step::Restart),
        2 => any::<bool>().prop_map(Step::SetServerDown),
        1 => Just(Step::LoseAnswer),
    ];
    proptest::collection::vec((any::<bool>(), step), 1..40)
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
        Step::Move { from, to } => {
            let (from, to) = (name(from), name(to));
            machine.store().write(move |transaction| {
                let Some(record) = transaction.page(&source, &from)? else { return Ok(()) };
                if record.deleted_at.is_some() || transaction.page(&source, &to)?.is_some() {
                    return Ok(());
                }
                let body = transaction.content(&record)?.body;
                let new = page(&body, &["t"], None);
                transaction
                    .move_page(&source, (&from, (&to, None)), &record, &new, 6000)
                    .map(|_| ())
            })?;
        }
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
