//! Measures the quality of ranking with known questions and answers in a real brain (store, index,
//! links, vectors).
//!
//! `cargo bench -p brain-daemon --bench search_quality -- --write docs/search-quality.md`
//!
//! `--sets` measures the generated sets only, without vectors. With `--sets`, `--check FILE` fails
//! if a figure is more than a point (0.01) worse than that in FILE. `--only NAMES` selects sets.
//! `--misses` prints questions with answers that are not among the first 5 hits, and questions to
//! `ask` without a right answer. `--scores` prints the parts of the scores of questions whose first
//! hit is no answer.
//!
//! Environment variables:
//!
//! - `BRAIN_RETRIEVAL_DATA`: the directory of the sets.
//! - `BRAIN_TEST_MODEL`: the directory of a local embedding model. Without it, nothing is measured
//!   with vectors.
//! - `BRAIN_QUALITY_CACHE`: a directory that keeps vectors for the next run. A vector is used only
//!   for the same text and model.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod answers;
mod brain_home;
mod figures;
mod films;
mod obsidian;
mod report;
mod set;
mod sets;

use std::fs;
use std::path::{Path, PathBuf};

use answers::AnswerRow;
use brain_home::BrainHome;
use figures::{Figures, Printed};
use set::Set;

/// The figures of a set.
pub(crate) struct Row {
    name: String,
    /// The number of documents.
    docs: usize,
    /// The number of live links.
    links: u64,
    without_vectors: Figures,
    with_vectors: Option<Figures>,
}

/// The figures of the generated sets.
pub(crate) struct Generated {
    rows: Vec<Row>,
    /// The figures of the questions to `ask`, if they are selected.
    answers: Option<AnswerRow>,
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // A test runner may list or run tests; there are none.
    if args.iter().any(|a| a == "--test" || a == "--list") {
        return;
    }
    let value_of = |flag: &str| args.iter().position(|a| a == flag).and_then(|i| args.get(i + 1));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let only = value_of("--only");
    let is_selected =
        |set: &Set| only.is_none_or(|only| only.split(',').any(|name| set.name == name));
    let ask_set = sets::ask::ask_set();
    let has = |flag: &str| args.iter().any(|a| a == flag);
    let printed = Printed { misses: has("--misses"), scores: has("--scores") };
    let generated: Vec<Row> = sets::sets()
        .iter()
        .filter(|set| is_selected(set))
        .map(|set| measure(set, None, printed))
        .collect();
    let generated = Generated {
        rows: generated,
        answers: is_selected(&ask_set.vault).then(|| answers::measure(&ask_set, printed.misses)),
    };
    let path = |flag: &str| value_of(flag).map(|path| root.join(path));
    if has("--sets") {
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
    let mut sets = match std::env::var_os("BRAIN_RETRIEVAL_DATA") {
        Some(dir) => sets_in(Path::new(&dir)),
        None => {
            eprintln!("SKIPPED: the test sets, because BRAIN_RETRIEVAL_DATA is not set");
            Vec::new()
        }
    };
    sets.extend(films::sets());
    sets.retain(is_selected);
    let model = std::env::var_os("BRAIN_TEST_MODEL").map(PathBuf::from);
    let rows: Vec<Row> = sets.iter().map(|set| measure(set, model.as_deref(), printed)).collect();
    let page = report::with_generated(&report::page(&rows, model.is_some()), &generated);
    print!("{page}");
    if let Some(path) = path("--write") {
        fs::write(&path, page).expect("write the page");
    }
}

/// Returns the sets in `dir`, and those of a vault in the forms that Obsidian writes.
fn sets_in(dir: &Path) -> Vec<Set> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut dirs: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    dirs.retain(|dir| dir.join("qrels.tsv").exists());
    dirs.sort();
    obsidian::with_obsidian_forms(dirs.iter().map(|dir| set::read(dir)).collect())
}

/// Measures a set without vectors and, with `model`, also with vectors.
fn measure(set: &Set, model: Option<&Path>, printed: Printed) -> Row {
    let home = BrainHome::with(set);
    let open = home.open(None);
    let links = home.count_links(&open);
    let without_vectors = figures::ask(set, &home, &open, printed);
    drop(open);
    let with_vectors = model.map(|model| {
        let open = home.open(Some(model));
        home.embed(&open);
        figures::ask(set, &home, &open, printed)
    });
    let row =
        Row { name: set.name.clone(), docs: set.docs.len(), links, without_vectors, with_vectors };
    eprintln!("{}", report::line(&row));
    row
}
