//! SIGKILL at random moments. Acknowledged writes survive in the store, in files and in search.
//! Other writes are stored completely or not at all, and nothing else appears.
//!
//! `BRAIN_CRASH_ROUNDS` is the number of kills under load (25; the full run has 200).
//! `BRAIN_CRASH_SEED` repeats the random choices of a failed run, except for the moments of kills.

mod check;
mod run;
mod write_log;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use brain_protocol::{Import, ImportReply, Reply, Request, Slug, Status};
use brain_tests::{TEST_TIMEOUT, TestHome, expect_reply};
use rustix::process::{Pid, Signal, kill_process};

pub(crate) use {
    check::{Check, check_everything},
    run::{Rng, Run},
    write_log::{WriteLog, rare_word},
};

/// Clients that write at the same time.
const WRITERS: usize = 12;

/// Time limit of a run with the default number of rounds.
const TIME_LIMIT: Duration = Duration::from_secs(45);

#[test]
fn acknowledged_writes_survive_sigkill_under_load() {
    let run = Run::new(25);
    let home = TestHome::new();
    let mut rng = run.rng();
    let mut logs: Vec<WriteLog> = (0..WRITERS).map(WriteLog::new).collect();
    let (mut kills, mut written) = (0, 0);
    for round in 1..=run.rounds {
        if run.is_default && run.started_at.elapsed() > TIME_LIMIT {
            break;
        }
        if rng.one_in(5) {
            kill_during_start(&home, &mut rng);
            kills += 1;
        }
        let daemon = home.daemon();
        settle(&home);
        let socket = home.socket();
        // Most kills come soon after the first writes, a few after the index has been written.
        let moment = if rng.one_in(100) {
            Duration::from_millis(4800 + rng.below(800))
        } else {
            Duration::from_micros((600 << rng.below(10)) + rng.below(4000))
        };
        let is_stopping = rng.one_in(4);
        std::thread::scope(|scope| {
            let writers: Vec<_> = logs
                .iter_mut()
                .map(|log| {
                    let (socket, rng) = (&socket, rng.split());
                    scope.spawn(move || log.write_until_killed(socket, rng, round))
                })
                .collect();
            std::thread::sleep(moment);
            if is_stopping {
                // Kill it while it shuts down and writes its index.
                let pid = Pid::from_raw(daemon.pid() as i32).unwrap();
                kill_process(pid, Signal::TERM).unwrap();
                std::thread::sleep(Duration::from_micros(rng.below(80_000)));
            }
            daemon.kill();
            kills += 1;
            for writer in writers {
                written += writer.join().expect("a writer found a fault; see above");
            }
        });

        let daemon = home.daemon();
        settle(&home);
        let mut check = Check::new(&home);
        for log in &mut logs {
            check.resolve_pending(log);
            for entry in log.sample(&mut rng, round) {
                check.check_entry(entry);
            }
        }
        // Half of the rounds start after the kill of an idle daemon, the others after a clean
        // shutdown.
        if rng.one_in(2) {
            daemon.kill();
            kills += 1;
        } else {
            assert!(daemon.terminate().0.success(), "{}", home.log());
        }
    }
    kill_during_start(&home, &mut rng);
    let _daemon = home.daemon();
    settle(&home);
    check_everything(&home, &logs);
    assert!(written > 0, "no write succeeded");
    run.report(&format!(
        "{} kills, {written} acknowledged writes, {:.0?}",
        kills + 1,
        run.started_at.elapsed()
    ));
}

#[test]
fn a_killed_import_is_finished_by_the_next() {
    const FILES: usize = 400;
    let run = Run::new(25);
    let home = TestHome::new();
    let mut rng = run.rng();
    let dir = home.outside().join("notes");
    let import_files = |version: usize| (0..FILES).map(move |n| ImportFile::new(n, version));
    let (mut version, mut cut_short) = (0, 0);
    let mut usual_duration = Duration::from_millis(200);
    for _ in 0..(run.rounds / 5).clamp(2, 20) {
        version += 1;
        import_files(version).for_each(|file| file.write(&dir));
        let daemon = home.daemon();
        settle(&home);
        let moment = Duration::from_micros(rng.below(usual_duration.as_micros() as u64));
        std::thread::scope(|scope| {
            let import = scope.spawn(|| import(&home, &dir));
            std::thread::sleep(moment);
            daemon.kill();
            match import.join().expect("the import panicked") {
                None => cut_short += 1,
                Some(reply) => usual_duration = Duration::from_millis(reply.took_ms),
            }
        });
        // Stored pages are complete, in this version or an earlier one.
        let _daemon = home.daemon();
        settle(&home);
        let mut check = Check::new(&home);
        for row in check.list(false) {
            let page = check.page(&row.slug).expect("a listed page cannot be read");
            let (n, stored_version) = ImportFile::numbers(&row.slug, &page.body);
            assert!(stored_version <= version, "{}: {stored_version} of {version}", row.slug);
            assert_eq!(page.body, ImportFile::new(n, stored_version).body, "{}", row.slug);
            check.assert_file(&page);
        }
    }
    let _daemon = home.daemon();
    let reply = import(&home, &dir).expect("no answer of the daemon");
    assert_eq!((reply.files, reply.failed_total), (FILES as u64, 0), "{reply:?}");
    assert_eq!(reply.created + reply.updated + reply.unchanged, FILES as u64, "{reply:?}");
    assert_eq!(reply.warnings, Vec::<String>::new());
    let again = import(&home, &dir).expect("no answer of the daemon");
    assert_eq!(again.unchanged, FILES as u64, "a second import changes nothing: {again:?}");

    let mut check = Check::new(&home);
    let slugs: Vec<Slug> = check.list(false).into_iter().map(|row| row.slug).collect();
    let mut expected: Vec<Slug> = import_files(version).map(|file| file.slug).collect();
    expected.sort();
    assert_eq!(slugs, expected, "each file is one page");
    for file in import_files(version) {
        let page = check.page(&file.slug).expect("an imported page is missing");
        assert_eq!(page.body, file.body, "{}", file.slug);
        check.assert_file(&page);
        check.assert_found(&file.word, &file.slug);
        check.assert_not_found(&ImportFile::new(file.n, version - 1).word, &file.slug);
    }
    check.assert_no_other_files(&expected, &[]);
    let duration = run.started_at.elapsed();
    run.report(&format!("imports: {cut_short} of {version} killed, {duration:.0?}"));
}

