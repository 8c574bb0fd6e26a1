//! Tests of the reader of Google Keep.

use std::path::Path;

use crate::FORMATS;
use crate::testing::archive;
use brain_convert_testing::{Converted, directory};

fn converted(files: &[(&str, &str)]) -> Converted {
    Converted::of(&FORMATS, directory(files).path())
}

const FAIR: &str = r##"{"title":"Fair","textContent":"---\n#fence is broken\n# of guests: 40\n1986. A dry year\nsee [[map]] and <b>\n    four blanks\nsnake_case_name *not bold*","createdTimestampUsec":1700000000000000,"userEditedTimestampUsec":1700000000000000,"isTrashed":false}"##;

#[test]
fn im18_is_literal_text() {
    let done = converted(&[("Fair.json", FAIR), ("Fair.html", "<html>"), ("Labels.txt", "a\n")]);
    assert_eq!(done.format, "keep");
    assert_eq!(
        done.page("Fair"),
        "---\ntitle: \"Fair\"\ncreated: 2023-11-14T22:13:20Z\nupdated: 2023-11-14T22:13:20Z\n---\n\n\
         \\---  \n\\#fence is broken  \n\\# of guests: 40  \n1986\\. A dry year  \nsee \
         \\[\\[map\\]\\] and \\<b>  \n\u{a0}\u{a0}\u{a0}\u{a0}four blanks  \nsnake_case_name \\*not \
         bold\\*\n"
    );
    assert_eq!(done.lost(), Vec::<String>::new());
    assert_eq!(done.error, None);
}

#[test]
fn one_note_can_be_imported_alone() {
    let with_file = FAIR.replace("{\"title", "{\"attachments\":[{\"filePath\":\"a.png\"}],\"title");
    let files = directory(&[("Fair.json", &with_file), ("a.png", "PNG"), ("Other.json", FAIR)]);
    let done = Converted::of(&FORMATS, &files.path().join("Fair.json"));
    assert_eq!((done.format, done.paths()), ("keep", vec!["Fair"]));
    assert_eq!(done.lost(), ["Fair.json, a.png: the file is not in the export"]);
}

#[test]
fn all_that_a_note_has_is_kept() {
    let note = r##"{"color":"TEAL","isTrashed":false,"isPinned":true,"isArchived":true,
        "annotations":[{"description":"All about weirs","source":"WEBLINK","title":"Weirs [1]","url":"https://weirs.example/a(b)"},
                       {"source":"OTHER","title":"","url":"javascript:x"}],
        "attachments":[{"filePath":"17ab.jpeg","mimetype":"image/jpeg"},{"filePath":"voice.3gp","mimetype":"audio/3gpp"},
                       {"filePath":"../secret.png","mimetype":"image/png"}],
        "listContent":[{"text":"rope","isChecked":true},{"textHtml":"<p>x","text":"oil\nfor *hinges*","isChecked":false},{"text":"","isChecked":false}],
        "labels":[{"name":"Boat"},{"name":"To do"}],
        "sharees":[{"email":"a@x.example","isOwner":true},{"email":"b@x.example","isOwner":false}],
        "newThing":{"x":1},"title":"Weir","userEditedTimestampUsec":1700000001500000,"createdTimestampUsec":1700000000000000}"##;
    let files = [
        ("Takeout/Keep/Weir.json", note),
        ("Takeout/Keep/Weir.html", "<html>"),
        ("Takeout/Keep/17ab.jpg", "JPG"),
        ("Takeout/Keep/voice.3gp", "3GP"),
        ("Takeout/Keep/stray.png", "PNG"),
        ("Takeout/secret.png", "no"),
    ];
    let done = converted(&files);
    let zipped = Converted::of(&FORMATS, archive(&files.map(|it| (it.0, it.1.as_bytes()))).path());
    assert_eq!(format!("{:?}", done.lines), format!("{:?}", zipped.lines));
    assert_eq!(
        done.page("Weir"),
        "---\ntitle: \"Weir\"\ncreated: 2023-11-14T22:13:20Z\nupdated: 2023-11-14T22:13:21.5Z\n\
         tags: [\"Boat\", \"To do\"]\nattachments: [\"17ab.jpg\", \"voice.3gp\"]\narchived: \"true\"\n\
         pinned: \"true\"\ncolor: \"teal\"\nshared_with: [\"b@x.example\"]\n---\n\n- [x] rope\n\
         - [ ] oil  \n  for \\*hinges\\*\n\n- [Weirs \\[1\\]](https://weirs.example/a%28b%29): All \
         about weirs\n- javascript:x: javascript:x\n\n![[17ab.jpg]]\n\n[[voice.3gp]]\n"
    );
    assert_eq!(
        done.files(),
        [("Weir", "17ab.jpg", b"JPG".to_vec()), ("Weir", "voice.3gp", b"3GP".to_vec())]
    );
    assert_eq!(
        done.lost(),
        [
            "secret.png: it does not belong to Keep",
            "Weir.json, ../secret.png: the file is not in the export",
            "Weir.json: its field \"newThing\" is not read",
            "stray.png: no note of Keep has this file",
        ]
    );
}

#[test]
fn a_note_in_the_trash_is_reported() {
    let trash = FAIR.replace(
        "\"isTrashed\":false",
        "\"isTrashed\":true,\"attachments\":[{\"filePath\":\"a.png\"}]",
    );
    let done = converted(&[("Old.json", &trash), ("Fair.json", FAIR), ("a.png", "PNG")]);
    assert_eq!(done.paths(), ["Fair"]);
    assert_eq!(done.lost(), ["Old.json: in the trash of Keep"]);
}

