//! `import` when the program that reads exports fails: other programs stand in for it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::SystemClock;
use brain_base::home::Home;
use brain_base::random::SystemRandom;
use brain_config::Config;
use brain_core::{Brain, ExternalDependencies, NoProgress, StandardOutput};
use brain_protocol::{Fault, FaultCode, Import, ImportReply, Reply, Request, Status};

const FORMAT: &str = r#"{"type":"format","name":"x","title":"an export of X"}"#;
/// A page and a file of it, as lines.
const PAGE: &str = r#"{"type":"page","from":"note 1","path":"a/b","markdown":"---\nattachments: [x.txt]\n---\nBody\n"}"#;
const FILE: &str = r#"{"type":"file","page":"a/b","name":"x.txt","base64":"eA=="}"#;
const END: &str = r#"{"type":"end","pages":1}"#;

struct Fixture {
    dir: tempfile::TempDir,
    brain: Brain,
}

impl Fixture {
    /// Opens a brain whose converter is this shell script.
    fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let converter = dir.path().join("convert");
        fs::write(&converter, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&converter, fs::Permissions::from_mode(0o755)).unwrap();
        let brain = open(&dir.path().join("home"), converter);
        fs::write(dir.path().join("export"), "x").unwrap();
        Self { dir, brain }
    }

    /// A converter that prints the line of a format, and these lines.
    fn printing(lines: &[&str], then: &str) -> Self {
        let lines = lines.join("\n");
        Self::new(&format!("cat <<'LINES'\n{FORMAT}\n{lines}\nLINES\n{then}"))
    }

    fn import(&self) -> Result<ImportReply, Fault> {
        self.import_path(&self.dir.path().join("export"))
    }

    fn import_path(&self, path: &Path) -> Result<ImportReply, Fault> {
        let path = path.to_str().unwrap().to_owned();
        let import = Request::Import(Import {
            path,
            source: None,
            format: None,
            since: None,
            dry_run: false,
            scrub: false,
        });
        match self.brain.answer(&Caller::local(0), import, &NoProgress)? {
            Reply::Import(reply) => Ok(reply),
            other => panic!("{other:?}"),
        }
    }

    /// The number of stored pages.
    fn pages(&self) -> u64 {
        match self.brain.answer(&Caller::local(0), Request::Status(Status), &NoProgress) {
            Ok(Reply::Status(status)) => status.pages,
            other => panic!("{other:?}"),
        }
    }

    /// The number of directories with converted files.
    fn converted(&self) -> usize {
        let entries = fs::read_dir(self.dir.path().join("home/run/converted"));
        entries.map_or(0, Iterator::count)
    }
}

fn open(home: &Path, converter: PathBuf) -> Brain {
    let home = Home::at(home.to_owned());
    let config = Config::load(&home.config(), |_| None).unwrap();
    let outside = ExternalDependencies {
        random: Arc::new(SystemRandom),
        variables: Box::new(|_| None),
        net: Arc::new(brain_net::Client::new()),
        lines: Arc::new(StandardOutput::default()),
        converter,
    };
    Brain::open_with(home, config, Arc::new(SystemClock), 7, outside).unwrap()
}

#[test]
fn pages_and_files_of_a_whole_conversion_are_stored() {
    let fixture = Fixture::printing(&[PAGE, FILE, END], "");
    let reply = fixture.import().unwrap();
    assert_eq!((reply.created, reply.failed_total), (1, 0), "{reply:?}");
    let files = fixture.brain.env.home.root().join("attachments");
    assert!(files.exists() && fixture.converted() == 0);
}

#[test]
fn a_program_that_dies_keeps_its_pages_and_fails_the_import() {
    let fixture = Fixture::printing(&[PAGE], "kill -SEGV $$");
    let reply = fixture.import().unwrap();
    assert_eq!((reply.created, reply.failed_total), (1, 1), "{reply:?}");
    assert!(reply.failed[0].reason.contains("signal: 11"), "{reply:?}");
    // Without a last line, a normal end is no success.
    let fixture = Fixture::printing(&[PAGE], "");
    assert_eq!(fixture.import().unwrap().failed_total, 1);
}

