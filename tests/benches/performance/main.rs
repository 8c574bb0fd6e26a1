//! Measures what is promised of speed and memory, each beside what it costs at the least on the
//! same machine in the same run, and prints a table.
//!
//! `.ci/measure performance` builds the programs and writes `docs/performance.md`. `--quick` is a
//! smoke run with few notes, whose figures mean nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod beside;
mod collector;
mod floors;
mod growth;
mod http;
mod imports;
mod mcp;
mod meaning;
mod notes;
mod operations;
mod process;
mod report;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brain_protocol::{Hit, Origin, PageRef, Put, Reply, Request, Search, Slug, Status};
use brain_tests::{Client, PATIENCE, TestHome, program};

use floors::{Disk, Echo, Redb, Tantivy};
use imports::Filled;
use notes::{Dice, Notes};
use process::{memory, rest};
use report::{Goal, Row, Samples, Table, short};

/// How much is measured.
struct Scale {
    few: usize,
    many: usize,
    /// Rounds of whole processes, each with every program once.
    processes: usize,
    pairs: usize,
    searches: usize,
    starts: usize,
    writing: Duration,
    posting: Duration,
    /// Items of the soak, how long one part of it posts, and the rest after the last.
    soak: u64,
    /// Calls of a tool whose memory is watched.
    calls: u64,
    soak_part: Duration,
    soak_rest: Duration,
}

const FULL: Scale = Scale {
    few: 10_000,
    many: 100_000,
    processes: 300,
    pairs: 300,
    searches: 10_000,
    starts: 7,
    writing: Duration::from_secs(3),
    posting: Duration::from_secs(3),
    soak: 1_000_000,
    calls: 100_000,
    soak_part: Duration::from_secs(10),
    soak_rest: Duration::from_secs(30),
};

const QUICK: Scale = Scale {
    few: 500,
    many: 2000,
    processes: 10,
    pairs: 10,
    searches: 100,
    starts: 2,
    writing: Duration::from_millis(300),
    posting: Duration::from_secs(1),
    soak: 2000,
    calls: 2000,
    soak_part: Duration::from_secs(1),
    soak_rest: Duration::from_secs(2),
};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if !args.iter().any(|arg| arg == "--bench") {
        // `cargo test --all-targets` runs benches without it.
        println!("run `.ci/measure performance`");
        return;
    }
    // To look at one thing closely: `--notes DIR COUNT` only writes notes, `--import` only imports,
    // `--beside` only searches beside imports, `--growth` only asks what should not grow, of
    // 100,000 pages, and `--million` of a million as well, `--writers` only lets many write,
    // `--http` only measures HTTP, `--mcp` only the tool endpoint, `--collector` only the
    // collector, `--meaning` only search by meaning, `--soak` only posts a million items.
    let wanted = |name: &str| args.iter().any(|arg| arg == name);
    if wanted("--writers") || wanted("--mcp") {
        let mut bench = Bench::new(FULL);
        let dir = bench.notes.write(&bench.dir.path().join("few"), 0..FULL.few).unwrap();
        let filled = bench.import(&dir, FULL.few);
        return if wanted("--mcp") { bench.mcp(&filled) } else { bench.writers(&filled) };
    }
    if wanted("--import") {
        let mut bench = Bench::new(FULL);
        let [small, large] = bench.write_notes();
        bench.imports([&small, &large], None, &mut Vec::new());
        return;
    }
    if wanted("--growth") || wanted("--million") {
        let mut bench = Bench::new(FULL);
        bench.grow(FULL.many, "100,000", 8.0);
        if wanted("--million") {
            bench.grow(1_000_000, "1,000,000", 40.0);
        }
        return;
    }
    if wanted("--beside") {
        let mut bench = Bench::new(if wanted("--quick") { QUICK } else { FULL });
        let [small, large] = bench.write_notes();
        return bench.beside([&small, &large]);
    }
    if wanted("--collector") {
        return Bench::new(FULL).collector();
    }
    if wanted("--meaning") {
        let mut bench = Bench::new(if wanted("--quick") { QUICK } else { FULL });
        return bench.meaning();
    }
    if wanted("--http") {
        return Bench::new(FULL).http();
    }
    if wanted("--soak") {
        return Bench::new(FULL).soak();
    }
    if let Some(at) = args.iter().position(|arg| arg == "--notes") {
        let dir =
            Notes::new().write(Path::new(&args[at + 1]), 0..args[at + 2].parse().unwrap()).unwrap();
        return println!("{}", dir.display());
    }
    let quick = args.iter().any(|arg| arg == "--quick");
    let target =
        args.iter().position(|arg| arg == "--write").map(|at| PathBuf::from(&args[at + 1]));
    let began = Instant::now();
    let mut bench = Bench::new(if quick { QUICK } else { FULL });
    bench.run();
    let document = bench.document(began.elapsed(), quick);
    println!("{document}");
    if let Some(target) = target {
        std::fs::write(&target, &document).unwrap();
        eprintln!("written to {}", target.display());
    }
    eprintln!("{} goals missed, {:.0?}", bench.table.missed(), began.elapsed());
}

