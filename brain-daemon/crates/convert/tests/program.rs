//! Tests of the program's arguments and of its rights. As an integration test, this file also makes
//! `cargo test` build the program, which the daemon starts.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Command, Output};

use brain_convert::Helper;

const NOTE: &str = "<?xml version=\"1.0\"?>\n<en-export><note><title>A</title><content>\
                    <![CDATA[<en-note>b</en-note>]]></content></note></en-export>";

fn convert(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brain-convert")).args(args).env_clear().output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn wrong_arguments_are_named() {
    for (args, message) in [
        (&[][..], "PATH is missing"),
        (&["a", "b"], "only one PATH"),
        (&["--as"], "--as needs"),
        (&["--as", "nothing", "a"], "nothing is no format"),
        (&["--what", "a"], "--what is no option"),
    ] {
        let output = convert(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(message), "{args:?}: {output:?}");
    }
    assert!(text(&convert(&["--help"]).stdout).contains("evernote"));
    let version = format!("brain-convert {}\n", brain_protocol::VERSION);
    assert_eq!(text(&convert(&["--version"]).stdout), version);
}

#[test]
fn the_exit_code_tells_an_unknown_format_from_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let note = dir.path().join("a.md");
    fs::write(&note, "# A\n").unwrap();
    for unknown in [&note, &dir.path().to_owned()] {
        let output = convert(&[path(unknown)]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0), "{output:?}");
    }
    let missing = convert(&[path(&dir.path().join("missing"))]);
    assert_eq!(missing.status.code(), Some(1), "{missing:?}");
    assert!(text(&missing.stderr).contains("No such file"), "{missing:?}");
}

#[test]
fn each_format_names_an_input_of_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.bin");
    fs::write(&file, "just a few words, in no format at all\n").unwrap();
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for format in brain_convert::formats() {
        // Any text can be a document.
        let reads_any_text = ["html", "csv", "text"].contains(&format.name);
        for input in [&file, &empty].into_iter().skip(usize::from(reads_any_text)) {
            let output = convert(&["--as", format.name, path(input)]);
            let errors = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{}: {output:?}", format.name);
            let message = format!("it does not look like {}", format.title);
            assert!(errors.contains(&message), "{}: {errors}", format.name);
        }
    }
}

/// Files of formats whose directories have no file that marks them.
const LONE_FILES: [(&str, &str); 17] = [
    ("data/tweets.js", "window.YTD.tweets.part0 = [ ]"),
    ("a.enex", NOTE),
    (
        "0123456789abcdef0123456789abcdef.md",
        "A\n\ntext\n\nid: 0123456789abcdef0123456789abcdef\ntype_: 1",
    ),
    ("a.eml", "From: a@x.example\nTo: b@x.example\nDate: Tue, 3 Mar 2026 09:00:00 +0000\n\nx\n"),
    ("graph/logseq/config.edn", "{}"),
    (
        "a.note",
        "<note version=\"0.3\" xmlns=\"http://beatniksoftware.com/tomboy\"><title>A</title></note>",
    ),
    ("Page.txt", "Content-Type: text/x-zim-wiki\nWiki-Format: zim 0.6\n\ntext\n"),
    ("a.org", "* A heading\n"),
    ("2026-11.txt", "1:\n  text: a day\n"),
    ("2026/11/01.txt", "[2026-11-01 09:00] A day\n\ntext\n"),
    ("a.tid", "created: 20240101000000000\ntitle: A\n\ntext"),
    ("part.csv", "title,url,time_added,tags,status\na,https://x.example,1700000000,,unread\n"),
    ("a.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR\n"),
    ("a.vcf", "BEGIN:VCARD\nFN:A\nEND:VCARD\n"),
    ("a.json", "{\"isTrashed\":false,\"isPinned\":false,\"isArchived\":false}"),
    ("conversations.json", "[{\"uuid\":\"1\",\"name\":\"a\",\"chat_messages\":[]}]"),
    ("A.textbundle/info.json", "{\"type\":\"net.daringfireball.markdown\"}"),
];

