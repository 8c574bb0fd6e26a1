//! Rules that leave files of a source out: rule files in its directories, and patterns of the
//! owner.
//!
//! Order of precedence: the owner's patterns, `.brainignore`, `.ignore`, `.gitignore`, the exclude
//! files of the repository and of git's user, then the built-in list of generated directories.
//! Among rule files of one kind, the nearest directory wins.

use std::fs;
use std::io::Read;
use std::path::Path;

use brain_page::is_markdown;
use brain_protocol::names_documents;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Names of rule files; later ones overrule earlier ones.
const RULE_FILES: [&str; 3] = [".gitignore", ".ignore", ".brainignore"];
/// Names of generated directories: packages, builds, environments.
const GENERATED_DIRECTORIES: [&str; 4] = ["node_modules", "target", "venv", "__pycache__"];
/// Maximum length of a rule file in bytes; the rest is not read.
const MAX_BYTES: u64 = 1_000_000;

/// Returns whether a file of this name has rules.
#[must_use]
pub fn is_rule_file(name: &[u8]) -> bool {
    rule_kind(name).is_some()
}

/// Returns the index of a rule file's name in [`RULE_FILES`]; `None` for other names.
fn rule_kind(name: &[u8]) -> Option<usize> {
    if name.first() != Some(&b'.') {
        return None;
    }
    RULE_FILES.iter().position(|known| known.as_bytes() == name)
}

/// The rules of a directory with markdown files.
#[derive(Debug, Clone, Default)]
pub struct IgnoreRules {
    /// Whether no rule applies, because all files are brain's own.
    is_off: bool,
    include: Option<Gitignore>,
    /// Which files that are not markdown are documents.
    documents: Option<Gitignore>,
    exclude: Option<Gitignore>,
    /// Rules of the directories above, in the same git work tree.
    above: Vec<RuleFile>,
    /// The exclude files of the repository and of git's user. The first match wins.
    git_excludes: Vec<Gitignore>,
}

impl IgnoreRules {
    /// Returns rules that leave out nothing. A walk leaves out hidden directories nevertheless.
    #[must_use]
    pub fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// Returns the rules of the directory `root`. Patterns in `include` that end with `*.` and an
    /// extension other than that of markdown name documents. If there are others, markdown files
    /// that match none of them are left out.
    ///
    /// # Errors
    /// When a pattern is not valid; the text says which and why.
    pub fn new(root: &Path, include: &[String], exclude: &[String]) -> Result<Self, String> {
        let (documents, include): (Vec<String>, Vec<String>) =
            include.iter().cloned().partition(|pattern| names_documents(pattern));
        let (include, exclude) = (patterns(root, &include)?, patterns(root, exclude)?);
        let documents = patterns(root, &documents)?;
        let (above, git_excludes) = match work_tree(root) {
            Some(top) => (rules_above(root, top), git_excludes(top)),
            None => (Vec::new(), Vec::new()),
        };
        Ok(Self { is_off: false, include, documents, exclude, above, git_excludes })
    }

    /// Returns whether any file can be a document.
    #[must_use]
    pub fn has_documents(&self) -> bool {
        self.documents.is_some()
    }

    /// Returns whether a pattern names the file at `path`, relative to the directory of the rules,
    /// as a document. Whether another rule leaves it out is not checked.
    #[must_use]
    pub fn names_document(&self, path: &Path) -> bool {
        self.documents.as_ref().is_some_and(|set| {
            !is_markdown(path) && set.matched_path_or_any_parents(path, false).is_ignore()
        })
    }

    /// Returns whether the rules leave out the path, or a directory above it. `path` is relative to
    /// `root`.
    #[must_use]
    pub fn leave_out(&self, root: &Path, path: &str, is_dir: bool) -> bool {
        let mut active = ActiveRules::new(self);
        let mut file_path = root.to_owned();
        let mut parts = path.split('/').enumerate().peekable();
        while let Some((depth, part)) = parts.next() {
            active.load_directory(&file_path, depth + 1);
            file_path.push(part);
            if active.leave_out(&file_path, is_dir || parts.peek().is_some()) {
                return true;
            }
        }
        false
    }
}

#[derive(Debug, Clone)]
struct RuleFile {
    /// Depth of the entries of its directory; 0 for directories above the walk.
    depth: usize,
    /// Index of its name in [`RULE_FILES`].
    kind: usize,
    rules: Gitignore,
}

