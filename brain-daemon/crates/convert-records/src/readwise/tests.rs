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