/// All other files of the directory would be left out.
#[test]
fn one_file_of_a_format_does_not_take_over_a_directory() {
    for (name, content) in LONE_FILES {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write(name, content);
        if name.ends_with("info.json") {
            write("A.textbundle/text.md", "text");
        }
        let alone = convert(&[path(dir.path())]);
        assert_ne!(alone.status.code(), Some(3), "{name} alone: {alone:?}");
        for other in ["a.md", "b/c.md"] {
            write(other, "# A\n");
            let output = convert(&[path(dir.path())]);
            assert_eq!(output.status.code(), Some(3), "{name} with {other}: {output:?}");
            fs::remove_file(dir.path().join(other)).unwrap();
        }
        write("a.docx", "x");
        write("b.docx", "x");
        // Files of a bundle and JSON count, and a name with an id is of Notion, with attachments.
        let output = convert(&[path(dir.path())]);
        if ![".json", ".js", ".md"].iter().any(|end| name.ends_with(end)) {
            assert_eq!(output.status.code(), Some(3), "{name} with documents: {output:?}");
        }
    }
}

#[test]
fn a_pipe_is_no_input() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for args in [&[path(&pipe)][..], &["--as", "tiddlywiki", path(&pipe)]] {
        let output = convert(args);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output.stderr).contains("neither a file nor a directory"), "{output:?}");
    }
}

#[test]
fn a_whole_export_ends_with_a_last_line() {
    let dir = tempfile::tempdir().unwrap();
    let export = dir.path().join("a.enex");
    fs::write(&export, NOTE).unwrap();
    let output = convert(&[path(&export)]);
    assert!(output.status.success(), "{output:?}");
    let out = text(&output.stdout);
    let first = "{\"type\":\"format\",\"name\":\"evernote\"";
    assert!(out.starts_with(first) && out.ends_with("{\"type\":\"end\",\"pages\":1}\n"), "{out}");
}

/// What a confined process could do: one word each.
fn attempts(input: &Path, outside: &Path, address: &str) -> Vec<&'static str> {
    let mut done = Vec::new();
    let mut attempt = |name, is_possible: bool| {
        if is_possible {
            done.push(name);
        }
    };
    attempt("input", fs::read(input.join("inside")).is_ok());
    attempt("list", fs::read_dir(input).is_ok());
    attempt("outside", fs::read(outside).is_ok());
    attempt("link", fs::read(input.join("link")).is_ok());
    attempt("write", fs::write(input.join("new"), "x").is_ok());
    attempt("remove", fs::remove_file(input.join("inside")).is_ok());
    attempt("program", Command::new("/bin/true").spawn().is_ok());
    attempt("connect", std::net::TcpStream::connect(address).is_ok());
    attempt("listen", std::net::TcpListener::bind("127.0.0.1:0").is_ok());
    for (name, is_possible) in sockets() {
        attempt(name, is_possible);
    }
    done
}