/// The rules that apply at the current position of a walk.
pub(super) struct ActiveRules<'a> {
    rules: &'a IgnoreRules,
    files: Vec<RuleFile>,
}

impl<'a> ActiveRules<'a> {
    pub(super) fn new(rules: &'a IgnoreRules) -> Self {
        Self { rules, files: rules.above.clone() }
    }

    /// Drops the rules of directories that the walk has left: its next entry has this depth.
    pub(super) fn leave(&mut self, depth: usize) {
        while self.files.last().is_some_and(|file| file.depth > depth) {
            self.files.pop();
        }
    }

    /// Adds the rule file at `path`, for entries of this depth and below.
    pub(super) fn load(&mut self, path: &Path, depth: usize) {
        let kind = path.file_name().and_then(|name| rule_kind(name.as_encoded_bytes()));
        let Some(kind) = kind.filter(|_| !self.rules.is_off) else { return };
        self.files.extend(read_rules(path).map(|rules| RuleFile { depth, kind, rules }));
    }

    /// Adds the rule files of a directory whose entries have this depth.
    pub(super) fn load_directory(&mut self, dir: &Path, depth: usize) {
        for name in RULE_FILES {
            self.load(&dir.join(name), depth);
        }
    }

    /// Returns whether a rule can leave out a file here.
    pub(super) fn has_rules(&self) -> bool {
        let rules = self.rules;
        !self.files.is_empty()
            || !rules.git_excludes.is_empty()
            || rules.include.is_some()
            || rules.exclude.is_some()
    }

