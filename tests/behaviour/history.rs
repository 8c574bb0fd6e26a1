//! `history` with the changes of each version, and `revert` to a time.

use std::thread::sleep;
use std::time::Duration;

use brain_tests::TestHome;
use serde_json::json;

#[test]
fn a_history_shows_time_and_size_of_each_change() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "one\ntwo\n");
    home.put("a", "one\nTWO\nthree\n");
    home.json(["tags", "a", "--add", "x"]);
    let versions = home.json(["history", "a"])["versions"].clone();
    // The newest version comes first.
    let counts = |row: usize| (&versions[row]["lines_added"], &versions[row]["lines_removed"]);
    assert_eq!(counts(2), (&json!(2), &json!(0)));
    assert_eq!(counts(1), (&json!(2), &json!(1)));
    assert_eq!(versions[0]["lines_removed"], 0, "a tag removes no line");
    let printed = home.brain(["history", "a"]).expect(0).stdout;
    let written = versions[1]["written_at"].as_str().unwrap();
    let row = printed.lines().find(|line| line.contains("+2 -1")).unwrap();
    assert!(row.contains(&written[..19].replace('T', " ")), "times have seconds: {printed}");
    assert!(
        row.contains("owner") && row.contains("put_page"),
        "the author or the route is missing: {printed}"
    );
    let csv = home.brain(["history", "a", "--format", "csv"]).expect(0).stdout;
    assert!(csv.lines().nth(2).unwrap().starts_with(&format!("2,{written},2,1,")), "{csv}");
}

#[test]
fn a_page_is_reverted_to_a_time() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "first\n");
    let first_time = home.json(["get", "a"])["updated_at"].as_str().unwrap().to_owned();
    // A time without a fraction covers its whole second, which must not include the next version.
    sleep(Duration::from_millis(1100));
    home.put("a", "second\n");

    let early = home.fault(["revert", "a", "yesterday"], 4);
    assert_eq!(early["code"], "unknown_version");
    assert!(early["message"].as_str().unwrap().contains("its first version is from"), "{early}");
    assert_eq!(
        home.fault(["revert", "a", "now"], 1)["code"],
        "conflict",
        "the current text equals that version"
    );
    assert_eq!(home.fault(["revert", "a", "soon"], 2)["code"], "usage");

    let first_second = first_time[..19].replace('T', " ");
    assert_eq!(home.json(["revert", "a", &first_second])["version"], 3);
    assert_eq!(home.json(["get", "a"])["body"], "first\n");
    assert_eq!(home.json(["revert", "a", "2"])["version"], 4);
    assert_eq!(home.json(["get", "a"])["body"], "second\n");
}
