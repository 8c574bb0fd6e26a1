//! Damaged documents: each conversion ends, with pages or an error that names the file.

use std::path::Path;

use brain_convert_base::{convert, recognise};

use crate::FORMATS;

const FIXTURES: [&str; 4] = ["libreoffice.docx", "libreoffice.odt", "pandoc.docx", "pandoc.epub"];

fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/documents");
    std::fs::read(Path::new(folder).join(name)).unwrap()
}

/// Converts bytes under the name of a fixture. Returns the output and the error.
fn converted(name: &str, bytes: &[u8]) -> (Vec<u8>, Option<String>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let mut out = Vec::new();
    let Some(format) = recognise(&FORMATS, &path).unwrap() else {
        return (out, Some(format!("{name}: unknown")));
    };
    let error = convert(format, &path, &mut out).err().map(|error| error.to_string());
    (out, error)
}

#[test]
fn a_cut_document_is_refused_by_its_name() {
    for name in FIXTURES {
        let whole = fixture(name);
        for tenth in 1..10 {
            let (_, error) = converted(name, &whole[..whole.len() * tenth / 10]);
            let error = error.unwrap();
            assert!(error.contains(name) && error.contains("damaged"), "{error}");
        }
    }
}

#[test]
fn a_changed_byte_gives_pages_or_an_error() {
    for name in FIXTURES {
        let whole = fixture(name);
        for n in 0..25 {
            let mut bytes = whole.clone();
            let at = whole.len() * n / 25;
            bytes[at] ^= 0x55;
            let (out, error) = converted(name, &bytes);
            assert!(!out.is_empty() || error.is_some_and(|it| it.contains(name)), "{name} {at}");
        }
    }
}

#[test]
fn the_same_document_gives_the_same_bytes() {
    for name in FIXTURES {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, fixture(name)).unwrap();
        let format = recognise(&FORMATS, &path).unwrap().unwrap();
        let mut outputs = [Vec::new(), Vec::new()];
        outputs.iter_mut().for_each(|out| convert(format, &path, out).unwrap());
        assert!(outputs[0] == outputs[1] && !outputs[0].is_empty(), "{name}");
    }
}

#[test]
fn other_archives_and_directories_are_no_documents() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("a.docx")).unwrap();
    std::fs::write(directory.path().join("a.docx/content.xml"), "<x/>").unwrap();
    assert!(recognise(&FORMATS, &directory.path().join("a.docx")).unwrap().is_none());
    let empty = directory.path().join("empty.docx");
    std::fs::write(&empty, "").unwrap();
    assert!(recognise(&FORMATS, &empty).unwrap().is_none());
}
