//! A disk that fills up during an import of documents and exports: the import says so, what is
//! stored stays whole, and the same import completes once there is space.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_tests::TestHome;

/// The number of mails, and the size of the file in each, in bytes.
const MAILS: usize = 6;
const FILE: usize = 1_000_000;
const NOTES: usize = 40;

/// A mail with a file that no file system can compress away.
fn mail(n: usize) -> String {
    let mut state = n as u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let bytes: Vec<u8> = (0..FILE).map(|_| random()).collect();
    let encoded = STANDARD.encode(bytes);
    let lines: Vec<&str> =
        encoded.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!(
        "From: a@x.example\r\nTo: b@x.example\r\nSubject: Map {n}\r\nMessage-ID: <{n}@x.example>\r\n\
         Date: Tue, 3 Mar 2026 09:00:00 +0000\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=\"part\"\r\n\r\n--part\r\n\
         Content-Type: text/plain\r\n\r\nThe map {n}.\r\n--part\r\n\
         Content-Type: image/png; name=\"map-{n}.png\"\r\n\
         Content-Disposition: attachment; filename=\"map-{n}.png\"\r\n\
         Content-Transfer-Encoding: base64\r\n\r\n{}\r\n--part--\r\n",
        lines.join("\r\n")
    )
}

/// Writes a directory of mails.
fn write_mails(dir: &Path) {
    fs::create_dir(dir).unwrap();
    for n in 0..MAILS {
        fs::write(dir.join(format!("mail {n}.eml")), mail(n)).unwrap();
    }
}

/// Writes a directory of notes and mails. The notes are stored first.
fn write_notes_and_mails(dir: &Path) {
    write_mails(dir);
    for n in 0..NOTES {
        let text = format!("# Note {n}\n\nTar and rope.\n");
        fs::write(dir.join(format!("note {n}.md")), text).unwrap();
    }
}

/// Writes one file with all mails.
fn write_mbox(path: &Path) {
    let mails =
        (0..MAILS).map(|n| format!("From a@x.example Tue Mar  3 09:00:00 2026\n{}\n", mail(n)));
    fs::write(path, mails.collect::<String>()).unwrap();
}

/// Imports the input with so many megabytes of space, which is too little, then with enough.
fn import_with_little_space(name: &str, write: fn(&Path), pages: u64, free_mb: u64) {
    let mut home = TestHome::new();
    if !home.mount(&home.path(), "size=160m") {
        return;
    }
    let input = home.outside().join(name);
    write(&input);
    let _daemon = home.daemon();
    let ballast = home.path().join("ballast");
    let free = rustix::fs::statvfs(home.path()).map(|s| s.f_bavail * s.f_frsize).unwrap();
    fs::write(&ballast, vec![0_u8; (free - free_mb * 1_000_000) as usize]).unwrap();

    let fault = home.fault(["import", input.to_str().unwrap()], 1);
    assert_eq!(fault["code"], "disk_full", "{name}, {free_mb} MB: {fault}");
    let converted = fs::read_dir(home.path().join("run/converted")).map_or(0, Iterator::count);
    assert_eq!(converted, 0, "{name}, {free_mb} MB: converted files stayed");
    let before = home.status().pages;

    fs::remove_file(&ballast).unwrap();
    let reply = home.json(["import", input.to_str().unwrap()]);
    assert_eq!(reply["failed_total"], 0, "{name}, {free_mb} MB: {reply}");
    assert_eq!(reply["unchanged"], before, "{name}, {free_mb} MB: {reply}");
    assert_eq!(reply["created"], pages - before, "{name}, {free_mb} MB: {reply}");
    assert_eq!(home.status().pages, pages);
    let files = home.json(["attachments"]);
    let files = files["attachments"].as_array().unwrap();
    assert_eq!(files.len(), MAILS, "{name}, {free_mb} MB: {files:?}");
    assert!(files.iter().all(|file| file["bytes"] == FILE && file["pages"][0].is_object()));
    assert!(home.search("\"Map 3\"").iter().any(|slug| slug.contains('3')), "{name}, {free_mb} MB");
}

/// The daemon stores nothing in the last 32 MB of a disk, but writes what it converts. With 1 and 4
/// MB, the disk fills up during the conversion; with 10, nothing can be stored after it.
#[test]
fn documents_on_a_disk_that_fills_up_are_imported_by_the_next_import() {
    for free_mb in [1, 4, 10] {
        import_with_little_space("mails", write_mails, MAILS as u64, free_mb);
    }
}

/// With 35 MB, the notes are stored, and no mail.
#[test]
fn notes_before_a_disk_is_full_stay() {
    import_with_little_space("notes", write_notes_and_mails, (NOTES + MAILS) as u64, 35);
}

/// With 42 MB, the pages are stored, and not all of their files.
#[test]
fn an_export_on_a_disk_that_fills_up_is_imported_by_the_next_import() {
    for free_mb in [4, 42] {
        import_with_little_space("mails.mbox", write_mbox, MAILS as u64, free_mb);
    }
}
