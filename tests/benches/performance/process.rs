//! Reads figures of a process from the kernel, and waits until a daemon is idle.

use std::time::{Duration, Instant};

use brain_protocol::{Reply, Request, Status};
use brain_tests::{TEST_TIMEOUT, TestHome};

/// Waits until the daemon with this process id is idle: it has used hardly any processor time for 3
/// seconds and has no work left. Returns the processor time that it used meanwhile, in seconds.
pub(crate) fn wait_until_idle(pid: u32, home: &TestHome) -> f64 {
    const IDLE_TIME: Duration = Duration::from_secs(3);
    // Merging the segments of a million pages takes minutes.
    let deadline = Instant::now() + TEST_TIMEOUT * 10;
    let mut client = home.connect().unwrap();
    let first_ticks = ticks(pid);
    let (mut last_ticks, mut idle_since) = (first_ticks, Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(250));
        let Ok(Reply::Status(status)) = client.ask(&Request::Status(Status)) else {
            panic!("no status")
        };
        let now = ticks(pid);
        // A status request costs at most a tick; a merge of the index uses a whole core.
        if (status.index_behind, status.degraded.is_empty()) != (0, true) || now > last_ticks + 3.0
        {
            (last_ticks, idle_since) = (now, Instant::now());
        }
        if idle_since.elapsed() >= IDLE_TIME {
            return (now - first_ticks) / TICKS;
        }
        assert!(
            Instant::now() < deadline,
            "the daemon is not idle: index behind by {}, degraded: {:?}",
            status.index_behind,
            status.degraded
        );
    }
}

/// Resets the peak memory (`VmHWM`) of a process (proc_pid_clear_refs(5)).
pub(crate) fn reset_peak_memory(pid: u32) {
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
}

/// Ticks of processor time in a second.
pub(crate) const TICKS: f64 = 100.0;

/// Returns the processor time of a process in ticks, including ended threads (`utime` and `stime`,
/// proc_pid_stat(5)).
pub(crate) fn ticks(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit_once(") ").unwrap().1;
    rest.split(' ').skip(11).take(2).map(|field| field.parse::<f64>().unwrap()).sum()
}

/// Returns the value of the field `name` in `/proc/<pid>/status`, in MB of 1,000,000 bytes.
pub(crate) fn memory(pid: u32, name: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0 / 1e6
}
