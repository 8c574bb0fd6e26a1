//! Searches a small index for any text. No text causes an error or a panic, and highlights in
//! snippets begin and end on character boundaries.
#![no_main]

use std::sync::{Arc, OnceLock};

use brain_search::{IndexChange, Index, IndexPage, Options, Query, Question};
use brain_protocol::{Slug, SourceId};
use libfuzzer_sys::fuzz_target;

const BODIES: [&str; 4] = [
    "The latency budget is 200 ms. Ann Lee's notes, v1.0.21 of 2024-01-02, say so; see \
        ann@example.com.",
    "Die Häuser am Fluß sind größer geworden, und die Kinder liefen schnell durch die Straßen der \
        Stadt.",
    "黑豹队的防守只丢了 308分，在联赛中排名第六，同时也以 24 次拦截领先国家橄榄球联盟。",
    "ทีมรับของแพนเธอร์สถอดใจที่คะแนน 308 ได้อันดับที่หกของลีก 読書メモ 한국어 문장",
];

fn index() -> &'static (tempfile::TempDir, Index) {
    static INDEX: OnceLock<(tempfile::TempDir, Index)> = OnceLock::new();
    INDEX.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a directory");
        let (index, _) = Index::open(dir.path(), "fuzz", 0, Options::default()).expect("an index");
        for (id, body) in (1..).zip(BODIES) {
            index.push(vec![IndexChange::Put(Arc::new(IndexPage {
                id,
                seq: id,
                source: SourceId::default(),
                slug: Slug::parse(format!("p/{id}")).expect("a slug"),
                title: body.chars().take(12).collect(),
                file_name: id.to_string(),
                aliases: vec!["Budget".into()],
                tags: vec!["work".into()],
                page_type: "note".into(),
                fields: vec![("author".into(), vec!["Ann Lee".into()])],
                body: body.into(),
                updated_at: 0,
                days: Vec::new(),
            }))]);
            if id == 2 {
                index.flush().expect("flushed");
            }
        }
        (dir, index)
    })
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let query = Query::parse(text);
    let question = Question { query, limit: 5, explain: true, ..Question::default() };
    let found = index().1.search(&question).expect("a question is never an error");
    for body in BODIES.iter().copied().chain([text]) {
        let snippet = found.snippets.snippet(body, &[]);
        for (start, end) in snippet.highlights {
            assert!(snippet.text.get(start as usize..end as usize).is_some());
        }
    }
});
