//! The table.

use std::fmt::Write as _;

use crate::Row;
use crate::figures::Figures;

/// What must be reached: set, with vectors or without, measure, how much. Without vectors the best full-text figures measured before this
/// project began, with them the best of fixed-scale fusion.
const BARS: [(&str, bool, &str, f64); 11] = [
    ("scifact", false, "nDCG@10", 0.69),
    ("locomo-session", false, "recall@5", 0.86),
    ("jsquad-ja", false, "nDCG@10", 0.93),
    ("xquad-zh", false, "nDCG@10", 0.95),
    ("xquad-th", false, "nDCG@10", 0.93),
    ("brainbench-relational", false, "recall@5", 0.97),
    ("brainbench-relational", true, "recall@5", 0.97),
    ("scifact", true, "nDCG@10", 0.73),
    ("locomo-session", true, "nDCG@10", 0.82),
    ("brainbench-concept", true, "nDCG@10", 0.78),
    ("xquad-en", true, "nDCG@10", 0.98),
];

const HEAD: &str = "# Search quality

Questions with known answers, asked of a whole brain: its store, its index, its links, and with a model its vectors. Each document of a set is a
page with its title as title, its text as body and its id as slug; one configuration for every set. nDCG@10, recall and MRR are means over
the questions; the time is the median of one search with its passages, on the machine that ran this. *live links* are those
between the set's pages. `films-relational` and `films-plain` are made by the benchmark itself: another linked corpus than the one that
the rule for links was written with, with other kinds of pages and other forms of questions, in English and German; the second has questions
over the same pages that links must not spoil.

Repeat: `cargo bench -p brain-daemon --bench search_quality -- --write docs/search-quality.md`, with `BRAIN_RETRIEVAL_DATA` naming the
directory of the sets, `BRAIN_TEST_MODEL` that of a local embedding model (all-MiniLM-L6-v2 here) and `BRAIN_QUALITY_CACHE` one where vectors are kept for
the next run.

";

/// What was tried on the way, for whoever tries again.
const TRIED: &str = "
## What was tried

nDCG@10 with all-MiniLM-L6-v2; each line is one change of what is used now. It was worked out from the answers of words, vectors and links to all
questions, which were written down once.

| | concept | relational | xquad-en | locomo | scifact | xquad-zh | xquad-th | jsquad-ja |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
| words and links alone | 0.739 | 0.981 | 0.970 | 0.827 | 0.700 | 0.958 | 0.957 | 0.941 |
| **as it is** | 0.787 | 0.981 | 0.981 | 0.841 | 0.735 | 0.959 | 0.957 | 0.941 |
| meaning counts 1.0 | 0.776 | 0.981 | 0.980 | 0.843 | 0.734 | 0.959 | 0.957 | 0.941 |
| meaning counts 1.25 | 0.781 | 0.981 | 0.980 | 0.842 | 0.734 | 0.959 | 0.957 | 0.941 |
| meaning counts 1.75 | 0.791 | 0.981 | 0.981 | 0.838 | 0.734 | 0.959 | 0.957 | 0.941 |
| meaning counts 2.0 | 0.793 | 0.981 | 0.981 | 0.835 | 0.732 | 0.959 | 0.957 | 0.941 |
| nothing counts from a quarter of the scale by chance on, not half | 0.781 | 0.981 | 0.981 | 0.841 | 0.734 | 0.958 | 0.957 | 0.941 |
| nearness by chance takes nothing away | 0.790 | 0.981 | 0.981 | 0.836 | 0.734 | 0.961 | 0.957 | 0.922 |
| whether the model can read the question does not matter | 0.787 | 0.981 | 0.981 | 0.841 | 0.735 | 0.961 | 0.950 | 0.941 |
| neither of the two | 0.790 | 0.981 | 0.981 | 0.836 | 0.734 | 0.957 | 0.870 | 0.917 |
| the scale measured on the pages, as for a model that is not known | 0.786 | 0.981 | 0.981 | 0.840 | 0.734 | 0.961 | 0.957 | 0.907 |
| that, and whether it can read the question is not known | 0.786 | 0.981 | 0.981 | 0.840 | 0.734 | 0.957 | 0.918 | 0.899 |
| nearness counts beside links too, as it did before | 0.787 | 0.961 | 0.981 | 0.841 | 0.735 | 0.959 | 0.957 | 0.941 |

*By chance* is the median cosine of the question with a hundred windows of the brain. The weight of meaning was chosen while looking at concept, xquad-en,
locomo-session and xquad-zh; scifact, jsquad-ja, the other xquad sets and the films were measured afterwards, and their nDCG is better than that of the words, or within 0.001 of it; that of films-relational is 0.003
less, because an answer that is linked weakly keeps what its nearness is worth beyond the link. Without that it would be as without vectors, and a page would lose by
being linked. What takes nearness away
was chosen while looking at all of them. Where links answer, the questions gain nothing from the meaning: the words and the links have it already, and
among pages that are linked alike nearness was noise.

The model reads English. With one that is not known to this program, what its cosines mean is measured on the pages, and an endpoint does not tell what it can read: one
that does not know the language of the pages costs what the last line but one shows. Take a model that knows it, or none.
";

/// One row, for the impatient.
pub(crate) fn line(row: &Row) -> String {
    let of = |f: &Figures| {
        format!("nDCG {:.4} R5 {:.4} R10 {:.4} {} us", f.ndcg10, f.recall5, f.recall10, f.median_us)
    };
    let with = row.with.as_ref().map_or_else(String::new, |f| format!(" | with: {}", of(f)));
    format!("{} ({} docs, {} links): {}{with}", row.name, row.docs, row.links, of(&row.without))
}

/// The page for the documentation.
pub(crate) fn page(rows: &[Row], with: bool) -> String {
    let mut out = String::from(HEAD);
    table(&mut out, "Without vectors", rows, false);
    if with {
        table(&mut out, "With vectors", rows, true);
        out.push_str(
            "## What vectors add\n\n| set | nDCG@10 without | with | difference |\n|---|---:|---:|---:|\n",
        );
        for row in rows {
            if let Some(with) = &row.with {
                let (a, b) = (row.without.ndcg10, with.ndcg10);
                let _ = writeln!(out, "| {} | {a:.3} | {b:.3} | {:+.3} |", row.name, b - a);
            }
        }
    }
    out.push_str(TRIED);
    out
}

fn table(out: &mut String, title: &str, rows: &[Row], with: bool) {
    let _ = writeln!(
        out,
        "## {title}\n\n\
         | set | documents | live links | questions | nDCG@10 | recall@5 | recall@10 | MRR@10 | median µs | to reach |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    );
    for row in rows {
        let Some(f) = (if with { row.with.as_ref() } else { Some(&row.without) }) else { continue };
        let bars: Vec<String> = BARS
            .iter()
            .filter(|(set, of, ..)| *set == row.name && *of == with)
            .map(|(_, _, what, bar)| {
                let value = if *what == "nDCG@10" { f.ndcg10 } else { f.recall5 };
                format!("{what} {bar:.2}: {}", if value >= *bar { "yes" } else { "**no**" })
            })
            .collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {} | {} |",
            row.name,
            row.docs,
            row.links,
            f.questions,
            f.ndcg10,
            f.recall5,
            f.recall10,
            f.mrr10,
            f.median_us,
            bars.join(", "),
        );
    }
    out.push('\n');
}