/// One run.
struct Bench {
    scale: Scale,
    notes: Notes,
    dir: tempfile::TempDir,
    table: Table,
    /// What one whole process that does nothing takes: learnt before anything is compared with it.
    nothing: Samples,
}

impl Bench {
    fn new(scale: Scale) -> Self {
        let dir = tempfile::Builder::new().prefix("brain-performance").tempdir().unwrap();
        let notes = Notes::new();
        Self { scale, notes, dir, table: Table::default(), nothing: Samples::default() }
    }

    fn run(&mut self) {
        let Scale { few, many, .. } = self.scale;
        let [small, large] = self.write_notes();

        self.step("tantivy and redb alone");
        let tantivy_few = Tantivy::new(&self.dir.path().join("tantivy-few"), &self.notes, few);
        let tantivy_many = Tantivy::new(&self.dir.path().join("tantivy-many"), &self.notes, many);
        let redb = Redb::new(self.dir.path(), "floor.redb");
        let redb_fill = redb.fill(&self.notes, few);

        let mut homes = Vec::new();
        let [first, many_filled, last] =
            self.imports([&small, &large], Some(tantivy_few.built + redb_fill), &mut homes);

        self.beside([&small, &large]);

        self.step("many writers");
        self.writers(&last);
        homes.push(last.home);

        self.step("memory");
        let few_filled = self.memory(first);
        self.report_sizes(&few_filled.home, few, "10,000");

        self.step("whole processes");
        self.processes(&few_filled, &many_filled, [&tantivy_few, &tantivy_many], &redb);

        self.step("searches over the socket");
        self.searches(&few_filled, &many_filled);
        self.first_after_write(&few_filled, few, "10,000", &tantivy_few);
        self.first_after_write(&many_filled, many, "100,000", &tantivy_many);
        self.step("doctor, sync, watcher");
        self.operations(&few_filled);
        self.step("the tool endpoint");
        self.mcp(&few_filled);
        drop(few_filled);

        self.growth(&large, many, "100,000", 8.0);

        self.step("starts");
        self.starts(many_filled);

        self.step("HTTP");
        self.http();
        self.step("the collector");
        self.collector();
        self.step("search by meaning");
        self.meaning();
        self.step("a million items");
        self.soak();
        drop(homes);
    }

    /// The directories of few notes and of many.
    fn write_notes(&self) -> [PathBuf; 2] {
        self.step("writing notes");
        [("few", self.scale.few), ("many", self.scale.many)]
            .map(|(name, count)| self.notes.write(&self.dir.path().join(name), 0..count).unwrap())
    }

    /// Writes `count` notes and measures what grows with them.
    fn grow(&mut self, count: usize, shown: &str, phrases: f64) {
        let dir =
            self.notes.write(&self.dir.path().join(format!("grown-{count}")), 0..count).unwrap();
        self.growth(&dir, count, shown, phrases);
    }

    fn step(&self, what: &str) {
        eprintln!("{what} …");
    }

