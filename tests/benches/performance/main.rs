//! Measures speed and memory, compares each figure with the minimum cost on the same machine in the
//! same run, and prints a table.
//!
//! `.ci/measure performance` builds the programs and writes `docs/performance.md`. `--quick` runs
//! everything with few notes; its figures are not comparable.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]
#![allow(clippy::too_many_lines)]

mod baselines;
mod collector;
mod growth;
mod http;
mod import_load;
mod imports;
mod machines;
mod mcp;
mod meaning;
mod notes;
mod operations;
mod past;
mod process;
mod processes;
mod report;
mod searches;
mod writers;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use baselines::{Redb, Tantivy};
use brain_protocol::{Hit, Origin, PageRef, Put, Reply, Request, Search, Slug};
use brain_tests::{Client, TestHome};
use imports::FilledHome;
use notes::Notes;
use process::{memory, wait_until_idle};
use report::{Goal, Row, Samples, Table, short};

/// The size of a run.
struct Scale {
    /// Number of notes in small homes.
    few: usize,
    /// Number of notes in large homes.
    many: usize,
    /// Number of rounds of process measurements. Each round runs every command once.
    processes: usize,
    /// Number of searches by meaning, and of first searches after a write.
    pairs: usize,
    /// Number of searches over the socket.
    searches: usize,
    /// Number of starts of a daemon.
    starts: usize,
    /// Duration of a measurement of writers.
    writing: Duration,
    /// Duration of a run of `wrk`.
    posting: Duration,
    /// Number of items of the soak test.
    soak: u64,
    /// Minimum number of tool calls for the measurement of memory.
    calls: u64,
    /// Duration of posting in one part of the soak test.
    soak_part: Duration,
    /// Duration of the pause after the last part.
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
        // `cargo test --all-targets` runs benches without this option.
        println!("run `.ci/measure performance`");
        return;
    }
    // Options for one task: `--notes DIR COUNT` writes notes, `--import` measures imports,
    // `--import-load` searches during imports, `--growth` operations on 100,000 pages, `--million`
    // also on a million, `--writers` many writers, `--http` HTTP, `--mcp` the MCP endpoint,
    // `--past` requests about the past, `--collector` the collector, `--meaning` search by meaning, `--soak` a million items,
    // `--machines` several machines; with `--many` also 100,000 pages, and with `--former DIR` also
    // a brain on one machine, with the programs of another version in pairs.
    let has_option = |name: &str| args.iter().any(|arg| arg == name);
    if has_option("--writers") || has_option("--mcp") {
        let mut bench = Bench::new(FULL);
        let dir = bench.notes.write(&bench.dir.path().join("few"), 0..FULL.few).unwrap();
        let filled = bench.import(&dir, FULL.few);
        return if has_option("--mcp") { bench.mcp(&filled) } else { bench.writers(&filled) };
    }
    if has_option("--machines") {
        let former = args.iter().position(|arg| arg == "--former").map(|at| &args[at + 1]);
        let scale = if has_option("--quick") { QUICK } else { FULL };
        let mut bench = Bench::new(scale);
        bench.machines(has_option("--many"), former.map(Path::new));
        println!("{}", bench.table.markdown());
        return eprintln!("{} goals missed", bench.table.missed());
    }
    if has_option("--import") {
        let mut bench = Bench::new(FULL);
        let [small, large] = bench.write_notes();
        bench.imports([&small, &large], None, &mut Vec::new());
        return;
    }
    if has_option("--growth") || has_option("--million") {
        let mut bench = Bench::new(FULL);
        bench.grow(FULL.many, "100,000", 8.0);
        if has_option("--million") {
            bench.grow(1_000_000, "1,000,000", 40.0);
        }
        return;
    }
    if has_option("--import-load") {
        let mut bench = Bench::new(if has_option("--quick") { QUICK } else { FULL });
        let [small, large] = bench.write_notes();
        return bench.searches_during_imports([&small, &large]);
    }
    if has_option("--collector") {
        return Bench::new(FULL).collector();
    }
    if has_option("--meaning") {
        let mut bench = Bench::new(if has_option("--quick") { QUICK } else { FULL });
        return bench.meaning();
    }
    if has_option("--past") {
        let mut bench = Bench::new(if has_option("--quick") { QUICK } else { FULL });
        bench.past();
        return println!("{}", bench.table.markdown());
    }
    if has_option("--http") {
        return Bench::new(FULL).http();
    }
    if has_option("--soak") {
        return Bench::new(FULL).soak();
    }
    if let Some(at) = args.iter().position(|arg| arg == "--notes") {
        let dir =
            Notes::new().write(Path::new(&args[at + 1]), 0..args[at + 2].parse().unwrap()).unwrap();
        return println!("{}", dir.display());
    }
    let quick = has_option("--quick");
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
    /// Times of a process that does nothing. They are part of the baselines of other processes.
    nothing: Samples,
}

