//! A home whose repaired store is empty although page files exist, or whose store cannot be read:
//! each start is refused until the owner decides.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use brain_tests::{TestHome, run};

/// Makes `store` look as after a crash that lost all transactions: its sequence number is 0, and it
/// was not closed.
fn lose_transactions(store: &std::path::Path) {
    let db = redb::Database::open(store).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(redb::TableDefinition::<&str, u64>::new("meta"))
        .unwrap()
        .insert("seq", 0)
        .unwrap();
    txn.commit().unwrap();
    let torn = store.with_extension("torn");
    fs::copy(store, &torn).unwrap();
    drop(db);
    fs::rename(torn, store).unwrap();
}

#[test]
fn a_store_emptied_by_repair_is_refused_if_page_files_exist() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("kept", "walrus\n");
    let backup = home.outside().join("a.redb");
    home.json(["backup", backup.to_str().unwrap()]);
    assert!(daemon.terminate().0.success());
    let store = home.path().join("brain.redb");
    lose_transactions(&store);
    fs::remove_dir_all(home.path().join("index")).unwrap();
    // The first start repairs the store; the later starts find it repaired.
    for start in 1..=3 {
        let output = home.brain(["list"]);
        assert_ne!(output.code, 0, "start {start}: {output:?}");
        let (pages, store) = (home.path().join("pages"), store.display());
        for part in [
            format!("{store} opened without any page, but {} has 1 page,", pages.display()),
            "the store had to be repaired".into(),
            format!("move {store} away"),
            "brain backup restore FILE".into(),
            "brain import PATH".into(),
        ] {
            assert!(output.stderr.contains(&part), "start {start}: {part}: {}", output.stderr);
        }
    }
    assert_eq!(
        fs::read_to_string(home.page_file("kept")).unwrap().lines().last(),
        Some("walrus"),
        "the page files are unchanged"
    );
    // The first advice of the message: restore a backup.
    fs::rename(&store, home.outside().join("lost.redb")).unwrap();
    home.json(["backup", "restore", backup.to_str().unwrap()]);
    let daemon = home.daemon();
    assert_eq!(home.get("kept")["body"], "walrus\n");
    assert!(daemon.terminate().0.success());
    // The second advice: import the page files.
    fs::rename(&store, home.outside().join("again.redb")).unwrap();
    let moved_pages = home.outside().join("pages");
    fs::rename(home.path().join("pages"), &moved_pages).unwrap();
    fs::rename(home.path().join("index"), home.outside().join("index")).unwrap();
    let _daemon = home.daemon();
    home.json(["import", moved_pages.to_str().unwrap()]);
    assert_eq!(home.get("kept")["body"], "walrus\n");
}

#[test]
fn an_empty_store_that_needs_a_repair_opens_without_page_files() {
    let home = TestHome::new();
    assert!(home.daemon().terminate().0.success());
    lose_transactions(&home.path().join("brain.redb"));
    let _ = fs::remove_dir_all(home.path().join("index"));
    let daemon = home.daemon();
    home.put("first", "walrus\n");
    assert!(daemon.terminate().0.success());
    let _daemon = home.daemon();
    assert_eq!(home.get("first")["body"], "walrus\n");
}

#[test]
fn a_store_without_permissions_says_which_is_missing() {
    let Some(home) = TestHome::that_obeys_modes() else { return };
    home.put("first", "walrus\n");
    home.brain(["stop"]).expect(0);
    let store = home.path().join("brain.redb");
    for (mode, missing) in [(0o000, "cannot read"), (0o400, "cannot write")] {
        fs::set_permissions(&store, fs::Permissions::from_mode(mode)).unwrap();
        let output = run(home.command("brain-daemon"), b"");
        assert_ne!(output.code, 0, "{mode:o}: {output:?}");
        let message = format!("error: {missing} {}: Permission denied", store.display());
        assert!(output.stderr.contains(&message), "{mode:o}: {}", output.stderr);
        assert!(output.stderr.contains("hint: check the owner and mode"), "{}", output.stderr);
    }
}
