//! A program that is built without PostgreSQL, and a store that other machines share.

use std::sync::Arc;
use std::time::Duration;

use brain_base::home::Home;
use brain_base::outgoing::NoOutgoingLog;
use brain_base::random::SystemRandom;
use brain_base::secrets::Secrets;
use brain_protocol::{
    Fault, FaultCode, MachineState, MachinesAccess, MachinesAction, MachinesPlan, Secret,
};
use brain_store::Store;
use tokio_util::sync::CancellationToken;

use super::World;
use super::replica::{count, id, open, try_write, write};
use crate::{LeaseTable, MachineEnvironment, MachineService};

const URL: &str = "postgresql://ann:secret@127.0.0.1:5432/brain";

fn service(world: &World, home: &Home, store: Arc<Store>) -> MachineService {
    let variables = Box::new(|name: &str| (name == "BRAIN_MACHINES_URL").then(|| URL.to_owned()));
    let environment = MachineEnvironment {
        home: home.clone(),
        cache_bytes: 1_000_000,
        min_free_bytes: 0,
        max_token_age: Duration::from_secs(60),
        clock: Arc::new(world.clock.clone()),
        random: Arc::new(SystemRandom),
        secrets: Arc::new(Secrets::new(home.root().join("secrets"), variables)),
        outgoing: Arc::new(NoOutgoingLog),
        stop: CancellationToken::new(),
    };
    MachineService::new(environment, store, Arc::<LeaseTable>::default())
}

fn names_the_feature(fault: &Fault) -> bool {
    fault.hint.as_ref().is_some_and(|hint| hint.to_string().contains("the feature `machines`"))
}

#[test]
fn a_shared_store_is_read_only_and_names_the_feature() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let (home, store) = (Home::at(dir.path().to_owned()), open(dir.path()));
    let mut log = world.stranger("laptop", None);
    log.engine.register(&log.registration(Default::default())).unwrap();
    log.identity.listens = false;
    log.identity.save(&home.machines()).unwrap();
    let log = Arc::new(log);
    store.share(log.clone(), id(&log)).unwrap();
    write(&store, 1);
    let position = store.log_position().unwrap();
    drop(store);

    let store = open(dir.path());
    let service = service(&world, &home, store.clone());
    let refused = Fault::from(try_write(&store, 2).unwrap_err());
    assert_eq!(refused.code, FaultCode::MachineStopped);
    assert!(names_the_feature(&refused), "{refused:?}");
    assert_eq!(count(&store), 1, "what was written before is read");
    assert_eq!(store.log_position().unwrap(), position, "the store has not moved from the log");
    assert!(store.is_shared());
    let status = service.status().unwrap();
    assert_eq!(status.state, MachineState::Incomplete);
    assert!(status.message.contains("built without"), "{}", status.message);
}

#[test]
fn a_plan_names_the_feature() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let (home, store) = (Home::at(dir.path().to_owned()), open(dir.path()));
    let service = service(&world, &home, store);
    for action in [MachinesAction::Init, MachinesAction::Join] {
        let access = MachinesAccess {
            url: Some(Secret::new(URL)),
            direct_url: None,
            key: None,
            name: None,
            namespace: None,
            encrypt: true,
        };
        let fault = service.plan(&MachinesPlan { action, access }).unwrap_err();
        assert_eq!(fault.code, FaultCode::NotSetUp);
        assert!(names_the_feature(&fault), "{fault:?}");
    }
}
