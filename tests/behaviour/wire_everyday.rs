//! One value of every request and reply about the daily note, random pages, orphans, tasks, the
//! settings of a source, and the list of backups, in wire order.

use brain_protocol::{
    BackupFile, BackupList, BackupListReply, Orphans, Random, Reply, Request, Slug, SourceId,
    SourceSet, SourceSettings, Today, TodoRow, Todos, TodosReply,
};

pub(crate) fn requests() -> Vec<Request> {
    let work = || SourceId::parse("work").ok();
    vec![
        Request::Today(Today { day: "2026-11-21".into(), source: work() }),
        Request::Random(Random {
            source: None,
            page_type: Some("idea".into()),
            tag: Some("t".into()),
        }),
        Request::Orphans(Orphans { source: work(), limit: 300, skip: 600 }),
        Request::Todos(Todos {
            source: None,
            prefix: Some("p/".into()),
            done: true,
            limit: 300,
            skip: 600,
        }),
        Request::SourceSet(SourceSet {
            id: SourceId::parse("work").unwrap(),
            settings: SourceSettings {
                include: Some(vec!["i".into()]),
                exclude: None,
                provenance: Some(false),
            },
        }),
        Request::BackupList(BackupList),
    ]
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let todo = TodoRow {
        slug: Slug::parse("a").unwrap(),
        source_id: SourceId::default(),
        line: 300,
        text: "buy milk".into(),
        done: true,
        source_kind: Some("sync".into()),
        path: Some("/p".into()),
    };
    let backup = BackupFile {
        path: "/b/brain.redb".into(),
        bytes: 1,
        made_at: "2026-11-21T10:30:00.000Z".into(),
    };
    let backup_list = BackupListReply { dir: Some("/b".into()), backups: vec![backup] };
    vec![
        ("todos", Reply::Todos(TodosReply { todos: vec![todo], truncated: true })),
        ("backup_list", Reply::BackupList(backup_list)),
    ]
}
