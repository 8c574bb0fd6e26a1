//! Measures searches, and the first search after a write.

use std::time::Instant;

use crate::baselines::Tantivy;
use crate::imports::FilledHome;
use crate::report::{Goal, Row, Samples, short};
use crate::{Bench, search, write};

impl Bench {
    /// Measures searches over the socket, alternately on few and on many pages.
    pub(crate) fn searches(&mut self, few: &FilledHome, many: &FilledHome) {
        let mut clients = [few.client(), many.client()];
        let mut samples = [Samples::default(), Samples::default()];
        for n in 0..self.scale.searches / 2 {
            let question = self.notes.question(n + 5000);
            for (client, samples) in clients.iter_mut().zip(&mut samples) {
                let began = Instant::now();
                search(client, &question);
                samples.time(began.elapsed());
            }
        }
        for (samples, shown) in samples.iter().zip(["10,000", "100,000"]) {
            self.table.add(Row {
                order: 92,
                description: format!("a search over the socket, {shown} pages"),
                goal: Goal::None,
                value: samples.median(),
                measured: format!(
                    "{}, p99 {} ms",
                    samples.text("ms"),
                    short(samples.quantile(0.99))
                ),
                baseline: None,
            });
        }
    }

    /// Measures a search, a write, and the same search again.
    pub(crate) fn first_after_write(
        &mut self,
        filled: &FilledHome,
        count: usize,
        shown: &str,
        tantivy: &Tantivy,
    ) {
        let mut client = filled.client();
        let [mut warm, mut first, mut extra, mut commits] =
            std::array::from_fn(|_| Samples::default());
        for n in 0..self.scale.pairs {
            let question = self.notes.question(n + 900);
            let mut time_search = || {
                let began = Instant::now();
                search(&mut client, &question);
                began.elapsed()
            };
            time_search();
            let warm_time = time_search();
            let fresh = self.notes.note(count + n);
            let mut writer = filled.client();
            write(&mut writer, &format!("fresh/{n}"), &fresh.content());
            let first_time = time_search();
            warm.time(warm_time);
            first.time(first_time);
            extra.push((first_time.as_secs_f64() - warm_time.as_secs_f64()) * 1e3);
            if n % 10 == 0 {
                commits.time(tantivy.commit(&fresh));
                assert_eq!(search(&mut client, &fresh.name)[0].slug.as_str(), format!("fresh/{n}"));
            }
        }
        self.table.add(Row {
            order: 40,
            description: format!(
                "the first search after a write, in addition to a warm one, {shown} pages"
            ),
            goal: Goal::Below(2.0, "ms"),
            value: extra.median(),
            measured: format!(
                "{} more ({} ms against {} ms)",
                extra.text("ms"),
                short(first.median()),
                short(warm.median())
            ),
            baseline: Some((
                None,
                format!(
                    "{} ms: a commit of tantivy, which no write waits for",
                    short(commits.median())
                ),
            )),
        });
    }
}
