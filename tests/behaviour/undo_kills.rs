//! Kills of the daemon during an undo: the same command, run again, ends in the same state.

use std::process::{Child, Stdio};
use std::time::Duration;

use brain_tests::TestHome;
use brain_tests::mcp::mcp;
use serde_json::{Value, json};

/// Number of pages that the client spoils.
const SPOILED: usize = 120;

/// Returns the number of kills: `BRAIN_UNDO_KILLS`, or 10.
fn kills() -> u64 {
    std::env::var("BRAIN_UNDO_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

fn start_undo(home: &TestHome) -> Child {
    let mut command = home.command("brain");
    command.args(["undo", "--client", "helm", "--derived", "--yes", "--no-start"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Writes pages by the owner, which the client then changes, moves and adds to.
fn spoil(home: &TestHome) {
    let helm = mcp(home, &home.token("helm", "read write", &[]));
    let put = |slug: &str, text: &str| {
        let _ = helm.call("put_page", json!({ "slug": slug, "content": text, "overwrite": true }));
    };
    for n in 0..SPOILED {
        let slug = format!("p/{n}");
        match n % 4 {
            0 => put(&slug, &format!("poison {n}\n")),
            1 => {
                home.put(&slug, &format!("innocent {n}\n"));
                put(&slug, &format!("innocent {n}\n\npoison {n}\n"));
            }
            2 => {
                home.put(&slug, &format!("innocent {n}\n\nsee [[p/{}]]\n", n - 1));
                put(&slug, &format!("poison {n}\n\ninnocent {n}\n\nsee [[p/{}]]\n", n - 1));
                let body = format!("poison {n}\n\ninnocent {n} and later\n\nsee [[p/{}]]\n", n - 1);
                home.put(&slug, &body);
            }
            _ => {
                home.put(&slug, &format!("innocent {n}\n"));
                if n % 8 == 3 {
                    let (from, to) = (format!("p/{n}"), format!("moved/{n}"));
                    let _ = helm.call("move_page", json!({ "slug": from, "to": to }));
                } else {
                    let _ = helm.call("delete_page", json!({ "slug": slug }));
                }
            }
        }
    }
}

/// Returns the texts of all pages, and of their files.
fn state(home: &TestHome) -> Vec<(String, String, String)> {
    let list = home.json(["list", "--limit", "1000"]);
    let mut out = Vec::new();
    for page in list["pages"].as_array().unwrap() {
        let slug = page["slug"].as_str().unwrap();
        let body = home.get(slug)["body"].as_str().unwrap().to_owned();
        let file = std::fs::read_to_string(home.page_file(slug)).unwrap_or_default();
        let file = file.rsplit_once("---\n").map_or(file.as_str(), |(_, body)| body).to_owned();
        out.push((slug.to_owned(), body, file));
    }
    out.sort();
    out
}

fn expected() -> Vec<(String, String, String)> {
    let mut out = Vec::new();
    for n in 0..SPOILED {
        let body = match n % 4 {
            0 => continue,
            2 => format!("innocent {n} and later\n\nsee [[p/{}]]\n", n - 1),
            _ => format!("innocent {n}\n"),
        };
        out.push((format!("p/{n}"), body.clone(), body));
    }
    out.sort();
    out
}

#[test]
fn an_undo_that_was_killed_ends_as_if_it_was_not() {
    for round in 0..kills() {
        let mut home = TestHome::new();
        home.env.push(("BRAIN_INGEST_RATE".into(), "off".into()));
        let daemon = home.daemon();
        spoil(&home);
        let mut undo = start_undo(&home);
        // From before the first write to after the last file.
        std::thread::sleep(Duration::from_millis(round * 37 % 400));
        daemon.kill();
        undo.wait().unwrap();
        let _daemon = home.daemon();
        let again: Value = home.json(["undo", "--client", "helm", "--derived", "--yes"]);
        brain_tests::wait_for("the files", || {
            state(&home).iter().all(|(_, body, file)| body.trim() == file.trim())
        });
        let trimmed = |rows: Vec<(String, String, String)>| {
            let row = |(slug, body, file): (String, String, String)| {
                (slug, body.trim().to_owned(), file.trim().to_owned())
            };
            rows.into_iter().map(row).collect::<Vec<_>>()
        };
        assert_eq!(trimmed(state(&home)), trimmed(expected()), "round {round}: {again}");
        assert!(home.search("poison").is_empty(), "round {round}");
    }
}
