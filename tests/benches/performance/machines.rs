//! Measures a brain on several machines, beside the floors of its server and beside a brain on one
//! machine. It needs the servers of `.ci/postgres`.

mod distance;
mod homes;
mod server;
mod versions;

use std::path::Path;
use std::time::{Duration, Instant};

use brain_protocol::{Get, Import, PageRef, Reply, Request, Slug};
use brain_tests::{Client, TestHome, capture};

use self::distance::at_distance;
use self::homes::{client, get, init, joined, pid, wait_for};
use self::server::{Processors, Server};
use crate::imports::FilledHome;
use crate::process::{memory, wait_until_idle};
use crate::report::{Goal, Row, Samples, short};
use crate::{Bench, search, write};

/// Number of captures, of searches, and of writes that another machine waits for.
const PAIRS: usize = 400;
/// Number of writes that a machine without notifications waits for.
const POLLED: usize = 25;
/// The round trip of the server that seems far away.
const DISTANCE: Duration = Duration::from_millis(20);
/// How long another machine may take to show a change, or to catch up.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// The PostgreSQL schema of the brain that most rows measure.
const NAMESPACE: &str = "machines";

impl Bench {
    /// Measures several machines. `many` adds the rows of 100,000 pages, `former` those of a brain
    /// on one machine with programs of another version in that directory.
    pub(crate) fn machines(&mut self, many: bool, former: Option<&Path>) {
        let Some(server) = Server::from_environment(self.dir.path()) else {
            println!("SKIPPED: no server; run .ci/postgres cargo bench … -- --machines");
            return;
        };
        if let Some(former) = former {
            self.step("a brain on one machine, beside another version");
            self.one_machine(former);
        }
        let few = self.scale.few;
        self.step("two machines");
        let dir = self.notes.write(&self.dir.path().join("few"), 0..few).unwrap();
        let alone = self.import(&dir, few);
        let first = self.import(&dir, few);
        // The first import of a run is slower than the second.
        let import_rate = few as f64 / alone.took.min(first.took).as_secs_f64();
        let words = init(&first.home, &server.direct, NAMESPACE);
        let (second, _) = self.join_row(&server, NAMESPACE, &words, few, "10,000");
        self.shared_memory([&first.home, &second], &alone);
        self.step("captures");
        let homes = [&alone.home, &first.home];
        self.captures(&server, homes, 500_000, ", another follows here");
        self.far_captures(&server);
        self.step("searches");
        self.replica_reads(&alone.home, &second);
        self.step("changes on the other machine");
        self.visible(&first.home, &second, PAIRS, "notified", 50.0);
        self.polled(&server);
        self.step("writers");
        self.machine_writers(&server, &first.home, &second);
        self.step("captures, the other machine elsewhere");
        // Another machine usually has processors and a disk of its own.
        second.brain(["stop"]).expect(0);
        self.captures(&server, homes, 501_000, "");
        self.step("catching up");
        self.catch_up(&server, &first, &second, few..2 * few, (NAMESPACE, "10,000", import_rate));
        if many {
            self.step("100,000 pages");
            self.many_pages(&server);
        }
        drop(alone);
    }

    fn machine_row(
        &mut self,
        description: &str,
        goal: Goal,
        value: f64,
        measured: String,
        peer: Option<(Option<f64>, String)>,
    ) {
        let description = description.to_owned();
        self.table.add(Row { order: 130, description, goal, value, measured, baseline: peer });
    }

    /// Joins with a new home, and measures that.
    fn join_row(
        &mut self,
        server: &Server,
        namespace: &str,
        words: &str,
        count: usize,
        shown: &str,
    ) -> (TestHome, Duration) {
        let began = Instant::now();
        let (home, joined) = joined(&server.direct, namespace, words);
        let last = self.notes.note(count - 1);
        wait_for(&home, &last.name, last.slug());
        let took = began.elapsed();
        let bytes = server.snapshot(namespace);
        self.machine_row(
            &format!("join from a snapshot with {shown} pages, until a search finds the last"),
            Goal::Below(60.0, "s"),
            took.as_secs_f64(),
            format!("{took:.1?}; the command {joined:.1?}"),
            Some((
                None,
                format!(
                    "snapshot {} MB, {:.0} bytes a page",
                    short(bytes / 1e6),
                    bytes / count as f64
                ),
            )),
        );
        (home, took)
    }

