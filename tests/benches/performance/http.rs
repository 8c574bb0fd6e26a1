//! Measures HTTP: accepted items a second, compared with an endpoint that only reads the body, and
//! memory after very many items. `wrk` generates the load. Without it, these rows are skipped with
//! a message.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brain_protocol::{Reply, Request, Status, StatusReply, TokenCreate};
use brain_tests::{Client, Daemon, TestHome, program};

use crate::Bench;
use crate::baselines::Redb;
use crate::process::memory;
use crate::report::{Goal, Row, Samples, short};

/// Rounds of alternating measurements.
const ROUNDS: usize = 3;
/// Time limit for turning queued items into pages.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(900);

/// A daemon that accepts items without rate limit and quota.
struct PostTarget {
    daemon: Daemon,
    home: TestHome,
    address: String,
    token: String,
}

impl PostTarget {
    fn new() -> Self {
        let mut home = TestHome::new();
        for (name, value) in [
            ("BRAIN_HTTP_LOCAL", "127.0.0.1:0"),
            ("BRAIN_HTTP_PUBLIC", "off"),
            ("BRAIN_INGEST_RATE", "off"),
            ("BRAIN_INGEST_DAILY_PAGES", "0"),
            ("BRAIN_INGEST_DAILY_BYTES", "0"),
            ("BRAIN_INGEST_QUEUE", "10000000"),
        ] {
            home.env.retain(|(known, _)| known != name);
            home.env.push((name.into(), value.into()));
        }
        let daemon = home.daemon();
        let mut client = home.connect().unwrap();
        let address = status(&mut client).http_local.expect("no local HTTP listener");
        let request = TokenCreate {
            name: "load".into(),
            scopes: brain_protocol::Scopes::READ_WRITE,
            sources: Vec::new(),
            expires_in: None,
        };
        let Ok(Reply::TokenCreate(created)) = client.ask(&Request::TokenCreate(request)) else {
            panic!("no token")
        };
        Self { daemon, home, address, token: created.token.expose().to_owned() }
    }

    /// Waits until all queued items are pages. Returns the pages a second.
    fn wait_for_queue(&self) -> f64 {
        let mut client = self.home.connect().unwrap();
        let (began, before) = (Instant::now(), status(&mut client).jobs.waiting);
        let deadline = began + QUEUE_TIMEOUT;
        loop {
            let jobs = status(&mut client).jobs;
            if jobs.waiting == 0 {
                assert_eq!(jobs.failed, 0, "items failed");
                return before as f64 / began.elapsed().as_secs_f64();
            }
            assert!(Instant::now() < deadline, "{} items still wait", jobs.waiting);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

pub(crate) fn status(client: &mut Client) -> StatusReply {
    match client.ask(&Request::Status(Status)) {
        Ok(Reply::Status(status)) => status,
        other => panic!("no status: {other:?}"),
    }
}

/// A server whose endpoint only reads the body.
struct BareServer {
    child: Child,
    address: String,
}

impl BareServer {
    fn new() -> Self {
        let mut child = Command::new(program("brain-bare")).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim().into() }
    }
}

impl Drop for BareServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The result of a run of `wrk`.
pub(crate) struct Load {
    /// Answers a second.
    pub(crate) rate: f64,
    /// Median latency in milliseconds.
    median: f64,
    /// Number of answers.
    pub(crate) answers: u64,
}

/// Writes a script for `wrk`: `POST` of texts of about `bytes` bytes. All texts of all scripts with
/// different `run` differ.
fn script(dir: &Path, token: &str, bytes: usize, run: usize) -> PathBuf {
    let mut filler = String::new();
    for n in 0.. {
        let _ = write!(
            filler,
            "A sentence with the number {n} in it, so that there is something to index. "
        );
        if filler.len() > bytes {
            break;
        }
    }
    filler.truncate(bytes.saturating_sub(24));
    let path = dir.join(format!("post-{bytes}-{run}.lua"));
    let text = format!(
        r#"local id, n, threads = 0, 0, 0
function setup(thread) thread:set("id", threads); threads = threads + 1 end
local head = {{ ["Authorization"] = "Bearer {token}", ["Content-Type"] = "text/plain" }}
function request()
  n = n + 1
  return wrk.format("POST", "/ingest", head, string.format("%d-%d-%d\n\n{filler}", {run}, id, n))
end
"#
    );
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs `wrk` against `url` with this number of connections and this duration. Without a script, it
/// sends `GET`.
pub(crate) fn wrk(
    url: &str,
    connections: usize,
    duration: Duration,
    script: Option<&Path>,
) -> Load {
    let mut command = Command::new("wrk");
    command.args(["--latency", "--timeout", "30s", "-c", &connections.to_string()]);
    command.args([
        "-t",
        &connections.min(2).to_string(),
        "-d",
        &format!("{}s", duration.as_secs().max(1)),
    ]);
    if let Some(script) = script {
        command.arg("-s").arg(script);
    }
    let out = command.arg(url).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    assert!(
        !text.contains("Non-2xx") && !text.contains("Socket errors"),
        "some calls failed: {text}"
    );
    let after = |label: &str| {
        let line = text.lines().map(str::trim_start).find(|line| line.starts_with(label));
        line.and_then(|line| line[label.len()..].split_whitespace().next())
            .unwrap_or_else(|| panic!("{text}"))
    };
    let answers = text.lines().find(|line| line.contains(" requests in ")).unwrap();
    Load {
        rate: after("Requests/sec:").parse().unwrap(),
        median: milliseconds(after("50%")),
        answers: answers.split_whitespace().next().unwrap().parse().unwrap(),
    }
}

/// Parses a duration of `wrk`, such as `410.00us`, `1.23ms`, `2.00s`, as milliseconds.
fn milliseconds(text: &str) -> f64 {
    let (number, factor) = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)]
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))
        .unwrap();
    number.parse::<f64>().unwrap() * factor
}