/// Which sockets beside those of TCP a process can open. Landlock covers none of them.
fn sockets() -> [(&'static str, bool); 3] {
    [
        ("udp", std::net::UdpSocket::bind("127.0.0.1:0").is_ok()),
        ("unix", UnixDatagram::unbound().is_ok()),
        ("pair", UnixStream::pair().is_ok()),
    ]
}

/// The directory of the next processes has the input, with the address in it.
fn attempts_here(name: &str) {
    let (input, outside) = (Path::new("input"), Path::new("outside"));
    let Ok(address) = fs::read_to_string(input.join("inside")) else { return };
    println!("\n{name}: {}", attempts(input, outside, &address).join(" "));
}

/// Runs in a process of its own, which a test below starts.
#[test]
fn confined_process() {
    let Ok(task) = std::env::var("BRAIN_CONFINED") else { return };
    let input = Path::new("input");
    let address = fs::read(input.join("inside")).unwrap();
    attempts_here("before");
    fs::write(input.join("inside"), address).unwrap();
    fs::remove_file(input.join("new")).unwrap();
    if task == "helper" {
        let program = &std::env::current_exe().unwrap();
        let helper = Helper { program, data: &[] };
        println!("is enforced: {}", helper.confine(input).unwrap());
        let arguments = ["--exact", "confined_helper", "--nocapture", "--test-threads=1"];
        println!("{}", helper.run(&arguments.map(Into::into)).unwrap());
    }
    brain_convert::confine(input).unwrap();
    attempts_here("after");
}

/// Runs in a process that the one above starts.
#[test]
fn confined_helper() {
    attempts_here("helper");
}

/// Returns what the process above prints.
fn confined(task: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let (input, outside) = (dir.path().join("input"), dir.path().join("outside"));
    fs::create_dir(&input).unwrap();
    fs::write(&outside, "x").unwrap();
    std::os::unix::fs::symlink(&outside, input.join("link")).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    fs::write(input.join("inside"), listener.local_addr().unwrap().to_string()).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "confined_process", "--nocapture"])
        .env("BRAIN_CONFINED", task)
        .current_dir(dir.path())
        .output()
        .unwrap();
    let out = text(&output.stdout);
    let before =
        "before: input list outside link write remove program connect listen udp unix pair";
    assert!(out.contains(before), "{output:?}");
    out
}

/// Asserts what the process of this name could do.
fn assert_reads_only(out: &str, name: &str) {
    let prefix = format!("{name}: ");
    let possible = out.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap_or_default();
    if Path::new("/proc/sys/kernel/seccomp").exists() {
        for (socket, _) in sockets() {
            assert!(!possible.contains(socket), "{out}");
        }
    }
    // Linux has all of the rules of Landlock from 6.7 on.
    let version = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    if numbers >= vec![6, 7] {
        assert_eq!(possible, "input list", "{out}");
    } else {
        assert!(possible.starts_with("input list"), "{out}");
    }
}

#[test]
fn a_confined_process_can_only_read_its_input() {
    assert_reads_only(&confined("alone"), "after");
}

#[test]
fn a_helper_and_its_process_can_only_read_the_input() {
    let out = confined("helper");
    assert_reads_only(&out, "helper");
    assert_reads_only(&out, "after");
}

/// Without them, the kernel enforces nothing for a daemon that systemd started.
#[test]
fn the_services_allow_the_system_calls_that_give_up_rights() {
    for unit in [
        include_str!("../../../../systemd/user/brain-daemon.service"),
        include_str!("../../../../systemd/system/brain-daemon.service"),
    ] {
        let filter = "\nSystemCallFilter=landlock_create_ruleset landlock_add_rule \
                      landlock_restrict_self seccomp\n";
        assert!(unit.contains(filter), "{unit}");
    }
}

/// The library for PDF reads nothing of this file.
#[test]
fn the_text_of_pdftotext_becomes_the_page() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/pdf");
    let output = convert(&[path(&Path::new(directory).join("no-type.pdf"))]);
    let out = text(&output.stdout);
    let is_enforced = confined("helper").contains("is enforced: true");
    if Path::new("/usr/bin/pdftotext").is_file() && is_enforced {
        assert!(output.status.success(), "{output:?}");
        assert!(out.contains("## Page 1\\n\\nThe weir leaks.\\n"), "{out}");
        assert!(out.contains("only its text is read, by pdftotext: "), "{out}");
    } else {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
}

/// A link in the input leads to an export beside it.
#[test]
fn links_in_a_directory_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (input, outside) = (dir.path().join("input"), dir.path().join("outside.enex"));
    fs::create_dir(&input).unwrap();
    fs::write(&outside, NOTE).unwrap();
    let link = input.join("link.enex");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    // The link itself as an input is followed: it is what the user named.
    assert!(convert(&[path(&link)]).status.success());
    let output = convert(&["--as", "evernote", path(&input)]);
    assert!(!text(&output.stdout).contains("\"title\\\""), "{output:?}");
    assert!(!text(&output.stdout).contains("\"type\":\"page\""), "{output:?}");
}
