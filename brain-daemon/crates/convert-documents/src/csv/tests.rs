use super::*;
use crate::FORMATS;
use brain_convert_testing::Converted;

fn rows(text: &str) -> Vec<Vec<String>> {
    let (separator, rest) = separator(text);
    Records::of(rest, separator).collect()
}

fn converted(name: &str, bytes: &[u8]) -> Converted {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    Converted::of(&FORMATS, &path)
}

#[test]
fn rows_have_the_separator_of_the_file() {
    assert_eq!(rows("a,b\n1,2\n"), [["a", "b"], ["1", "2"]]);
    assert_eq!(rows("a;b\r\n1,5;2,5\r\n"), [["a", "b"], ["1,5", "2,5"]]);
    assert_eq!(rows("a\tb\n1, 2\t3"), [["a", "b"], ["1, 2", "3"]]);
    assert_eq!(rows("sep=|\na|b\n"), [["a", "b"]]);
    assert_eq!(rows("one\ntwo, three\n"), [vec!["one"], vec!["two", " three"]]);
    assert_eq!(rows("\"a, \"\"x\"\"\nb\",c"), [["a, \"x\"\nb", "c"]]);
    assert!(rows("").is_empty());
}

#[test]
fn a_table_has_a_header_and_escaped_cells() {
    let csv = "\u{feff}Name;Note\n\"Ann\nLund\";a|b #x\nBo;\n;snake_case\n";
    let converted = converted("list.csv", csv.as_bytes());
    let page = converted.page("list");
    let table = "| Name | Note |\n| --- | --- |\n| Ann<br>Lund | a\\|b \\#x |\n| Bo |  |\n|  | \
                 snake_case |\n";
    assert!(page.ends_with(table), "{page}");
    assert_eq!(converted.files()[0].2, csv.as_bytes());
    assert!(converted.lost().is_empty());
}

#[test]
fn only_text_is_a_table() {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in [("a.csv", &b"a\0b"[..]), ("b.bin", b"a,b")] {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        assert!(brain_convert_base::recognise(&FORMATS, &path).unwrap().is_none(), "{name}");
    }
}
