//! Leases of two machines, with a clock that the test moves.

use std::sync::Arc;
use std::time::Duration;

use brain_commit_log::Engine;

use super::{World, stopped_state};
use crate::{LeaseKeeper, RENEWAL, TTL};

fn keeper(world: &World, name: &str) -> (LeaseKeeper, Arc<dyn Engine>) {
    let keeper = LeaseKeeper::new(name.to_owned(), Arc::new(world.clock.clone()));
    keeper.set_wanted(["collector"]);
    (keeper, world.engine())
}

#[test]
fn one_machine_holds_a_lease() {
    let world = World::new();
    let ((laptop, one), (desktop, two)) = (keeper(&world, "laptop"), keeper(&world, "desktop"));
    assert!(!laptop.holds("collector") && !laptop.is_elsewhere("collector"));
    laptop.renew(&*one).unwrap();
    desktop.renew(&*two).unwrap();
    assert!(laptop.holds("collector") && !desktop.holds("collector"));
    assert!(desktop.is_elsewhere("collector") && !laptop.is_elsewhere("collector"));
    assert_eq!(desktop.holdings()[0].holder.as_deref(), Some("laptop"));
    assert!(laptop.holdings()[0].is_own);
    let number = laptop.fence("collector").unwrap().number;
    for _ in 0..10 {
        world.clock.pass(RENEWAL);
        laptop.renew(&*one).unwrap();
        desktop.renew(&*two).unwrap();
        assert!(laptop.holds("collector") && !desktop.holds("collector"));
    }
    assert_eq!(laptop.fence("collector").unwrap().number, number, "a renewal keeps the number");
}

#[test]
fn a_lease_is_not_trusted_past_its_end() {
    let world = World::new();
    let ((laptop, one), (desktop, two)) = (keeper(&world, "laptop"), keeper(&world, "desktop"));
    laptop.renew(&*one).unwrap();
    world.clock.pass(TTL - Duration::from_secs(1));
    assert!(!laptop.holds("collector"), "the margin before the end");
    desktop.renew(&*two).unwrap();
    assert!(!desktop.holds("collector"));
    world.clock.pass(Duration::from_secs(2));
    desktop.renew(&*two).unwrap();
    assert!(desktop.holds("collector"));
    laptop.renew(&*one).unwrap();
    assert!(!laptop.holds("collector") && laptop.is_elsewhere("collector"));
}

#[test]
fn a_released_lease_is_taken_at_once() {
    let world = World::new();
    let ((laptop, one), (desktop, two)) = (keeper(&world, "laptop"), keeper(&world, "desktop"));
    laptop.renew(&*one).unwrap();
    laptop.release_all(&*one);
    assert!(!laptop.holds("collector"));
    desktop.renew(&*two).unwrap();
    assert!(desktop.holds("collector"));
}

#[test]
fn a_task_that_is_no_longer_set_up_ends_its_lease() {
    let world = World::new();
    let ((laptop, one), (desktop, two)) = (keeper(&world, "laptop"), keeper(&world, "desktop"));
    laptop.renew(&*one).unwrap();
    laptop.set_wanted([]);
    laptop.renew(&*one).unwrap();
    desktop.renew(&*two).unwrap();
    assert!(desktop.holds("collector") && laptop.holdings().is_empty());
}

#[test]
fn one_of_two_copies_of_a_machine_stops() {
    let world = World::new();
    let laptop = world.machine("laptop");
    let (engine, first, second) = (world.engine(), laptop.presence(), laptop.presence());
    // A restart is no copy: the former process is gone.
    assert!(first.confirm(&*engine).unwrap() && first.confirm(&*engine).unwrap());
    assert!(second.confirm(&*engine).unwrap() && second.confirm(&*engine).unwrap());
    // Both run.
    assert!(first.confirm(&*engine).unwrap() && second.confirm(&*engine).unwrap());
    assert!(!first.confirm(&*engine).unwrap());
    assert!(second.confirm(&*engine).unwrap() && second.confirm(&*engine).unwrap());
    laptop.stop_as_copied();
    assert!(laptop.probe(brain_store::LogPosition::default()).is_err());
    assert_eq!(stopped_state(&laptop), "copied");
}
