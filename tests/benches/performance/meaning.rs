//! Measures search by words and meaning with a real local model. Without one, these rows are
//! skipped with a message.

use std::time::Instant;

use brain_protocol::{Reply, Request, Search};
use brain_tests::TestHome;

use crate::Bench;
use crate::process::memory;
use crate::report::{Goal, Row, Samples, short};

impl Bench {
    /// Measures hybrid searches over the socket, each with a new question, and then the daemon's
    /// memory.
    pub(crate) fn meaning(&mut self) {
        let Some(model) = std::env::var("BRAIN_TEST_MODEL").ok().filter(|model| !model.is_empty())
        else {
            eprintln!("SKIPPED: search by meaning, because BRAIN_TEST_MODEL names no model");
            return;
        };
        let notes = self.notes.write(&self.dir.path().join("meaning"), 0..self.scale.few).unwrap();
        let mut home = TestHome::new();
        home.env.push(("BRAIN_EMBEDDING_PROVIDER".into(), "local".into()));
        home.env.push(("BRAIN_EMBEDDING_MODEL".into(), model));
        let daemon = home.daemon();
        home.brain(["import", notes.to_str().unwrap()]).expect(0);
        let began = Instant::now();
        home.brain(["embed"]).expect(0);
        let embedding_time = began.elapsed();
        let mut client = home.connect().unwrap();
        let mut search_times = Samples::default();
        for n in 0..self.scale.pairs {
            let question = self.notes.question(n + 20_000);
            let began = Instant::now();
            let search = Search { query: question.clone(), limit: 20, ..Search::default() };
            let Ok(Reply::Hits(reply)) = client.ask(&Request::Search(search)) else {
                panic!("no hits")
            };
            search_times.time(began.elapsed());
            // Generated words may mean nothing to the model, but the search uses the vectors.
            assert_eq!(reply.degraded, None, "{question}");
            assert!(!reply.hits.is_empty(), "{question}");
        }
        self.table.add(Row {
            order: 93,
            description:
                "a search by words and meaning over the socket, 10,000 pages, model loaded".into(),
            goal: Goal::Below(40.0, "ms"),
            value: search_times.median(),
            measured: format!(
                "{}, p99 {} ms (the vectors took {:.0} s)",
                search_times.text("ms"),
                short(search_times.quantile(0.99)),
                embedding_time.as_secs_f64()
            ),
            baseline: None,
        });
        let rss = memory(daemon.pid(), "VmRSS");
        self.table.add(Row {
            order: 94,
            description: "the daemon's memory after that, model loaded (VmRSS)".into(),
            goal: Goal::Below(200.0, "MB"),
            value: rss,
            measured: format!("{} MB", short(rss)),
            baseline: None,
        });
    }
}
