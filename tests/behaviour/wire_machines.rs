//! One value of every request and reply about the machines of a shared brain, in wire order.

use brain_protocol::*;

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn secret(text: &str) -> Option<Secret> {
    Some(Secret::new(text))
}

fn access() -> MachinesAccess {
    MachinesAccess {
        url: secret("postgresql://u:p@h/b"),
        direct_url: secret("d"),
        key: secret("k"),
        name: some("laptop"),
        namespace: some("brain"),
        encrypt: true,
    }
}

pub(crate) fn requests() -> Vec<Request> {
    vec![
        Request::MachinesPlan(MachinesPlan { action: MachinesAction::Init, access: access() }),
        Request::MachinesInit(MachinesInit { access: access(), plan: "p".into() }),
        Request::MachinesJoin(MachinesJoin { access: access(), plan: "p".into() }),
        Request::MachineList(MachineList),
        Request::MachinesStatus(MachinesStatus),
        Request::MachinesLeave(MachinesLeave),
        Request::MachineRemove(MachineRemove { name: "desktop".into() }),
        Request::MachinesRotateKey(MachinesRotateKey),
    ]
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let time = || "2026-11-21T10:30:45.123Z".to_owned();
    vec![
        (
            "machines-plan",
            Reply::MachinesPlan(MachinesPlanReply {
                action: "init".into(),
                plan: "p".into(),
                name: "laptop".into(),
                server: "h:5432/b".into(),
                tls: true,
                encrypted: true,
                pages: 1,
                bytes: 300,
                steps: vec!["s".into()],
                warnings: vec!["w".into()],
            }),
        ),
        (
            "machines-init",
            Reply::MachinesInit(MachinesInitReply {
                name: "laptop".into(),
                brain: "ab".into(),
                words: secret("k"),
                former_store: "/h/brain.redb.before-sharing-1".into(),
                pages: 1,
                bytes: 300,
                warnings: vec!["w".into()],
            }),
        ),
        (
            "machines-join",
            Reply::MachinesJoin(MachinesJoinReply {
                name: "laptop".into(),
                brain: "ab".into(),
                position: 7,
                bytes: 300,
                needs_restart: true,
                former_store: some("/h/s"),
                former_pages: some("/h/p"),
                warnings: vec!["w".into()],
            }),
        ),
        (
            "machines",
            Reply::Machines(Machines {
                machines: vec![MachineRow {
                    name: "laptop".into(),
                    this: true,
                    behind: 7,
                    seen_at: time(),
                    version: "0.1.0.0".into(),
                    leases: vec!["purge".into()],
                }],
            }),
        ),
        (
            "machines-status",
            Reply::MachinesStatus(MachinesStatusReply {
                state: "away".into(),
                message: "m".into(),
                hint: Some("h".into()),
                since: Some(time()),
                name: some("laptop"),
                brain: some("ab"),
                server: some("h:5432/b"),
                tls: true,
                encrypted: true,
                delivery: some("polling"),
                position: 7,
                behind: 300,
                age_seconds: Some(9),
                queued: 2,
                leases: vec![LeaseRow { name: "purge".into(), holder: some("laptop"), this: true }],
                clock_difference_ms: Some(-3),
                snapshot_at: Some(time()),
                since_snapshot: Some(5),
                warnings: vec!["w".into()],
            }),
        ),
        (
            "machine-removed",
            Reply::MachineRemove(MachineRemoveReply {
                status: "removed".into(),
                name: "desktop".into(),
                warnings: vec!["w".into()],
            }),
        ),
        (
            "machines-rotate-key",
            Reply::MachinesRotateKey(MachinesRotateKeyReply {
                words: Secret::new("k"),
                warnings: vec!["w".into()],
            }),
        ),
    ]
}
