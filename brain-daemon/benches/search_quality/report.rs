//! The report with its tables and goals.

use std::fmt::Write as _;
use std::process::Command;

use crate::answers::AnswerRow;
use crate::figures::Figures;
use crate::{Generated, Row, obsidian};

/// Goals: name of the set, whether with vectors, measure, minimum. Goals without vectors are the
/// best full-text figures known before this program. Goals with vectors are the best figures of a
/// ranking that adds cosines on a fixed scale.
const GOALS: [(&str, bool, &str, f64); 13] = [
    ("scifact", false, "nDCG@10", 0.69),
    ("locomo-session", false, "recall@5", 0.86),
    ("jsquad-ja", false, "nDCG@10", 0.93),
    ("xquad-zh", false, "nDCG@10", 0.95),
    ("xquad-th", false, "nDCG@10", 0.93),
    ("brainbench-relational", false, "recall@5", 0.97),
    ("brainbench-relational", true, "recall@5", 0.97),
    ("brainbench-relational-obsidian", false, "recall@5", 0.97),
    ("brainbench-relational-obsidian", true, "recall@5", 0.97),
    ("scifact", true, "nDCG@10", 0.73),
    ("locomo-session", true, "nDCG@10", 0.82),
    ("brainbench-concept", true, "nDCG@10", 0.78),
    ("xquad-en", true, "nDCG@10", 0.98),
];

const HEAD: &str = "# Search quality

Measure the search quality on your machine:

```sh
cargo bench -p brain-daemon --bench search_quality -- --write docs/search-quality.md
```

`BRAIN_RETRIEVAL_DATA` names the directory of the test sets, and `BRAIN_TEST_MODEL` the directory of
a local embedding model (here all-MiniLM-L6-v2). `BRAIN_QUALITY_CACHE` names a directory that keeps
vectors for the next run.

The benchmark asks questions with known answers. It uses a complete brain with store, index and
links, and optionally vectors. Each document is a page with its title, its text, and its id as slug.
All sets use the same configuration. nDCG@10, recall and MRR are means over the questions. The time
is the median over the searches, with passages. *Live links* are links between the set's pages.

The benchmark generates `films-relational` and `films-plain`. They test the ranking by links
with data for which it was not developed: other kinds of pages and questions, in English and German.
`films-plain` asks questions about the same pages for which links must not change the results.

";

/// The largest change of a figure for the worse that the check accepts.
const MAX_LOSS: f64 = 0.01;

const GENERATED: &str = "## Generated sets

Invented pages, made by `brain-daemon/benches/search_quality/sets/`, without vectors:

| sets | questions |
|---|---|
| `films`, `relations` | pages that links connect with a named page |
| `phrase`, `quote-in-prose`, `phrase-with-gap`, `quoted-piece` | phrases; with a word left out or exchanged; quotes inside a question |
| `names`, `typos`, `apostrophe-names`, `accents` | names and words, in another order or mistyped |
| `dates`, `months`, `days-in-text`, `days-impossible`, `newest` | days, months, the newest or oldest of a kind |
| `commands` | pasted command lines |
| `properties`, `tags-in-words` | values of frontmatter, and tags |
| `versions`, `numbers` | versions and numbers, beside pages with the same digits in another order |
| `without`, `negation-in-title` | exclusion in words, and titles with `not` that exclude nothing |
| `mentions` | what links to a page or mentions it |
| `joined`, `code-names` | words joined, split, hyphenated; `camelCase`; controls as written |
| `essays-beside-chats`, `chats-beside-essays` | pages that repeat a phrase of the question, and pages that answer it |

*First* is the share of questions whose first hit is an answer. *Unwanted* is the share of the first
5 hits that the question excludes (`trust without game`). CI fails if a figure gets worse by more
than a point:

```sh
cargo test --workspace --bench search_quality -- --sets --check docs/search-quality.md
```

