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

#[test]
fn a_table_beyond_a_page_is_cut_at_a_row() {
    let csv = format!("a,b,c\n{}", "1,x,3\n".repeat(1_000_000));
    let converted = converted("list.csv", csv.as_bytes());
    let page = converted.page("list");
    let rows = page.lines().filter(|line| *line == "| 1 | x | 3 |").count();
    assert!(rows > 300_000 && page.ends_with("\n| 1 | x | 3 |\n"), "{rows}");
    let omitted = 1_000_000 - rows;
    let reason = format!(
        "list.csv: the last {omitted} of 1000001 rows are not in the page, which can have 5000000 \
         bytes"
    );
    assert_eq!(converted.lost(), [reason]);
    assert_eq!(converted.files()[0].2.len(), csv.len());
}

#[test]
fn a_file_beyond_the_limit_is_read_in_part() {
    let csv = "a,b\n".repeat(20_000_000);
    let converted = converted("list.csv", csv.as_bytes());
    let lost = converted.lost();
    assert_eq!(lost.len(), 2, "{lost:?}");
    assert!(lost.iter().any(|it| it.contains("the file has more than 67108864 bytes")), "{lost:?}");
    assert!(converted.page("list").len() > 4_000_000 && converted.files().is_empty());
}

#[test]
fn a_row_larger_than_a_page_is_reported() {
    let csv = "word ".repeat(1_100_000);
    let converted = converted("list.csv", csv.as_bytes());
    let lost = converted.lost();
    assert!(lost[0].starts_with("list.csv: the last 1 of 1 rows are not in the page"), "{lost:?}");
}

#[test]
fn fields_beyond_the_last_column_are_joined() {
    let wide = "x,".repeat(1002);
    let table = Table::of(|| Records::of(&wide, ','), 20_000);
    assert!(table.markdown.starts_with("| x | x |"), "{}", table.markdown);
    assert!(table.markdown.lines().next().unwrap().ends_with(" | x | x x x |"));
    // Fields without a limit would take a hundred times the memory of the text.
    assert_eq!(Records::of(&",".repeat(1_000_000), ',').next().unwrap().len(), 1000);
}
