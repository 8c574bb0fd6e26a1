//! Tests of all formats with damaged and hostile input.

use std::fs;
use std::path::{Path, PathBuf};

use brain_convert_base::{Format, convert};
use brain_convert_testing::{assert_linear, directory};

use crate::FORMATS;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/import").join(name)
}

fn format(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap()
}

/// Converts a path, and returns the output, which is lines of JSON also after an error.
fn output(name: &str, path: &Path) -> String {
    let mut out = Vec::new();
    let result = convert(format(name), path, &mut out);
    let out = String::from_utf8(out).unwrap();
    for line in out.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    assert!(result.is_err() || out.contains("\"type\":\"end\""));
    out
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

const SOURCES: [(&str, &str); 8] = [
    ("cherrytree", "cherrytree/notes.ctd"),
    ("org", "org/notes"),
    ("zim", "zim/notes"),
    ("gnote", "gnote/notes"),
    ("rednotebook", "rednotebook/notes"),
    ("dokuwiki", "dokuwiki/notes"),
    ("jrnl", "jrnl/j.txt"),
    ("jrnl", "jrnl/j.json"),
];

#[test]
fn files_cut_at_each_tenth_or_damaged_do_no_harm() {
    for (name, source) in SOURCES {
        let source = fixture(source);
        let mut found = Vec::new();
        if source.is_dir() {
            files(&source, &mut found);
        } else {
            found.push(source.clone());
        }
        for file in found {
            let whole = fs::read(&file).unwrap();
            let directory = tempfile::tempdir().unwrap();
            let copy = directory.path().join(file.file_name().unwrap());
            for tenth in 0..10 {
                fs::write(&copy, &whole[..whole.len() * tenth / 10]).unwrap();
                output(name, &copy);
            }
            let mut damaged = whole.clone();
            for (n, byte) in damaged.iter_mut().enumerate().filter(|(n, _)| n % 37 == 5) {
                *byte ^= u8::try_from(n % 251).unwrap();
            }
            fs::write(&copy, &damaged).unwrap();
            output(name, &copy);
            output(name, directory.path());
        }
    }
}

#[test]
fn the_same_input_gives_the_same_output() {
    for (name, source) in SOURCES {
        let source = fixture(source);
        assert_eq!(output(name, &source), output(name, &source), "{name}");
    }
}

/// Pieces of markup that never end, or nest, if they are repeated.
const HOSTILE: [&str; 43] = [
    "[[",
    "{{",
    "**",
    "//a ",
    "*a ",
    "/a ",
    "=a ",
    "[fn:",
    "((",
    "\\(",
    "''",
    "<",
    "|a",
    "[",
    "{",
    "- ",
    "  - a\n",
    "#+begin_src\n",
    ":a:\n",
    "> ",
    "@",
    "$",
    "_{",
    "<list><list-item>",
    "&",
    "(((",
    "* a\n",
    "** a\n*** b\n",
    "\t",
    "\t* a\n",
    "[[\"\"",
    "\"\"",
    "%%",
    "<code ",
    "'''\n",
    "{{{a: b\n",
    "https://a ",
    "[[a][b]] ",
    "[[a|b]] ",
    "```\n",
    "'",
    "~~",
    "\\\\ ",
];

#[test]
fn hostile_text_takes_linear_time() {
    let head = "Content-Type: text/x-zim-wiki\n\n";
    let xml =
        "<note xmlns=\"http://beatniksoftware.com/tomboy\"><title>T</title><text><note-content>";
    for piece in HOSTILE {
        let files = |size: usize| {
            let text = piece.repeat(size / piece.len());
            let yaml: String = text.lines().map(|line| format!("    {line}\n")).collect();
            directory(&[
                ("a.org", &format!("#+title: A\n{text}")),
                ("A.txt", &format!("{head}{text}")),
                ("a.note", &format!("{xml}{text}")),
                ("2026-11.txt", &format!("1:\n  text: |\n{yaml}")),
                ("data/pages/a.txt", &text),
                ("data/meta/a.changes", ""),
                ("2026/11/01.txt", &format!("[2026-11-01 09:00] {text}")),
            ])
        };
        for format in &FORMATS {
            assert_linear(&format!("{piece:?} {}", format.name), 20_000, |size| {
                output(format.name, files(size).path());
            });
        }
    }
}

#[test]
fn names_that_climb_or_are_long_stay_inside() {
    let long = "x".repeat(300);
    let files = directory(&[
        (
            "a.org",
            &format!("#+title: ../../{long}\n[[file:../../../etc/passwd]] [[file:/etc/passwd]]"),
        ),
        ("A.TXT", "x"),
    ]);
    let out = output("org", files.path());
    assert!(!out.contains("root:"), "{out}");
    assert!(out.contains("its file ../../../etc/passwd is not in the import"), "{out}");
    let page = out.lines().find(|line| line.contains("\"type\":\"page\"")).unwrap();
    let page: serde_json::Value = serde_json::from_str(page).unwrap();
    let path = page["path"].as_str().unwrap();
    assert!(path.len() <= 150 && !path.starts_with('.') && !path.contains('/'), "{path}");
}

#[test]
fn dates_far_out_do_no_harm() {
    let files = directory(&[
        (
            "data/meta/a.changes",
            "-11644473600\t\tC\ta\tida\n9223372036854775807\t\tE\ta\n9214646400\t\tE\ta\n",
        ),
        ("data/pages/a.txt", "x"),
    ]);
    let out = output("dokuwiki", files.path());
    assert!(out.contains("created: 1601-01-01T00:00:00Z\\nupdated: 2262-"), "{out}");
}
