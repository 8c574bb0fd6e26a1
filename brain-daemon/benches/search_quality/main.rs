//! Measures the quality of ranking with known questions and answers in a real brain (store, index,
//! links, vectors).
//!
//! `cargo bench -p brain-daemon --bench search_quality -- --write docs/search-quality.md`
//!
//! `--sets` measures the generated sets only, without vectors; `--check FILE` fails if one of their
//! figures is more than a point below that in FILE; `--only NAMES` selects sets; `--misses` prints
//! questions with missed answers.
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
mod sets;

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
    without_vectors: Figures,
    with_vectors: Option<Figures>,
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
    let only = after("--only");
    let is_selected =
        |set: &Set| only.is_none_or(|only| only.split(',').any(|name| set.name == name));
    let verbose = args.iter().any(|a| a == "--misses");
    let generated: Vec<Row> = sets::sets()
        .iter()
        .filter(|set| is_selected(set))
        .map(|set| measure(set, None, verbose))
        .collect();
    let path = |flag: &str| after(flag).map(|path| root.join(path));
    if args.iter().any(|a| a == "--sets") {
        if let Some(path) = path("--write") {
            let page = fs::read_to_string(&path).expect("read the page");
            let page = report::with_generated(&page, &generated);
            fs::write(&path, page).expect("write the page");
        }
        if let Some(path) = path("--check") {
            let regressions =
                report::regressions(&fs::read_to_string(path).expect("read it"), &generated);
            assert!(regressions.is_empty(), "figures fell:\n{}", regressions.join("\n"));
        }
        return;
    }
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
    sets.retain(is_selected);
    let model = std::env::var_os("BRAIN_TEST_MODEL").map(PathBuf::from);
    let rows: Vec<Row> = sets.iter().map(|set| measure(set, model.as_deref(), verbose)).collect();
    let page = report::with_generated(&report::page(&rows, model.is_some()), &generated);
    print!("{page}");
    if let Some(path) = path("--write") {
        fs::write(&path, page).expect("write the page");
    }
}

fn measure(set: &Set, model: Option<&Path>, verbose: bool) -> Row {
    let home = BrainHome::with(set);
    let open = home.open(None);
    let links = home.count_links(&open);
    let without_vectors = figures::ask(set, &home, &open, verbose);
    drop(open);
    let with_vectors = model.map(|model| {
        let open = home.open(Some(model));
        home.embed(&open);
        figures::ask(set, &home, &open, verbose)
    });
    let row =
        Row { name: set.name.clone(), docs: set.docs.len(), links, without_vectors, with_vectors };
    eprintln!("{}", report::line(&row));
    row
}
