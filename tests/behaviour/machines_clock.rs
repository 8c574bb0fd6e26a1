//! A machine of a shared brain whose clock is an hour ahead.

use brain_base::caller::Caller;
use brain_base::clock::rfc3339;
use brain_core::NoProgress;
use brain_protocol::{
    CheckStatus, Doctor, DoctorReply, MachinesStatus, MachinesStatusReply, Request, WriteStatus,
};
use brain_tests::{TestHome, capture, expect_reply};

use crate::machines::{Shared, VISIBLE, has_page, server, wait_until};
use crate::machines_fixture::{compare_running, wait_until_settled};
use crate::mock_clock::{HOUR, MockClock};

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

#[test]
fn a_clock_ahead_is_told_and_does_no_harm() {
    let Some(url) = server() else { return };
    let (_shared, laptop, desktop) = Shared::two_machines(url);
    desktop.brain(["stop"]).expect(0);
    laptop.put("second", "Written while the desktop is off.");
    let slug = {
        let clock = MockClock::at(&rfc3339(now() + HOUR));
        let brain = clock.open_brain(desktop.path().parent().unwrap(), 7);
        let ask = |request| brain.answer(&Caller::local(0), request, &NoProgress);
        brain.follow_machines();
        let status: MachinesStatusReply =
            expect_reply!(ask(Request::MachinesStatus(MachinesStatus)), MachinesStatus);
        assert_eq!((status.state.as_str(), status.behind), ("ready", 0), "{status:?}");
        let difference = status.clock_difference_ms.unwrap();
        assert!((difference + HOUR).abs() < 60_000, "{difference}");
        assert!(status.warnings.iter().any(|text| text.contains("clocks")), "{status:?}");
        let doctor: DoctorReply =
            expect_reply!(ask(Request::Doctor(Doctor { fix: false })), Doctor);
        let check = doctor.checks.iter().find(|check| check.name == "machines").unwrap();
        assert_eq!(check.status, CheckStatus::Warn, "{check:?}");
        assert!(check.message.contains("ahead of that of the server"), "{check:?}");
        // Leases are kept by the server's clock: this machine takes none that the laptop has.
        brain.renew_leases();
        let written = expect_reply!(ask(capture("A wombat from the future.")), Write);
        assert_eq!(written.status, WriteStatus::Created);
        written.slug.to_string()
    };
    wait_until("the page on the laptop", VISIBLE, || has_page(&laptop, &slug));
    let holds = |home: &TestHome| {
        let status = home.json(["machines", "status"]);
        let leases = status["leases"].as_array().unwrap().clone();
        leases.iter().filter(|lease| lease["this"] == true).count()
    };
    assert!(holds(&laptop) > 0, "the laptop still has its leases");
    laptop.put("third", "Written by the slower clock, after it.");
    wait_until_settled(&[&laptop, &desktop]);
    assert!(has_page(&desktop, "third"));
    compare_running(&[&laptop, &desktop]);
}