impl Bench {
    /// Measures the rates of `POST /ingest` and `GET /health`, alternating with the bare endpoint.
    pub(crate) fn http(&mut self) {
        if Command::new("wrk").arg("-v").output().is_err() {
            eprintln!("SKIPPED: HTTP, because `wrk` is not installed");
            return;
        }
        let (target, bare) = (PostTarget::new(), BareServer::new());
        let redb = Redb::new(self.dir.path(), "queue-commits.redb");
        let (ours, theirs) =
            (format!("http://{}", target.address), format!("http://{}", bare.address));
        let [mut one, mut sixteen, mut many, mut bare_many, mut health, mut bare_health] =
            std::array::from_fn(|_| Samples::default());
        let [mut commits_of_one, mut commits_of_16, mut queue_rates] =
            std::array::from_fn(|_| Samples::default());
        let duration = self.scale.posting;
        for round in 0..ROUNDS {
            let script = script(self.dir.path(), &target.token, 2000, round);
            let post = |url: &str, connections: usize, part: usize| {
                let script = self::script(self.dir.path(), &target.token, 2000, round * 10 + part);
                wrk(&format!("{url}/ingest"), connections, duration, Some(&script))
            };
            one.push(post(&ours, 1, 1).median);
            queue_rates.push(target.wait_for_queue());
            sixteen.push(post(&ours, 16, 2).rate);
            queue_rates.push(target.wait_for_queue());
            many.push(post(&ours, 64, 3).rate);
            queue_rates.push(target.wait_for_queue());
            bare_many.push(wrk(&format!("{theirs}/ingest"), 64, duration, Some(&script)).rate);
            health.push(wrk(&format!("{ours}/health"), 64, duration, None).rate);
            bare_health.push(wrk(&format!("{theirs}/health"), 64, duration, None).rate);
            let text = [b'x'; 2000];
            for n in 0..40 {
                let from = (round as u64 * 40 + n) * 17;
                commits_of_one.time(redb.enqueue(from, 1, &text));
                commits_of_16.time(redb.enqueue(from + 1, 16, &text));
            }
        }
        let commits = 16.0 / (commits_of_16.median() / 1e3);
        self.table.add(Row {
            order: 100,
            description: "`POST /ingest`, 2 KB, durable before the answer, 16 connections".into(),
            goal: Goal::AtLeast((commits / 2.0).round(), "items/s"),
            value: sixteen.median(),
            measured: sixteen.text("items/s"),
            baseline: Some((
                Some(commits),
                format!(
                    "{commits:.0} items/s: 16 ÷ a commit of redb alone with 16 items, {} ms",
                    short(commits_of_16.median())
                ),
            )),
        });
        self.table.add(Row {
            order: 101,
            description: "the same, 64 connections, as a share of the bare endpoint's rate".into(),
            goal: Goal::AtLeast(20.0, "%"),
            value: 100.0 * many.median() / bare_many.median(),
            measured: format!(
                "{} % ({:.0} items/s)",
                short(100.0 * many.median() / bare_many.median()),
                many.median()
            ),
            baseline: Some((
                None,
                format!(
                    "{:.0} answers/s: reading the body and answering, the same load",
                    bare_many.median()
                ),
            )),
        });
        let minimum = commits_of_one.median();
        self.table.add(Row {
            order: 102,
            description: "the same, 1 connection, median of one call".into(),
            goal: Goal::Below(((minimum + 0.5) * 100.0).round() / 100.0, "ms"),
            value: one.median(),
            measured: one.text("ms"),
            baseline: Some((
                Some(minimum),
                format!("{} ms: a commit of redb alone with one item", short(minimum)),
            )),
        });
        self.table.add(Row {
            order: 103,
            description: "`GET /health`, 64 connections, as a share of the bare endpoint's rate"
                .into(),
            goal: Goal::AtLeast(80.0, "%"),
            value: 100.0 * health.median() / bare_health.median(),
            measured: format!(
                "{} % ({:.0} answers/s)",
                short(100.0 * health.median() / bare_health.median()),
                health.median()
            ),
            baseline: Some((None, format!("{:.0} answers/s", bare_health.median()))),
        });
        self.table.add(Row {
            order: 104,
            description: "queue processing rate, no concurrent ingest".into(),
            goal: Goal::None,
            value: queue_rates.median(),
            measured: queue_rates.text("pages/s"),
            baseline: None,
        });
    }

