//! A large import on one machine of a shared brain arrives on the other one.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use brain_tests::{TestHome, report};

use crate::crash::{Rng, rare_word};
use crate::machines::{Shared, server, wait_until};
use crate::machines_fixture::{compare_running, wait_until_settled};

/// The pages of the import, and the size of each: together about 100 MB.
const PAGES: usize = 200;
const PAGE_BYTES: usize = 500_000;

#[test]
fn an_import_of_100_mb_arrives_on_the_other_machine() {
    let Some(url) = server() else { return };
    let (_shared, laptop, desktop) = Shared::two_machines(url);
    let dir = laptop.outside().join("notes");
    std::fs::create_dir_all(&dir).unwrap();
    let bytes: usize = (0..PAGES).map(|number| write_page(&dir, number)).sum();
    assert!(bytes >= 100_000_000, "{bytes}");
    let began = Instant::now();
    let reply = laptop.json(["import", dir.to_str().unwrap()]);
    assert_eq!((&reply["created"], &reply["failed_total"]), (&PAGES.into(), &0.into()), "{reply}");
    let imported = began.elapsed();
    wait_until("the last page", Duration::from_secs(120), || found(&desktop, PAGES - 1));
    let arrived = began.elapsed() - imported;
    wait_until_settled(&[&laptop, &desktop]);
    for number in [0, PAGES / 2] {
        assert!(found(&desktop, number));
        let file = desktop.page_file(&format!("large-{number}"));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(&rare_word(0, number)) && text.len() >= PAGE_BYTES);
    }
    compare_running(&[&laptop, &desktop]);
    report(&format!(
        "machines: {} MB imported in {imported:.1?}, then visible on the other in {arrived:.1?}",
        bytes / 1_000_000
    ));
}

fn found(home: &TestHome, number: usize) -> bool {
    home.search(&rare_word(0, number)) == [format!("large-{number}")]
}

/// Writes a page of random words. Returns its size.
fn write_page(dir: &std::path::Path, number: usize) -> usize {
    let mut rng = Rng::from_seed(number as u64);
    let mut text = format!("# Large {number}\n\n{} is only here.\n\n", rare_word(0, number));
    let mut words = 0;
    while text.len() < PAGE_BYTES {
        words += 1;
        let end = if words % 12 == 0 { "\n\n" } else { " " };
        let _ = write!(text, "w{:05x}{end}", rng.below(200_000));
    }
    std::fs::write(dir.join(format!("large-{number}.md")), &text).unwrap();
    text.len()
}
