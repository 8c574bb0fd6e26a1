//! A set of pages and questions with their answers.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use brain_protocol::SourceId;
use serde::Deserialize;

/// A document, which becomes a page.
#[derive(Clone, Deserialize)]
pub(crate) struct Doc {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) text: String,
    /// Lines of frontmatter besides the title.
    #[serde(default)]
    pub(crate) frontmatter: String,
    /// Its file, if it is not generated from the other fields.
    #[serde(skip)]
    pub(crate) file: Option<NoteFile>,
}

/// The file of a page.
#[derive(Clone)]
pub(crate) struct NoteFile {
    /// Its path without `.md`.
    pub(crate) path: String,
    pub(crate) content: String,
}

/// A question.
#[derive(Clone, Deserialize)]
pub(crate) struct Query {
    pub(crate) id: String,
    pub(crate) text: String,
    /// The prefix of the ids to search in.
    pub(crate) scope: Option<String>,
    /// Whether the question is still being typed, so that its last word may be incomplete.
    #[serde(default)]
    pub(crate) prefix: bool,
}

/// Pages, questions and answers.
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) docs: Vec<Doc>,
    pub(crate) queries: Vec<Query>,
    /// The relevance of each answer: id of the question → id of the document → relevance.
    pub(crate) wanted: HashMap<String, HashMap<String, f64>>,
    /// Documents that a question excludes: id of the question → ids of the documents. If the set
    /// has any, the share of them among the first hits is measured.
    pub(crate) unwanted: HashMap<String, HashSet<String>>,
    /// Whether the first part of each id is a source.
    pub(crate) has_sources: bool,
}

/// A question with its answers, and with pages that it must not show.
pub(crate) struct Question {
    pub(crate) text: String,
    /// The ids of the answers.
    pub(crate) wanted: Vec<String>,
    /// The ids of the pages that it excludes.
    pub(crate) unwanted: Vec<String>,
}

impl Set {
    /// Creates a set of questions with the ids of the documents that answer them.
    pub(crate) fn new(name: &str, docs: Vec<Doc>, questions: &[(String, Vec<String>)]) -> Self {
        let mut wanted = HashMap::new();
        let mut queries = Vec::new();
        for (number, (text, answers)) in questions.iter().enumerate() {
            let id = format!("q{number}");
            wanted.insert(id.clone(), answers.iter().map(|a| (a.clone(), 1.0)).collect());
            queries.push(Query { id, text: text.clone(), scope: None, prefix: false });
        }
        let (name, unwanted) = (name.to_owned(), HashMap::new());
        Self { name, docs, queries, wanted, unwanted, has_sources: false }
    }

    /// Creates a set of questions of which some exclude pages.
    pub(crate) fn with_unwanted(name: &str, docs: Vec<Doc>, questions: Vec<Question>) -> Self {
        let mut unwanted = HashMap::new();
        let mut pairs = Vec::new();
        for (number, question) in questions.into_iter().enumerate() {
            if !question.unwanted.is_empty() {
                unwanted.insert(format!("q{number}"), question.unwanted.into_iter().collect());
            }
            pairs.push((question.text, question.wanted));
        }
        Self { unwanted, ..Self::new(name, docs, &pairs) }
    }

    /// Returns the set with a source for each folder.
    pub(crate) fn with_sources(mut self) -> Self {
        self.has_sources = true;
        self
    }

    /// Returns the set with questions that are being typed.
    pub(crate) fn while_typing(mut self) -> Self {
        self.queries.iter_mut().for_each(|query| query.prefix = true);
        self
    }

    /// Returns whether the first part of each id is a source. So it is if questions have scopes.
    pub(crate) fn has_scopes(&self) -> bool {
        self.has_sources || self.queries.iter().any(|query| query.scope.is_some())
    }
}

/// Returns the source of a scope.
pub(crate) fn source(scope: &str) -> SourceId {
    SourceId::parse(scope.to_lowercase()).expect("a scope that is a source")
}

/// Reads the set in `dir`: `docs.jsonl`, `queries.jsonl`, and `qrels.tsv`, whose lines are the ids
/// of a question and a document, and the relevance.
pub(crate) fn read(dir: &Path) -> Set {
    let mut wanted: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for line in fs::read_to_string(dir.join("qrels.tsv")).expect("read the answers").lines() {
        let mut fields = line.split('\t');
        if let (Some(query), Some(doc), Some(grade)) = (fields.next(), fields.next(), fields.next())
        {
            let grade: f64 = grade.trim().parse().unwrap_or(0.0);
            if grade > 0.0 {
                wanted.entry(query.to_owned()).or_default().insert(doc.to_owned(), grade);
            }
        }
    }
    Set {
        name: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        docs: read_lines(&dir.join("docs.jsonl")),
        queries: read_lines(&dir.join("queries.jsonl")),
        wanted,
        unwanted: HashMap::new(),
        has_sources: false,
    }
}

/// Reads a file with a JSON value on each line.
fn read_lines<T: for<'a> Deserialize<'a>>(path: &Path) -> Vec<T> {
    let text = fs::read_to_string(path).expect("read the set");
    let lines = text.lines().filter(|l| !l.trim().is_empty());
    lines.map(|l| serde_json::from_str(l).expect("a JSON line")).collect()
}
