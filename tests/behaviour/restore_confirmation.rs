//! `brain backup restore` at a terminal asks before it writes into directories outside of the home.

use std::fs;
use std::path::{Path, PathBuf};

use brain_tests::TestHome;

use crate::terminal::on_a_terminal_with_input;

/// Returns a backup of a brain with the sources `alpha` and `beta`, whose directories are empty
/// now.
fn backup_of_emptied_sources() -> (TestHome, PathBuf, [PathBuf; 2]) {
    let home = TestHome::new();
    let daemon = home.daemon();
    // A directory's name may contain control characters, which a terminal would obey.
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

/// Restores `file` into a new home on a terminal where `input` is typed. Returns the output, or
/// `None` if python3 is not installed.
fn restore(file: &Path, input: &str) -> Option<String> {
    let new_home = TestHome::new();
    let args = ["backup", "restore", file.to_str().unwrap()];
    let (code, screen) =
        on_a_terminal_with_input(&new_home, 200, input, &[("NO_COLOR", "1")], &args)?;
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("\nrestored "), "{screen}");
    assert!(!screen.contains('\u{1b}'), "{screen:?}");
    let _daemon = new_home.daemon();
    assert_eq!(new_home.json(["get", "note", "--source", "beta"])["body"], "walrus of beta\n");
    Some(screen)
}

#[test]
fn restore_confirms_each_directory_outside_the_home() {
    let (_home, file, dirs) = backup_of_emptied_sources();
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
        let Some(screen) = restore(&file, typed) else { return };
        for ((id, dir), written) in ["alpha", "beta"].into_iter().zip(&dirs).zip(written) {
            assert!(screen.contains(&question(id, dir)), "{typed:?}: {screen}");
            let note = dir.join("note.md");
            assert_eq!(note.exists(), written, "{typed:?}, {id}: {screen}");
            let option = format!("--write-source {id}");
            assert_eq!(screen.contains(&option), !written, "{typed:?}, {id}: {screen}");
            if written {
                assert!(fs::read_to_string(&note).unwrap().ends_with(&format!("walrus of {id}\n")));
                fs::remove_file(note).unwrap();
            }
        }
    }
}

#[test]
fn the_end_of_input_means_no() {
    let (_home, file, dirs) = backup_of_emptied_sources();
    // Ctrl-D at the first question and at the second. In the middle of a line it does not end the
    // input.
    for (typed, written, questions) in
        [("\u{4}", [false, false], 1), ("y\n\u{4}", [true, false], 2)]
    {
        let Some(screen) = restore(&file, typed) else { return };
        assert_eq!(screen.matches("[y/N]").count(), questions, "{screen}");
        for (dir, written) in dirs.iter().zip(written) {
            assert_eq!(dir.join("note.md").exists(), written, "{typed:?}: {screen}");
            let _ = fs::remove_file(dir.join("note.md"));
        }
    }
}

#[test]
fn named_sources_or_json_need_no_confirmation() {
    let (_home, file, dirs) = backup_of_emptied_sources();
    let path = file.to_str().unwrap();
    for (options, written) in [(&["--write-source", "alpha"][..], true), (&["--json"], false)] {
        let args = [&["backup", "restore", path], options].concat();
        let Some((code, screen)) = on_a_terminal_with_input(&TestHome::new(), 200, "", &[], &args)
        else {
            return;
        };
        assert_eq!(code, 0, "{screen}");
        assert!(!screen.contains("[y/N]"), "{screen}");
        assert_eq!(dirs[0].join("note.md").exists(), written, "{screen}");
        assert!(!dirs[1].join("note.md").exists(), "{screen}");
        let _ = fs::remove_file(dirs[0].join("note.md"));
    }
}
