//! Properties of leases, the registry and the keys.

use std::time::Duration;

use brain_commit_log::{Error, LeaseOutcome, LeaseRequest, MachineId, Position, ReadLimit};

use crate::world::{World, registration};

/// Longer than any test runs.
const LONG: Duration = Duration::from_secs(3_600);
const SHORT: Duration = Duration::from_millis(150);

fn request(holder: &str, fencing: Option<u64>, ttl: Duration) -> LeaseRequest {
    LeaseRequest { name: "collector".into(), holder: holder.into(), fencing, ttl }
}

pub(crate) fn a_lease_has_one_holder(world: &World) {
    let lease = world.a.lease(&request("a", None, LONG)).unwrap().granted().unwrap();
    assert_eq!(lease.holder, "a");
    assert!(lease.remaining() <= LONG && lease.remaining() > LONG / 2);
    match world.b.lease(&request("b", None, LONG)).unwrap() {
        LeaseOutcome::Refused(held) => {
            assert_eq!((held.holder.as_str(), held.fencing), ("a", lease.fencing));
        }
        other => panic!("{other:?}"),
    }
    let renewed = world.a.lease(&request("a", Some(lease.fencing), LONG)).unwrap();
    assert_eq!(renewed.granted().unwrap().fencing, lease.fencing, "a renewal keeps the number");
    let other = LeaseRequest { name: "tunnel".into(), ..request("b", None, LONG) };
    let other = world.b.lease(&other).unwrap().granted().unwrap();
    assert!(other.fencing > lease.fencing, "numbers grow over all leases");
    assert_eq!(world.b.head().unwrap().fencing, other.fencing);
    let names: Vec<String> =
        world.b.leases().unwrap().into_iter().map(|lease| lease.name).collect();
    assert_eq!(names, ["collector", "tunnel"]);
}

pub(crate) fn an_expired_lease_gets_a_new_number(world: &World) {
    let first = world.a.lease(&request("a", None, SHORT)).unwrap().granted().unwrap();
    world.pass(SHORT + Duration::from_millis(50));
    let second = world.b.lease(&request("b", None, LONG)).unwrap().granted().unwrap();
    assert!(second.fencing > first.fencing);
    let late = world.a.lease(&request("a", Some(first.fencing), LONG)).unwrap();
    assert!(matches!(late, LeaseOutcome::Refused(_)), "{late:?}");
}

pub(crate) fn a_released_lease_is_free(world: &World) {
    let first = world.a.lease(&request("a", None, LONG)).unwrap().granted().unwrap();
    world.a.release(&first).unwrap();
    let second = world.b.lease(&request("b", None, LONG)).unwrap().granted().unwrap();
    assert!(second.fencing > first.fencing);
    world.a.release(&first).unwrap();
    let held = world.a.lease(&request("a", None, LONG)).unwrap();
    assert!(matches!(held, LeaseOutcome::Refused(_)), "an old release ends nothing: {held:?}");
}

pub(crate) fn a_new_process_takes_its_own_lease(world: &World) {
    let first = world.a.lease(&request("a", None, LONG)).unwrap().granted().unwrap();
    let second = world.a.lease(&request("a", None, LONG)).unwrap().granted().unwrap();
    assert!(second.fencing > first.fencing);
    let former = world.a.lease(&request("a", Some(first.fencing), LONG)).unwrap();
    assert!(matches!(former, LeaseOutcome::Refused(_)), "the former process ends: {former:?}");
}

pub(crate) fn a_fenced_batch_is_refused(world: &World) {
    let lease = world.a.lease(&request("a", None, SHORT)).unwrap().granted().unwrap();
    let mut batch = world.batch("a", "collected");
    batch.fence = Some(lease.fence());
    let head = world.a.append(&Position::START, &batch).unwrap();
    world.pass(SHORT + Duration::from_millis(50));
    batch.id = world.batch("a", "").id;
    let head = world.a.append(&head.position, &batch).expect("nobody else took the lease");
    world.b.lease(&request("b", None, LONG)).unwrap().granted().unwrap();
    batch.id = world.batch("a", "").id;
    let refused = world.a.append(&head.position, &batch);
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    assert_eq!(world.a.head().unwrap().position, head.position);
    world.a.append(&head.position, &world.batch("a", "without a lease")).unwrap();
}

pub(crate) fn a_removed_machine_cannot_append(world: &World) {
    let head = world.append("before");
    let report = registration("a", head.position);
    world.a.report(&report).unwrap();
    assert_eq!(world.b.machines().unwrap()[0].position, head.position);
    assert!(world.b.remove_machine("a").unwrap());
    assert!(!world.b.remove_machine("a").unwrap());
    let refused = world.a.append(&head.position, &world.batch("a", "after"));
    assert!(matches!(refused, Err(Error::NotRegistered { .. })), "{refused:?}");
    let refused = world.a.report(&report);
    assert!(matches!(refused, Err(Error::NotRegistered { .. })), "{refused:?}");
    assert!(world.a.read(&Position::START, ReadLimit::default()).is_ok());
    world.a.register(&report).unwrap();
    world.a.append(&head.position, &world.batch("a", "after joining again")).unwrap();
}

pub(crate) fn names_of_machines_are_unique(world: &World) {
    let mut other = registration("a", Position::START);
    other.id = MachineId([5; 16]);
    let refused = world.b.register(&other);
    assert!(matches!(refused, Err(Error::NameTaken { .. })), "{refused:?}");
    let refused = world.b.report(&other);
    assert!(matches!(refused, Err(Error::NotRegistered { .. })), "{refused:?}");
    let newer = brain_commit_log::Registration {
        version: "0.2.0".into(),
        ..registration("a", Position::START)
    };
    world.b.register(&newer).unwrap();
    let machines = world.b.machines().unwrap();
    assert_eq!(machines.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(machines[0].version, "0.2.0");
}

pub(crate) fn keys_are_replaced_once(world: &World) {
    assert_eq!(world.a.sealed_keys().unwrap(), Default::default());
    assert_eq!(world.a.replace_keys(0, b"first").unwrap(), 1);
    let refused = world.b.replace_keys(0, b"at the same time");
    assert!(matches!(refused, Err(Error::KeysChanged)), "{refused:?}");
    assert_eq!(world.b.replace_keys(1, b"second").unwrap(), 2);
    let keys = world.a.sealed_keys().unwrap();
    assert_eq!((keys.generation, keys.bytes.as_slice()), (2, b"second".as_slice()));
    assert_eq!(world.a.head().unwrap().key_generation, 2);
}