    /// Measures the memory of idle daemons after a restart.
    fn shared_memory(&mut self, machines: [&TestHome; 2], alone: &FilledHome) {
        let [first, second] = machines.map(|home| {
            home.brain(["restart"]).expect(0);
            wait_until_idle(pid(home), home);
            memory(pid(home), "VmRSS")
        });
        wait_until_idle(alone.daemon.pid(), &alone.home);
        let empty = TestHome::new();
        let daemon = empty.daemon();
        wait_until_idle(daemon.pid(), &empty);
        let empty = memory(daemon.pid(), "VmRSS");
        self.machine_row(
            "memory of an idle daemon of a shared brain, 10,000 pages, after a restart",
            Goal::Below(60.0, "MB"),
            first.max(second),
            format!("{} and {} MB", short(first), short(second)),
            Some((Some(empty), format!("{} MB: a daemon without pages", short(empty)))),
        );
    }

    /// Measures captures in turns with captures of a brain that is not shared.
    fn captures(&mut self, server: &Server, homes: [&TestHome; 2], first: usize, which: &str) {
        let round_trip = server.round_trip(&server.direct);
        let flush = server.insert() - round_trip;
        let (log, wal) = (server.log(NAMESPACE), server.wal());
        let [one_machine, several] = self.capture_in_turns(homes, first);
        let log = [0, 1].map(|at| server.log(NAMESPACE)[at] - log[at]);
        let wal = server.wal() - wal;
        let floor = one_machine.median() + 3.0 * round_trip + flush;
        self.machine_row(
            &format!("capture on one machine of a shared brain{which}"),
            Goal::Below(floor, "ms"),
            several.median(),
            several.text("ms"),
            Some((
                Some(floor),
                format!(
                    "{} ms: a capture of a brain on one machine {} + 3 round trips of {} + a flush \
                     of the server {}",
                    short(floor),
                    short(one_machine.median()),
                    short(round_trip),
                    short(flush)
                ),
            )),
        );
        self.machine_row(
            "bytes of the log for a capture of 1.3 kB",
            Goal::None,
            log[1] / PAIRS as f64,
            format!(
                "{:.0} in {:.2} batches; the server writes {:.0}",
                log[1] / PAIRS as f64,
                log[0] / PAIRS as f64,
                wal / PAIRS as f64
            ),
            None,
        );
    }

    /// Measures captures of the notes from `first` on, in turns on both brains.
    fn capture_in_turns(&self, homes: [&TestHome; 2], first: usize) -> [Samples; 2] {
        let mut clients = homes.map(client);
        let mut samples = [Samples::default(), Samples::default()];
        for n in first..first + PAIRS {
            let note = self.notes.note(n);
            for (client, samples) in clients.iter_mut().zip(&mut samples) {
                let began = Instant::now();
                client.ask(&capture(note.body.as_str())).unwrap();
                samples.time(began.elapsed());
            }
        }
        samples
    }

    /// Counts the round trips of a capture: measures it with a server that seems far away. The
    /// tenth percentiles count, because other load on the machine adds to each step of the others.
    fn far_captures(&mut self, server: &Server) {
        let (alone, shared) = (TestHome::new(), TestHome::new());
        let _daemons = [alone.daemon(), shared.daemon()];
        init(&shared, &at_distance(&server.direct, DISTANCE), "far");
        let [one_machine, several] = self.capture_in_turns([&alone, &shared], 500_000);
        let distance = DISTANCE.as_secs_f64() * 1e3;
        let count = (several.quantile(0.1) - one_machine.quantile(0.1)) / distance;
        self.machine_row(
            "round trips of a capture, from its time with 20 ms to the server",
            Goal::Below(3.0, ""),
            count,
            format!("{count:.2} ({})", several.text("ms")),
            Some((None, format!("{} ms on one machine", short(one_machine.median())))),
        );
    }