impl Bench {
    fn new(scale: Scale) -> Self {
        let dir = tempfile::Builder::new().prefix("brain-performance").tempdir().unwrap();
        let notes = Notes::new();
        Self { scale, notes, dir, table: Table::default(), nothing: Samples::default() }
    }

    /// Runs all measurements.
    fn run(&mut self) {
        let Scale { few, many, .. } = self.scale;
        let [small, large] = self.write_notes();

        self.step("tantivy and redb alone");
        let tantivy_few = Tantivy::new(&self.dir.path().join("tantivy-few"), &self.notes, few);
        let tantivy_many = Tantivy::new(&self.dir.path().join("tantivy-many"), &self.notes, many);
        let redb = Redb::new(self.dir.path(), "baseline.redb");
        let redb_fill = redb.fill(&self.notes, few);

        let mut homes = Vec::new();
        let [first, many_filled, last] =
            self.imports([&small, &large], Some(tantivy_few.built + redb_fill), &mut homes);

        self.searches_during_imports([&small, &large]);

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
        self.step("the MCP endpoint");
        self.mcp(&few_filled);
        drop(few_filled);

        self.growth(&large, many, "100,000", 8.0);

        self.past();
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

    /// Writes few and many notes. Returns the directories.
    fn write_notes(&self) -> [PathBuf; 2] {
        self.step("writing notes");
        [("few", self.scale.few), ("many", self.scale.many)]
            .map(|(name, count)| self.notes.write(&self.dir.path().join(name), 0..count).unwrap())
    }

    /// Writes `count` notes and measures operations that could grow with them.
    fn grow(&mut self, count: usize, shown: &str, phrases: f64) {
        let dir =
            self.notes.write(&self.dir.path().join(format!("grown-{count}")), 0..count).unwrap();
        self.growth(&dir, count, shown, phrases);
    }

    fn step(&self, name: &str) {
        eprintln!("{name} …");
    }

    /// Measures the memory of an idle daemon after its import, after many searches, and after a
    /// restart.
    fn memory(&mut self, filled: FilledHome) -> FilledHome {
        let empty = TestHome::new();
        let idle_daemon = empty.daemon();
        wait_until_idle(idle_daemon.pid(), &empty);
        let empty = memory(idle_daemon.pid(), "VmRSS");
        drop(idle_daemon);
        wait_until_idle(filled.daemon.pid(), &filled.home);
        let after_import = memory(filled.daemon.pid(), "VmRSS");
        let mut client = filled.client();
        for n in 0..self.scale.searches {
            search(&mut client, &self.notes.question(n));
        }
        wait_until_idle(filled.daemon.pid(), &filled.home);
        let after_searches = memory(filled.daemon.pid(), "VmRSS");
        let own_after_searches = memory(filled.daemon.pid(), "RssAnon");
        let FilledHome { daemon, home, reply, took, peak_mb, background_seconds } = filled;
        assert!(daemon.terminate().0.success(), "{}", home.log());
        let daemon = home.daemon();
        wait_until_idle(daemon.pid(), &home);
        let after_start = memory(daemon.pid(), "VmRSS");
        for (description, value) in [
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
                order: 70,
                description: description.into(),
                goal: Goal::Below(50.0, "MB"),
                value,
                measured,
                baseline: Some((
                    Some(empty),
                    format!("{} MB: a daemon without pages", short(empty)),
                )),
            });
        }
        FilledHome { daemon, home, reply, took, peak_mb, background_seconds }
    }

    /// Reports the sizes on disk per page.
    fn report_sizes(&mut self, home: &TestHome, count: usize, shown: &str) {
        let kb = |bytes: u64| bytes as f64 / 1000.0 / count as f64;
        let store = kb(std::fs::metadata(home.path().join("brain.redb")).unwrap().len());
        let (index, pages) = (
            kb(size_of_dir(&home.path().join("index"))),
            kb(size_of_dir(&home.path().join("pages"))),
        );
        self.table.add(Row {
            order: 91,
            description: format!("on disk, one of {shown} pages"),
            goal: Goal::None,
            value: store + index,
            measured: format!(
                "store {} kB, index {} kB, file {} kB",
                short(store),
                short(index),
                short(pages)
            ),
            baseline: None,
        });
    }

    /// Returns the text of `docs/performance.md`.
    fn document(&self, took: Duration, quick: bool) -> String {
        let kind = if quick {
            "\n**A smoke run with few notes: the figures mean nothing.**\n"
        } else {
            ""
        };
        let total_bytes: usize = (0..200).map(|n| self.notes.note(n * 37).content().len()).sum();
        format!(
            "# Speed and memory\n{kind}\n\
             Measure your machine with `.ci/measure performance` ({:.0} minutes). The table \
             compares programs of the\n\
             profile `release` with the minimum cost of the same work on the same machine in \
             the same run. Values\n\
             are medians, with the tenth and ninetieth percentile in brackets. \
             `tests/benches/performance`\n\
             contains the program.\n\n\
             {}\n\
             ## Method\n\n\
             - Machine: {}.\n\
             - Notes are generated and equal on every machine. They have {} bytes on average \
             with\n  frontmatter, {} word forms in natural frequencies, and one unique name each.\n\
             - Whole processes are measured from before their start to after their end, {} times, \
             in turns\n  with an empty process.\n\
             - An import ends when a search finds its last note.\n\
             - Memory goals are resident memory in MB of 1,000,000 bytes, including mapped files. \
             Start goals\n  apply to the slowest start.\n\
             - Let the machine rest after tests: ext4 without a journal creates files several \
             times more\n  slowly for some minutes after many were removed.\n\
             - `wrk` generates the HTTP load with two threads and different texts. The bare \
             endpoint is an\n  axum server that reads the body and answers. The rate limit is off, \
             and the queue has room for\n  ten million items.\n\
             - The gain of parallel writers depends on the machine, because they share commits. \
             Where a flush\n  takes 0.1 ms, one writer hardly waits, and two cores limit 64 \
             writers. With 5 ms added to every\n  flush (`strace \
             --inject=fdatasync:delay_exit=5000`), 64 writers reached 16 times the rate of\n  one \
             (1050 against 64 writes/s).\n",
            (took.as_secs_f64() / 60.0).ceil(),
            self.table.markdown(),
            machine(),
            total_bytes / 200,
            self.notes.forms(),
            self.scale.processes,
        )
    }
}

/// Searches for at most 20 hits.
fn search(client: &mut Client, question: &str) -> Vec<Hit> {
    let request =
        Request::Search(Search { query: question.into(), limit: 20, ..Search::default() });
    match client.ask(&request) {
        Ok(Reply::Hits(hits)) => hits.hits,
        other => panic!("{question}: {other:?}"),
    }
}

/// Writes a new or changed page.
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

/// Returns the size of all files below `dir` in bytes.
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

/// Describes the machine: cores, memory, kernel, directory of the homes, and today's date.
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
    // The magic number of tmpfs.
    let kind = if rustix::fs::statfs(&place).is_ok_and(|s| s.f_type == 0x0102_1994) {
        ", which is in memory"
    } else {
        ""
    };
    format!(
        "{cores} cores ({}), {:.0} GB of memory,\n  Linux {}, homes in {}{kind}, {}. It is shared, \
            so medians and ratios are more\n  reliable than single figures",
        find("/proc/cpuinfo", "model name"),
        memory * 1024.0 / 1e9,
        system.release().to_string_lossy(),
        place.display(),
        brain_base::clock::day(now)
    )
}
