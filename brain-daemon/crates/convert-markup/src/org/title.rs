//! The plain text of a heading.

/// Returns the text of a heading without the targets of its links.
pub(super) fn plain(title: &str) -> String {
    let mut out = String::with_capacity(title.len());
    let mut rest = title;
    while let Some((before, link)) = rest.split_once("[[") {
        out.push_str(before);
        let Some((content, after)) = link.split_once("]]") else {
            out.push_str("[[");
            rest = link;
            continue;
        };
        out.push_str(content.split_once("][").map_or(content, |(_, label)| label));
        rest = after;
    }
    out.push_str(rest);
    brain_page::single_line(&out)
}

/// Returns a heading as the target of a link: without what ends a link.
pub(super) fn anchor(title: &str) -> String {
    plain(title).replace(['[', ']', '|', '#', '^'], " ").trim().to_owned()
}