    /// Measures searches and reads on a replica in turns with a brain on one machine.
    fn replica_reads(&mut self, alone: &TestHome, replica: &TestHome) {
        for (what, is_search) in [("search", true), ("get", false)] {
            let mut clients = [alone, replica].map(client);
            let mut samples = [Samples::default(), Samples::default()];
            for n in 0..PAIRS * 2 {
                let (question, note) = (self.notes.question(n), self.notes.note(n * 7 % 500));
                for (client, samples) in clients.iter_mut().zip(&mut samples) {
                    let began = Instant::now();
                    if is_search {
                        search(client, &question);
                    } else {
                        client.ask(&get(note.slug())).unwrap();
                    }
                    samples.time(began.elapsed());
                }
            }
            let [one_machine, several] = samples;
            self.machine_row(
                &format!("{what} on a replica, over the socket"),
                Goal::Below(one_machine.quantile(0.9).max(1.1 * one_machine.median()), "ms"),
                several.median(),
                several.text("ms"),
                Some((
                    Some(one_machine.median()),
                    format!("{}: a brain on one machine", one_machine.text("ms")),
                )),
            );
        }
    }

    /// Measures from the start of a write until another machine shows it.
    fn visible(&mut self, writer: &TestHome, reader: &TestHome, n: usize, how: &str, goal: f64) {
        // The page exists: the answer to a missing one names similar pages, which takes longer.
        let slug = format!("visible-{how}");
        write(&mut client(writer), &slug, "the first text");
        wait_for(reader, "the first text", &slug);
        let (mut writer, mut reader) = (client(writer), client(reader));
        let [mut visible, mut acknowledged] = std::array::from_fn(|_| Samples::default());
        for round in 0..n {
            let mark = format!("This is round {round}.");
            let content = format!("{}\n\n{mark}\n", self.notes.note(round).content());
            let is_shown = |reply| matches!(reply, Reply::Page(page) if page.body.contains(&mark));
            // The pause differs, so that the other machine is met at different moments.
            std::thread::sleep(Duration::from_millis(3 + round as u64 * 7 % 17));
            let began = Instant::now();
            write(&mut writer, &slug, &content);
            acknowledged.time(began.elapsed());
            while !reader.ask(&get(&slug)).is_ok_and(is_shown) {
                assert!(began.elapsed() < MAX_WAIT, "round {round} is not on the other machine");
                std::thread::sleep(Duration::from_micros(500));
            }
            visible.time(began.elapsed());
        }
        let p99 = visible.quantile(0.99);
        let via = if how == "polling" { " through a pooler" } else { "" };
        self.machine_row(
            &format!("from a write until another machine shows it, p99, {how}{via}"),
            Goal::Below(goal, "ms"),
            p99,
            format!("{} ms; {}", short(p99), visible.text("ms")),
            Some((None, format!("acknowledged after {}", acknowledged.text("ms")))),
        );
    }

    /// Measures the same through a pooler, which delivers no notifications.
    fn polled(&mut self, server: &Server) {
        let first = TestHome::new();
        let daemon = first.daemon();
        let words = init(&first, &server.pooler, "polled");
        let (second, _) = joined(&server.pooler, "polled", &words);
        self.visible(&first, &second, POLLED, "polling", 1_200.0);
        drop(daemon);
    }

    /// Measures one writer and 64 writers over two machines, also with slow commits.
    fn machine_writers(&mut self, server: &Server, first: &TestHome, second: &TestHome) {
        let texts: Vec<String> = (0..1000).map(|n| self.notes.note(n).content()).collect();
        for (goal, is_delayed, name) in
            [(5.0, false, ""), (15.0, true, ", 5 ms added to each commit of the server")]
        {
            server.delay_commits(is_delayed);
            let insert = server.insert();
            let mut rates = [Samples::default(), Samples::default()];
            let (mut idle, mut batches) = (Samples::default(), Samples::default());
            for round in 0..3 {
                for (many, rates) in rates.iter_mut().enumerate() {
                    let machines = if many == 0 { vec![first] } else { vec![first, second] };
                    let writers = if many == 0 { 1 } else { 32 };
                    let (log, processors) = (server.log(NAMESPACE), Processors::now());
                    let prefix = format!("writers/{is_delayed}-{round}-{many}");
                    let rate = write_for(self.scale.writing, &machines, writers, &prefix, &texts);
                    rates.push(rate);
                    if many == 1 {
                        idle.push(processors.idle_since());
                        let count = server.log(NAMESPACE)[0] - log[0];
                        batches.push(count / self.scale.writing.as_secs_f64());
                    }
                }
            }
            let [one, many] = rates;
            let ratio = many.median() / one.median();
            let (idle, batches) = (idle.median(), batches.median());
            self.machine_row(
                &format!("64 writers over two machines against one writer{name}"),
                Goal::AtLeast(goal, "times"),
                ratio,
                format!(
                    "{} times ({:.0} against {:.0} writes/s; {:.0} in a batch; processors \
                     {idle:.0} % idle)",
                    short(ratio),
                    many.median(),
                    one.median(),
                    many.median() / batches,
                ),
                Some((None, format!("an insert of 4 kB alone takes {} ms", short(insert)))),
            );
        }
        server.delay_commits(false);
    }

