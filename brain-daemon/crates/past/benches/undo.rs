//! Measures `undo --client --derived`: 1,000 pages that one client spoiled among 10,000, and what
//! was made from them in three generations. The owner changed a tenth of them since.
//!
//! Run with `cargo bench --workspace --bench undo`. Prints the time of the plan, of the undo with
//! its files, and of a second call, which finds nothing to do.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod fixture;

use std::time::Instant;

use brain_protocol::Undo;
use fixture::{TestBrain, client, owner};

const PAGES: usize = 10_000;
const SPOILED: usize = 1_000;
const GENERATIONS: usize = 3;

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        // `cargo test --all-targets` runs benches without this option.
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    let (owner, helm, quill) = (owner(), client("helm"), client("quill"));
    let body = |n: usize| format!("# Page {n}\n\nAn innocent line {n}.\n\nThe end.\n");
    for n in 0..PAGES {
        brain.put(&owner, &format!("notes/{n}"), &body(n), &[]);
    }
    for n in 0..SPOILED {
        // Half of the spoiled pages are new, and half were the owner's.
        let slug = if n % 2 == 0 { format!("notes/{n}") } else { format!("spoiled/{n}") };
        brain.put(&helm, &slug, &format!("{}\nA poisoned line {n}.\n", body(n)), &[]);
        let mut parent = slug.clone();
        for generation in 1..=GENERATIONS {
            let child = format!("derived/{generation}/{n}");
            brain.put(&quill, &child, &format!("A summary of poisoned line {n}.\n"), &[&parent]);
            parent = child;
        }
        if n % 10 == 0 {
            let text = brain.get(&slug).unwrap().body;
            brain.put(&owner, &slug, &format!("{text}\nThe owner's later line {n}.\n"), &[]);
        }
    }
    let undo = |dry_run| {
        let request =
            Undo { client: Some("helm".into()), derived: true, dry_run, ..Undo::default() };
        let began = Instant::now();
        let reply = brain.act(&owner, &[], || brain.past.undo(&owner, &request)).unwrap();
        (began.elapsed(), reply)
    };
    let (plan, _) = undo(true);
    let (done, reply) = undo(false);
    let (again, _) = undo(false);
    println!("pages: {PAGES}, spoiled: {SPOILED}, derived: {}", SPOILED * GENERATIONS);
    println!(
        "taken back: {}, kept in part: {}, to be made again: {}, untouched: {}",
        reply.taken_back, reply.kept_in_part, reply.to_be_made_again, reply.untouched
    );
    println!("plan: {plan:.2?}, undo with files: {done:.2?}, the same again: {again:.2?}");
    for n in 0..PAGES {
        let text = brain.get(&format!("notes/{n}")).unwrap().body;
        assert!(!text.contains("poisoned"), "{n}");
        assert!(text.contains(&format!("An innocent line {n}.")), "{n}");
        assert_eq!(text.contains("later line"), n < SPOILED && n % 10 == 0, "{n}");
    }
}
