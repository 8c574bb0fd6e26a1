//! Finds the files that a body shows or links to.

use std::ops::ControlFlow;
use std::path::Path;

use pulldown_cmark::{Event, Tag};

use super::links::percent_decode;
use super::prose::MARKDOWN;
use super::{for_each_event, is_markdown};

/// Maximum number of files that are found in a body.
const MAX_EMBEDDED: usize = 1000;

/// Returns the targets of a body's pictures, and of its links to files, decoded: paths or names.
/// Web addresses and links to pages are none.
#[must_use]
pub fn embedded_files(body: &str) -> Vec<String> {
    let mut targets = Vec::new();
    if !body.contains("](") && !body.contains("[[") {
        return targets;
    }
    for_each_event(body, MARKDOWN, |event, _| {
        if let Event::Start(Tag::Image { dest_url, .. } | Tag::Link { dest_url, .. }) = event {
            let target = dest_url.split(['#', '|']).next().unwrap_or_default();
            let is_path = !target.contains(':') && !target.starts_with('/');
            if is_path && target.contains('.') && !is_markdown(Path::new(target)) {
                let target = percent_decode(target.trim_end_matches('\\')).into_owned();
                if !targets.contains(&target) && targets.len() < MAX_EMBEDDED {
                    targets.push(target);
                }
            }
        }
        ControlFlow::Continue(())
    });
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_and_links_to_files_are_found_once() {
        let body = "![[a b.png]] ![x](../img/c%20d.jpg \"t\") [[paper.pdf#page=2|P]] [r](r.odt)\n\n\
                    | ![[in table.png\\|50]] |\n|---|\n\n![[a b.png]]\n";
        assert_eq!(
            embedded_files(body),
            ["a b.png", "../img/c d.jpg", "paper.pdf", "r.odt", "in table.png"]
        );
    }

    #[test]
    fn pages_addresses_and_code_are_no_files() {
        let body = "[[Note]] [[folder/Note.md]] [w](https://x.org/a.png) ![d](data:image/png,x) \
                    [a](/etc/passwd.txt) `![[code.png]]` [m](mailto:a@b.org) ![](#x.png)";
        assert!(embedded_files(body).is_empty(), "{:?}", embedded_files(body));
        assert!(embedded_files("plain").is_empty());
    }
}
