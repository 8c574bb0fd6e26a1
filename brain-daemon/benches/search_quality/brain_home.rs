//! A brain with the pages of a set, in a temporary home.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use brain_base::caller::Caller;
use brain_base::clock::SystemClock;
use brain_base::home::Home;
use brain_config::Config;
use brain_core::{Brain, NoProgress, Progress};
use brain_protocol::{
    Embed, Hit, Import, PageRef, Reply, Request, Slug, SourceAdd, SourceId, Status, Sync,
};
use tempfile::TempDir;

use crate::set::{Doc, Set, source};

/// The modification time of all files, as a duration since 1970.
const FILE_TIME: Duration = Duration::from_secs(1_600_000_000);

/// The home of a brain that is opened without vectors, then with them.
pub(crate) struct BrainHome {
    dir: TempDir,
    name: String,
    /// The id that the set gives each page.
    ids: HashMap<(SourceId, Slug), String>,
}

/// An open brain.
pub(crate) struct OpenBrain {
    brain: Arc<Brain>,
    caller: Caller,
}

impl OpenBrain {
    /// Answers one request.
    pub(crate) fn ask(&self, request: Request) -> Reply {
        self.brain.answer(&self.caller, request, &NoProgress).expect("an answer")
    }
}

impl BrainHome {
    /// Creates a home with the pages of `set`. A document without a file gets one that is generated
    /// from its id, title, frontmatter and text.
    pub(crate) fn with(set: &Set) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut home = Self { dir, name: set.name.clone(), ids: HashMap::new() };
        let mut sources = Vec::new();
        for doc in &set.docs {
            let path = doc.file.as_ref().map_or(&doc.id, |file| &file.path);
            let (scope, path) = match path.split_once('/') {
                Some((scope, path)) if set.has_scopes() => (scope, path),
                _ => ("", path.as_str()),
            };
            let file = home.source_dir(scope).join(format!("{path}.md"));
            fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
            fs::write(&file, file_text(doc)).expect("a file");
            // Pages with equal scores are ordered by date, so all files get the same one.
            let file = fs::File::options().write(true).open(file).expect("the file");
            file.set_modified(SystemTime::UNIX_EPOCH + FILE_TIME).expect("its time");
            if !sources.contains(&scope) {
                sources.push(scope);
            }
            let source_id = if scope.is_empty() { SourceId::default() } else { source(scope) };
            let slug = Slug::from_path(path).expect("an id that is a slug");
            let duplicate = home.ids.insert((source_id, slug), doc.id.clone());
            assert_eq!(duplicate, None, "each document has its own page");
        }
        let open = home.open(None);
        for scope in sources {
            let path = home.source_dir(scope).canonicalize().expect("a path").display().to_string();
            if scope.is_empty() {
                open.ask(Request::Import(Import {
                    path,
                    source: None,
                    format: None,
                    since: None,
                    dry_run: false,
                    scrub: false,
                }));
            } else {
                let id = source(scope);
                open.ask(Request::SourceAdd(SourceAdd {
                    id: id.clone(),
                    path,
                    settings: Default::default(),
                }));
                open.ask(Request::Sync(Sync { source: Some(id), embed: false, ..Sync::default() }));
            }
        }
        let Reply::Status(status) = open.ask(Request::Status(Status)) else { panic!("no status") };
        assert_eq!(status.pages, set.docs.len() as u64, "every document is a page");
        home
    }

    /// Returns the id that the set gives the page of a hit.
    pub(crate) fn id(&self, hit: &Hit) -> &str {
        self.ids.get(&(hit.source_id.clone(), hit.slug.clone())).expect("a page of the set")
    }

    /// Returns the number of live links of all pages.
    pub(crate) fn count_links(&self, open: &OpenBrain) -> u64 {
        let links = |(source, slug): &(SourceId, Slug)| {
            let page = PageRef { source: Some(source.clone()), slug: slug.clone() };
            match open.ask(Request::Links(page.into())) {
                Reply::Links(links) => {
                    links.links.iter().filter(|link| link.status.as_str() == "live").count() as u64
                }
                _ => 0,
            }
        };
        self.ids.keys().map(links).sum()
    }

    /// Returns the directory of the source of `scope`, or of the default source.
    fn source_dir(&self, scope: &str) -> PathBuf {
        self.dir.path().join("files").join(if scope.is_empty() { "default" } else { scope })
    }

    fn vector_dir(&self) -> PathBuf {
        self.dir.path().join("home/index/vectors")
    }

    /// Returns the directory that keeps the vectors of this set for the next run.
    fn cache_dir(&self) -> Option<PathBuf> {
        std::env::var_os("BRAIN_QUALITY_CACHE").map(|dir| PathBuf::from(dir).join(&self.name))
    }

    /// Opens the brain, with the local model in the directory `model` if given.
    pub(crate) fn open(&self, model: Option<&Path>) -> OpenBrain {
        let home = Home::at(self.dir.path().join("home"));
        if model.is_some()
            && let Some(cache) = self.cache_dir()
            && cache.is_dir()
        {
            // A vector has a key made from the page's content. Vectors with other keys are computed
            // again.
            copy_files(&cache, &self.vector_dir());
        }
        let config = Config::load(&home.config(), |name| match (name, model) {
            ("BRAIN_EMBEDDING_PROVIDER", None) => Some("none".into()),
            ("BRAIN_EMBEDDING_PROVIDER", Some(_)) => Some("local".into()),
            ("BRAIN_EMBEDDING_MODEL", Some(model)) => Some(model.display().to_string()),
            _ => None,
        })
        .expect("a configuration");
        // A fixed store id, because the cached vectors contain it.
        let brain = Brain::open(home, config, Arc::new(SystemClock), 8).expect("a brain");
        OpenBrain { brain: Arc::new(brain), caller: Caller::local(0) }
    }

    /// Computes the vectors, and caches them for the next run.
    pub(crate) fn embed(&self, open: &OpenBrain) {
        let Reply::Embed(done) = open
            .brain
            .answer(&open.caller, Request::Embed(Embed::default()), &ProgressPrinter::default())
            .expect("vectors")
        else {
            panic!("no vectors")
        };
        assert_eq!(done.missing, 0, "every page has its vectors");
        if let Some(cache) = self.cache_dir() {
            copy_files(&self.vector_dir(), &cache);
        }
    }
}

/// Prints a line for each hundred pages. The value is the number of hundreds so far.
#[derive(Default)]
struct ProgressPrinter(AtomicU64);

impl Progress for ProgressPrinter {
    fn at(&self, done: u64, total: u64) -> bool {
        if done / 100 > self.0.swap(done / 100, Ordering::Relaxed) {
            eprintln!("  {done} of {total} pages have vectors");
        }
        true
    }
}

/// Returns the text of a page's file.
fn file_text(doc: &Doc) -> String {
    if let Some(file) = &doc.file {
        return file.content.clone();
    }
    let title = serde_json::to_string(&doc.title).expect("a string");
    format!("---\ntitle: {title}\n{}---\n\n{}\n", doc.frontmatter, doc.text)
}

/// Copies the files of a directory to another directory.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for file in fs::read_dir(from).expect("files").filter_map(Result::ok) {
        fs::copy(file.path(), to.join(file.file_name())).expect("a copy");
    }
}
