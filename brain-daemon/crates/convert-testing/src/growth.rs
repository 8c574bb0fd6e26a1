//! Compares how long texts of two sizes take.

use std::fs;

/// Times that are too short to compare, in nanoseconds.
const SHORT: u64 = 200_000_000;
/// Number of attempts. Other work on the machine can slow one of them down.
const ATTEMPTS: usize = 3;

/// Checks that `run` takes about linear time: for `size` at most eight times as long as for a
/// quarter of it. Quadratic time would be sixteen times as long. Counts only the processor time of
/// this thread, so a machine under load does not matter. Without Linux it only runs.
///
/// # Panics
/// If it takes longer.
pub fn assert_linear(name: &str, size: usize, mut run: impl FnMut(usize)) {
    let mut times = Vec::new();
    for _ in 0..ATTEMPTS {
        let start = processor_time();
        run(size / 4);
        let middle = processor_time();
        run(size);
        let (short, long) = (middle - start, processor_time() - middle);
        if long <= 8 * short + SHORT {
            return;
        }
        times.push((short, long));
    }
    panic!("{name}: nanoseconds for a quarter and for all: {times:?}");
}

/// Returns the processor time of this thread in nanoseconds; 0 without Linux.
fn processor_time() -> u64 {
    let times = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    times.split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_work_passes() {
        assert_linear("count", 4_000_000, |size| {
            assert!((0..size).fold(0, |a, b| a ^ b) < size * 2);
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[should_panic(expected = "nanoseconds")]
    fn quadratic_work_fails() {
        assert_linear("pairs", 10_000, |size| {
            let pairs =
                (0..size).map(|a| (0..size).filter(|b| std::hint::black_box(a ^ b) == 1).count());
            assert!(pairs.sum::<usize>() <= size);
        });
    }
}
