//! Scheduled runs of the real daemon with the real clock. The test waits for the run at the next
//! full minute.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use brain_tests::TestHome;
use brain_tests::platform::{APP_TOKEN, Platform, PlatformServer, Time};
use serde_json::Value;

#[test]
fn the_daemon_collects_by_itself_at_the_full_minute() {
    let platform = Platform::new(Time::System);
    let ada = platform.create_account("ada");
    let post = platform.post(&ada, "On latency");
    let server = PlatformServer::start(&platform, false);
    let mut home = TestHome::new();
    for (name, value) in
        [("PLATFORM_API", server.url()), ("USER_ID", ada), ("EVERY", "1m".to_owned())]
    {
        home.env.push((format!("BRAIN_COLLECTOR_{name}"), value));
    }
    fs::create_dir_all(home.path().join("secrets")).unwrap();
    let token = home.path().join("secrets/platform-bearer-token");
    fs::write(&token, APP_TOKEN).unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let _daemon = home.daemon();
    let state = home.path().join("collector/data/state.json");
    let last_start = || {
        let state: Value = serde_json::from_str(&fs::read_to_string(&state).ok()?).ok()?;
        Some(state["last_report"]["started_at"].as_str()?.to_owned())
    };
    // Two minutes, plus the time of a start and two runs on a busy machine.
    let deadline = Instant::now() + Duration::from_secs(180);
    let wait_for_start = |condition: &dyn Fn(&str) -> bool| loop {
        if let Some(at) = last_start().filter(|at| condition(at)) {
            return at;
        }
        assert!(Instant::now() < deadline, "{:?} {}", last_start(), home.log());
        std::thread::sleep(Duration::from_millis(100));
    };
    // A run is due every minute, so the first is due at the start.
    let first = wait_for_start(&|_| true);
    assert!(home.path().join(format!("collector/data/tweets/own/{post}.json")).exists());
    let second = wait_for_start(&|at| at != first);
    assert_ne!(second[..16], first[..16], "at most one run begins in a minute");
    assert!(
        second[17..19].parse::<u32>().unwrap() < 30,
        "{second}: the run starts at the full minute"
    );
}
