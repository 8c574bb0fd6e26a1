//! Reads a graph that Roam Research exported as JSON, or as a ZIP archive of that.
//!
//! The file is one array of pages, each with its blocks. It can be larger than the memory, so it is
//! read page by page, three times: for the names, for the texts of blocks that others refer to, and
//! to write the pages. Facts are from graphs that people published.

mod graph;
mod input;
mod page;
mod text;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Sample};

use graph::Graph;
use input::Input;

pub(crate) const FORMAT: Format = Format {
    name: "roam",
    title: "a graph of Roam Research in JSON",
    is_by_others: false,
    recognise,
    convert,
};

/// How much of a file in an archive is looked at, in bytes.
const MAX_HEAD: usize = 64 * 1024;

fn recognise(sample: &Sample) -> bool {
    if is_graph(&sample.text()) {
        return true;
    }
    let Some(tree) = sample.tree() else { return false };
    let graph = tree.entries().iter().find(|entry| entry.extension() == "json");
    let Some(graph) = graph.filter(|_| tree.entries().iter().all(|it| it.extension() == "json"))
    else {
        return false;
    };
    tree.head(graph, MAX_HEAD).is_ok_and(|head| is_graph(&String::from_utf8_lossy(&head)))
}

/// Returns whether a text begins as an array of pages.
fn is_graph(head: &str) -> bool {
    let head = head.trim_start_matches('\u{feff}').trim_start();
    let has = |key: &str| head.contains(&format!("\"{key}\""));
    head.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'))
        // The title can stand far behind, after the blocks.
        && has("children")
        && has("string")
        && has("uid")
        && (has("edit-time") || has("create-time") || has("title"))
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let input = Input::open(path)?;
    input.report_problems(out)?;
    let mut graph = Graph::default();
    // A damaged file is an error in the last pass, behind the pages before the damage.
    let mut number = 0;
    for_whole_pages(input.each(&mut |_, page| {
        graph.add_page(number, page);
        number += 1;
        Ok(())
    }))?;
    if graph.has_references() {
        number = 0;
        for_whole_pages(input.each(&mut |_, page| {
            graph.add_blocks(number, page);
            number += 1;
            Ok(())
        }))?;
    }
    number = 0;
    input.each(&mut |file, page| {
        number += 1;
        page::write(&graph, number - 1, file, page, out)
    })
}

/// Leaves out the error of a damaged file.
fn for_whole_pages(result: Result<(), ConvertError>) -> Result<(), ConvertError> {
    match result {
        Err(ConvertError::Malformed { .. }) => Ok(()),
        result => result,
    }
}
