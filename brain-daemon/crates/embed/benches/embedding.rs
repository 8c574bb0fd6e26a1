//! Speed and memory of the model in the daemon, compared with the reference library
//! (sentence-transformers) if `--reference` names a Python that has it.
//!
//! `BRAIN_TEST_MODEL=DIRECTORY cargo bench -p brain-daemon --bench embedding -- [--threads 2]
//! [--reference PYTHON]`

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brain_embed::{Embedder, LocalModel, VectorPurpose};

/// The allocator of the daemon, so that freed memory returns to the system in the same way.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Windows that are embedded in one run.
const WINDOWS: usize = 256;
/// Maximum words of a window, as in the daemon.
const WORDS: usize = 75;
/// Windows of a call for pages, as in the daemon.
const PAGE_BATCH: usize = 8;
/// Pause between two questions: a person asks now and then.
const QUESTION_PAUSE: Duration = Duration::from_millis(10);
/// Wait until the allocator has returned freed memory to the system.
const SETTLE_TIME: Duration = Duration::from_secs(12);

/// Returns the seconds and CPU seconds of the fastest of three runs over all windows.
fn fastest_run(local: &LocalModel, windows: &[String]) -> (f64, f64) {
    let mut best = (f64::MAX, 0.0);
    for _ in 0..3 {
        let (began, cpu_before) = (Instant::now(), cpu());
        local.embed(windows, VectorPurpose::Document, &|| true).unwrap();
        let run = (began.elapsed().as_secs_f64(), cpu() - cpu_before);
        best = if run.0 < best.0 { run } else { best };
    }
    best
}

/// Returns the times of questions while pages are embedded.
fn times_beside_pages(local: &LocalModel, query: &[String; 1], windows: &[String]) -> Vec<f64> {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_done = &is_done;
        let pages = scope.spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                local.embed(&windows[..PAGE_BATCH], VectorPurpose::Document, &|| true).unwrap();
            }
        });
        let times = question_times(local, query);
        is_done.store(true, Ordering::Relaxed);
        pages.join().unwrap();
        times
    })
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // `cargo test` also runs benchmarks, without arguments.
    if args.iter().any(|a| a == "--test" || a == "--list") {
        return;
    }
    let value_of = |name: &str| args.iter().position(|a| a == name).and_then(|at| args.get(at + 1));
    let Some(model) = std::env::var_os("BRAIN_TEST_MODEL").map(PathBuf::from) else {
        eprintln!("SKIPPED: the speed of embedding, because BRAIN_TEST_MODEL names no model");
        return;
    };
    let threads =
        value_of("--threads").map_or(2, |n| n.parse().expect("--threads is not a number"));
    let windows = windows();
    println!("| program | texts/s | CPU ms a text | question ms | memory MB |");
    println!("|---|---|---|---|---|");

    let before = rss();
    let local = LocalModel::new(model.clone(), threads);
    let query = ["who did we meet at the harbour last summer".to_owned()];
    let began = Instant::now();
    local.embed(&query, VectorPurpose::Query, &|| true).unwrap();
    let first = began.elapsed();
    let best = fastest_run(&local, &windows);
    let busy = rss();
    let questions = question_times(&local, &query);
    let busy_questions = times_beside_pages(&local, &query, &windows);
    std::thread::sleep(SETTLE_TIME);
    let idle = rss();
    local.unload_if_idle(Duration::ZERO);
    std::thread::sleep(SETTLE_TIME);
    let row = |name: &str, wall: f64, cpu: f64, question: f64, memory: &str| {
        let count = WINDOWS as f64;
        let (rate, each, question) = (count / wall, cpu / count * 1e3, question * 1e3);
        println!(
            "| {name}, {threads} threads | {rate:.1} | {each:.1} | {question:.1} | {memory} |"
        );
    };
    let memory =
        format!("{idle} loaded and idle ({busy} after work, {before} before, {} freed)", rss());
    row("brain", best.0, best.1, at(&questions, 50), &memory);

    if let Some(python) = value_of("--reference") {
        let (wall, cpu, question, memory) = reference(python, &model, threads, &windows);
        row("the reference library", wall, cpu, question, &memory);
        println!("\nbrain takes {:.2} of the reference's time.", best.0 / wall);
    }
    println!(
        "\nA question takes {:.1} ms (p99 {:.1}); while pages are embedded, {:.1} ms (p99 {:.1}).",
        at(&questions, 50) * 1e3,
        at(&questions, 99) * 1e3,
        at(&busy_questions, 50) * 1e3,
        at(&busy_questions, 99) * 1e3,
    );
    println!("\nThe first question took {} ms: it loads the model.", first.as_millis());
}

/// Returns the seconds of each of many questions, ascending.
fn question_times(local: &LocalModel, query: &[String]) -> Vec<f64> {
    let mut times: Vec<f64> = (0..300)
        .map(|_| {
            let began = Instant::now();
            local.embed(query, VectorPurpose::Query, &|| true).unwrap();
            let time = began.elapsed().as_secs_f64();
            std::thread::sleep(QUESTION_PAUSE);
            time
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Returns the percentile `percent` of ascending times.
fn at(times: &[f64], percent: usize) -> f64 {
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

/// Returns windows of different lengths, the same in every run.
fn windows() -> Vec<String> {
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/embedding/texts.json");
    let texts: Vec<String> = serde_json::from_slice(&fs::read(texts).unwrap()).unwrap();
    // English prose, because the model knows English.
    let words: Vec<&str> = texts
        .iter()
        .filter(|text| text.is_ascii() && text.len() > 200)
        .flat_map(|text| text.split(' '))
        .collect();
    (0..WINDOWS)
        .map(|at| {
            let words: Vec<&str> =
                words.iter().cycle().skip(at * 61).take(WORDS - at % 20).copied().collect();
            format!("A page > Notes. {}", words.join(" "))
        })
        .collect()
}

/// Runs the reference library on the same texts. Returns seconds, CPU seconds, seconds a question,
/// and memory as text.
fn reference(
    python: &str,
    model: &Path,
    threads: usize,
    windows: &[String],
) -> (f64, f64, f64, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/embedding/speed.py");
    let mut child = Command::new(python)
        .arg(script)
        .arg(model)
        .arg(threads.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the reference does not start");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(serde_json::to_string(windows).unwrap().as_bytes())
        .unwrap();
    let out = child.wait_with_output().unwrap();
    let output: serde_json::Value =
        serde_json::from_slice(&out.stdout).expect("the reference prints no figures");
    let figure = |name: &str| output[name].as_f64().unwrap();
    (figure("wall"), figure("cpu"), figure("query"), format!("{} loaded", figure("rss")))
}

/// Returns the CPU seconds of this process, in steps of a hundredth.
fn cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // User and system time are the 12th and 13th field after the name, in hundredths of a second.
    // The name can contain spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Returns the memory of this process in MB.
fn rss() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default()
        / 1024
}
