//! How well the search room ranks: known questions with known answers, through the same index as the daemon's.
//!
//! `cargo bench -p brain-daemon --bench search_quality -- --write docs/search-quality.md`

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use brain_daemon::search::{Change, Index, IndexPage, Options, Question};
use brain_protocol::{Slug, SourceId};
use serde::Deserialize;

#[derive(Deserialize)]
struct Doc {
    id: String,
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Query {
    id: String,
    text: String,
    scope: Option<String>,
}

/// The figures of one set.
struct Row {
    name: String,
    docs: usize,
    queries: usize,
    ndcg: f64,
    recall5: f64,
    recall10: f64,
    mrr: f64,
    median_us: u128,
}

/// What must be reached: the best full-text figures measured before this project began.
const BARS: [(&str, &str, f64); 6] = [
    ("scifact", "nDCG@10", 0.69),
    ("locomo-session", "recall@5", 0.86),
    ("xquad-zh", "nDCG@10", 0.95),
    ("xquad-th", "nDCG@10", 0.93),
    ("jsquad-ja", "nDCG@10", 0.93),
    ("brainbench-concept", "nDCG@10", 0.73),
];

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // `cargo test` runs benchmarks too, and asks for nothing.
    if args.iter().any(|a| a == "--test" || a == "--list") {
        return;
    }
    let write = args
        .iter()
        .position(|a| a == "--write")
        .map(|i| PathBuf::from(args.get(i + 1).expect("--write PATH")));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let data = std::env::var_os("BRAIN_RETRIEVAL_DATA")
        .map_or_else(|| root.join("../shared/data/retrieval"), PathBuf::from);
    let Ok(sets) = fs::read_dir(&data) else {
        eprintln!("SKIPPED: there is no {}; set BRAIN_RETRIEVAL_DATA", data.display());
        return;
    };
    let mut sets: Vec<PathBuf> =
        sets.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.join("qrels.tsv").exists()).collect();
    sets.sort();
    let only = args.iter().position(|a| a == "--only").and_then(|i| args.get(i + 1));
    sets.retain(|p| only.is_none_or(|only| p.ends_with(only)));
    let rows: Vec<Row> = sets.iter().map(|set| measure(set)).collect();
    let page = page(&rows);
    print!("{page}");
    if let Some(path) = write {
        // Relative to the workspace, wherever cargo runs this.
        let path = if path.is_absolute() { path } else { root.join(path) };
        fs::write(&path, page).expect("write the page");
    }
}

fn lines<T: for<'a> Deserialize<'a>>(path: &Path) -> Vec<T> {
    let text = fs::read_to_string(path).expect("read the set");
    text.lines()
        .filter(|l| !l.trim().is_empty())
        .map(|l| serde_json::from_str(l).expect("a JSON line"))
        .collect()
}

fn measure(set: &Path) -> Row {
    let docs: Vec<Doc> = lines(&set.join("docs.jsonl"));
    let queries: Vec<Query> = lines(&set.join("queries.jsonl"));
    let mut wanted: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for line in fs::read_to_string(set.join("qrels.tsv")).expect("read the answers").lines() {
        let mut fields = line.split('\t');
        if let (Some(query), Some(doc), Some(grade)) = (fields.next(), fields.next(), fields.next()) {
            let grade: f64 = grade.trim().parse().unwrap_or(0.0);
            if grade > 0.0 {
                wanted.entry(query.to_owned()).or_default().insert(doc.to_owned(), grade);
            }
        }
    }
    let scoped = queries.iter().any(|q| q.scope.is_some());
    let source_of = |scope: &str| SourceId::parse(scope.to_lowercase()).expect("a scope that is a source");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (index, _) = Index::open(dir.path(), "quality", 0, Options::default()).expect("open the index");
    let mut changes = Vec::new();
    for (number, doc) in docs.iter().enumerate() {
        let source = match doc.id.split_once('/') {
            Some((scope, _)) if scoped => source_of(scope),
            _ => SourceId::default(),
        };
        changes.push(Change::Put(Arc::new(IndexPage {
            id: number as u64,
            seq: number as u64 + 1,
            source,
            slug: Slug::from_path(&doc.id).expect("an id that is a slug"),
            title: doc.title.clone(),
            aliases: Vec::new(),
            tags: Vec::new(),
            page_type: "note".into(),
            body: doc.text.as_str().into(),
            updated_at: 0,
        })));
    }
    index.push(changes);
    index.flush().expect("commit");
    let (mut ndcg, mut recall5, mut recall10, mut mrr) = (0.0, 0.0, 0.0, 0.0);
    let mut times = Vec::new();
    let mut count = 0;
    for query in &queries {
        let Some(answers) = wanted.get(&query.id) else { continue };
        let question = Question {
            text: query.text.clone(),
            limit: 20,
            sources: query.scope.as_deref().map(|scope| vec![source_of(scope)]),
            ..Question::default()
        };
        let begin = Instant::now();
        let found = index.search(&question).expect("search");
        times.push(begin.elapsed().as_micros());
        let grades: Vec<f64> = found
            .hits
            .iter()
            .take(10)
            .map(|hit| answers.get(&docs[hit.id as usize].id).copied().unwrap_or(0.0))
            .collect();
        let gain = |grades: &mut dyn Iterator<Item = f64>| -> f64 {
            grades.take(10).enumerate().map(|(i, g)| g / (i as f64 + 2.0).log2()).sum()
        };
        let mut ideal: Vec<f64> = answers.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        ndcg += gain(&mut grades.iter().copied()) / gain(&mut ideal.into_iter());
        let among =
            |n: usize| grades.iter().take(n).filter(|g| **g > 0.0).count() as f64 / answers.len() as f64;
        recall5 += among(5);
        recall10 += among(10);
        mrr += grades.iter().position(|g| *g > 0.0).map_or(0.0, |i| 1.0 / (i as f64 + 1.0));
        count += 1;
    }
    times.sort_unstable();
    let mean = |sum: f64| sum / f64::from(count.max(1));
    Row {
        name: set.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        docs: docs.len(),
        queries: count as usize,
        ndcg: mean(ndcg),
        recall5: mean(recall5),
        recall10: mean(recall10),
        mrr: mean(mrr),
        median_us: times.get(times.len() / 2).copied().unwrap_or(0),
    }
}

fn page(rows: &[Row]) -> String {
    let mut out = String::from(
        "# Search quality\n\n\
         Questions with known answers, asked of the daemon's own index with the daemon's own defaults: title as title, text \
         as body, one configuration for every set, full text only (no vectors, no links). nDCG@10, recall and MRR are means \
         over the questions; the time is the median of one search without snippets, in microseconds, on the machine \
         that ran this.\n\n\
         Repeat: `cargo bench -p brain-daemon --bench search_quality -- --write docs/search-quality.md`, with \
         `BRAIN_RETRIEVAL_DATA` naming the directory of the sets.\n\n\
         | set | documents | questions | nDCG@10 | recall@5 | recall@10 | MRR@10 | median µs | to reach |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---|\n",
    );
    for row in rows {
        let bar =
            BARS.iter().find(|(set, ..)| *set == row.name).map_or_else(String::new, |(_, what, bar)| {
                let value = if *what == "nDCG@10" { row.ndcg } else { row.recall5 };
                format!("{what} {bar:.2}: {}", if value >= *bar { "yes" } else { "**no**" })
            });
        let _ = writeln!(
            out,
            "| {} | {} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {} | {bar} |",
            row.name, row.docs, row.queries, row.ndcg, row.recall5, row.recall10, row.mrr, row.median_us,
        );
    }
    out
}
