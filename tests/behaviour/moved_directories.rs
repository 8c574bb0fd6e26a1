//! Directories that are replaced or moved while the daemon runs: no file is written to a wrong
//! place.

use std::fs;
use std::os::unix::fs::symlink;

use brain_protocol::{FaultCode, Origin, PageRef, Put, Reply, Request, Slug, Status};
use brain_tests::{Client, TestHome, expect_reply};

fn put(client: &mut Client, slug: &str) -> Result<Reply, brain_protocol::Fault> {
    let page = PageRef { source: None, slug: Slug::parse(slug).unwrap() };
    let content = b"Some text.\n".to_vec();
    client.ask(&Request::Put(Put {
        page,
        content,
        origin: Origin::Stdin,
        allow_empty: false,
        expect: None,
    }))
}

#[test]
fn a_directory_that_becomes_a_link_is_not_followed() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = home.connect().unwrap();
    let (outside, pages) = (home.outside(), home.path().join("pages"));
    fs::write(outside.join("private.md"), "Zirconium.\n").unwrap();
    for round in 0..20 {
        let dir = pages.join(format!("d{round}"));
        put(&mut client, &format!("d{round}/one")).unwrap();
        fs::rename(&dir, pages.join(format!("away{round}"))).unwrap();
        symlink(&outside, &dir).unwrap();
        // A slug of a new file, and the slug of a file in the linked directory.
        for slug in ["two", "private"] {
            match put(&mut client, &format!("d{round}/{slug}")).unwrap() {
                Reply::Write(written) => {
                    assert!(!written.written, "{written:?}");
                    assert!(written.warnings[0].contains("leads out of"), "{written:?}");
                }
                other => panic!("{other:?}"),
            }
        }
        home.brain(["delete", &format!("d{round}/one")]).expect(0);
    }
    home.brain(["sync", "--source", "default", "--yes"]);
    let names: Vec<_> = fs::read_dir(&outside).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["private.md"]);
    assert_eq!(fs::read_to_string(outside.join("private.md")).unwrap(), "Zirconium.\n");
    assert_eq!(home.search("zirconium"), Vec::<String>::new(), "nothing was read through the link");
}

#[test]
fn a_source_whose_root_becomes_a_link_is_away_until_accepted() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let (vault, other) = (home.outside().join("vault"), home.outside().join("other"));
    fs::create_dir_all(&vault).unwrap();
    fs::write(vault.join("note.md"), "A quokka.\n").unwrap();
    home.json(["sources", "add", "vault", vault.to_str().unwrap()]);
    home.json(["sync", "--source", "vault"]);
    fs::rename(&vault, &other).unwrap();
    fs::write(other.join("private.md"), "Zirconium.\n").unwrap();
    symlink(&other, &vault).unwrap();
    let synced = home.brain(["sync", "--source", "vault", "--json"]);
    assert!(synced.stdout.contains("is a symbolic link now"), "{synced:?}");
    home.brain_with(["put", "new", "--source", "vault"], b"text\n").expect(0);
    assert!(!other.join("new.md").exists(), "nothing is written through the link");
    assert_eq!(home.search("zirconium"), Vec::<String>::new(), "nothing is read through the link");
    assert_eq!(home.search("quokka"), ["note"], "and no page is deleted");
    // The owner accepts the moved directory.
    home.json(["sources", "add", "vault", vault.to_str().unwrap()]);
    home.json(["sync", "--source", "vault"]);
    assert_eq!(home.search("zirconium"), ["private"]);
    assert_eq!(home.search("quokka"), ["note"]);
}

