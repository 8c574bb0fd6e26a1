//! The crates match the table in `ARCHITECTURE.md`, and some rules of what code must not contain.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A row of the table of crates, with the table's names of crates and libraries.
struct Row {
    name: String,
    uses: BTreeSet<String>,
    owns: BTreeSet<String>,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads the rows of the table of crates.
fn table() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let names = |cell: &str| -> BTreeSet<String> {
        cell.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let rows = text.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [name, _, uses, owns] = cells[..] else { panic!("not four cells: {line}") };
            Row { name: name.trim_matches('`').to_owned(), uses: names(uses), owns: names(owns) }
        })
        .collect()
}

/// Returns the table's name of a package: `brain-store` is `store`.
fn table_name(package: &str) -> &str {
    match package {
        "brain-ctl" | "brain-daemon" => package,
        other => other.strip_prefix("brain-").unwrap_or(other),
    }
}

/// Returns the packages of the workspace and their dependencies without dev-dependencies.
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .filter(|package| package["name"] != "brain-tests" && package["name"] != "test-skips")
        .map(|package| {
            let uses = package["dependencies"].as_array().unwrap().iter();
            let uses = uses
                .filter(|dependency| dependency["kind"].is_null())
                .map(|dependency| dependency["name"].as_str().unwrap());
            let name = table_name(package["name"].as_str().unwrap()).to_owned();
            (name, uses.map(|dependency| table_name(dependency).to_owned()).collect())
        })
        .collect()
}

#[test]
fn crate_dependencies_match_the_table() {
    let (table, packages) = (table(), packages());
    let workspace_crates: BTreeSet<&String> = packages.keys().collect();
    assert_eq!(
        table.iter().map(|row| &row.name).collect::<BTreeSet<_>>(),
        workspace_crates,
        "the table lists every crate"
    );
    for row in &table {
        let dependencies = packages[&row.name].iter();
        let uses: BTreeSet<String> = dependencies
            .filter(|dependency| workspace_crates.contains(dependency))
            .cloned()
            .collect();
        assert_eq!(uses, row.uses, "the crates that {} uses", row.name);
    }
}

#[test]
fn owned_libraries_are_used_by_their_owner_only() {
    let (table, packages) = (table(), packages());
    assert!(table.iter().any(|row| row.owns.contains("redb")), "the last column is not read");
    for row in &table {
        for library in &row.owns {
            let users: Vec<&String> = packages
                .iter()
                .filter(|(_, uses)| uses.contains(library))
                .map(|(name, _)| name)
                .collect();
            assert_eq!(users, [&row.name], "the crates that name {library}");
        }
    }
}

#[test]
fn page_and_protocol_do_no_io() {
    let packages = packages();
    for name in ["page", "protocol"] {
        for library in ["tokio", "rustix", "interprocess", "reqwest", "hyper", "tracing"] {
            assert!(!packages[name].contains(library), "{name} names {library}");
        }
    }
    let sources = [root().join("protocol/src"), root().join("brain-daemon/crates/page/src")];
    let paths = sources.iter().flat_map(|dir| files(dir));
    for path in paths.filter(|path| !path.ends_with("wire_tests.rs")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap();
        for word in
            ["std::fs", "std::net", "std::process", "SystemTime::now", "Instant::now", "std::env"]
        {
            assert!(!text.contains(word), "{} names {word}", path.display());
        }
    }
}

/// The crates of features. Only `core`, which builds their services, and interfaces may use them.
const FEATURES: [&str; 6] = ["assist", "collector", "connect", "graph", "tunnel", "voice"];

#[test]
fn features_do_not_use_each_other() {
    let packages = packages();
    for feature in FEATURES {
        let users: Vec<_> = packages.iter().filter(|(_, uses)| uses.contains(feature)).collect();
        assert!(users.iter().any(|(user, _)| *user == "core"), "{feature}: {users:?}");
        for (user, _) in users {
            assert!(
                ["core", "http", "brain-daemon"].contains(&user.as_str()),
                "{user} uses {feature}"
            );
        }
    }
}

#[test]
fn no_file_has_more_than_500_lines() {
    for dir in ["protocol", "brain-ctl", "brain-daemon", "lsp", "tests"] {
        for path in files(&root().join(dir)) {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= 500, "{} has {lines} lines", path.display());
        }
    }
}

/// Hints name commands of the client as `brain_protocol::Command`. Only its table has their words;
/// the pages of the interfaces may name commands, because people read them.
#[test]
fn only_the_table_of_commands_has_their_words() {
    let commands = brain_protocol::Command::all(|_| None);
    let names: BTreeSet<String> = commands
        .iter()
        .map(|command| command.to_string().split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert!(names.contains("brain doctor"), "{names:?}");
    let is_below = |path: &PathBuf| {
        let path = path.strip_prefix(root()).unwrap().display().to_string();
        path != "protocol/src/command.rs"
            && !["/web/", "/http/", "/mcp/", "/tests/", "/benches/", "/examples/", "/fakes/"]
                .iter()
                .any(|part| path.contains(part))
            && !path.ends_with("tests.rs")
    };
    for path in [files(&root().join("protocol")), files(&root().join("brain-daemon"))]
        .concat()
        .into_iter()
        .filter(is_below)
    {
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.split("\nmod tests {").next().unwrap().replace("\\\n", "");
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let words: Vec<&str> =
                line.split(|c: char| c.is_whitespace() || "`\";,:()".contains(c)).collect();
            let named = words.windows(2).map(|pair| pair.join(" ")).find(|it| names.contains(it));
            assert_eq!(named, None, "{}: use `Command`: {line}", path.display());
        }
    }
}

/// Returns all Rust files below `dir`.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let found = rust_files(dir);
    assert!(!found.is_empty(), "no sources in {}", dir.display());
    found
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => found.extend(rust_files(&path)),
            path if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            _ => {}
        }
    }
    found
}
