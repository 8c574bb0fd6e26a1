//! What tests need beside Rust. A test that cannot run says so with [`skip`]; the last line of
//! `cargo test` says what stayed untested, and how to test it. With `BRAIN_TESTS_STRICT=1`, a need
//! that a machine can meet fails the test instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write;
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::str::FromStr;

/// What a test needs and does not find. Its text is a kind and a detail, as in the record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A server of this kind, which `.ci/postgres` starts.
    Server(String),
    /// The rights of root, to do this.
    Root(String),
    /// This program.
    Program(String),
    /// A kernel with this file system. A machine cannot meet it.
    Kernel(String),
    /// This number of open files.
    OpenFiles(String),
}

impl Need {
    fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Server(name) => ("server", name),
            Self::Root(what) => ("root", what),
            Self::Program(name) => ("program", name),
            Self::Kernel(name) => ("kernel", name),
            Self::OpenFiles(number) => ("files", number),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, detail) = self.parts();
        write!(f, "{kind} {}", detail.replace(['\n', '\t'], " "))
    }
}

impl FromStr for Need {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, detail) = text.split_once(' ').ok_or(())?;
        let make = match kind {
            "server" => Self::Server,
            "root" => Self::Root,
            "program" => Self::Program,
            "kernel" => Self::Kernel,
            "files" => Self::OpenFiles,
            _ => return Err(()),
        };
        Ok(make(detail.to_owned()))
    }
}

/// Says that the test of this thread, or a part of it, does not run.
///
/// # Panics
/// With `BRAIN_TESTS_STRICT=1`, except for [`Need::Kernel`].
#[allow(clippy::needless_pass_by_value)]
pub fn skip(need: Need) {
    let is_strict = std::env::var_os("BRAIN_TESTS_STRICT").is_some_and(|value| value == "1");
    let can_be_met = !matches!(need, Need::Kernel(_));
    assert!(!(is_strict && can_be_met), "BRAIN_TESTS_STRICT=1, and the test needs: {need}");
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_stem().unwrap_or_default().display();
    let thread = std::thread::current();
    let line = format!("{need}\t{program} {}\n", thread.name().unwrap_or_default());
    // Not `eprint!`, which shows nothing for a test that passes.
    let _ = std::io::stderr().write_all(format!("SKIPPED: {line}").as_bytes());
    let record = std::fs::File::options().create(true).append(true).open(record());
    let _ = record.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// The record of the skips of a run, beside the test programs. All programs of one `cargo test`
/// have the same parent.
fn record() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.with_file_name(format!("skipped-tests-{}", parent_id()))
}

/// Takes the record of this run and returns its summary.
#[must_use]
pub fn take_summary() -> String {
    let path = record();
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    summary(&text)
}

/// Counts the tests of each need. `record` has a line for each skip: the need, a tab, the test.
fn summary(record: &str) -> String {
    let mut tests: BTreeMap<Need, BTreeSet<&str>> = BTreeMap::new();
    for (need, test) in record.lines().filter_map(|line| line.split_once('\t')) {
        if let Ok(need) = need.parse() {
            tests.entry(need).or_default().insert(test);
        }
    }
    let number = tests.values().flatten().collect::<BTreeSet<_>>().len();
    if number == 0 {
        return "Nothing was skipped.".into();
    }
    let lines =
        tests.iter().map(|(need, tests)| format!("\n  {:3}  {}", tests.len(), advice(need)));
    format!("Skipped, wholly or in part: {number} tests.{}", lines.collect::<String>())
}

/// Says what is untested, and what would test it.
fn advice(need: &Need) -> String {
    match need {
        Need::Server(name) => format!(
            "several machines that share a brain over {name}; to test them: \
             .ci/postgres cargo test --workspace"
        ),
        Need::Root(what) => format!("{what}; to test it: as root of a container"),
        Need::Program(name) => {
            format!("what needs {name}; to test it: .ci/programs, which installs it as root")
        }
        Need::Kernel(name) => format!("the file system {name}, which this kernel does not have"),
        Need::OpenFiles(number) => format!("connections in large numbers: ulimit -n {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Need, summary};

    #[test]
    fn tests_are_counted_by_need() {
        let needs = [
            Need::Server("PostgreSQL".into()),
            Need::Root("other users".into()),
            Need::Program("strace".into()),
            Need::Kernel("vfat".into()),
            Need::OpenFiles("11000".into()),
        ];
        for need in &needs {
            assert_eq!(need.to_string().parse(), Ok(need.clone()));
        }
        let record = format!("{0}\ta\n{0}\ta\n{0}\tb\n{1}\tb\nnoise\n", needs[0], needs[3]);
        let text = summary(&record);
        assert!(text.starts_with("Skipped, wholly or in part: 2 tests.\n    2  several"), "{text}");
        assert!(text.ends_with("    1  the file system vfat, which this kernel does not have"));
        assert_eq!(summary(""), "Nothing was skipped.");
    }
}
