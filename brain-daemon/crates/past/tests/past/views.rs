//! Copies of past states: who waits while one is made, and what a purge does then.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

use brain_base::caller::Caller;
use brain_pages::index::IndexFork;
use brain_past::{CopiedPages, OpenPastBrain, PastBrain};
use brain_protocol::{
    AsOf, AsOfReply, Fault, FaultCode, List, Pages, PastRequest, Reply, SourceId,
};
use brain_service::{NoProgress, Progress};
use brain_store::{PageEntry, PastPage, SourceRecord};
use parking_lot::Mutex;

use super::fixture::{TestBrain, client, owner};

/// Past states that are made slowly: each batch waits until the test lets it go on.
#[derive(Clone)]
struct SlowStates {
    began: SyncSender<()>,
    goes_on: Arc<Mutex<Receiver<()>>>,
}

impl OpenPastBrain for SlowStates {
    fn fork_index(&self) -> Option<IndexFork> {
        None
    }

    fn open(
        &self,
        _: &Path,
        _: i64,
        _: Option<CopiedPages<'_>>,
    ) -> Result<Box<dyn PastBrain>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

impl PastBrain for SlowStates {
    fn add_sources(&self, _: Vec<(SourceId, SourceRecord)>) -> Result<(), Fault> {
        Ok(())
    }

    fn remove_pages(&self, _: Vec<PageEntry>) -> Result<(), Fault> {
        Ok(())
    }

    fn add_pages(&self, _: Vec<PastPage>) -> Result<(), Fault> {
        self.began.send(()).unwrap();
        self.goes_on.lock().recv().unwrap();
        Ok(())
    }

    fn answer(&self, _: &Caller, _: PastRequest, _: &dyn Progress) -> Result<Reply, Fault> {
        let default_source = SourceId::default();
        let (pages, damaged) = (Vec::new(), Vec::new());
        Ok(Reply::Pages(Pages { pages, truncated: false, next: None, default_source, damaged }))
    }
}

fn open(dir: &Path) -> (TestBrain, Receiver<()>, SyncSender<()>) {
    let ((began, begins), (go_on, goes_on)) = (sync_channel(9), sync_channel(9));
    let states = SlowStates { began, goes_on: Arc::new(Mutex::new(goes_on)) };
    let brain = TestBrain::with_past_states(dir, Arc::new(states));
    brain.put(&owner(), "a", "One.\n", &[]);
    (brain, begins, go_on)
}

fn ask(brain: &TestBrain, caller: &Caller) -> Result<AsOfReply, Fault> {
    let request = AsOf { at: "2099-01-01".into(), request: PastRequest::List(List::default()) };
    brain.past.as_of(caller, request, &NoProgress)
}

#[test]
fn few_callers_wait_for_a_past_state_and_the_others_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let (brain, begins, go_on) = open(dir.path());
    let (brain, helm) = (&brain, &client("helm"));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| ask(brain, &owner()));
        begins.recv().unwrap();
        let (send, answers) = channel();
        for _ in 0..9 {
            let send = send.clone();
            scope.spawn(move || send.send(ask(brain, helm).map_err(|fault| fault.code)).unwrap());
        }
        for _ in 0..5 {
            assert_eq!(answers.recv().unwrap().unwrap_err(), FaultCode::Busy);
        }
        go_on.send(()).unwrap();
        assert!(first.join().unwrap().is_ok());
        for _ in 0..4 {
            assert!(answers.recv().unwrap().is_ok(), "it is the same time");
        }
    });
    assert!(begins.try_recv().is_err(), "one state was made for all");
}

#[test]
fn a_state_that_is_made_during_a_purge_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (brain, begins, go_on) = open(dir.path());
    let brain = &brain;
    std::thread::scope(|scope| {
        let first = scope.spawn(|| ask(brain, &owner()));
        begins.recv().unwrap();
        let purge = scope.spawn(|| brain.past.drop_views(true));
        // The purge waits for the state, which ends at its next batch or right after it.
        while !purge.is_finished() {
            let _ = go_on.try_send(());
            std::thread::yield_now();
        }
        purge.join().unwrap().unwrap();
        let answer = first.join().unwrap().map_err(|fault| fault.code);
        assert!(answer.is_ok() || answer == Err(FaultCode::Busy), "{answer:?}");
    });
    let copies = std::fs::read_dir(dir.path().join("home/run/past")).unwrap().count();
    assert_eq!(copies, 0);
}
