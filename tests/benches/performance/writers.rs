//! Measures acknowledged writes a second, with one and with many writers.

use std::time::Instant;

use crate::baselines::Redb;
use crate::imports::FilledHome;
use crate::report::{Goal, Row, Samples, short};
use crate::{Bench, write};

impl Bench {
    /// Measures 1 and 64 writers alternately, and redb with commits of 1 and of 64 pages.
    pub(crate) fn writers(&mut self, filled: &FilledHome) {
        let mut rates = [Samples::default(), Samples::default()];
        let mut run_number = 0;
        // Notes are generated beforehand, because the writers share the cores with the daemon.
        let texts: Vec<String> = (0..1000).map(|n| self.notes.note(n).content()).collect();
        let redb = Redb::new(self.dir.path(), "shared-commits.redb");
        let [mut single_commits, mut batched_commits] = std::array::from_fn(|_| Samples::default());
        for _ in 0..3 {
            for (rate, writers) in rates.iter_mut().zip([1_usize, 64]) {
                for (samples, size) in [(&mut single_commits, 1), (&mut batched_commits, 64)] {
                    for n in 0..20 {
                        let rows = texts.iter().take(size).enumerate();
                        let rows: Vec<_> =
                            rows.map(|(i, text)| ((n * 64 + i) as u64, text.as_bytes())).collect();
                        samples.push(size as f64 / redb.commit(&rows).as_secs_f64());
                    }
                }
                run_number += 1;
                let deadline = Instant::now() + self.scale.writing;
                let began = Instant::now();
                let written: usize = std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..writers)
                        .map(|writer| {
                            let (texts, mut client) = (&texts, filled.client());
                            scope.spawn(move || {
                                let mut count = 0;
                                while Instant::now() < deadline {
                                    let slug = format!("writers/{run_number}-{writer}-{count}");
                                    write(
                                        &mut client,
                                        &slug,
                                        &texts[(count * 64 + writer) % texts.len()],
                                    );
                                    count += 1;
                                }
                                count
                            })
                        })
                        .collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).sum()
                });
                rate.push(written as f64 / began.elapsed().as_secs_f64());
            }
        }
        let [one, many] = rates;
        let ratio = many.median() / one.median();
        self.table.add(Row {
            order: 50,
            description: "64 parallel writers over the socket against one".into(),
            goal: Goal::AtLeast(10.0, "times"),
            value: ratio,
            measured: format!(
                "{} times ({:.0} against {:.0} writes/s)",
                short(ratio),
                many.median(),
                one.median()
            ),
            baseline: Some((
                Some(batched_commits.median() / single_commits.median()),
                format!(
                    "{} times: redb alone, 64 pages a commit against one \
                     ({:.0} against {:.0} pages/s)",
                    short(batched_commits.median() / single_commits.median()),
                    batched_commits.median(),
                    single_commits.median()
                ),
            )),
        });
    }
}
