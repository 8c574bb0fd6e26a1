//! Speed of a search in all vectors, compared with a plain loop that sums the same number of bytes.
//! Memory bandwidth limits that loop.
//!
//! `cargo bench -p brain-daemon --bench vectors`

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use brain_embed::vectors::{Key, Vectors, WindowVector};
use pulp::{Arch, Simd, WithSimd};

const DIMENSIONS: usize = 384;
const WINDOWS_PER_PAGE: u64 = 4;
const RUNS: usize = 41;

/// Sums all bytes as 64-bit words.
struct Sum<'a>(&'a [u64]);

impl WithSimd for Sum<'_> {
    type Output = u64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> u64 {
        self.0.iter().fold(0, |sum, word| sum.wrapping_add(*word))
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // `cargo test` also runs benchmarks, without arguments.
    if args.iter().any(|a| a == "--test" || a == "--list") {
        return;
    }
    println!(
        "| windows of {DIMENSIONS} | search: median, best | adding up the same bytes: median, best \
            | ratio: median, best |"
    );
    println!("|---|---|---|---|");
    for windows in [10_000, 100_000, 400_000] {
        measure(windows);
    }
}

fn measure(windows: u64) {
    let dir = std::env::temp_dir().join(format!("brain-bench-vectors-{}", std::process::id()));
    let (vectors, _) =
        Vectors::open(&dir, "bench", "bench", DIMENSIONS).expect("the directory is not writable");
    let mut random_state = 1_u64;
    let mut vector = || -> Vec<f32> {
        let numbers: Vec<f32> = (0..DIMENSIONS)
            .map(|_| {
                random_state = random_state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (random_state >> 40) as f32 / 16_777_216.0 - 0.5
            })
            .collect();
        let length = numbers.iter().map(|x| x * x).sum::<f32>().sqrt();
        numbers.into_iter().map(|x| x / length).collect()
    };
    for page in 0..windows / WINDOWS_PER_PAGE {
        let page_windows: Vec<WindowVector> = (0..WINDOWS_PER_PAGE)
            .map(|_| WindowVector { start: 0, end: 1, vector: vector() })
            .collect();
        vectors.put(page, Key([0; 16]), &page_windows).expect("the vectors have another length");
    }
    let words = vec![3_u64; windows as usize * DIMENSIONS / 8];
    let queries: Vec<Vec<f32>> = (0..RUNS).map(|_| vector()).collect();
    // Searches and sums alternate, so that other load on the machine affects both.
    let (mut searches, mut sums) = (Vec::new(), Vec::new());
    for query in &queries {
        let began = Instant::now();
        let found = black_box(vectors.search(black_box(query), 200, &|page| page % 100 != 0));
        searches.push(began.elapsed());
        assert_eq!(found.len(), 200, "the search returns as many pages as its limit");
        let began = Instant::now();
        black_box(Arch::new().dispatch(Sum(black_box(&words))));
        sums.push(began.elapsed());
    }
    let (search, sum) = (median_and_minimum(searches), median_and_minimum(sums));
    println!(
        "| {windows} | {:.2} ms, {:.2} ms | {:.2} ms, {:.2} ms | {:.2}, {:.2} |",
        search.0,
        search.1,
        sum.0,
        sum.1,
        search.0 / sum.0,
        search.1 / sum.1
    );
    let _ = std::fs::remove_dir_all(&dir);
}

/// Returns median and minimum in milliseconds.
fn median_and_minimum(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let at = |n: usize| times[n].as_secs_f64() * 1e3;
    (at(times.len() / 2), at(0))
}
