//! Files that brain edits keep their mode and line ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use brain_tests::TestHome;

use crate::sync::{get_note, home_with_notes, sync, write};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn edited_and_restored_files_keep_their_mode() {
    let (home, _daemon, notes) = home_with_notes();
    set_mode(&notes, 0o2775);
    write(&notes, "a.md", "# A\n\nText.\n");
    let file = notes.join("a.md");
    set_mode(&file, 0o664);
    sync(&home);
    home.json(["tags", "a", "--add", "x", "--source", "notes"]);
    assert!(fs::read_to_string(&file).unwrap().contains("- x"));
    assert_eq!(mode(&file), 0o664);
    home.json(["delete", "a", "--source", "notes"]);
    assert_eq!((mode(&notes.join(".trash")), mode(&notes.join(".trash/a.md"))), (0o2775, 0o664));
    home.json(["restore", "a", "--source", "notes"]);
    assert_eq!(mode(&file), 0o664);
    // A new file and a new directory are readable for everyone who can read the parent directory.
    home.json(["capture", "new", "--slug", "sub/new", "--source", "notes"]);
    assert_eq!((mode(&notes.join("sub")), mode(&notes.join("sub/new.md"))), (0o2775, 0o664));
}

#[test]
fn files_in_the_home_stay_private_and_keep_a_mode_that_was_set() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let reply = home.json(["capture", "text", "--slug", "a"]);
    let file = home.path().join("pages/a.md");
    assert_eq!(mode(&file), 0o600, "{reply}");
    set_mode(&file, 0o664);
    home.json(["tags", "a", "--add", "x"]);
    assert_eq!(mode(&file), 0o664);
    home.json(["delete", "a"]);
    home.json(["restore", "a"]);
    assert_eq!(mode(&file), 0o664);
}

#[test]
fn line_ends_of_windows_stay_in_every_line() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "w.md", "---\r\ntitle: W\r\n---\r\n\r\nOne.\r\nTwo.\r\n");
    sync(&home);
    home.json(["tags", "w", "--add", "x", "--source", "notes"]);
    let text = fs::read_to_string(notes.join("w.md")).unwrap();
    assert_eq!(text, "---\r\ntitle: W\r\ntags:\r\n  - x\r\n---\r\n\r\nOne.\r\nTwo.\r\n");
    assert_eq!(sync(&home)["unchanged"], 1);
    home.json(["tags", "w", "--add", "blue", "--source", "notes"]);
    let text = fs::read_to_string(notes.join("w.md")).unwrap();
    assert!(text.contains("  - blue\r\n") && !text.replace("\r\n", "").contains('\n'), "{text:?}");
}

#[test]
fn provenance_lines_can_be_kept_out_of_the_files() {
    let (home, _daemon, notes) = home_with_notes();
    home.json(["capture", "with lines", "--slug", "a", "--source", "notes"]);
    assert!(fs::read_to_string(notes.join("a.md")).unwrap().contains("captured_via"));
    home.json(["sources", "set", "notes", "--provenance", "off"]);
    assert_eq!(home.json(["sources"])["sources"][1]["provenance"], false);
    home.json(["capture", "no lines\n", "--slug", "b", "--tag", "x", "--source", "notes"]);
    let put = || home.json_with(["put", "c", "--source", "notes"], b"# C\n\nText.\n");
    put();
    for slug in ["b", "c"] {
        let text = fs::read_to_string(notes.join(format!("{slug}.md"))).unwrap();
        for key in ["captured_at", "captured_via", "ingested_", "source_"] {
            assert!(!text.contains(key), "{slug}: {text}");
        }
        assert!(get_note(&home, slug)["ingested_at"].is_string(), "the store has the value");
    }
    assert_eq!(sync(&home)["unchanged"], 3);
    // Putting the same text again changes nothing.
    assert_eq!(put()["status"], "unchanged");
}