#[test]
fn a_note_without_title_gets_a_path_from_its_first_line() {
    let done = converted(&[
        (
            "1.json",
            r#"{"title":"","textContent":"\n***\n  Buy: oil\nmore","userEditedTimestampUsec":1700000000000000,"createdTimestampUsec":1700000000000000}"#,
        ),
        (
            "2.json",
            r#"{"title":"","listContent":[{"text":"rope","isChecked":false}],"userEditedTimestampUsec":"1700000001000000","createdTimestampUsec":"1700000001000000"}"#,
        ),
        ("3.json", r#"{"title":"","textContent":"","userEditedTimestampUsec":1700000002000000}"#),
        ("4.json", r#"{"textContent":"x","userEditedTimestampUsec":0,"createdTimestampUsec":0}"#),
    ]);
    assert_eq!(done.paths(), ["x", "Buy- oil", "rope", "2023-11-14 22.13.22"]);
    assert!(!done.page("Buy- oil").contains("title:"));
    assert_eq!(done.page("x"), "---\n---\n\nx\n");
}

#[test]
fn fields_of_a_wrong_kind_are_named() {
    let note = r#"{"title":7,"textContent":"x","userEditedTimestampUsec":9223372036854775807,
        "createdTimestampUsec":-1,"isPinned":"yes","labels":["a",{"name":"b"}]}"#;
    let done = converted(&[("1.json", note)]);
    assert_eq!(done.page("x"), "---\ntags: [\"b\"]\n---\n\nx\n");
    let lost = done.lost();
    for field in ["title", "userEditedTimestampUsec", "createdTimestampUsec", "isPinned", "labels"]
    {
        let start = format!("1.json: its field \"{field}\" is not what Keep writes: ");
        assert_eq!(lost.iter().filter(|it| it.starts_with(&start)).count(), 1, "{lost:?}");
    }
}

#[test]
fn the_folder_of_takeout_has_a_name_of_any_language() {
    let files = [("Takeout/Notizen/Fair.json", FAIR), ("Takeout/Mail/a.mbox", "From x")];
    let done = converted(&files);
    assert_eq!(done.paths(), ["Fair"]);
    assert_eq!(done.lost(), ["Mail: it does not belong to Keep"]);
    let files = directory(&[("Notes/Old/Fair.json", FAIR), ("Notes/a.md", "x")]);
    assert!(brain_convert_base::recognise(&FORMATS, files.path()).unwrap().is_none());
}

#[test]
fn paths_do_not_depend_on_file_names() {
    let older = FAIR.replace("1700000000000000", "1600000000000000").replace("Fair", "FAIR");
    let done = converted(&[("a.json", FAIR), ("z.json", &older)]);
    assert_eq!(done.paths(), ["FAIR", "Fair 2"]);
}

#[test]
fn what_is_no_note_is_named() {
    let done = converted(&[
        ("Fair.json", FAIR),
        ("cut.json", r#"{"title":"Fa"#),
        ("list.json", "[]"),
        ("other.json", r#"{"a":1}"#),
        ("alone.html", "<html>"),
        ("sub/x.json", FAIR),
    ]);
    assert_eq!(done.paths(), ["Fair"]);
    let lost = done.lost();
    assert_eq!(lost.len(), 5, "{lost:?}");
    for start in ["sub/x.json: no note", "cut.json: it is not JSON", "list.json: it is not a note"]
    {
        assert!(lost.iter().any(|line| line.starts_with(start)), "{start} {lost:?}");
    }
    assert!(lost.contains(&"alone.html: no note of Keep has this file".to_owned()));
}

#[cfg(unix)]
#[test]
fn links_of_the_file_system_are_not_followed() {
    let outside = directory(&[("secret.png", "secret")]);
    let note =
        FAIR.replace("\"isTrashed\"", "\"attachments\":[{\"filePath\":\"a.png\"}],\"isTrashed\"");
    let inside = directory(&[("Fair.json", &note)]);
    let link = |target: &Path, name: &str| {
        std::os::unix::fs::symlink(target, inside.path().join(name)).unwrap();
    };
    link(&outside.path().join("secret.png"), "a.png");
    let done = Converted::of(&FORMATS, inside.path());
    assert_eq!(done.files().len(), 0);
    assert_eq!(
        done.lost(),
        [
            "a.png: it is a link or no regular file",
            "Fair.json, a.png: the file is not in the export"
        ]
    );
}

/// The daemon refuses a file of a page that it does not have.
#[test]
fn the_files_of_a_note_that_is_too_large_are_lost_with_it() {
    let text = "word ".repeat(1_100_000);
    let note = format!(
        "{{\"title\":\"Big\",\"textContent\":\"{text}\",\"userEditedTimestampUsec\":1,\
         \"attachments\":[{{\"filePath\":\"a.png\",\"mimetype\":\"image/png\"}}]}}"
    );
    let done = converted(&[("Big.json", &note), ("a.png", "x"), ("Fair.json", FAIR)]);
    assert_eq!((done.paths(), done.files().len()), (vec!["Fair"], 0), "{:?}", done.lost());
    let lost = done.lost().join("\n");
    assert!(lost.contains("more than the limit") && lost.contains("was not imported"), "{lost}");
}
