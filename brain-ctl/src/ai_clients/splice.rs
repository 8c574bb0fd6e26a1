//! A change of a file: bytes that replace others at one place. It can be reverted exactly.

use std::{
    fs::{self, DirBuilder},
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::Path,
};

use brain_protocol::{Fault, FaultCode};
use serde::{Deserialize, Serialize};

use crate::{fail, output::clean, replace_file::replace_file};

/// Maximum size of a client's file in bytes: 16 MiB.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Splice {
    /// The offset of the change in bytes.
    offset: usize,
    /// The former text at the offset.
    removed: String,
    /// The new text.
    inserted: String,
    /// The length of the whole text before, in bytes; `None` if the file did not exist.
    length: Option<usize>,
}

impl Splice {
    /// Returns the smallest splice from `before`, which is `None` for a missing file, to `after`.
    pub(super) fn between(before: Option<&str>, after: &str) -> Self {
        let (old, new) = (before.unwrap_or_default(), after);
        let mut start = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        while !(old.is_char_boundary(start) && new.is_char_boundary(start)) {
            start -= 1;
        }
        let max_end = old.len().min(new.len()) - start;
        let equal = old.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b);
        let mut end = equal.count().min(max_end);
        while !(old.is_char_boundary(old.len() - end) && new.is_char_boundary(new.len() - end)) {
            end -= 1;
        }
        Self {
            offset: start,
            removed: old[start..old.len() - end].to_owned(),
            inserted: new[start..new.len() - end].to_owned(),
            length: before.map(str::len),
        }
    }

    /// Describes the change, in lines.
    pub(super) fn describe(&self, path: &Path) -> Vec<String> {
        let verb = match (self.length, self.removed.trim().is_empty()) {
            (None, _) => "creates",
            (Some(_), true) => "adds to",
            (Some(_), false) => "changes",
        };
        let mut lines = vec![format!("{verb} {}:", path.display())];
        if !self.removed.trim().is_empty() {
            // The former entry can contain secrets, so it is not shown.
            lines.push("  - the current entry \"brain\"".to_owned());
        }
        let added = self.inserted.trim_matches(['\n', '\r', ' ', ',']);
        lines.extend(added.lines().map(|line| format!("  + {}", clean(line))));
        lines
    }

    /// Changes the file.
    ///
    /// # Errors
    /// `conflict` if its length or the text at the offset changed; otherwise as [`replace`].
    pub(super) fn apply(&self, path: &Path) -> Result<(), Fault> {
        let text = read(path)?;
        let current = text.as_deref().unwrap_or_default();
        let end = self.offset + self.removed.len();
        if text.as_ref().map(String::len) != self.length
            || current.get(self.offset..end) != Some(&self.removed)
        {
            return Err(changed_meanwhile(path));
        }
        let after = [&current[..self.offset], &self.inserted, &current[end..]].concat();
        replace(path, text.as_deref(), Some(&after))
    }

    /// Undoes the change in `text`. Returns `Some(Some(text))`; `Some(None)` if the file did not
    /// exist before; `None` if the inserted text is not at the offset any more.
    pub(super) fn revert(&self, text: &str) -> Option<Option<String>> {
        let end = self.offset + self.inserted.len();
        if text.get(self.offset..end)? != self.inserted {
            return None;
        }
        let before = [&text[..self.offset], &self.removed, &text[end..]].concat();
        match self.length {
            None if before.is_empty() => Some(None),
            None => None,
            Some(_) => Some(Some(before)),
        }
    }
}

fn changed_meanwhile(path: &Path) -> Fault {
    Fault::new(FaultCode::Conflict, format!("{} changed meanwhile", path.display()))
        .hint("nothing was changed in it; run the command again")
}

/// Reads a client's file; `None` if it does not exist.
///
/// # Errors
/// `invalid_config` if it is not a regular file of this user, is not UTF-8 text, has more than
/// 16 MiB, or is a link to a missing file; `io` if it cannot be read.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Fault> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                Ok(_) => Err(unusable(path, "is a link to a file that does not exist")),
                Err(_) => Ok(None),
            };
        }
        Err(e) => return Err(fail::file("read", path, &e)),
    };
    if !meta.is_file() {
        return Err(unusable(path, "is not a file"));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(unusable(path, "belongs to another user"));
    }
    if meta.len() > MAX_BYTES {
        return Err(unusable(path, "is too large for a client's settings"));
    }
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::InvalidData => Err(unusable(path, "is not UTF-8 text")),
        Err(e) => Err(fail::file("read", path, &e)),
    }
}

/// Returns the fault of a file that brain does not change, because of `reason`.
fn unusable(path: &Path, reason: &str) -> Fault {
    Fault::new(
        FaultCode::InvalidConfig,
        format!("{} {reason}, so it is not changed", path.display()),
    )
    .hint("check the file; docs/clients.md has the entry for brain")
}

/// Replaces the text of a file atomically, or removes the file if `after` is `None`. The mode
/// stays. If the path is a link, the file that it names is replaced.
///
/// # Errors
/// `conflict` if the file does not contain `before` any more; `io`, `disk_full` or `read_only` if
/// it cannot be written; otherwise as [`read`].
pub(crate) fn replace(path: &Path, before: Option<&str>, after: Option<&str>) -> Result<(), Fault> {
    if read(path)?.as_deref() != before {
        return Err(changed_meanwhile(path));
    }
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(after) = after else {
        return fs::remove_file(&target).map_err(|e| fail::file("remove", &target, &e));
    };
    if let Some(dir) = target.parent() {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        created.map_err(|e| fail::file("create", dir, &e))?;
    }
    let mode = fs::metadata(&target).map_or(0o600, |meta| meta.permissions().mode() & 0o7777);
    replace_file(&target, after.as_bytes(), Some(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_splice_is_small_and_reverts_exactly() {
        for (before, after) in [
            ("{}", "{\"a\": 1}"),
            ("ä{}ö", "äü{}öö"),
            ("aaa", "aaaa"),
            ("", "x"),
            ("x", ""),
            ("same", "same"),
            ("héé", "hèé"),
        ] {
            let splice = Splice::between(Some(before), after);
            assert_eq!(splice.revert(after), Some(Some(before.to_owned())), "{splice:?}");
        }
        let splice = Splice::between(Some("a\n{\n}\n"), "a\n{\n  1\n}\n");
        assert_eq!((splice.inserted.as_str(), splice.removed.as_str()), ("  1\n", ""));
        // Text after the change may differ later.
        assert_eq!(splice.revert("a\n{\n  1\n}\nmore"), Some(Some("a\n{\n}\nmore".into())));
        assert_eq!(splice.revert("b b b b b"), None);
        let created = Splice::between(None, "new");
        assert_eq!(created.revert("new"), Some(None));
        assert_eq!(created.revert("new and more"), None);
    }
}
