//! `brain backup restore` at a terminal asks before it writes into directories outside of the home.

use std::fs;
use std::path::{Path, PathBuf};

use brain_tests::TestHome;

use crate::terminal::typing;

/// A backup of a brain with the sources `alpha` and `beta`, whose directories have lost their
/// files.
fn bereft() -> (TestHome, PathBuf, [PathBuf; 2]) {
    let home = TestHome::new();
    let daemon = home.daemon();
    // A name may hold anything; a terminal would obey this one.
    let dirs = [home.outside().join("alpha"), home.outside().join("b\u{1b}[2Jeta")];
    for (id, dir) in ["alpha", "beta"].into_iter().zip(&dirs) {
        fs::create_dir(dir).unwrap();
        home.json(["sources", "add", id, "--path", dir.to_str().unwrap()]);
        home.json_with(["put", "note", "--source", id], format!("walrus of {id}\n").as_bytes());
    }
    let file = home.outside().join("a.redb");
    home.json(["backup", file.to_str().unwrap()]);
    assert!(daemon.terminate().0.success());
    dirs.iter().for_each(|dir| fs::remove_file(dir.join("note.md")).unwrap());
    (home, file, dirs)
}

/// Restores `file` into a fresh home with somebody who types this; what appeared.
fn restore(file: &Path, typed: &str) -> Option<String> {
    let fresh = TestHome::new();
    let args = ["backup", "restore", file.to_str().unwrap()];
    let (code, shown) = typing(&fresh, 200, typed, &[("NO_COLOR", "1")], &args)?;
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("\nrestored "), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    let _daemon = fresh.daemon();
    assert_eq!(fresh.json(["get", "note", "--source", "beta"])["body"], "walrus of beta\n");
    Some(shown)
}

#[test]
fn each_directory_outside_the_home_is_asked_for_by_name() {
    let (_home, file, dirs) = bereft();
    let question = |id: &str, dir: &Path| {
        let dir = dir.display().to_string().replace('\u{1b}', "\u{FFFD}");
        format!("write missing files of source \"{id}\" to {dir}? [y/N] ")
    };
    for (typed, written) in [
        ("y\nn\n", [true, false]),
        ("no\nYES\n", [false, true]),
        ("\n\n", [false, false]),
        ("yes please\nmaybe\n", [false, false]),
    ] {
        let Some(shown) = restore(&file, typed) else { return };
        for ((id, dir), written) in ["alpha", "beta"].into_iter().zip(&dirs).zip(written) {
            assert!(shown.contains(&question(id, dir)), "{typed:?}: {shown}");
            let note = dir.join("note.md");
            assert_eq!(note.exists(), written, "{typed:?}, {id}: {shown}");
            let way_out = format!("--write-source {id}");
            assert_eq!(shown.contains(&way_out), !written, "{typed:?}, {id}: {shown}");
            if written {
                assert!(fs::read_to_string(&note).unwrap().ends_with(&format!("walrus of {id}\n")));
                fs::remove_file(note).unwrap();
            }
        }
    }
}

#[test]
fn the_end_of_input_is_no_leave_to_write() {
    let (_home, file, dirs) = bereft();
    // Ctrl-D at the first question; at the second; in the middle of an answer there is no end.
    for (typed, written, questions) in
        [("\u{4}", [false, false], 1), ("y\n\u{4}", [true, false], 2)]
    {
        let Some(shown) = restore(&file, typed) else { return };
        assert_eq!(shown.matches("[y/N]").count(), questions, "{shown}");
        for (dir, written) in dirs.iter().zip(written) {
            assert_eq!(dir.join("note.md").exists(), written, "{typed:?}: {shown}");
            let _ = fs::remove_file(dir.join("note.md"));
        }
    }
}

#[test]
fn nobody_is_asked_where_sources_are_named_or_json_is_wanted() {
    let (_home, file, dirs) = bereft();
    let path = file.to_str().unwrap();
    for (more, written) in [(&["--write-source", "alpha"][..], true), (&["--json"], false)] {
        let args = [&["backup", "restore", path], more].concat();
        let Some((code, shown)) = typing(&TestHome::new(), 200, "", &[], &args) else { return };
        assert_eq!(code, 0, "{shown}");
        assert!(!shown.contains("[y/N]"), "{shown}");
        assert_eq!(dirs[0].join("note.md").exists(), written, "{shown}");
        assert!(!dirs[1].join("note.md").exists(), "{shown}");
        let _ = fs::remove_file(dirs[0].join("note.md"));
    }
}