#[test]
fn nothing_is_written_at_the_old_path_of_a_moved_home() {
    let home = TestHome::new();
    let mut daemon = home.daemon();
    let mut client = home.connect().unwrap();
    put(&mut client, "before").unwrap();
    let new_path = home.outside().join("moved");
    for replaced in [false, true] {
        fs::rename(home.path(), &new_path).unwrap();
        if replaced {
            fs::create_dir(home.path()).unwrap();
        }
        let fault = put(&mut client, "after").unwrap_err();
        assert_eq!(fault.code, FaultCode::ReadOnly, "{fault:?}");
        assert!(fault.message.contains("moved"), "{fault:?}");
        let status = expect_reply!(client.ask(&Request::Status(Status)), Status);
        assert!(
            status.degraded.iter().any(|reason| reason.contains("moved")),
            "{:?}",
            status.degraded
        );
        let mut command = home.command("brain");
        command.env("BRAIN_HOME", &new_path).args(["doctor", "--json"]);
        let doctor = brain_tests::run(command, b"").expect(1).json();
        let check =
            doctor["checks"].as_array().unwrap().iter().find(|c| c["name"] == "daemon").unwrap();
        assert_eq!(check["status"], "fail", "{check}");
        // The pages can still be read.
        let mut command = home.command("brain");
        command.env("BRAIN_HOME", &new_path).args(["get", "before"]);
        brain_tests::run(command, b"").expect(0);
        // Longer than any timer of the daemon's work on files.
        std::thread::sleep(std::time::Duration::from_millis(1500));
        match replaced {
            false => assert!(!home.path().exists(), "nothing is created at the old path"),
            true => {
                let names: Vec<_> = fs::read_dir(home.path()).unwrap().collect();
                assert!(names.is_empty(), "{names:?}");
                fs::remove_dir(home.path()).unwrap();
            }
        }
        fs::rename(&new_path, home.path()).unwrap();
        put(&mut client, if replaced { "again" } else { "back" }).unwrap();
    }
    assert!(daemon.is_running());
    // The index is written to the disk later, so its check may still warn. Searches find all pages.
    let doctor = home.brain(["doctor", "--json"]).json();
    for check in doctor["checks"].as_array().unwrap() {
        let must_be_ok = ["daemon", "store integrity", "outbox", "spool"]
            .contains(&check["name"].as_str().unwrap());
        assert!(!must_be_ok || check["status"] == "ok", "{check}");
    }
    assert_eq!(home.search("text").len(), 3);
    assert_eq!(home.fault(["get", "after"], 4)["code"], "not_found");
}

#[test]
fn a_moved_home_can_be_exported_and_backed_up_whole() {
    let home = TestHome::new();
    let mut daemon = home.daemon();
    let mut client = home.connect().unwrap();
    for slug in ["one", "two/deep"] {
        put(&mut client, slug).unwrap();
    }
    let content = home.get("two/deep")["content"].clone();
    let new_path = home.outside().join("moved");
    let brain = |args: &[&str]| {
        let mut command = home.command("brain");
        command.env("BRAIN_HOME", &new_path).args(args).arg("--json");
        brain_tests::run(command, b"")
    };
    for replaced in [false, true] {
        fs::rename(home.path(), &new_path).unwrap();
        if replaced {
            fs::create_dir(home.path()).unwrap();
        }
        assert_eq!(put(&mut client, "late").unwrap_err().code, FaultCode::ReadOnly);
        let target_path = |name: &str| home.outside().join(format!("{name}-{replaced}"));
        let (out, file) = (target_path("out"), target_path("backup.redb"));
        let exported = brain(&["export", out.to_str().unwrap()]).expect(0).json();
        assert_eq!(
            (&exported["status"], &exported["files"]),
            (&"done".into(), &2.into()),
            "{exported}"
        );
        assert_eq!(fs::read_to_string(out.join("two/deep.md")).unwrap(), content.as_str().unwrap());
        let backup = brain(&["backup", file.to_str().unwrap()]).expect(0).json();
        assert_eq!(backup["pages"], 2, "{backup}");
        assert_eq!(
            brain(&["backup", "verify", file.to_str().unwrap()]).expect(0).json()["status"],
            "sound"
        );
        let new_home = TestHome::new();
        new_home.json(["backup", "restore", file.to_str().unwrap()]);
        let restored = new_home.daemon();
        assert_eq!(new_home.get("two/deep")["content"], content);
        drop(restored);
        // The home is no place for an export, even at its new path.
        let inside = brain(&["export", new_path.join("pages/copy").to_str().unwrap()]).expect(2);
        assert!(inside.stdout.contains("which is brain's own"), "{inside:?}");
        assert!(!new_path.join("pages/copy").exists());
        match replaced {
            false => assert!(!home.path().exists(), "nothing is created at the old path"),
            true => fs::remove_dir(home.path()).unwrap(),
        }
        fs::rename(&new_path, home.path()).unwrap();
    }
    assert!(daemon.is_running());
    put(&mut client, "late").unwrap();
    assert_eq!(home.json(["list"])["pages"].as_array().unwrap().len(), 3);
}
