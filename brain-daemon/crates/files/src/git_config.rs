//! Checks a repository's own git configuration for entries that can run programs.
//!
//! Git configuration can name filters, helpers, hooks and transports, which git runs. Only keys
//! known to run nothing are accepted. Unknown keys need the owner's approval.

use sha2::{Digest as _, Sha256};
use std::path::Path;

use brain_page::hex;

/// Keys of `core` that run nothing.
const CORE: &[&str] = &[
    "abbrev",
    "attributesfile",
    "autocrlf",
    "bare",
    "bigfilethreshold",
    "checkstat",
    "commitgraph",
    "commentchar",
    "compression",
    "eol",
    "excludesfile",
    "filemode",
    "fscache",
    "ignorecase",
    "logallrefupdates",
    "longpaths",
    "multipackindex",
    "loosecompression",
    "precomposeunicode",
    "preloadindex",
    "protecthfs",
    "protectntfs",
    "quotepath",
    "repositoryformatversion",
    "safecrlf",
    "sharedrepository",
    "sparsecheckout",
    "sparsecheckoutcone",
    "splitindex",
    "symlinks",
    "trustctime",
    "untrackedcache",
    "whitespace",
];
/// Keys of a remote that run nothing; its addresses are checked.
const REMOTE: &[&str] = &[
    "fetch",
    "gh-resolved",
    "mirror",
    "partialclonefilter",
    "promisor",
    "prune",
    "prunetags",
    "push",
    "skipdefaultupdate",
    "skipfetchall",
    "tagopt",
];
/// Keys of a branch that run nothing.
const BRANCH: &[&str] = &["description", "merge", "pushremote", "rebase"];
/// Prefixes of branch keys that other tools write; git does not read them.
const TOOL_PREFIXES: &[&str] = &["github-pr-", "gk-", "vscode-"];
/// Whole sections (with a dot at the end) and single keys that run nothing.
const HARMLESS: &[&str] = &[
    "advice.",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "branch.sort",
    "color.",
    "column.",
    "commit.gpgsign",
    "diff.algorithm",
    "diff.colormoved",
    "diff.mnemonicprefix",
    "diff.renames",
    "extensions.compatobjectformat",
    "extensions.noop",
    "extensions.objectformat",
    "extensions.partialclone",
    "extensions.preciousobjects",
    "extensions.refstorage",
    "extensions.relativeworktrees",
    "extensions.worktreeconfig",
    "feature.",
    "fetch.",
    "gc.auto",
    "gc.autodetach",
    "gc.pruneexpire",
    "gc.reflogexpire",
    "gpg.format",
    "gui.",
    "http.lowspeedlimit",
    "http.lowspeedtime",
    "http.postbuffer",
    "http.version",
    "index.",
    "init.defaultbranch",
    "lfs.repositoryformatversion",
    "log.",
    "maintenance.",
    "merge.conflictstyle",
    "merge.ff",
    "merge.renames",
    "pack.compression",
    "pack.threads",
    "pack.windowmemory",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "push.followtags",
    "rebase.autosquash",
    "rebase.autostash",
    "remote.pushdefault",
    "rerere.",
    "status.",
    "tag.gpgsign",
    "user.email",
    "user.name",
    "user.signingkey",
];
/// Maximum keys that a message shows.
const MAX_SHOWN: usize = 8;

/// Configuration entries that can run a program.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// Keys and values, in their order.
    entries: Vec<(String, String)>,
}