#[test]
fn an_error_before_the_first_page_is_the_error_of_the_import() {
    let fixture = Fixture::new("echo 'brain-convert: notes.enex: it has no end' >&2; exit 1");
    let fault = fixture.import().unwrap_err();
    assert_eq!(fault.code, FaultCode::Io, "{fault:?}");
    assert!(fault.message.contains("notes.enex: it has no end"), "{fault:?}");
    assert_eq!(fixture.converted(), 0);
}

#[test]
fn lines_that_could_harm_are_refused_and_nothing_is_stored() {
    let outside = r#"{"type":"page","from":"x","path":"../../outside","markdown":"x"}"#;
    let absolute = r#"{"type":"page","from":"x","path":"/outside","markdown":"x"}"#;
    let hidden = r#"{"type":"page","from":"x","path":"a/.git/b","markdown":"x"}"#;
    let file = r#"{"type":"file","page":"a/b","name":"../x","base64":"eA=="}"#;
    let no_page = r#"{"type":"file","page":"c","name":"x","base64":"eA=="}"#;
    for lines in [
        &[outside, END][..],
        &[absolute, END],
        &[hidden, END],
        &[PAGE, PAGE, END],
        &[PAGE, file, END],
        &[PAGE, no_page, END],
        &[PAGE, "no JSON", END],
        &[PAGE, r#"{"type":"unknown"}"#, END],
        &[FORMAT, PAGE, END],
    ] {
        let fixture = Fixture::printing(lines, "");
        let fault = fixture.import().unwrap_err();
        assert_eq!(fault.code, FaultCode::Io, "{lines:?}: {fault:?}");
        assert_eq!(fixture.converted(), 0, "{lines:?}");
        assert!(!fixture.dir.path().join("outside.md").exists(), "{lines:?}");
        assert_eq!(fixture.pages(), 0, "{lines:?}");
    }
}

#[test]
fn a_line_without_end_is_refused() {
    let fixture = Fixture::new("head -c 60000000 /dev/zero | tr '\\0' x; sleep 60");
    let fault = fixture.import().unwrap_err();
    assert!(fault.message.contains("a line has more than"), "{fault:?}");
}

#[test]
fn a_directory_of_markdown_does_not_wait_for_an_export() {
    let script = format!(
        "case $1 in */export) echo '{FORMAT}'; echo $$ >\"$1.pid\"; exec sleep 300 ;; *) exit 3 ;; \
         esac"
    );
    let fixture = Fixture::new(&script);
    let notes = fixture.dir.path().join("notes");
    fs::create_dir(&notes).unwrap();
    fs::write(notes.join("a.md"), "text\n").unwrap();
    let (stop, pid_file) = (fixture.brain.env.stop.clone(), fixture.dir.path().join("export.pid"));
    std::thread::scope(|scope| {
        let importing = scope.spawn(|| fixture.import().unwrap_err());
        while !pid_file.exists() || fixture.converted() == 0 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(fixture.import_path(&notes).unwrap().created, 1);
        stop.cancel();
        importing.join().unwrap()
    });
}

#[test]
fn a_stop_ends_a_program_that_hangs() {
    let fixture = Fixture::new("echo $$ >\"$1.pid\"; exec sleep 300");
    let (stop, pid_file) = (fixture.brain.env.stop.clone(), fixture.dir.path().join("export.pid"));
    let fault = std::thread::scope(|scope| {
        let importing = scope.spawn(|| fixture.import().unwrap_err());
        while fs::read_to_string(&pid_file).unwrap_or_default().is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        stop.cancel();
        importing.join().unwrap()
    });
    assert_eq!(fault.code, FaultCode::Cancelled, "{fault:?}");
    let pid = fs::read_to_string(pid_file).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "the program still runs");
}

#[test]
fn without_the_program_markdown_is_imported_with_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let notes = dir.path().join("notes");
    fs::create_dir(&notes).unwrap();
    fs::write(notes.join("a.md"), "text\n").unwrap();
    let brain = open(&dir.path().join("home"), dir.path().join("missing"));
    let path = notes.to_str().unwrap().to_owned();
    let import =
        Import { path, source: None, format: None, since: None, dry_run: false, scrub: false };
    let Ok(Reply::Import(reply)) =
        brain.answer(&Caller::local(0), Request::Import(import), &NoProgress)
    else {
        panic!("no reply")
    };
    assert_eq!(reply.created, 1, "{reply:?}");
    assert!(
        reply.warnings[0].contains("exports of other programs are not recognised"),
        "{reply:?}"
    );
}
