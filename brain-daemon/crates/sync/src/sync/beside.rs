//! What other programs left beside the notes of a source: copies after a conflict, links, git work
//! trees.

use std::collections::HashMap;
use std::path::Path;

use brain_protocol::{Command, SourceId};

use super::compare::MissingPage;
use super::survey::Survey;
use super::tally::Tally;
use brain_page::{CopyProgram, program_copy};

/// The maximum number of paths that a message names.
const MAX_NAMED: usize = 3;

/// Warns about links, copies and git work trees.
pub(super) fn warn(survey: &Survey, tally: &mut Tally) {
    for path in &survey.found.repositories {
        tally.warn(format!(
            "{path} is a git work tree of its own: its files are stored, but it is not pulled"
        ));
    }
    if let Some(warning) = links_warning(&survey.found.links) {
        tally.warn(warning);
    }
    for (program, (count, first)) in survey.copies.by_program() {
        let copies = match count {
            1 => format!("1 file is a copy that {} made after a conflict", program.name()),
            _ => format!("{count} files are copies that {} made after conflicts", program.name()),
        };
        tally.warn(format!(
            "{copies}: {first}{}; to compare a copy with its original: {}",
            if *count > 1 { ", …" } else { "" },
            Command::DiffCopy
        ));
    }
}

/// Returns a warning about symbolic links, which are not followed. `None` without links.
pub(super) fn links_warning(links: &[String]) -> Option<String> {
    let named: Vec<&str> = links.iter().take(MAX_NAMED).map(String::as_str).collect();
    let more = if links.len() > named.len() { ", …" } else { "" };
    let count = match links.len() {
        0 => return None,
        1 => "1 is a symbolic link, which is not followed".to_owned(),
        count => format!("{count} are symbolic links, which are not followed"),
    };
    Some(format!("{count}: {}{more}", named.join(", ")))
}

/// Takes out of `missing` the pages whose file a program replaced by copies of both versions after
/// a conflict, and reports them. These pages stay until one of the copies is taken in.
pub(super) fn hold_replaced(
    root: &Path,
    source: &SourceId,
    missing: &mut Vec<MissingPage>,
    tally: &mut Tally,
) {
    // By directory: the original of each copy, with the program and the path of the copy.
    let mut copies: HashMap<String, Vec<(String, CopyProgram, String)>> = HashMap::new();
    missing.retain(|page| {
        let path = &page.record.source_path;
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let copies = copies.entry(dir.to_owned()).or_insert_with(|| copies_in(root, dir));
        let mut own: Vec<_> = copies.iter().filter(|(original, ..)| original == path).collect();
        own.sort_by(|a, b| a.2.cmp(&b.2));
        let Some((_, program, first)) = own.first() else { return true };
        let names: Vec<&str> = own.iter().map(|(_, _, copy)| copy.as_str()).collect();
        tally.fail(
            path.as_str(),
            format!(
                "it is gone, and {} left {} in its place after a conflict, so the page stays; to \
                 take one in: {}",
                program.name(),
                names.join(" and "),
                Command::PutFile {
                    page: Some(format!("{source}:{}", page.slug)),
                    file: Some(root.join(first).display().to_string())
                }
            ),
        );
        false
    });
}

/// Returns the copies in a directory whose originals their program removes.
fn copies_in(root: &Path, dir: &str) -> Vec<(String, CopyProgram, String)> {
    let Ok(entries) = std::fs::read_dir(root.join(dir)) else { return Vec::new() };
    let mut out = Vec::new();
    for name in entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        let path = if dir.is_empty() { name } else { format!("{dir}/{name}") };
        if let Some(copy) = program_copy(&path).filter(|copy| copy.program.removes_original()) {
            out.push((copy.original, copy.program, path));
        }
    }
    out
}
