//! A brain with the pages of a set, in a temporary home.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brain_base::caller::Caller;
use brain_base::clock::SystemClock;
use brain_base::home::Home;
use brain_config::Config;
use brain_core::{Brain, NoProgress, Progress};
use brain_protocol::{
    Embed, Hit, Import, PageRef, Reply, Request, Slug, SourceAdd, SourceId, Status, Sync,
};
use tempfile::TempDir;

use crate::set::{Set, source};

/// The home of one brain: opened without vectors and with them, one after the other.
pub(crate) struct House {
    dir: TempDir,
    name: String,
    /// What each page is called in the set.
    ids: HashMap<(SourceId, Slug), String>,
}

/// A brain that is open.
pub(crate) struct Open {
    brain: Arc<Brain>,
    caller: Caller,
}

impl Open {
    /// Answers one request.
    pub(crate) fn ask(&self, request: Request) -> Reply {
        self.brain.answer(&self.caller, request, &NoProgress).expect("an answer")
    }
}

impl House {
    /// A home with the pages of `set`: title as title, text as body, slug from id.
    pub(crate) fn with(set: &Set) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut house = Self { dir, name: set.name.clone(), ids: HashMap::new() };
        let mut sources = Vec::new();
        for doc in &set.docs {
            let (scope, path) = match doc.id.split_once('/') {
                Some((scope, path)) if set.scoped() => (scope, path),
                _ => ("", doc.id.as_str()),
            };
            let file = house.files(scope).join(format!("{path}.md"));
            fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
            let title = serde_json::to_string(&doc.title).expect("a string");
            fs::write(
                file,
                format!("---\ntitle: {title}\n{}---\n\n{}\n", doc.frontmatter, doc.text),
            )
            .expect("a file");
            if !sources.contains(&scope) {
                sources.push(scope);
            }
            let of = if scope.is_empty() { SourceId::default() } else { source(scope) };
            let slug = Slug::from_path(path).expect("an id that is a slug");
            let twin = house.ids.insert((of, slug), doc.id.clone());
            assert_eq!(twin, None, "one page a document");
        }
        let open = house.open(None);
        for scope in sources {
            let path = house.files(scope).canonicalize().expect("a path").display().to_string();
            if scope.is_empty() {
                open.ask(Request::Import(Import { path, source: None, dry_run: false }));
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
        house
    }

    /// What a hit is called in the set.
    pub(crate) fn id(&self, hit: &Hit) -> &str {
        self.ids.get(&(hit.source_id.clone(), hit.slug.clone())).expect("a page of the set")
    }

    /// How many links between its pages the brain sees.
    pub(crate) fn links(&self, open: &Open) -> u64 {
        let links = |(source, slug): &(SourceId, Slug)| {
            let page = PageRef { source: Some(source.clone()), slug: slug.clone() };
            match open.ask(Request::Links(page.into())) {
                Reply::Links(links) => {
                    links.links.iter().filter(|link| link.status == "live").count() as u64
                }
                _ => 0,
            }
        };
        self.ids.keys().map(links).sum()
    }

    fn files(&self, scope: &str) -> PathBuf {
        self.dir.path().join("files").join(if scope.is_empty() { "default" } else { scope })
    }

    fn vectors(&self) -> PathBuf {
        self.dir.path().join("home/index/vectors")
    }

    fn cache(&self) -> Option<PathBuf> {
        std::env::var_os("BRAIN_QUALITY_CACHE").map(|dir| PathBuf::from(dir).join(&self.name))
    }

    /// Opens the brain, with the local model in `model` if one is named.
    pub(crate) fn open(&self, model: Option<&Path>) -> Open {
        let home = Home::at(self.dir.path().join("home"));
        if model.is_some()
            && let Some(cache) = self.cache()
            && cache.is_dir()
        {
            // Each page's vectors carry a key made of its content: what does not fit is made anew.
            copy(&cache, &self.vectors());
        }
        let config = Config::load(&home.config(), |name| match (name, model) {
            ("BRAIN_EMBEDDING_PROVIDER", None) => Some("none".into()),
            ("BRAIN_EMBEDDING_PROVIDER", Some(_)) => Some("local".into()),
            ("BRAIN_EMBEDDING_MODEL", Some(model)) => Some(model.display().to_string()),
            _ => None,
        })
        .expect("a configuration");
        // The same number for the same set: what is derived from a store carries it.
        let brain = Brain::open(home, config, Arc::new(SystemClock), 8).expect("a brain");
        Open { brain: Arc::new(brain), caller: Caller::local(0) }
    }

    /// Makes the vectors, and keeps them for the next time.
    pub(crate) fn embed(&self, open: &Open) {
        let Reply::Embed(done) = open
            .brain
            .answer(&open.caller, Request::Embed(Embed::default()), &Dots::default())
            .expect("vectors")
        else {
            panic!("no vectors")
        };
        assert_eq!(done.missing, 0, "every page has its vectors");
        if let Some(cache) = self.cache() {
            copy(&self.vectors(), &cache);
        }
    }
}

/// Says now and then how far it is.
#[derive(Default)]
struct Dots(AtomicU64);

impl Progress for Dots {
    fn at(&self, done: u64, total: u64) -> bool {
        if done / 100 > self.0.swap(done / 100, Ordering::Relaxed) {
            eprintln!("  {done} of {total} pages have vectors");
        }
        true
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for file in fs::read_dir(from).expect("files").filter_map(Result::ok) {
        fs::copy(file.path(), to.join(file.file_name())).expect("a copy");
    }
}