| set | documents | questions | first | recall@5 | recall@10 | nDCG@10 | unwanted | median µs |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
";

/// The section about answers of `ask`.
const ANSWERS: &str = "## Answers without a model

Questions to `brain ask` about an invented vault of people, meetings, projects, books and days, with
no language model. An answer is right if it has all names that it should have, and no other one of
their kind. If the vault does not say it, an answer without a list is right. *Wrong* is the share of
questions with another answer; the rest get passages only. CI holds both figures.

| set | documents | questions | right | wrong |
|---|---:|---:|---:|---:|
";

/// The section about measured alternatives.
const ALTERNATIVES: &str = "
## What was tried

nDCG@10 with all-MiniLM-L6-v2. Each line changes one thing in the current ranking. All lines were
computed from the same recorded results of words, vectors and links.

| | concept | relational | xquad-en | locomo | scifact | xquad-zh | xquad-th | jsquad-ja |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
| words and links alone | 0.739 | 0.981 | 0.970 | 0.827 | 0.700 | 0.958 | 0.957 | 0.941 |
| **current ranking** | 0.787 | 0.981 | 0.981 | 0.841 | 0.735 | 0.959 | 0.957 | 0.941 |
| weight of meaning 1.0 | 0.776 | 0.981 | 0.980 | 0.843 | 0.734 | 0.959 | 0.957 | 0.941 |
| weight of meaning 1.25 | 0.781 | 0.981 | 0.980 | 0.842 | 0.734 | 0.959 | 0.957 | 0.941 |
| weight of meaning 1.75 | 0.791 | 0.981 | 0.981 | 0.838 | 0.734 | 0.959 | 0.957 | 0.941 |
| weight of meaning 2.0 | 0.793 | 0.981 | 0.981 | 0.835 | 0.732 | 0.959 | 0.957 | 0.941 |
| meaning is zero if random windows reach a quarter of the scale (now: half) | 0.781 | 0.981 | 0.981 | 0.841 | 0.734 | 0.958 | 0.957 | 0.941 |
| no reduction for nearness to random windows | 0.790 | 0.981 | 0.981 | 0.836 | 0.734 | 0.961 | 0.957 | 0.922 |
| no reduction for unreadable questions | 0.787 | 0.981 | 0.981 | 0.841 | 0.735 | 0.961 | 0.950 | 0.941 |
| neither reduction | 0.790 | 0.981 | 0.981 | 0.836 | 0.734 | 0.957 | 0.870 | 0.917 |
| scale measured on the pages, as for an unknown model | 0.786 | 0.981 | 0.981 | 0.840 | 0.734 | 0.961 | 0.957 | 0.907 |
| the same, without checking whether the model can read the question | 0.786 | 0.981 | 0.981 | 0.840 | 0.734 | 0.957 | 0.918 | 0.899 |
| meaning counts fully beside links, as in an earlier version | 0.787 | 0.961 | 0.981 | 0.841 | 0.735 | 0.959 | 0.957 | 0.941 |

*Random windows* are a hundred text windows of the brain. Their nearness to a question is the median
cosine. The weight of meaning was chosen with concept, xquad-en, locomo-session and xquad-zh. The
other sets were measured afterwards. Their nDCG is better than with words alone, or at most 0.001
lower.

For films-relational it is 0.003 lower. If the meaning score of a weakly linked page exceeds its
link score, the page keeps the difference. Otherwise a link could lower a page's rank. The
reductions were chosen with all sets. Questions about relations gain nothing from meaning: words and
links suffice, and among equally linked pages, meaning was noise.

The model reads English. For an unknown model, the scale of its cosines is measured on the pages. An
endpoint does not say which languages its model can read. If the model does not know the language of
the pages, the loss is that of the second-to-last row. Use a model that knows your languages, or
none.
";

