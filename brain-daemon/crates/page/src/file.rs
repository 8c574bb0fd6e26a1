//! Path and digest of a page's file.

use std::path::Path;

use brain_protocol::Slug;
use sha2::{Digest, Sha256};

use super::document::{earlier_file_text, file_text};

/// Maximum length of a file or directory name, in bytes. It leaves space for a suffix that
/// distinguishes two files.
const MAX_NAME: usize = 200;

/// Returns the path of a page's file in the source's directory: the slug with `.md`.
///
/// A segment that begins with a dot gets a `_` before it, because directories with a dot belong to
/// other programs, and one is the trash. A segment longer than file systems allow is cut and ends
/// with digits of its hash. So two slugs can have one path; the store keeps each page's path and
/// gives the second page another one.
#[must_use]
pub fn file_path(slug: &Slug) -> String {
    let segments: Vec<String> = slug.as_str().split('/').map(file_name).collect();
    format!("{}.md", segments.join("/"))
}

fn file_name(segment: &str) -> String {
    let mut name =
        if segment.starts_with('.') { format!("_{segment}") } else { segment.to_owned() };
    if name.len() > MAX_NAME {
        let digest = super::hex(&Sha256::digest(segment.as_bytes()).into());
        name.truncate(name.floor_char_boundary(MAX_NAME - 9));
        name.push('-');
        name.push_str(&digest[..8]);
    }
    name
}

/// Returns whether a file with this name becomes a page: it ends with `.md`, `.markdown` or `.mdx`,
/// in any case.
#[must_use]
pub fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|e| {
        ["md", "markdown", "mdx"].iter().any(|known| e.eq_ignore_ascii_case(known))
    })
}

/// Returns the SHA-256 of the file of a page with this text.
#[must_use]
pub fn file_hash(frontmatter: &str, body: &str) -> [u8; 32] {
    Sha256::digest(file_text(frontmatter, body).as_bytes()).into()
}

/// Returns the SHA-256 of the file as earlier versions of brain wrote it, if it differs.
#[must_use]
pub fn earlier_file_hash(frontmatter: &str, body: &str) -> Option<[u8; 32]> {
    earlier_file_text(frontmatter, body).map(|text| Sha256::digest(text.as_bytes()).into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn path(slug: &str) -> String {
        file_path(&Slug::parse(slug).unwrap())
    }

    #[test]
    fn paths_are_plain_and_safe() {
        assert_eq!(path("people/ann"), "people/ann.md");
        assert_eq!(path(".trash/x"), "_.trash/x.md");
        assert_eq!(path("v1.2/notes.md"), "v1.2/notes.md.md");
        let (a, b) = (path(&"é".repeat(250)), path(&format!("{}x", "é".repeat(250))));
        assert!(a.len() < 255 && a != b, "{a} {b}");
    }
}
