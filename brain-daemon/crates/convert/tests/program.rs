//! Tests of the program's arguments and of its rights. As an integration test, this file also makes
//! `cargo test` build the program, which the daemon starts.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

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
        for input in [&file, &empty] {
            let output = convert(&["--as", format.name, path(input)]);
            let errors = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{}: {output:?}", format.name);
            let message = format!("it does not look like {}", format.title);
            assert!(errors.contains(&message), "{}: {errors}", format.name);
        }
    }
}

/// Files of formats whose directories have no file that marks them.
const LONE_FILES: [(&str, &str); 12] = [
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
        // The folder of a bundle counts its files, and JSON is no document.
        let output = convert(&[path(dir.path())]);
        if !name.ends_with(".json") {
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
    done
}

/// Runs in a process of its own, which the next test starts.
#[test]
fn confined_process() {
    let Ok(variables) = std::env::var("BRAIN_CONFINED") else { return };
    let [input, outside, address] = variables.split('|').collect::<Vec<_>>()[..] else { return };
    let (input, outside) = (Path::new(input), Path::new(outside));
    println!("before: {}", attempts(input, outside, address).join(" "));
    fs::write(input.join("inside"), "x").unwrap();
    fs::remove_file(input.join("new")).unwrap();
    brain_convert::confine(input).unwrap();
    println!("after: {}", attempts(input, outside, address).join(" "));
}

#[test]
fn a_confined_process_can_only_read_its_input() {
    let dir = tempfile::tempdir().unwrap();
    let (input, outside) = (dir.path().join("input"), dir.path().join("outside"));
    fs::create_dir(&input).unwrap();
    fs::write(input.join("inside"), "x").unwrap();
    fs::write(&outside, "x").unwrap();
    std::os::unix::fs::symlink(&outside, input.join("link")).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "confined_process", "--nocapture"])
        .env("BRAIN_CONFINED", format!("{}|{}|{address}", path(&input), path(&outside)))
        .output()
        .unwrap();
    let out = text(&output.stdout);
    let before = "before: input list outside link write remove program connect listen";
    assert!(out.contains(before), "{output:?}");
    // Linux has all of the rules from 6.7 on.
    let after = out.lines().find_map(|line| line.strip_prefix("after: ")).unwrap_or_default();
    let version = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    if numbers >= vec![6, 7] {
        assert_eq!(after, "input list", "{output:?}");
    } else {
        assert!(after.starts_with("input list"), "{output:?}");
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
