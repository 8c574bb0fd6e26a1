use brain_convert_testing::{Converted, directory};

use crate::FORMATS;

const HEADER: &str = "Highlight,Book Title,Book Author,Amazon Book ID,Note,Color,Tags,Location \
Type,\
                      Location,Highlighted at,Document tags\n";

fn convert(rows: &str) -> Converted {
    let directory = directory(&[("readwise-data.csv", &format!("{HEADER}{rows}"))]);
    Converted::of(&FORMATS, &directory.path().join("readwise-data.csv"))
}

#[test]
fn a_book_is_a_page_in_the_order_of_its_places() {
    let found = convert(
        "\"# two, \"\"gates\"\"\",The Weir,Ole Strand,B01,my *note*,yellow,\"a, b \
        c\",location,20,2023-04-05 06:07:08+00:00,\"old, water\"\n\
        one,The Weir,Ole Strand,B01,,,,location,3,2023-04-06 06:07:08+00:00,old\n\
        other,The Weir,Somebody,,,,,,,,\n",
    );
    assert_eq!(found.format, "readwise");
    assert_eq!(found.paths(), ["Readwise/The Weir", "Readwise/The Weir 2"]);
    assert_eq!(
        found.page("Readwise/The Weir 2"),
        "---\nsource_kind: \"import:others\"\n\
         title: \"The Weir\"\ncreated: 2023-04-05T06:07:08Z\nupdated: 2023-04-06T06:07:08Z\n\
         tags: [\"old\", \"water\"]\nauthor: \"Ole Strand\"\nasin: \"B01\"\n---\n\n\
         > one\n>\n> — location 3, 2023-04-06 06:07:08 UTC\n\n\
         > \\# two, \"gates\"\n>\n> — location 20, 2023-04-05 06:07:08 UTC, yellow, tag: a, tag: \
         b c\n\n\
         Note:\n\nmy \\*note\\*\n"
    );
    assert!(found.page("Readwise/The Weir").contains("> other"));
}

#[test]
fn im20_a_changed_highlight_is_one() {
    let row = |text: &str, note: &str, place: &str, second: u8| {
        format!("{text},The Weir,Ole,,{note},,,page,{place},2026-03-02 21:15:0{second}+00:00,\n")
    };
    let found = convert(
        &[
            row("and nobody had the key", "", "12", 9),
            row("and nobody", "", "12", 2),
            row("the gate", "mine", "12", 1),
            row("the gate", "", "12", 1),
            row("the gate", "", "12", 3),
            row("and nobody", "", "13", 2),
        ]
        .concat(),
    );
    let page = found.page("Readwise/The Weir");
    let texts: Vec<&str> = page.lines().filter(|line| line.starts_with("> ")).collect();
    assert_eq!(
        texts,
        [
            "> the gate",
            "> \u{2014} page 12, 2026-03-02 21:15:01 UTC",
            "> the gate",
            "> \u{2014} page 12, 2026-03-02 21:15:03 UTC",
            "> and nobody had the key",
            "> \u{2014} page 12, 2026-03-02 21:15:09 UTC",
            "> and nobody",
            "> \u{2014} page 13, 2026-03-02 21:15:02 UTC",
        ]
    );
    assert!(page.contains("\nmine\n"));
    assert_eq!(found.lost().len(), 1);
    assert!(found.lost()[0].ends_with("a later highlight of the same place replaces it"));
}

#[test]
fn titles_that_differ_in_an_invisible_character_are_one_book() {
    let found = convert("one,\u{feff}The Weir,Ole,,,,,page,3,,\ntwo,The Weir,Ole,,,,,page,4,,\n");
    assert_eq!(found.paths(), ["Readwise/The Weir"]);
}

#[test]
fn a_cut_table_gives_its_whole_rows_and_an_error() {
    let found = convert("one,A,B,,,,,location,3,,\ntwo,A,B,,\"cut");
    assert!(
        found.page("Readwise/A").contains("> one") && !found.page("Readwise/A").contains("two")
    );
    assert!(found.error.unwrap().contains("ends in the middle of a row"));
}