    /// Measures memory before and after very many items of 1 KB.
    pub(crate) fn soak(&mut self) {
        if Command::new("wrk").arg("-v").output().is_err() {
            eprintln!("SKIPPED: the soak, because `wrk` is not installed");
            return;
        }
        let target = PostTarget::new();
        let url = format!("http://{}/ingest", target.address);
        let pid = target.daemon.pid();
        let (mut sent, mut run, began) = (0, 0, Instant::now());
        let mut idle_memory = Samples::default();
        while sent < self.scale.soak {
            let script = script(self.dir.path(), &target.token, 1000, run);
            sent += wrk(&url, 16, self.scale.soak_part, Some(&script)).answers;
            target.wait_for_queue();
            run += 1;
            std::thread::sleep(Duration::from_secs(2));
            idle_memory.push(memory(pid, "RssAnon"));
            eprintln!(
                "  {sent} items, {} MB at rest, {:.0?}",
                short(memory(pid, "RssAnon")),
                began.elapsed()
            );
        }
        // An idle daemon empties its caches and the index's overlay.
        std::thread::sleep(self.scale.soak_rest);
        let (end, mapped) = (memory(pid, "RssAnon"), memory(pid, "VmRSS"));
        let peak = memory(pid, "VmHWM");
        let first_part = idle_memory.first();
        self.table.add(Row {
            order: 105,
            description: format!(
                "memory after {sent} items of 1 KB, all different, after each became a \
                page, without mapped files"
            ),
            goal: Goal::None,
            value: end,
            measured: format!(
                "{} MB ({} MB after the first {} of them; peak {} MB and now {} MB with mapped \
                    files)",
                short(end),
                short(first_part),
                sent / run as u64,
                short(peak),
                short(mapped)
            ),
            baseline: None,
        });
    }
}
