//! Reads a graph of Logseq: a directory with `logseq/config.edn`, or its ZIP archive.
//!
//! Pages are files in `pages/`, days in `journals/`, other files in `assets/`. Each text is a list of
//! blocks. The facts follow Logseq's documentation and reports of its users; the files of the tests
//! were written by hand, as the program needs a display.

mod blocks;
mod days;
mod graph;
mod page;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use brain_convert_base::{ConvertError, Entry, Format, Output, Sample, Tree};

use graph::Graph;

pub(crate) const FORMAT: Format =
    Format { name: "logseq", title: "a graph of Logseq", is_by_others: false, recognise, convert };

/// The file that marks the directory of a graph.
const CONFIG: &str = "logseq/config.edn";

fn recognise(sample: &Sample) -> bool {
    let Some(tree) = sample.tree() else { return false };
    // Markdown beside the folder of a graph would be left out.
    root(tree).is_some_and(|root| tree.is_mostly(|entry| entry.path.starts_with(root)))
}

/// Returns the path of the graph in a tree: empty, or a folder with `/`.
fn root(tree: &Tree) -> Option<&str> {
    let roots = tree.entries().iter().filter_map(|entry| entry.path.strip_suffix(CONFIG));
    let roots = roots.filter(|root| root.matches('/').count() <= 1);
    roots.filter(|root| root.is_empty() || root.ends_with('/')).min_by_key(|root| root.len())
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let tree = Tree::open(path).map_err(ConvertError::read(path))?;
    let malformed = |reason: &str| ConvertError::Malformed {
        from: path.display().to_string(),
        reason: reason.to_owned(),
    };
    let Some(tree) = tree else {
        return Err(malformed("it is neither a directory nor a ZIP archive"));
    };
    let root = root(&tree).unwrap_or_default().to_owned();
    tree.report_problems(out)?;
    let mut graph = Graph::read(&tree, &root, out)?;
    page::write_all(&mut graph, out)?;
    graph.vault.report_unused(out, |entry| reason(entry, &root))?;
    Ok(())
}

/// Returns why a file is in no page.
fn reason(entry: &Entry, root: &str) -> Option<String> {
    let path = entry.path.strip_prefix(root).unwrap_or(&entry.path);
    let reason = if path.starts_with("logseq/bak/") || path.starts_with("logseq/.recycle/") {
        "it is an earlier version that Logseq keeps"
    } else if path.starts_with("logseq/") || path.starts_with('.') {
        "it has settings, and no notes"
    } else if entry.extension() == "org" {
        "it is a page in Org mode; import it with Emacs or as Org files"
    } else if path.starts_with("whiteboards/") || path.starts_with("draws/") {
        "it is a drawing"
    } else {
        return None;
    };
    Some(reason.to_owned())
}