impl Programs {
    /// Adds the entries that can run a program from the output of `git config --list -z`.
    pub(super) fn add(&mut self, listing: &str) {
        for entry in listing.split('\0').filter(|entry| !entry.is_empty()) {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
            if !is_harmless(key, value) {
                self.entries.push((key.to_owned(), value.to_owned()));
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the fingerprint of exactly these entries, in their order, in the repository at
    /// `dir`.
    pub(super) fn fingerprint(&self, dir: &Path) -> String {
        let mut hash = Sha256::new();
        let mut add_part = |bytes: &[u8]| {
            hash.update(bytes.len().to_le_bytes());
            hash.update(bytes);
        };
        add_part(dir.as_os_str().as_encoded_bytes());
        for (key, value) in &self.entries {
            add_part(key.as_bytes());
            add_part(value.as_bytes());
        }
        hex(&hash.finalize().into())
    }

    /// Returns up to [`MAX_SHOWN`] distinct keys. Omits the values, which may hold secrets.
    pub(super) fn shown(&self) -> String {
        let mut keys: Vec<String> = Vec::new();
        for (key, _) in &self.entries {
            let key = without_address(key);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let more = keys.len().saturating_sub(MAX_SHOWN);
        keys.truncate(MAX_SHOWN);
        let shown = keys.join(", ");
        if more == 0 { shown } else { format!("{shown} and {more} more") }
    }
}

/// Shortens the middle part of a key, and omits an address there, which may hold a password.
fn without_address(key: &str) -> String {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let shown = match rest.rsplit_once('.') {
        None => key.to_owned(),
        Some((middle, last)) if middle.contains("://") => format!("{section}.….{last}"),
        Some((middle, last)) => {
            let middle: String = middle.chars().take(40).collect();
            format!("{section}.{middle}.{last}")
        }
    };
    shown.escape_debug().collect()
}

/// Whether git runs no program because of the entry. The section and the last part of the key are
/// in lower case.
fn is_harmless(key: &str, value: &str) -> bool {
    let Some((section, rest)) = key.split_once('.') else { return false };
    let (middle, name) = match rest.rsplit_once('.') {
        Some((middle, name)) => (Some(middle), name),
        None => (None, rest),
    };
    match (section, middle) {
        ("core", None) => CORE.contains(&name),
        ("remote", Some(_)) if matches!(name, "url" | "pushurl") => is_address(value),
        ("remote", Some(_)) => REMOTE.contains(&name),
        ("branch", Some(_)) if name == "remote" => is_address(value),
        ("branch", Some(_)) => {
            BRANCH.contains(&name) || TOOL_PREFIXES.iter().any(|it| name.starts_with(it))
        }
        ("submodule", Some(_)) => match name {
            "active" | "branch" => true,
            "update" => ["checkout", "merge", "none", "rebase"].contains(&value),
            "url" => is_address(value),
            _ => false,
        },
        ("color", Some(_)) => true,
        ("lfs", Some(_)) => matches!(name, "access" | "locksverify"),
        (_, Some(_)) => false,
        (_, None) => {
            HARMLESS.contains(&key)
                || HARMLESS.iter().any(|it| it.strip_suffix('.') == Some(section))
        }
    }
}

/// Whether git reaches this address without a helper program.
fn is_address(value: &str) -> bool {
    let scheme = value.split_once("://").map(|(scheme, _)| scheme);
    let has_known_scheme =
        scheme.is_none_or(|scheme| ["https", "http", "ssh", "git", "file"].contains(&scheme));
    // For example `ext::sh -c …`.
    let names_helper = value.split_once("::").is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-._".contains(&b))
    });
    has_known_scheme && !names_helper && !value.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(entries: &[(&str, &str)]) -> Programs {
        let mut programs = Programs::default();
        programs.add(
            &entries.iter().map(|(key, value)| format!("{key}\n{value}\0")).collect::<String>(),
        );
        programs
    }

    #[test]
    fn an_ordinary_clone_has_no_program_entries() {
        for (key, value) in [
            ("core.repositoryformatversion", "0"),
            ("core.bare", "false"),
            ("remote.origin.url", "git@github.com:me/notes.git"),
            ("remote.origin.url", "https://host/x.git"),
            ("remote.origin.url", "/srv/git/x.git"),
            ("remote.origin.url", "../origin.git"),
            ("remote.my.fork.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("branch.main.remote", "origin"),
            ("branch.a/b.c.merge", "refs/heads/main"),
            ("user.name", "Me"),
            ("pull.rebase", "true"),
            ("submodule.lib.url", "https://host/lib"),
            ("gc.auto", "0"),
        ] {
            assert!(is_harmless(key, value), "{key} = {value}");
        }
    }

    #[test]
    fn program_entries_are_found_and_shown_without_values() {
        let all = [
            ("core.fsmonitor", "x"),
            ("core.sshcommand", "x"),
            ("core.gitproxy", "x"),
            ("core.hookspath", "x"),
            ("core.alternaterefscommand", "x"),
            ("core.editor", "x"),
            ("filter.x.smudge", "x"),
            ("diff.x.textconv", "x"),
            ("diff.external", "x"),
            ("merge.x.driver", "x"),
            ("credential.helper", "!x"),
            ("credential.https://me:pw@host.helper", "!x"),
            ("remote.origin.uploadpack", "x"),
            ("remote.origin.vcs", "x"),
            ("remote.origin.url", "ext::sh -c x"),
            ("remote.origin.url", "codecommit://x"),
            ("remote.origin.url", "--upload-pack=x"),
            ("branch.main.remote", "ext::sh -c x"),
            ("url.ext::sh.insteadof", "https://"),
            ("include.path", "x"),
            ("includeif.gitdir:/.path", "x"),
            ("gpg.program", "x"),
            ("gpg.ssh.defaultkeycommand", "x"),
            ("alias.pull", "!x"),
            ("submodule.x.update", "!x"),
            ("protocol.ext.allow", "always"),
            ("hook.x.command", "x"),
            ("http.sslengine", "x"),
            ("unknown.key", "x"),
            ("nosection", ""),
        ];
        for (key, value) in all {
            assert!(!is_harmless(key, value), "{key} = {value}");
        }
        let shown = programs(&all[9..]).shown();
        assert!(
            shown.starts_with("merge.x.driver, credential.helper, credential.….helper, "),
            "{shown}"
        );
        assert!(shown.contains(" more") && !shown.contains("pw"), "{shown}");
    }

    #[test]
    fn a_fingerprint_depends_on_entries_and_directory() {
        let of =
            |entries: &[(&str, &str)], dir: &str| programs(entries).fingerprint(Path::new(dir));
        let one = of(&[("core.fsmonitor", "x")], "/a");
        assert_eq!(one, of(&[("core.bare", "false"), ("core.fsmonitor", "x")], "/a"));
        assert_ne!(one, of(&[("core.fsmonitor", "y")], "/a"));
        assert_ne!(one, of(&[("core.fsmonitor", "x")], "/b"));
        assert_ne!(one, of(&[("core.fsmonitor", "x"), ("core.fsmonitor", "x")], "/a"));
    }
}