    /// Returns whether the rules leave out the entry at `path`. The directories above are not
    /// checked.
    pub(super) fn leave_out(&self, path: &Path, is_dir: bool) -> bool {
        let rules = self.rules;
        if rules.is_off {
            return false;
        }
        let is_excluded = |set: &Gitignore| set.matched(path, is_dir).is_ignore();
        if rules.exclude.as_ref().is_some_and(is_excluded) {
            return true;
        }
        let is_included =
            |set: &Gitignore| set.matched_path_or_any_parents(path, is_dir).is_ignore();
        if !is_dir
            && rules.include.as_ref().is_some_and(|set| !is_included(set))
            && !rules.names_document(path)
        {
            return true;
        }
        for kind in (0..RULE_FILES.len()).rev() {
            for file in self.files.iter().rev().filter(|file| file.kind == kind) {
                match file.rules.matched(path, is_dir) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
        }
        for excludes in &rules.git_excludes {
            match excludes.matched(path, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        let name = path.file_name().unwrap_or_default();
        is_dir && GENERATED_DIRECTORIES.iter().any(|generated| name == *generated)
    }
}

/// Parses the owner's patterns; `None` for none.
fn patterns(root: &Path, texts: &[String]) -> Result<Option<Gitignore>, String> {
    if texts.is_empty() {
        return Ok(None);
    }
    let mut builder = GitignoreBuilder::new(root);
    for text in texts {
        let added = builder.add_line(None, text).map(|_| ());
        added.map_err(|e| format!("the pattern \"{text}\" is not valid: {e}"))?;
    }
    builder.build().map(Some).map_err(|e| format!("the patterns are not valid: {e}"))
}

/// Reads a rule file about the entries of its directory; `None` if there is none.
fn read_rules(path: &Path) -> Option<Gitignore> {
    read_rules_about(path.parent()?, path)
}

/// Reads a rule file about the entries of `dir`; `None` if there is none. Lines that are not valid
/// have no effect, as in git.
fn read_rules_about(dir: &Path, path: &Path) -> Option<Gitignore> {
    // A link could lead to a pipe, whose reader would wait.
    if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()) {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(dir);
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Returns the root of the git work tree that contains `root`.
fn work_tree(root: &Path) -> Option<&Path> {
    root.ancestors().find(|dir| fs::symlink_metadata(dir.join(".git")).is_ok())
}

/// Reads the `.gitignore` files of the directories above `root`, up to `top`. The nearest is last.
fn rules_above(root: &Path, top: &Path) -> Vec<RuleFile> {
    let above: Vec<&Path> =
        root.ancestors().skip(1).take_while(|dir| dir.starts_with(top)).collect();
    let found = above.iter().rev().filter_map(|dir| read_rules(&dir.join(RULE_FILES[0])));
    found.map(|rules| RuleFile { depth: 0, kind: 0, rules }).collect()
}

/// Returns the rules of the repository (`.git/info/exclude`), then those of the user
/// (`core.excludesFile`, by default `~/.config/git/ignore`).
fn git_excludes(top: &Path) -> Vec<Gitignore> {
    let of_repository = read_rules_about(top, &top.join(".git/info/exclude"));
    // Files that cannot be read have no effect, as in git.
    let (of_user, _) = GitignoreBuilder::new(top).build_global();
    of_repository.into_iter().chain([of_user]).filter(|rules| !rules.is_empty()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn text(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn nearer_and_later_rules_decide() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/target")).unwrap();
        fs::write(root.join(".gitignore"), "*.tmp.md\n/draft\na/kept.md\n").unwrap();
        fs::write(root.join("a/.gitignore"), "!kept.md\n").unwrap();
        fs::write(root.join(".brainignore"), "!target/\nb.md\n[\n").unwrap();
        let rules = IgnoreRules::new(root, &[], &text(&["secret/", "*.old.md"])).unwrap();
        let out = |path: &str, is_dir| rules.leave_out(root, path, is_dir);
        for path in ["x.tmp.md", "draft/a.md", "a/b.md", "secret/a/b.md", "a/x.old.md"] {
            assert!(out(path, false), "{path}");
        }
        for path in ["a/draft/x.md", "a/kept.md", "a/target/x.md", "secret"] {
            assert!(!out(path, false), "{path}");
        }
        assert!(out("node_modules", true) && out("a/node_modules/b/README.md", false));
        assert!(!IgnoreRules::off().leave_out(root, "target/x.md", false));
    }

    #[test]
    fn include_patterns_select_files() {
        let dir = tempfile::tempdir().unwrap();
        let include = text(&["notes/", "*.mdx"]);
        let rules = IgnoreRules::new(dir.path(), &include, &text(&["notes/old/"])).unwrap();
        let out = |path: &str| rules.leave_out(dir.path(), path, false);
        assert!(!out("notes/a/b.md") && !out("src/a.mdx"));
        assert!(out("src/a.md") && out("notes/old/a.md") && out("node_modules/a.mdx"));
        assert!(IgnoreRules::new(dir.path(), &[], &text(&["[z-a]"])).is_err());
    }

    #[test]
    fn patterns_with_an_extension_name_documents() {
        let dir = tempfile::tempdir().unwrap();
        let rules = |include: &[&str]| {
            IgnoreRules::new(dir.path(), &text(include), &text(&["*.tmp.pdf"])).unwrap()
        };
        let out = |rules: &IgnoreRules, path: &str| rules.leave_out(dir.path(), path, false);
        let alone = rules(&["*.pdf", "papers/*.DOCX"]);
        assert!(alone.has_documents() && !rules(&["notes/", "*.mdx", "a.b/"]).has_documents());
        for path in ["a.pdf", "b/c.pdf", "papers/a.DOCX"] {
            assert!(alone.names_document(Path::new(path)), "{path}");
        }
        assert!(!alone.names_document(Path::new("a.DOCX")));
        // All markdown files are still pages.
        assert!(!out(&alone, "a.md") && !out(&alone, "a.pdf") && out(&alone, "a.tmp.pdf"));
        // A directory can have a dot in its name.
        let dirs = rules(&["clients/acme.inc", "archive/v2.0"]);
        assert!(!dirs.has_documents() && out(&dirs, "a.md"));
        assert!(!out(&dirs, "archive/v2.0/a.md") && !out(&dirs, "clients/acme.inc/a.md"));
        let both = rules(&["notes/", "*.pdf"]);
        assert!(out(&both, "a.md") && !out(&both, "notes/a.md"));
        assert!(!out(&both, "a.pdf") && out(&both, "a.txt"));
    }

    #[test]
    fn rules_of_the_work_tree_apply_below() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("docs/notes");
        fs::create_dir_all(&root).unwrap();
        fs::write(dir.path().join(".gitignore"), "private.md\n").unwrap();
        let out =
            || IgnoreRules::new(&root, &[], &[]).unwrap().leave_out(&root, "private.md", false);
        assert!(!out(), "outside a work tree");
        fs::create_dir_all(dir.path().join(".git/info")).unwrap();
        assert!(out());
        fs::write(dir.path().join(".git/info/exclude"), "/docs/notes/own.md\n").unwrap();
        let rules = IgnoreRules::new(&root, &[], &[]).unwrap();
        assert!(rules.leave_out(&root, "own.md", false));
        assert!(!rules.leave_out(&root, "below/own.md", false));
    }
}