#[test]
fn repeated_kills_during_start_do_no_harm() {
    let run = Run::new(25);
    let home = TestHome::new();
    let mut rng = run.rng();
    // The first start, which creates the store, is killed, too.
    for _ in 0..(run.rounds / 5).clamp(3, 20) {
        kill_during_start(&home, &mut rng);
    }
    let mut logs = vec![WriteLog::new(0)];
    let daemon = home.daemon();
    let socket = home.socket();
    std::thread::scope(|scope| {
        let (log, rng) = (&mut logs[0], rng.split());
        let socket = &socket;
        let writer = scope.spawn(move || log.write_until_killed(socket, rng, 1));
        let deadline = Instant::now() + TEST_TIMEOUT;
        while home.status().pages == 0 {
            assert!(Instant::now() < deadline, "the writer writes no page");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(700));
        daemon.kill();
        assert!(writer.join().expect("a writer found a fault; see above") > 0);
    });
    for _ in 0..run.rounds {
        kill_during_start(&home, &mut rng);
    }
    let _daemon = home.daemon();
    settle(&home);
    Check::new(&home).resolve_pending(&mut logs[0]);
    check_everything(&home, &logs);
}

/// Starts a daemon and kills it before, or just after, it is ready.
fn kill_during_start(home: &TestHome, rng: &mut Rng) {
    let mut command = home.command("brain-daemon");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_micros(rng.below(40_000)));
    assert!(child.try_wait().unwrap().is_none(), "the daemon ended before the kill");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Waits until the daemon reports no problems, so that every stored page can be searched. After a
/// start with little to index, this is immediate.
pub(crate) fn settle(home: &TestHome) {
    let mut client = home.connect().expect("no answer of the daemon");
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let status = expect_reply!(client.ask(&Request::Status(Status)), Status);
        if status.degraded.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "still degraded: {:?}", status.degraded);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Imports the directory. Returns `None` if the daemon was killed.
pub(crate) fn import(home: &TestHome, dir: &Path) -> Option<ImportReply> {
    let request = Request::Import(Import {
        path: dir.display().to_string(),
        source: None,
        format: None,
        since: None,
        dry_run: false,
        scrub: false,
    });
    match home.connect()?.try_ask(&request)? {
        Ok(Reply::Import(reply)) => Some(reply),
        other => panic!("{other:?}"),
    }
}

/// A file that is imported repeatedly, with another text in each version.
struct ImportFile {
    n: usize,
    slug: Slug,
    word: String,
    body: String,
}

impl ImportFile {
    fn new(n: usize, version: usize) -> Self {
        let word = rare_word(version, n);
        let body = format!(
            "Number {n} version {version}\n\nIt has {word}. {}\n",
            "Water and money. ".repeat(20)
        );
        Self { n, slug: Slug::parse(format!("group-{}/note-{n}", n % 7)).unwrap(), word, body }
    }

    fn write(&self, dir: &Path) {
        let path = dir.join(format!("{}.md", self.slug));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(
            path,
            format!("---\ntitle: Note {}\ntags: [import]\n---\n{}", self.n, self.body),
        )
        .unwrap();
    }

    /// Returns the file's number and its version, read from a stored text.
    fn numbers(slug: &Slug, body: &str) -> (usize, usize) {
        let words: Vec<&str> = body.split_whitespace().take(4).collect();
        let number = |at: usize| {
            words.get(at).and_then(|w| w.parse().ok()).unwrap_or_else(|| panic!("{slug}: {body}"))
        };
        (number(1), number(3))
    }
}
