//! The worst known texts for each parser, eight at once and through every interface, while the
//! daemon is limited to 512 MB: the daemon survives and accepts every text.

use std::fs;
use std::path::PathBuf;

use brain_tests::http::call;
use brain_tests::mcp::mcp;
use brain_tests::{Daemon, Need, TestHome, skip};
use serde_json::json;

/// The daemon's memory limit, in bytes.
const MEMORY_LIMIT: u64 = 512 << 20;
/// The number of concurrent writers.
const WRITERS: usize = 8;
/// A little less than the largest allowed page, in bytes.
const PAGE_BYTES: usize = 4_900_000;

/// A control group that limits the daemon's memory.
struct ControlGroup(PathBuf);

impl ControlGroup {
    /// Returns `None` and prints a notice if this user cannot create control groups.
    fn for_daemon(daemon: &Daemon) -> Option<Self> {
        let name = format!("brain-test-{}", daemon.pid());
        let (version_1, version_2) =
            (PathBuf::from("/sys/fs/cgroup/memory"), PathBuf::from("/sys/fs/cgroup"));
        let (dir, limits): (PathBuf, &[&str]) = if version_1.is_dir() {
            (version_1.join(name), &["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"])
        } else {
            let _ = fs::write(version_2.join("cgroup.subtree_control"), "+memory");
            (version_2.join(name), &["memory.max"])
        };
        let result = fs::create_dir(&dir)
            .and_then(|()| fs::write(dir.join(limits[0]), MEMORY_LIMIT.to_string()))
            .and_then(|()| fs::write(dir.join("cgroup.procs"), daemon.pid().to_string()));
        if let Err(e) = result {
            let _ = fs::remove_dir(&dir);
            skip(Need::Root(format!("limits of memory by a control group ({e})")));
            return None;
        }
        let _ = limits.get(1).map(|swap| fs::write(dir.join(swap), MEMORY_LIMIT.to_string()));
        let _ = fs::write(dir.join("memory.swap.max"), "0");
        Some(Self(dir))
    }

    /// Returns the largest memory use that the kernel reports for the group.
    fn peak(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.0.join(name)).ok();
        read("memory.max_usage_in_bytes")
            .or_else(|| read("memory.peak"))
            .unwrap_or_default()
            .trim()
            .to_owned()
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

/// Returns the daemon's largest resident memory, in MB.
fn peak_memory_mb(daemon: &Daemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or_default() / 1024
}

/// Joins `part(0)`, `part(1)` and so on until the text has at least `length` bytes.
fn numbered_parts(length: usize, part: impl Fn(u32) -> String) -> String {
    let mut text = String::with_capacity(length + 64);
    for n in 0.. {
        text.push_str(&part(n));
        if text.len() >= length {
            break;
        }
    }
    text
}

/// Returns texts that once took more than a hundred times their length in memory, each with a name.
/// The first has `largest` bytes, the others have about a tenth of that.
fn worst_texts(largest: usize) -> Vec<(&'static str, String)> {
    let length = largest / 10;
    let fill_with = |unit: &str| unit.repeat(length / unit.len());
    vec![
        ("brackets", "[".repeat(largest)),
        ("quotes", format!("[a](b) {}", fill_with("> "))),
        ("lists", format!("[a](b)\n\n{}", fill_with("- "))),
        ("emphasis", format!("[a](b) {}", fill_with("*a "))),
        ("links", numbered_parts(length, |n| format!("[[{n:x}]]"))),
        ("words", fill_with("a.")),
        ("dates", numbered_parts(length, |n| format!("- 2024-01-01 | {n:x}\n"))),
    ]
}

/// Runs `work` with the numbers of all writers at once, and prints the daemon's peak memory.
fn run_concurrently(label: &str, daemon: &mut Daemon, work: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        for n in 0..WRITERS {
            let work = &work;
            scope.spawn(move || work(n));
        }
    });
    assert!(daemon.is_running(), "the daemon ended after {label}");
    println!("{label}: {} MB", peak_memory_mb(daemon));
}

#[test]
fn eight_worst_texts_at_each_interface_fit_into_512_mb() {
    let mut home = TestHome::new();
    for (name, value) in [
        ("BRAIN_INGEST_RATE", "off"),
        ("BRAIN_INGEST_MAX_BYTES", "5000000"),
        ("BRAIN_EMBEDDING_PROVIDER", "none"),
    ] {
        home.env.push((name.into(), value.into()));
    }
    let mut daemon = home.daemon();
    let Some(group) = ControlGroup::for_daemon(&daemon) else { return };
    let token = home.token("sender", "read write", &[]);
    let bearer = format!("Bearer {token}");
    let texts = worst_texts(PAGE_BYTES);

    for (name, text) in &texts {
        run_concurrently(&format!("put {name}"), &mut daemon, |n| {
            let slug = format!("put/{name}-{n}");
            home.brain_with(["put", &slug], format!("{n}\n\n{text}").as_bytes()).expect(0);
        });
    }
    let html = ["<p>a", "<hr>a", "a<i>b</i>", "<li>a", "<td>a", "<blockquote><p>a"];
    let html = html.map(|unit| ("text/html", unit.repeat(200_000 / unit.len())));
    let json = format!("{{{}\"content\":\"x\"}}", "\"\":1,".repeat(40_000));
    let ingested_texts = html.into_iter().chain([("application/json", json)]);
    let ingested_texts =
        ingested_texts.chain(texts.iter().map(|(_, text)| ("text/markdown", text.clone())));
    for (text_number, (kind, text)) in ingested_texts.enumerate() {
        run_concurrently(&format!("ingest {text_number} {kind}"), &mut daemon, |n| {
            let slug = format!("sent/{text_number}-{n}");
            let headers = [
                ("Authorization", bearer.as_str()),
                ("Content-Type", kind),
                ("X-Brain-Slug", slug.as_str()),
            ];
            let answer = call(home.http_local(), "POST", "/ingest", &headers, text.as_bytes());
            drop(answer.expect(202));
        });
    }
    let session = mcp(&home, &token);
    for (name, text) in worst_texts(900_000) {
        run_concurrently(&format!("capture {name}"), &mut daemon, |n| {
            drop(session.call("capture", json!({ "content": format!("{name} {n}\n\n{text}") })));
        });
    }
    let files = home.outside().join("files");
    for (name, text) in &texts {
        for n in 0..WRITERS / 2 {
            let path = files.join(format!("{name}-{n}.md"));
            fs::create_dir_all(&files).unwrap();
            fs::write(path, format!("{n}\n\n{text}")).unwrap();
        }
    }
    let dir = files.to_str().unwrap();
    home.brain(["import", dir]).expect(0);
    assert!(daemon.is_running(), "the daemon ended in the import");
    println!("import: {} MB", peak_memory_mb(&daemon));
    home.json(["sources", "add", "files", "--path", dir]);
    home.brain(["sync", "--source", "files"]).expect(0);
    assert!(daemon.is_running(), "the daemon ended in the sync");
    println!(
        "sync: {} MB; with the kernel's caches {} bytes",
        peak_memory_mb(&daemon),
        group.peak()
    );
    assert_eq!(home.get("put/brackets-7")["body"].as_str().unwrap().len(), texts[0].1.len() + 3);
}
