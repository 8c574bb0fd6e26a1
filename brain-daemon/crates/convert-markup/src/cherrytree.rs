//! Reads a document of CherryTree in XML (`.ctd`). The tree of nodes becomes pages in folders.
//!
//! The file is read twice: for the paths of all nodes, to which links lead, and for the content.
//! CherryTree's other files are databases or encrypted: they are recognised, and refused with the
//! way to the first kind.

mod content;
mod lines;
mod node;
mod objects;
mod parts;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Paths, Sample};

use content::write_node;
use node::{Node, Reader};

pub(crate) const FORMAT: Format = Format {
    name: "cherrytree",
    title: "a document of CherryTree",
    is_by_others: false,
    recognise,
    convert,
};

/// How a database begins (`https://www.sqlite.org/fileformat.html`), and a 7-Zip archive.
const DATABASE: &[u8] = b"SQLite format 3\0";
const ARCHIVE: &[u8] = b"7z\xBC\xAF\x27\x1C";

fn recognise(sample: &Sample) -> bool {
    let text = sample.text();
    let start = text.find("<cherrytree").map(|at| text.get(..at).unwrap_or_default());
    start.is_some_and(|before| before.trim().is_empty() || before.starts_with("<?xml"))
        || other_kind(sample).is_some()
}

/// Returns what a file of CherryTree is that cannot be read.
fn other_kind(sample: &Sample) -> Option<&'static str> {
    let extension = sample.path().extension().unwrap_or_default();
    let has_table = |name: &str| sample.text().contains(&format!("CREATE TABLE {name} ("));
    if sample.head().starts_with(DATABASE) && has_table("children") && has_table("codebox") {
        return Some("is a database");
    }
    let is_locked =
        sample.head().starts_with(ARCHIVE) && (extension == "ctx" || extension == "ctz");
    is_locked.then_some("is encrypted")
}

/// The paths of nodes, in the order of the file, and by the number of the node.
#[derive(Default)]
struct NodePaths {
    in_order: Vec<String>,
    by_id: HashMap<String, usize>,
}

impl NodePaths {
    /// Returns the path of the node with this number.
    fn of_id(&self, id: &str) -> Option<&str> {
        self.in_order.get(*self.by_id.get(id)?).map(String::as_str)
    }
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let malformed = |reason: String| ConvertError::Malformed { from: name.clone(), reason };
    if let Some(kind) = other_kind(&Sample::of(path).map_err(ConvertError::read(path))?) {
        return Err(malformed(format!(
            "it {kind}; in CherryTree choose File > Save As > XML, Not Protected (.ctd), and import \
             that file"
        )));
    }
    let mut all = Paths::default();
    let paths = node_paths(&mut open(path)?, &mut all);
    out.report_cut(&all)?;
    let mut reader = open(path)?;
    for node_path in &paths.in_order {
        let (node, end) = reader.next_node(true);
        if let Some(node) = node {
            write_node(node, &name, node_path, &paths, out)?;
        }
        if let Err(reason) = end {
            return Err(malformed(reason));
        }
    }
    // The first reading ended at a fault that lies behind the last node.
    let (_, end) = reader.next_node(false);
    end.map_err(malformed)
}

fn open(path: &Path) -> Result<Reader<BufReader<File>>, ConvertError> {
    let open = || -> io::Result<_> { Ok(Reader::new(BufReader::new(File::open(path)?))) };
    open().map_err(ConvertError::read(path))
}

/// Gives all nodes up to the end, or to a fault, their paths.
fn node_paths(reader: &mut Reader<BufReader<File>>, all: &mut Paths) -> NodePaths {
    let mut paths = NodePaths::default();
    // The paths of the nodes above.
    let mut above: Vec<String> = Vec::new();
    loop {
        let (node, end) = reader.next_node(false);
        if let Some(Node { depth, name, id, .. }) = node {
            above.truncate(depth);
            let folders = above.last().map_or("", String::as_str).split('/');
            let path = all.add(folders.filter(|folder| !folder.is_empty()), &name);
            paths.by_id.entry(id).or_insert(paths.in_order.len());
            paths.in_order.push(path.clone());
            above.push(path);
        } else if end.is_ok() {
            return paths;
        }
        if end.is_err() {
            return paths;
        }
    }
}
