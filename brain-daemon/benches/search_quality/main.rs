//! Measures the quality of ranking with known questions and answers in a real brain (store, index,
//! links, vectors).
//!
//! `cargo bench -p brain-daemon --bench search_quality -- --write docs/search-quality.md`
//!
//! | variable | meaning |
//! |---|---|
//! | `BRAIN_RETRIEVAL_DATA` | the directory of the sets |
//! | `BRAIN_TEST_MODEL` | the directory of a local embedding model; without it the columns with vectors stay empty |
//! | `BRAIN_QUALITY_CACHE` | a directory where vectors are kept for the next run; they are used for the very same text and model only |

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod brain_home;
mod figures;
mod films;
mod obsidian;
mod report;
mod set;

use std::fs;
use std::path::{Path, PathBuf};

use brain_home::BrainHome;
use figures::Figures;
use set::Set;

/// The figures of a set.
pub(crate) struct Row {
    name: String,
    docs: usize,
    links: u64,
    without: Figures,
    with: Option<Figures>,
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // `cargo test` also runs benchmarks, without arguments.
    if args.iter().any(|a| a == "--test" || a == "--list") {
        return;
    }
    let after = |flag: &str| args.iter().position(|a| a == flag).and_then(|i| args.get(i + 1));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let data = std::env::var_os("BRAIN_RETRIEVAL_DATA")
        .map_or_else(|| root.join("../shared/data/retrieval"), PathBuf::from);
    let mut sets: Vec<Set> = Vec::new();
    match fs::read_dir(&data) {
        Ok(found) => {
            let mut dirs: Vec<PathBuf> = found.filter_map(|e| Some(e.ok()?.path())).collect();
            dirs.retain(|dir| dir.join("qrels.tsv").exists());
            dirs.sort();
            sets = obsidian::with_obsidian_forms(dirs.iter().map(|dir| set::read(dir)).collect());
        }
        Err(_) => eprintln!("SKIPPED: there is no {}; set BRAIN_RETRIEVAL_DATA", data.display()),
    }
    sets.extend(films::sets());
    if let Some(only) = after("--only") {
        sets.retain(|set| only.split(',').any(|name| set.name == name));
    }
    let model = std::env::var_os("BRAIN_TEST_MODEL").map(PathBuf::from);
    let verbose = args.iter().any(|a| a == "--misses");
    let mut rows = Vec::new();
    for set in &sets {
        let row = measure(set, model.as_deref(), verbose);
        eprintln!("{}", report::line(&row));
        rows.push(row);
    }
    let page = report::page(&rows, model.is_some());
    print!("{page}");
    if let Some(path) = after("--write").map(PathBuf::from) {
        // Relative to the workspace, not to the current directory.
        let path = if path.is_absolute() { path } else { root.join(path) };
        fs::write(&path, page).expect("write the page");
    }
}

fn measure(set: &Set, model: Option<&Path>, verbose: bool) -> Row {
    let home = BrainHome::with(set);
    let open = home.open(None);
    let links = home.links(&open);
    let without = figures::ask(set, &home, &open, verbose);
    drop(open);
    let with = model.map(|model| {
        let open = home.open(Some(model));
        home.embed(&open);
        figures::ask(set, &home, &open, verbose)
    });
    Row { name: set.name.clone(), docs: set.docs.len(), links, without, with }
}
