//! The folder of the pages of a message, by where a mail program keeps it.

use crate::codec;

/// Returns the folder of an mbox: its path without extensions, `Inbox.sbd/Work.mbox` is
/// `Inbox/Work`. Apple Mail names the directory, and the file in it is `mbox`.
pub(super) fn folder_of_mbox(path: &str) -> String {
    let path = path.strip_suffix("/mbox").unwrap_or(path);
    let names = path.split('/').map(|name| {
        let stem = [".mbox", ".sbd", ".mbx"].iter().find_map(|end| name.strip_suffix(end));
        stem.unwrap_or(name)
    });
    names.collect::<Vec<_>>().join("/")
}

/// Returns the folder of a message in the folder `path`. In a Maildir, that of `Lists/cur` is
/// `Lists`, and that of `.Work.Entw&APw-rfe/cur` is `Work/Entwürfe` (Maildir++).
pub(super) fn folder_of(path: &str) -> String {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    if !matches!(name, "cur" | "new") {
        return path.to_owned();
    }
    let folders = parent.split('/').flat_map(|folder| match folder.strip_prefix('.') {
        Some(folders) => folders.split('.').map(decoded).collect(),
        None => vec![folder.to_owned()],
    });
    folders.collect::<Vec<_>>().join("/")
}

/// Decodes the name of a folder of a mail server (RFC 3501, 5.1.3).
fn decoded(name: &str) -> String {
    from_utf_7(name).unwrap_or_else(|| name.to_owned())
}

fn from_utf_7(name: &str) -> Option<String> {
    let (mut out, mut rest) = (String::new(), name);
    while let Some((plain, coded)) = rest.split_once('&') {
        let (digits, after) = coded.split_once('-')?;
        out.push_str(plain);
        if digits.is_empty() {
            out.push('&');
        }
        let bytes = codec::base64(digits.replace(',', "/").as_bytes());
        let units = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        out.push_str(&String::from_utf16(&units.collect::<Vec<_>>()).ok()?);
        rest = after;
    }
    Some(out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_those_of_the_program() {
        assert_eq!(folder_of_mbox("Inbox.sbd/Work"), "Inbox/Work");
        assert_eq!(folder_of_mbox("All mail.mbox"), "All mail");
        assert_eq!(folder_of_mbox("Old.mbox/mbox"), "Old");
        for (path, folder) in [
            ("cur", ""),
            ("Lists/new", "Lists"),
            ("Lists", "Lists"),
            (".Work.Entw&APw-rfe/cur", "Work/Entwürfe"),
            ("mail/.R&-D/cur", "mail/R&D"),
            (".&2D3eAA-/cur", "\u{1f600}"),
            (".A&B/cur", "A&B"),
            (".&2D0-/cur", "&2D0-"),
        ] {
            assert_eq!(folder_of(path), folder, "{path}");
        }
    }
}
