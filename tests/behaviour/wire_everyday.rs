//! Wire fixtures of the daily note, random pages, pages without links, and tasks.

use brain_protocol::{
    Orphans, Random, Reply, Request, Slug, SourceId, Today, TodoRow, Todos, TodosReply,
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
        Request::Orphans(Orphans { source: work(), limit: 300 }),
        Request::Todos(Todos { source: None, prefix: Some("p/".into()), done: true, limit: 300 }),
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
    vec![("todos", Reply::Todos(TodosReply { todos: vec![todo], truncated: true }))]
}