/// Formats a row for the terminal.
pub(crate) fn line(row: &Row) -> String {
    let formatted = |f: &Figures| {
        format!(
            "nDCG {:.4} R5 {:.4} R10 {:.4} first {:.4} {} us",
            f.ndcg10, f.recall5, f.recall10, f.first, f.median_us
        )
    };
    let with_vectors = row
        .with_vectors
        .as_ref()
        .map_or_else(String::new, |f| format!(" | with: {}", formatted(f)));
    format!(
        "{} ({} docs, {} links): {}{with_vectors}",
        row.name,
        row.docs,
        row.links,
        formatted(&row.without_vectors)
    )
}

/// Returns the page for the documentation.
pub(crate) fn page(rows: &[Row], with_vectors: bool) -> String {
    let mut out = String::from(HEAD);
    let _ = writeln!(
        out,
        "The tables without and with vectors are of {}, in an optimised\nbuild (`cargo bench`).\n",
        commit()
    );
    table(&mut out, "Without vectors", rows, false);
    if with_vectors {
        table(&mut out, "With vectors", rows, true);
        out.push_str(
            "## What vectors add\n\n| set | nDCG@10 without | with | difference |\n\
             |---|---:|---:|---:|\n",
        );
        for row in rows {
            if let Some(with_vectors) = &row.with_vectors {
                let (a, b) = (row.without_vectors.ndcg10, with_vectors.ndcg10);
                let _ = writeln!(out, "| {} | {a:.3} | {b:.3} | {:+.3} |", row.name, b - a);
            }
        }
    }
    obsidian_table(&mut out, rows);
    out.push_str(ALTERNATIVES);
    out
}

