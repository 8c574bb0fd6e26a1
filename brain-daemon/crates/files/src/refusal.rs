//! Says why a file system refuses a name, where its error says less.

use std::io;
use std::path::{Component, Path};

use rustix::fs::statvfs;
use rustix::io::Errno;

/// Characters that vfat, exfat and NTFS allow in no name.
const FORBIDDEN: &str = ":?*|<>\"\\";
/// The shortest limit of a name among common file systems, in bytes (eCryptfs).
const SHORTEST_NAME: usize = 143;

/// Returns the text of an error at `path`, with the cause if it is a name.
#[must_use]
pub fn refusal(error: &io::Error, path: &Path) -> String {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let cause = match Errno::from_io_error(error) {
        // sshfs answers with EBADMSG.
        Some(Errno::NAMETOOLONG | Errno::BADMSG) => names
            .map(|name| name.len())
            .max()
            .filter(|length| *length > SHORTEST_NAME)
            .map(|length| match allowed_length(path).filter(|allowed| *allowed < length) {
                Some(allowed) => {
                    format!("the name has {length} bytes, and this file system allows {allowed}")
                }
                None => format!("the name has {length} bytes, more than this file system allows"),
            }),
        // exfat-fuse answers with ENOENT.
        Some(Errno::INVAL | Errno::NOENT) => names
            .into_iter()
            .find_map(|name| forbidden_part(&name))
            .map(|part| format!("this file system may not allow {part} in a name")),
        _ => None,
    };
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// Returns the longest name that the file system of `path` states, in bytes.
fn allowed_length(path: &Path) -> Option<usize> {
    let stat = path.ancestors().skip(1).find_map(|dir| statvfs(dir).ok())?;
    usize::try_from(stat.f_namemax).ok()
}

fn forbidden_part(name: &str) -> Option<String> {
    if let Some(letter) = name.chars().find(|c| FORBIDDEN.contains(*c)) {
        return Some(format!("\"{letter}\""));
    }
    let last = name.chars().last().filter(|c| matches!(c, '.' | ' '))?;
    Some(if last == '.' { "a dot at the end".into() } else { "a blank at the end".into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_name_is_explained() {
        let text = |errno: Errno, path: &str| refusal(&errno.into(), Path::new(path));
        let long = format!("/{}.md", "x".repeat(300));
        assert!(text(Errno::NAMETOOLONG, &long).contains("303 bytes"), "the length");
        assert!(text(Errno::INVAL, "/a/b: c.md").contains("\":\""));
        assert!(text(Errno::NOENT, "/a/dir./c.md").contains("a dot at the end"));
        assert_eq!(text(Errno::IO, "/a/b: c.md"), io::Error::from(Errno::IO).to_string());
    }
}