    /// 1 and 64 writers, taking turns.
    fn writers(&mut self, filled: &Filled) {
        let mut rates = [Samples::default(), Samples::default()];
        let mut serial = 0;
        // Making notes is not what is measured, and the writers share two cores with the daemon.
        let texts: Vec<String> = (0..1000).map(|n| self.notes.note(n).content()).collect();
        let redb = Redb::new(self.dir.path(), "shared-commits.redb");
        let [mut single, mut shared] = std::array::from_fn(|_| Samples::default());
        for _ in 0..3 {
            for (rates, writers) in rates.iter_mut().zip([1_usize, 64]) {
                for (samples, size) in [(&mut single, 1), (&mut shared, 64)] {
                    for n in 0..20 {
                        let rows = texts.iter().take(size).enumerate();
                        let rows: Vec<_> =
                            rows.map(|(i, text)| ((n * 64 + i) as u64, text.as_bytes())).collect();
                        samples.push(size as f64 / redb.commit(&rows).as_secs_f64());
                    }
                }
                serial += 1;
                let until = Instant::now() + self.scale.writing;
                let began = Instant::now();
                let written: usize = std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..writers)
                        .map(|writer| {
                            let (texts, mut client) = (&texts, filled.client());
                            scope.spawn(move || {
                                let mut count = 0;
                                while Instant::now() < until {
                                    let slug = format!("writers/{serial}-{writer}-{count}");
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
                rates.push(written as f64 / began.elapsed().as_secs_f64());
            }
        }
        let [one, many] = rates;
        let ratio = many.median() / one.median();
        self.table.add(Row {
            place: 50,
            what: "64 parallel writers over the socket against one".into(),
            goal: Goal::AtLeast(10.0, "times"),
            value: ratio,
            measured: format!(
                "{} times ({:.0} against {:.0} writes/s)",
                short(ratio),
                many.median(),
                one.median()
            ),
            floor: Some((
                Some(shared.median() / single.median()),
                format!(
                    "{} times: redb alone, 64 pages a commit against one ({:.0} against {:.0} pages/s)",
                    short(shared.median() / single.median()),
                    shared.median(),
                    single.median()
                ),
            )),
        });
    }

    /// Memory of an idle daemon: after its import, after many searches, after a restart.
    fn memory(&mut self, filled: Filled) -> Filled {
        let empty = TestHome::new();
        let lonely = empty.daemon();
        rest(&lonely, &empty);
        let empty = memory(lonely.pid(), "VmRSS");
        drop(lonely);
        rest(&filled.daemon, &filled.home);
        let after_import = memory(filled.daemon.pid(), "VmRSS");
        let mut client = filled.client();
        for n in 0..self.scale.searches {
            search(&mut client, &self.notes.question(n));
        }
        rest(&filled.daemon, &filled.home);
        let after_searches = memory(filled.daemon.pid(), "VmRSS");
        let own_after_searches = memory(filled.daemon.pid(), "RssAnon");
        let Filled { daemon, home, reply, took, peak_mb, left } = filled;
        assert!(daemon.terminate().0.success(), "{}", home.log());
        let daemon = home.daemon();
        rest(&daemon, &home);
        let after_start = memory(daemon.pid(), "VmRSS");
        for (what, value) in [
            ("idle daemon with 10,000 pages, after the import", after_import),
            ("the same after 10,000 searches", after_searches),
            ("the same after a restart", after_start),
        ] {
            let measured = format!("{} MB", short(value));
            let measured = if value == after_searches {
                format!("{measured} ({} MB without mapped files)", short(own_after_searches))
            } else {
                measured
            };
            self.table.add(Row {
                place: 70,
                what: what.into(),
                goal: Goal::Below(50.0, "MB"),
                value,
                measured,
                floor: Some((Some(empty), format!("{} MB: a daemon without pages", short(empty)))),
            });
        }
        Filled { daemon, home, reply, took, peak_mb, left }
    }

    fn report_sizes(&mut self, home: &TestHome, count: usize, shown: &str) {
        let kb = |bytes: u64| bytes as f64 / 1000.0 / count as f64;
        let store = kb(std::fs::metadata(home.path().join("brain.redb")).unwrap().len());
        let (index, pages) = (
            kb(size_of_dir(&home.path().join("index"))),
            kb(size_of_dir(&home.path().join("pages"))),
        );
        self.table.add(Row {
            place: 91,
            what: format!("on disk, one of {shown} pages"),
            goal: Goal::None,
            value: store + index,
            measured: format!(
                "store {} kB, index {} kB, file {} kB",
                short(store),
                short(index),
                short(pages)
            ),
            floor: None,
        });
    }

    /// Every program as people start it, taking turns with one that does nothing.
    fn processes(&mut self, few: &Filled, many: &Filled, tantivy: [&Tantivy; 2], redb: &Redb) {
        let (disk, mut echo) = (Disk::new(self.dir.path()), Echo::new());
        let [mut version, mut capture, mut get, mut search_few, mut search_many] =
            std::array::from_fn(|_| Samples::default());
        let [mut sync, mut hop, mut commit, mut alone_few, mut alone_many] =
            std::array::from_fn(|_| Samples::default());
        let mut nothing = Samples::default();
        let mut dice = Dice(1);
        for n in 0..self.scale.processes {
            let note = self.notes.note(dice.below(self.scale.few));
            let thought =
                format!("A thought of today, number {n}: {} {}", self.notes.question(n), note.name);
            let question = self.notes.question(dice.below(1000));
            // Each is first, and last, as often as the others.
            for turn in 0..11 {
                match (turn + n) % 11 {
                    0 => nothing.time(whole(&mut Command::new(program("brain-nothing")))),
                    1 => version.time(brain(&few.home, ["--version"])),
                    2 => capture.time(brain(&few.home, ["capture", &thought])),
                    3 => get.time(brain(&few.home, ["get", note.slug()])),
                    4 => search_few.time(brain(&few.home, ["search", &question])),
                    5 => search_many.time(brain(&many.home, ["search", &question])),
                    6 => sync.time(disk.sync(n)),
                    7 => hop.time(echo.round_trip()),
                    8 => commit.time(redb.commit(&[(1 << 40 | n as u64, thought.as_bytes())])),
                    9 => alone_few.time(tantivy[0].search(&question)),
                    _ => alone_many.time(tantivy[1].search(&question)),
                }
            }
        }
        self.nothing = nothing;
        let start = self.nothing.median();
        let mut add = |what: &str, goal: f64, samples: &Samples, parts: &[(&str, &Samples)]| {
            let floor = start + parts.iter().map(|(_, part)| part.median()).sum::<f64>();
            let names: Vec<String> = std::iter::once(format!("an empty process {}", short(start)))
                .chain(parts.iter().map(|(name, part)| format!("{name} {}", short(part.median()))))
                .collect();
            self.table.add(Row {
                place: 10,
                what: what.into(),
                goal: Goal::Below(goal, "ms"),
                value: samples.median(),
                measured: samples.text("ms"),
                floor: Some((Some(floor), format!("{} ms: {}", short(floor), names.join(" + ")))),
            });
        };
        add("`brain --version`, whole process", 2.0, &version, &[]);
        add(
            "`brain capture \"…\"`, whole process, durable",
            4.0,
            &capture,
            &[("a round trip", &hop), ("a redb commit", &commit)],
        );
        add("`brain get` on 10,000 pages, whole process", 3.0, &get, &[("a round trip", &hop)]);
        add(
            "`brain search` on 10,000 pages, whole process",
            4.0,
            &search_few,
            &[("a round trip", &hop), ("tantivy", &alone_few)],
        );
        add(
            "`brain search` on 100,000 pages, whole process",
            6.0,
            &search_many,
            &[("a round trip", &hop), ("tantivy", &alone_many)],
        );
        self.table.add(Row {
            place: 90,
            what: "one fsync of 4 KB on this disk".into(),
            goal: Goal::None,
            value: sync.median(),
            measured: sync.text("ms"),
            floor: None,
        });
    }

    fn searches(&mut self, few: &Filled, many: &Filled) {
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
                place: 92,
                what: format!("a search over the socket, {shown} pages"),
                goal: Goal::None,
                value: samples.median(),
                measured: format!("{}, p99 {} ms", samples.text("ms"), short(samples.at(0.99))),
                floor: None,
            });
        }
    }

    /// A search, a write, the same search again.
    fn first_after_write(&mut self, filled: &Filled, count: usize, shown: &str, tantivy: &Tantivy) {
        let mut client = filled.client();
        let [mut warm, mut first, mut more, mut commits] =
            std::array::from_fn(|_| Samples::default());
        for n in 0..self.scale.pairs {
            let question = self.notes.question(n + 900);
            let mut timed = || {
                let began = Instant::now();
                search(&mut client, &question);
                began.elapsed()
            };
            timed();
            let usual = timed();
            let fresh = self.notes.note(count + n);
            let mut writer = filled.client();
            write(&mut writer, &format!("fresh/{n}"), &fresh.content());
            let after = timed();
            warm.time(usual);
            first.time(after);
            more.push((after.as_secs_f64() - usual.as_secs_f64()) * 1e3);
            if n % 10 == 0 {
                commits.time(tantivy.commit(&fresh));
                assert_eq!(search(&mut client, &fresh.name)[0].slug.as_str(), format!("fresh/{n}"));
            }
        }
        self.table.add(Row {
            place: 40,
            what: format!(
                "the first search after a write, in addition to a warm one, {shown} pages"
            ),
            goal: Goal::Below(2.0, "ms"),
            value: more.median(),
            measured: format!(
                "{} more ({} ms against {} ms)",
                more.text("ms"),
                short(first.median()),
                short(warm.median())
            ),
            floor: Some((
                None,
                format!(
                    "{} ms: a commit of tantivy, which no write waits for",
                    short(commits.median())
                ),
            )),
        });
    }

    /// From the start of the process until it answers, after a clean end and after SIGKILL in the
    /// middle of writes.
    fn starts(&mut self, filled: Filled) {
        let Filled { mut daemon, home, .. } = filled;
        let [mut clean, mut killed, mut alone] = std::array::from_fn(|_| Samples::default());
        for n in 0..self.scale.starts {
            assert!(daemon.terminate().0.success(), "{}", home.log());
            // A copy: opening it, and above all closing it, may leave it in better order.
            let copy = self.dir.path().join("reopened.redb");
            std::fs::copy(home.path().join("brain.redb"), &copy).unwrap();
            std::fs::File::open(&copy).unwrap().sync_all().unwrap();
            alone.time(floors::reopen(&copy));
            let (child, took) = start(&home);
            clean.time(took);
            let mut writers: Vec<Client> = (0..4).map(|_| home.connect().unwrap()).collect();
            std::thread::scope(|scope| {
                for (w, client) in writers.iter_mut().enumerate() {
                    let notes = &self.notes;
                    scope.spawn(move || {
                        for i in 0..50 {
                            write(client, &format!("killed/{n}-{w}-{i}"), &notes.note(i).content());
                        }
                    });
                }
            });
            end(child);
            let (child, took) = start(&home);
            killed.time(took);
            end(child);
            daemon = home.daemon();
        }
        drop(daemon);
        let floor = alone.median() + self.nothing.median();
        let name = format!(
            "{} ms: an empty process {} + redb's open {}",
            short(floor),
            short(self.nothing.median()),
            short(alone.median())
        );
        for (what, samples) in [("a clean end", clean), ("SIGKILL in the middle of writes", killed)]
        {
            self.table.add(Row {
                place: 80,
                what: format!("start with 100,000 pages until it answers, after {what}"),
                goal: Goal::Below(200.0, "ms"),
                value: samples.at(1.0),
                measured: format!("{}, maximum {}", samples.text("ms"), short(samples.at(1.0))),
                floor: Some((Some(floor), name.clone())),
            });
        }
    }

    fn document(&self, took: Duration, quick: bool) -> String {
        let kind = if quick {
            "\n**A smoke run with few notes: the figures mean nothing.**\n"
        } else {
            ""
        };
        let dice: usize = (0..200).map(|n| self.notes.note(n * 37).content().len()).sum();
        format!(
            "# Speed and memory\n{kind}\n\
             Measure your machine with `.ci/measure performance` ({:.0} minutes). The table compares the\n\
             release build with the minimum cost of the same work on the same machine in the same run. Values\n\
             are medians, with the tenth and ninetieth percentile in brackets. `tests/benches/performance`\n\
             contains the program.\n\n\
             {}\n\
             ## Method\n\n\
             - Machine: {}.\n\
             - Notes are generated and equal on every machine. They have {} bytes on average with\n  \
               frontmatter, {} word forms in natural frequencies, and one unique name each.\n\
             - Whole processes are measured from before their start to after their end, {} times, in turns\n  \
               with an empty process.\n\
             - An import ends when a search finds its last note.\n\
             - Memory goals are resident memory in MB of 1,000,000 bytes, including mapped files. Start goals\n  \
               apply to the slowest start.\n\
             - Let the machine rest after tests: ext4 without a journal creates files several times more\n  \
               slowly for some minutes after many were removed.\n\
             - `wrk` generates the HTTP load with two threads and different texts. The bare endpoint is an\n  \
               axum server that reads the body and answers. The rate limit is off, and the queue has room for\n  \
               ten million items.\n\
             - The gain of parallel writers depends on the machine, because they share commits. Where a flush\n  \
               takes 0.1 ms, one writer hardly waits, and two cores limit 64 writers. With 5 ms added to every\n  \
               flush (`strace --inject=fdatasync:delay_exit=5000`), 64 writers reached 16 times the rate of\n  \
               one (1050 against 64 writes/s).\n",
            (took.as_secs_f64() / 60.0).ceil(),
            self.table.markdown(),
            machine(),
            dice / 200,
            self.notes.forms(),
            self.scale.processes,
        )
    }
}

/// A daemon started just now, and how long it took until it answered a request.
// A panic ends the benchmark; otherwise the caller ends the daemon.
#[allow(clippy::zombie_processes)]
fn start(home: &TestHome) -> (Child, Duration) {
    let mut command = home.command("brain-daemon");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let child = command.spawn().unwrap();
    loop {
        // A socket file of a daemon that was killed refuses.
        if let Some(mut client) = home.connect() {
            assert_eq!(client.hello.pid, child.id());
            client.ask(&Request::Status(Status)).unwrap();
            return (child, began.elapsed());
        }
        assert!(began.elapsed() < PATIENCE, "the daemon does not answer");
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A whole process, from before its start until after its end.
fn whole(command: &mut Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status().unwrap();
    let took = began.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    took
}

fn brain<S: AsRef<OsStr>>(home: &TestHome, args: impl IntoIterator<Item = S>) -> Duration {
    whole(home.command("brain").args(args))
}

fn search(client: &mut Client, question: &str) -> Vec<Hit> {
    let request =
        Request::Search(Search { query: question.into(), limit: 20, ..Search::default() });
    match client.ask(&request) {
        Ok(Reply::Hits(hits)) => hits.hits,
        other => panic!("{question}: {other:?}"),
    }
}

fn write(client: &mut Client, slug: &str, content: &str) {
    let page = PageRef { source: None, slug: Slug::parse(slug).unwrap() };
    let request = Put {
        page,
        content: content.into(),
        origin: Origin::Stdin,
        allow_empty: false,
        expect: None,
    };
    match client.ask(&Request::Put(request)) {
        Ok(Reply::Write(reply)) => assert!(reply.written, "{reply:?}"),
        other => panic!("{slug}: {other:?}"),
    }
}

fn size_of_dir(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    entries
        .map(
            |e| {
                if e.path().is_dir() { size_of_dir(&e.path()) } else { e.metadata().unwrap().len() }
            },
        )
        .sum()
}

/// Cores, memory, system, disk, day.
fn machine() -> String {
    let find = |file: &str, key: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let line =
            text.lines().find(|line| line.starts_with(key)).map(str::to_owned).unwrap_or_default();
        line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let memory =
        find("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let system = rustix::system::uname();
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()
            as i64;
    let place = std::env::temp_dir();
    // Linux's number of tmpfs.
    let kind = if rustix::fs::statfs(&place).is_ok_and(|s| s.f_type == 0x0102_1994) {
        ", which is in memory"
    } else {
        ""
    };
    format!(
        "{cores} cores ({}), {:.0} GB of memory,\n  Linux {}, homes in {}{kind}, {}. It is shared, so medians and ratios are more\n  reliable than single figures",
        find("/proc/cpuinfo", "model name"),
        memory * 1024.0 / 1e9,
        system.release().to_string_lossy(),
        place.display(),
        brain_base::clock::day(now)
    )
}