/// Returns the current commit with its date.
fn commit() -> String {
    let output = Command::new("git").args(["log", "-1", "--format=commit %h of %cs"]).output();
    output.ok().filter(|output| output.status.success()).map_or_else(
        || "an unknown commit".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// Returns `page` with the section of the generated sets added or replaced.
pub(crate) fn with_generated(page: &str, generated: &Generated) -> String {
    let alternatives = page.find(ALTERNATIVES.trim_start()).unwrap_or(page.len());
    let begin = page.find(GENERATED).unwrap_or(alternatives);
    let mut out = page[..begin].to_owned();
    out.push_str(GENERATED);
    for row in &generated.rows {
        let _ = writeln!(out, "{}", generated_line(row));
    }
    out.push('\n');
    if let Some(AnswerRow { name, docs, questions, right, wrong }) = &generated.answers {
        out.push_str(ANSWERS);
        let _ = writeln!(out, "| {name} | {docs} | {questions} | {right:.3} | {wrong:.3} |\n");
    }
    out.push_str(&page[alternatives..]);
    out
}

fn generated_line(row: &Row) -> String {
    let Figures { questions, ndcg10, recall5, recall10, first, unwanted5, median_us, .. } =
        row.without_vectors;
    let unwanted = unwanted5.map_or_else(String::new, |share| format!("{share:.3}"));
    format!(
        "| {} | {} | {questions} | {first:.3} | {recall5:.3} | {recall10:.3} | {ndcg10:.3} | \
         {unwanted} | {median_us} |",
        row.name, row.docs
    )
}

/// Returns a line for each figure that is more than [`MAX_LOSS`] worse than that in `page`, and for
/// each set that only `page` has.
pub(crate) fn regressions(page: &str, generated: &Generated) -> Vec<String> {
    let mut regressions = Vec::new();
    for cells in table_rows(page, GENERATED) {
        let [_, name, _, _, figures @ .., _, _] = cells.as_slice() else { continue };
        let Some(row) = generated.rows.iter().find(|row| row.name == *name) else {
            regressions.push(format!("{name}: not measured"));
            continue;
        };
        let f = &row.without_vectors;
        let now = [Some(f.first), Some(f.recall5), Some(f.recall10), Some(f.ndcg10), f.unwanted5];
        let labels = ["first", "recall@5", "recall@10", "nDCG@10", "unwanted"];
        for ((before, now), label) in figures.iter().zip(now).zip(labels) {
            regressions.extend(regression(name, label, before, now));
        }
    }
    for cells in table_rows(page, ANSWERS) {
        let [_, name, _, _, right, wrong, _] = cells.as_slice() else { continue };
        let Some(row) = &generated.answers else {
            regressions.push(format!("{name}: not measured"));
            continue;
        };
        regressions.extend(regression(name, "right", right, Some(row.right)));
        regressions.extend(regression(name, "wrong", wrong, Some(row.wrong)));
    }
    regressions
}

/// Returns the cells of the rows of the table at the end of `heading` in `page`.
fn table_rows<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let table = page.split_once(heading).map_or("", |(_, rest)| rest);
    let table = table.split("\n\n").next().unwrap_or_default();
    table.lines().map(|line| line.split('|').map(str::trim).collect()).collect()
}

/// Returns a line if a figure is worse than before. An empty cell has no figure.
fn regression(name: &str, label: &str, before: &str, now: Option<f64>) -> Option<String> {
    let before: f64 = before.parse().ok()?;
    let now = now?;
    let loss = if ["unwanted", "wrong"].contains(&label) { now - before } else { before - now };
    (loss > MAX_LOSS).then(|| format!("{name}: {label} was {before:.3}, now {now:.3}"))
}

/// Writes a table that compares sets with their Obsidian form.
fn obsidian_table(out: &mut String, rows: &[Row]) {
    let base = |row: &Row| {
        let name = row.name.strip_suffix(obsidian::SUFFIX)?;
        rows.iter().find(|base| base.name == name)
    };
    let pairs: Vec<(&Row, &Row)> = rows.iter().filter_map(|row| Some((base(row)?, row))).collect();
    if pairs.is_empty() {
        return;
    }
    out.push_str(
        "\n## Titles and names of files\n\n\
         Sets that end with `-obsidian` have the same pages as Obsidian writes them. The name of \
         the file\nis the title, links are `[[Name]]`, and no page has `title:`. A title that \
         cannot be the name of a\nfile is an alias.\n\n\
         | set | vectors | recall@5 with titles | as in Obsidian | nDCG@10 with titles \
         | as in Obsidian |\n\
         |---|---|---:|---:|---:|---:|\n",
    );
    for (original, in_obsidian) in pairs {
        let figures = [
            ("no", Some(&original.without_vectors), Some(&in_obsidian.without_vectors)),
            ("yes", original.with_vectors.as_ref(), in_obsidian.with_vectors.as_ref()),
        ];
        for (vectors, a, b) in figures {
            let (Some(a), Some(b)) = (a, b) else { continue };
            let _ = writeln!(
                out,
                "| {} | {vectors} | {:.3} | {:.3} | {:.3} | {:.3} |",
                original.name, a.recall5, b.recall5, a.ndcg10, b.ndcg10
            );
        }
    }
}

fn table(out: &mut String, title: &str, rows: &[Row], with_vectors: bool) {
    let _ = writeln!(
        out,
        "## {title}\n\n\
         | set | documents | live links | questions | nDCG@10 | recall@5 | recall@10 | MRR@10 \
         | median µs | goal |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    );
    for row in rows {
        let Some(f) =
            (if with_vectors { row.with_vectors.as_ref() } else { Some(&row.without_vectors) })
        else {
            continue;
        };
        let goals: Vec<String> = GOALS
            .iter()
            .filter(|(set, needs_vectors, ..)| *set == row.name && *needs_vectors == with_vectors)
            .map(|(_, _, measure, goal)| {
                let value = if *measure == "nDCG@10" { f.ndcg10 } else { f.recall5 };
                format!("{measure} {goal:.2}: {}", if value >= *goal { "yes" } else { "**no**" })
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
            goals.join(", "),
        );
    }
    out.push('\n');
}