    /// Measures a machine that was away while another one imported the notes in `range`.
    fn catch_up(
        &mut self,
        server: &Server,
        first: &FilledHome,
        second: &TestHome,
        range: std::ops::Range<usize>,
        (namespace, shown, import_rate): (&str, &str, f64),
    ) {
        let count = range.len() as f64;
        let dir = self.dir.path().join(format!("later-{}", range.len()));
        let last = self.notes.note(range.end - 1);
        let dir = self.notes.write(&dir, range).unwrap();
        let (log, wal) = (server.log(namespace), server.wal());
        let began = Instant::now();
        let path = dir.display().to_string();
        let import = Request::Import(Import {
            path,
            source: None,
            format: None,
            since: None,
            dry_run: false,
            scrub: false,
        });
        client(&first.home).ask(&import).unwrap();
        wait_for(&first.home, &last.name, last.slug());
        let shared_rate = count / began.elapsed().as_secs_f64();
        let log = [0, 1].map(|at| server.log(namespace)[at] - log[at]);
        let wal = server.wal() - wal;
        wait_until_idle(pid(&first.home), &first.home);
        let began = Instant::now();
        let daemon = second.daemon();
        wait_for(second, &last.name, last.slug());
        let rate = count / began.elapsed().as_secs_f64();
        wait_until_idle(daemon.pid(), second);
        second.brain(["stop"]).expect(0);
        self.machine_row(
            &format!("a replica that catches up with {shown} pages, until it finds the last"),
            Goal::AtLeast(import_rate / 2.0, "pages/s"),
            rate,
            format!("{rate:.0} pages/s"),
            Some((
                Some(import_rate),
                format!("{import_rate:.0} pages/s: `brain import` on one machine"),
            )),
        );
        self.machine_row(
            &format!("`brain import` of {shown} notes on one machine of a shared brain"),
            Goal::None,
            shared_rate,
            format!("{shared_rate:.0} pages/s"),
            Some((Some(import_rate), format!("{import_rate:.0} pages/s: on one machine"))),
        );
        self.machine_row(
            "bytes of the log for each imported page of 1.3 kB",
            Goal::None,
            log[1] / count,
            format!(
                "{:.0}; {:.0} pages in a batch; the server writes {:.0}",
                log[1] / count,
                count / log[0],
                wal / count
            ),
            None,
        );
    }

    /// Measures a join and a machine that catches up, with 100,000 pages.
    fn many_pages(&mut self, server: &Server) {
        let many = self.scale.many;
        let dir = self.notes.write(&self.dir.path().join("many"), 0..many).unwrap();
        let first = self.import(&dir, many);
        let import_rate = many as f64 / first.took.as_secs_f64();
        let began = Instant::now();
        let words = init(&first.home, &server.direct, "many");
        eprintln!("  init of {many} pages in {:.1?}", began.elapsed());
        let (second, _) = self.join_row(server, "many", &words, many, "100,000");
        wait_until_idle(pid(&second), &second);
        second.brain(["stop"]).expect(0);
        self.catch_up(server, &first, &second, many..2 * many, ("many", "100,000", import_rate));
    }
}

/// Writes for some time from this many writers on each machine. Returns writes a second.
fn write_for(
    time: Duration,
    machines: &[&TestHome],
    writers: usize,
    prefix: &str,
    texts: &[String],
) -> f64 {
    let deadline = Instant::now() + time;
    let began = Instant::now();
    let written: usize = std::thread::scope(|scope| {
        let clients = machines.iter().flat_map(|home| (0..writers).map(|_| client(home)));
        let threads: Vec<_> = clients
            .enumerate()
            .map(|(writer, mut client)| {
                scope.spawn(move || {
                    let mut count = 0;
                    while Instant::now() < deadline {
                        let text = &texts[(count * 64 + writer) % texts.len()];
                        write(&mut client, &format!("{prefix}-{writer}-{count}"), text);
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    written as f64 / began.elapsed().as_secs_f64()
}
