//! Names the files of an import that are in no page.

use std::collections::BTreeMap;
use std::io;

use brain_convert_base::Output;

use crate::source::Source;

/// Returns whether a file or a folder above it is hidden: its name begins with a dot.
pub(crate) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with('.'))
}

/// Reports the files for which `reason` gives a reason. Hidden folders have one line each.
///
/// # Errors
/// If the output cannot be written.
pub(crate) fn report_rest(
    source: &Source,
    out: &mut Output<'_>,
    mut reason: impl FnMut(&str) -> Option<String>,
) -> io::Result<()> {
    let mut hidden: BTreeMap<&str, usize> = BTreeMap::new();
    for path in source.files() {
        let Some(reason) = reason(path) else { continue };
        match hidden_part(path) {
            Some(part) => *hidden.entry(part).or_default() += 1,
            None => out.lost(path, &reason)?,
        }
    }
    for (path, count) in hidden {
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        out.lost(path, &format!("it is hidden, {files}"))?;
    }
    source.report_problems(out)
}

/// Returns the path up to the first hidden name.
fn hidden_part(path: &str) -> Option<&str> {
    let mut end = 0;
    for name in path.split('/') {
        end += name.len();
        if name.starts_with('.') {
            return path.get(..end);
        }
        end += 1;
    }
    None
}
