//! Page files with concurrent programs and after a power loss.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::{FileOutcome, OwnContents, Tree, digest, is_torn};

fn tree() -> (tempfile::TempDir, Tree) {
    let dir = tempfile::tempdir().unwrap();
    let tree = Tree::new(dir.path().join("pages"));
    (dir, tree)
}

/// Writes a page file; the texts `ours` count as written by brain.
fn put(tree: &Tree, path: &str, text: &str, ours: &[&str]) -> FileOutcome {
    let digests: Vec<_> = ours.iter().map(|text| digest(text.as_bytes())).collect();
    tree.put(path, text, &OwnContents::whole(&digests), 1).unwrap()
}

fn read(tree: &Tree, path: &str) -> String {
    fs::read_to_string(tree.path_of(path)).unwrap()
}

/// Returns the names in a directory.
fn names(tree: &Tree, path: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(tree.path_of(path))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_changed_by_another_program_is_left_alone() {
    let (_dir, tree) = tree();
    assert_eq!(put(&tree, "a/b.md", "one", &[]), FileOutcome::Done);
    assert_eq!(put(&tree, "a/b.md", "two", &["one"]), FileOutcome::Done);
    fs::write(tree.path_of("a/b.md"), "mine").unwrap();
    assert_eq!(put(&tree, "a/b.md", "three", &["two"]), FileOutcome::Foreign);
    assert_eq!(read(&tree, "a/b.md"), "mine");
    fs::write(tree.path_of("a/b.md"), "").unwrap();
    assert_eq!(put(&tree, "a/b.md", "three", &["two"]), FileOutcome::Emptied);
    assert_eq!(names(&tree, "a"), ["b.md"], "no temporary file is left");
    assert_eq!(tree.take_overwritten_edits(), []);
}

#[test]
fn a_save_between_check_and_write_stays() {
    for (saved, outcome) in [("saved now", FileOutcome::Foreign), ("", FileOutcome::Emptied)] {
        let (_dir, tree) = tree();
        put(&tree, "a.md", "one", &[]);
        let file_path = tree.path_of("a.md");
        let (digests, calls) = ([digest(b"one")], Cell::new(0));
        // Decides whether contents are incomplete. Called here for the temporary file that a kill
        // left, after the page's file was read.
        let torn = |_: &[u8]| {
            calls.set(calls.get() + 1);
            fs::write(&file_path, saved).unwrap();
            true
        };
        fs::write(tree.path_of(".brain-1.tmp"), "half").unwrap();
        let own = OwnContents { digests: &digests, is_torn: &torn, is_recovering: false };
        assert_eq!(tree.put("a.md", "two", &own, 1).unwrap(), outcome);
        assert_eq!((read(&tree, "a.md").as_str(), calls.get()), (saved, 1));
        assert_eq!(names(&tree, ""), ["a.md"]);
    }
}

#[test]
fn writes_to_a_replaced_file_are_not_lost() {
    let (_dir, tree) = tree();
    put(&tree, "a.md", "one", &[]);
    let mut open_file = File::options().write(true).open(tree.path_of("a.md")).unwrap();
    assert_eq!(put(&tree, "a.md", "two", &["one"]), FileOutcome::Done);
    assert_eq!(tree.take_overwritten_edits(), []);
    open_file.write_all(b"late").unwrap();
    let saves = tree.take_overwritten_edits();
    assert_eq!(saves.len(), 1);
    let save = &saves[0];
    assert_eq!((save.page_id, save.path.as_str(), &*save.bytes), (1, "a.md", &b"late"[..]));
    assert_eq!(tree.take_overwritten_edits(), [], "each save is returned once");
    open_file.write_all(b" and later").unwrap();
    assert_eq!(tree.take_overwritten_edits()[0].bytes, b"late and later");
    assert_eq!(read(&tree, "a.md"), "two");
}

#[test]
fn a_write_keeps_mode_and_owner() {
    use std::os::unix::fs::{MetadataExt, chown};
    let (_dir, tree) = tree();
    put(&tree, "a.md", "one", &[]);
    let file_path = tree.path_of("a.md");
    fs::set_permissions(&file_path, fs::Permissions::from_mode(0o640)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        chown(&file_path, Some(1234), Some(2345)).unwrap();
    }
    assert_eq!(put(&tree, "a.md", "two", &["one"]), FileOutcome::Done);
    let meta = fs::metadata(&file_path).unwrap();
    assert_eq!((meta.mode() & 0o777, read(&tree, "a.md").as_str()), (0o640, "two"));
    if is_root {
        assert_eq!((meta.uid(), meta.gid()), (1234, 2345));
    }
}

#[test]
fn the_trash_keeps_existing_files() {
    let (_dir, tree) = tree();
    for text in ["first", "second"] {
        put(&tree, "x.md", text, &[]);
        tree.trash("x.md", &OwnContents::whole(&[digest(text.as_bytes())]), true, 1).unwrap();
    }
    assert_eq!(
        (read(&tree, ".trash/x.md"), read(&tree, ".trash/x.md~1")),
        ("first".into(), "second".into())
    );
    let purge = |texts: &[&[u8]]| {
        let digests: Vec<_> = texts.iter().map(|text| digest(text)).collect();
        tree.purge("x.md", &OwnContents::whole(&digests), true, 1).unwrap()
    };
    assert_eq!(purge(&[b"other"]), FileOutcome::Foreign);
    fs::write(tree.path_of(".trash/x.md~2"), "").unwrap();
    assert_eq!(purge(&[b"first", b"second"]), FileOutcome::Done);
    assert_eq!(names(&tree, ".trash"), Vec::<String>::new());
}

#[test]
fn an_interrupted_restore_leaves_no_copy_in_the_trash() {
    let (_dir, tree) = tree();
    put(&tree, "x.md", "text", &[]);
    put(&tree, ".trash/x.md", "text", &[]);
    assert_eq!(put(&tree, "x.md", "text", &[]), FileOutcome::Done);
    tree.remove_trashed_copy("x.md", "text", &OwnContents::whole(&[]), 1).unwrap();
    assert_eq!((names(&tree, ".trash").len(), read(&tree, "x.md").as_str()), (0, "text"));
}

#[test]
fn only_the_first_check_counts_an_incomplete_write_as_own() {
    let whole = "A line that is long enough to be cut.\n".repeat(60);
    let torn = |bytes: &[u8]| is_torn(bytes, whole.as_bytes());
    for incomplete in ["", &whole[..700], &"\0".repeat(900)] {
        let (_dir, tree) = tree();
        put(&tree, "a.md", incomplete, &[]);
        let mut own = OwnContents { digests: &[], is_torn: &torn, is_recovering: false };
        assert_ne!(tree.put("a.md", &whole, &own, 1).unwrap(), FileOutcome::Done);
        own.is_recovering = true;
        assert_eq!(tree.put("a.md", &whole, &own, 1).unwrap(), FileOutcome::Done);
        assert_eq!(read(&tree, "a.md"), whole);
    }
    let (_dir, tree) = tree();
    put(&tree, "a.md", "A line of another author.\n", &[]);
    let own = OwnContents { digests: &[], is_torn: &torn, is_recovering: true };
    assert_eq!(tree.put("a.md", &whole, &own, 1).unwrap(), FileOutcome::Foreign);
}

#[test]
fn incomplete_trash_copies_become_one_complete_file() {
    let text = "A page that was deleted.\n".repeat(60);
    let torn = |bytes: &[u8]| is_torn(bytes, text.as_bytes());
    let digests = [digest(text.as_bytes())];
    let own = OwnContents { digests: &digests, is_torn: &torn, is_recovering: true };
    /// Paths and texts.
    type Files<'a> = &'a [(&'a str, &'a str)];
    let cases: [Files<'_>; 6] = [
        &[],
        &[("x.md", &text), (".trash/x.md", "")],
        &[("x.md", &text[..600]), (".trash/x.md", &text[..100]), (".trash/x.md~1", "")],
        &[(".trash/x.md", ""), (".trash/x.md~1", &text)],
        &[(".trash/x.md", &text[..512])],
        &[("x.md", &text[..600])],
    ];
    for leftovers in cases {
        let (_dir, tree) = tree();
        for (path, text) in leftovers {
            put(&tree, path, text, &[]);
        }
        fs::create_dir_all(tree.root()).unwrap();
        fs::write(tree.path_of(".brain-7.tmp"), &text[..99]).unwrap();
        tree.recover("x.md", &text, &own, true, 7).unwrap();
        assert_eq!(tree.trash("x.md", &own, false, 7).unwrap(), FileOutcome::Done);
        assert_eq!(names(&tree, ""), [".trash"], "{leftovers:?}");
        assert_eq!(
            (names(&tree, ".trash"), read(&tree, ".trash/x.md")),
            (vec!["x.md".into()], text.clone())
        );
        assert_eq!(tree.take_overwritten_edits(), []);
    }
    // A foreign file in the trash stays.
    let (_dir, tree) = tree();
    put(&tree, ".trash/x.md", "foreign\n", &[]);
    put(&tree, "x.md", "", &[]);
    tree.recover("x.md", &text, &own, true, 7).unwrap();
    tree.trash("x.md", &own, false, 7).unwrap();
    assert_eq!(
        (read(&tree, ".trash/x.md"), read(&tree, ".trash/x.md~1")),
        ("foreign\n".into(), text.clone())
    );
}

#[test]
fn a_save_in_a_leftover_temporary_file_is_found() {
    let (_dir, tree) = tree();
    put(&tree, "a.md", "two", &[]);
    fs::write(tree.path_of(".brain-3.tmp"), "another save").unwrap();
    tree.recover("a.md", "two", &OwnContents::whole(&[]), false, 3).unwrap();
    let saves = tree.take_overwritten_edits();
    assert_eq!((saves.len(), &*saves[0].bytes, saves[0].page_id), (1, &b"another save"[..], 3));
    assert_eq!(names(&tree, ""), ["a.md"]);
    let trashed = tree.keep_in_trash(&saves[0]).unwrap();
    assert_eq!(fs::read_to_string(trashed).unwrap(), "another save");
}

#[test]
fn a_link_out_of_the_tree_is_refused_at_any_time() {
    let (dir, tree) = tree();
    let outside = dir.path().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("x.md"), "theirs").unwrap();
    put(&tree, "sub/x.md", "ours", &[]);
    put(&tree, "mine.md", "mine", &[]);
    fs::rename(tree.path_of("sub"), dir.path().join("away")).unwrap();
    symlink(&outside, tree.path_of("sub")).unwrap();
    let own = OwnContents::whole(&[]);
    for path in ["sub/x.md", "sub/y.md", "sub/deep/x.md"] {
        let error = tree.put(path, "text", &own, 1).unwrap_err();
        assert!(error.to_string().contains("leads out of"), "{error}");
        assert!(tree.trash(path, &own, false, 7).is_err());
        assert!(tree.purge(path, &OwnContents::whole(&[digest(b"theirs")]), true, 1).is_err());
        assert!(tree.restore_if_missing(path, |_| true).is_err());
    }
    // A trash directory that is a link out of the tree.
    symlink(&outside, tree.path_of(".trash")).unwrap();
    assert!(tree.trash("mine.md", &own, false, 7).is_err());
    assert_eq!(tree.trash("mine.md", &own, true, 7).unwrap(), FileOutcome::Foreign);
    assert_eq!(fs::read_to_string(outside.join("x.md")).unwrap(), "theirs");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
}

#[test]
fn a_moved_directory_is_not_created_again() {
    let (dir, _) = tree();
    let tree = Tree::new(dir.path().join("home/pages"));
    assert!(tree.put("a.md", "text", &OwnContents::whole(&[]), 1).is_err());
    assert!(!dir.path().join("home").exists());
}
