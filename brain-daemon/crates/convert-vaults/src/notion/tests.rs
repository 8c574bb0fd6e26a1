use std::fs;
use std::io::{Cursor, Write as _};

use brain_convert_testing::{Converted, directory};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::FORMATS;

const HEX: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "fedcba9876543210fedcba9876543210";

fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn converted(files: &[(&str, &str)]) -> Converted {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), zipped(files)).unwrap();
    Converted::of(&FORMATS, file.path())
}

fn database(text: &str) -> Converted {
    converted(&[
        (&format!("Tasks {HEX}.csv"), "\u{feff}Name,Done\nBuy seeds,No\n"),
        (&format!("Tasks {HEX}_all.csv"), "\u{feff}Name,Done,Cost\nBuy seeds,No,4\nMow,Yes,\n"),
        (&format!("Tasks/Buy seeds {OTHER}.md"), text),
    ])
}

#[test]
fn im16_a_database_is_there_once() {
    let converted = database("# Buy seeds\n\nDone: No\nCost: 4\n\nThe blue ones.");
    assert_eq!(converted.format, "notion");
    assert_eq!(converted.paths(), ["Tasks", "Tasks/Buy seeds", "Tasks/Mow"]);
    assert_eq!(
        converted.page("Tasks/Buy seeds"),
        "---\ntitle: \"Buy seeds\"\nDone: \"No\"\nCost: \"4\"\n---\n\nThe blue ones.\n"
    );
    assert_eq!(converted.page("Tasks/Mow"), "---\ntitle: \"Mow\"\nDone: \"Yes\"\n---\n\n\n");
    let table = "| Name | Done | Cost |\n| --- | --- | --- |\n| [[Tasks/Buy seeds\\|Buy seeds]] | No \
                 | 4 |\n| [[Tasks/Mow\\|Mow]] | Yes |  |\n";
    assert!(converted.page("Tasks").ends_with(table), "{}", converted.page("Tasks"));
    assert_eq!(converted.lost(), [""; 0]);
}

#[test]
fn a_relative_date_in_a_title_is_that_of_the_row() {
    let converted = converted(&[
        (
            &format!("Days {HEX}_all.csv"),
            "Date,At\n\"@May 4, 2024 \",9 AM\n\"@May 5, 2024 \",8 AM\n",
        ),
        (&format!("Days {HEX}/@Today {OTHER}.md"), "# @Today\n\nAt: 8 AM\n\ntext"),
    ]);
    assert_eq!(converted.paths(), ["Days", "Days/@May 4, 2024", "Days/@May 5, 2024"]);
    assert!(converted.page("Days/@May 5, 2024").ends_with("At: \"8 AM\"\n---\n\ntext\n"));
}

#[test]
fn links_lead_to_pages_files_and_databases() {
    let text = format!(
        "# Home\n\n[Sub](Home/Sub%20{OTHER}.md) [Tasks](Home/Tasks%20{HEX}.csv)\n\
         ![Untitled](Home/Untitled.png)\n[web](https://www.notion.so/Sub-{OTHER}?pvs=21)\n\
         [gone](Home/gone.pdf) [site](https://a.example)"
    );
    let home = "11111111111111111111111111111111";
    let converted = converted(&[
        (&format!("Export-0123456789abcdef-0123456789abcdef/Home {home}.md"), &text),
        (&format!("Export-0123456789abcdef-0123456789abcdef/Home/Sub {OTHER}.md"), "# Sub\n\nx"),
        (&format!("Export-0123456789abcdef-0123456789abcdef/Home/Tasks {HEX}.csv"), "Name\n"),
        ("Export-0123456789abcdef-0123456789abcdef/Home/Untitled.png", "png"),
        ("Export-0123456789abcdef-0123456789abcdef/Home/left.png", "png"),
    ]);
    assert_eq!(converted.paths(), ["Home", "Home/Sub", "Home/Tasks"]);
    let page = converted.page("Home");
    for part in [
        "[[Home/Sub|Sub]] [[Home/Tasks|Tasks]]",
        "![[Untitled.png]]",
        "[[Home/Sub|web]]",
        "[gone](Home/gone.pdf) [site](https://a.example)",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert_eq!(converted.files(), [("Home", "Untitled.png", b"png".to_vec())]);
    let lost = converted.lost();
    assert_eq!(lost.len(), 2, "{lost:?}");
    assert!(lost[0].contains("Home/gone.pdf") && lost[1].contains("left.png"), "{lost:?}");
}

#[test]
fn properties_become_dates_tags_links_and_files() {
    let row = format!(
        "Name,Created time,Last edited time,Due,Tags,Owner,Scan\nA,\"May 4, 2024 3:00 PM\",\"May 5, 2024 \
         9:00 AM\",\"May 6, 2024\",\"one, two words\",B (Tasks/B%20{OTHER}.md),Tasks/a.png\nB,,,,,,\n"
    );
    let converted = converted(&[
        (&format!("Tasks {HEX}_all.csv"), &row),
        (&format!("Tasks/B {OTHER}.md"), "# B\n"),
        ("Tasks/a.png", "png"),
    ]);
    assert_eq!(
        converted.page("Tasks/A"),
        "---\ntitle: \"A\"\ntags: [\"one\", \"two words\"]\nattachments: [\"a.png\"]\ncreated: \
         \"2024-05-04T15:00\"\nupdated: \"2024-05-05T09:00\"\nDue: \"2024-05-06\"\nOwner: \
         [\"[[Tasks/B|B]]\"]\nScan: [\"[[a.png]]\"]\n---\n\n\n"
    );
}

#[test]
fn an_unpacked_export_is_the_same_as_its_archive() {
    let files: &[(&str, &str)] = &[
        (&format!("A {HEX}.md"), "# A\n\ntext"),
        (&format!("A {HEX}/B {OTHER}.html"), "<title>B</title><div class=\"page-body\"><p>x</p>"),
        ("index.html", "<html>"),
    ];
    let directory = directory(files);
    let inner = zipped(files);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("Export-Part-1.zip", SimpleFileOptions::default()).unwrap();
    writer.write_all(&inner).unwrap();
    let outer = tempfile::NamedTempFile::new().unwrap();
    fs::write(outer.path(), writer.finish().unwrap().into_inner()).unwrap();
    let (unpacked, packed) =
        (Converted::of(&FORMATS, directory.path()), Converted::of(&FORMATS, outer.path()));
    assert_eq!(unpacked.lines, packed.lines);
    assert_eq!(unpacked.paths(), ["A", "A/B"]);
}

#[test]
fn names_that_are_hard_stay_apart() {
    let long = "x".repeat(150);
    let converted = converted(&[
        (&format!("a {HEX}.md"), "# a"),
        (&format!("A {OTHER}.md"), "# A"),
        (&format!("{long} 22222222222222222222222222222222.md"), &format!("# {}", "x".repeat(300))),
        (&format!("{}.md", "3".repeat(32)), ""),
        (&format!("empty {}.csv", "4".repeat(32)), ""),
    ]);
    assert_eq!(converted.paths().len(), 5);
    assert!(converted.error.is_none());
}

#[test]
fn markdown_with_few_notion_pages_is_another_vault() {
    let directory = directory(&[(&format!("A {HEX}.md"), "# A"), ("b.md", "# B"), ("c.md", "# C")]);
    let found = brain_convert_base::recognise(&FORMATS, directory.path()).unwrap();
    assert!(found.is_none());
}

#[test]
fn a_title_has_one_line_and_a_table_links_to_pages() {
    let rows = format!("Name,Rel\n\"Two\nlines\",Sub (../Sub%20{OTHER}.md)\n");
    let converted = converted(&[
        (&format!("Home/Tasks {HEX}_all.csv"), &rows),
        (&format!("Sub {OTHER}.md"), "# Sub\n\nx"),
    ]);
    assert_eq!(converted.paths(), ["Sub", "Home/Tasks", "Home/Tasks/Two lines"]);
    let table = "| [[Home/Tasks/Two lines\\|Two lines]] | [[Sub]] |\n";
    assert!(converted.page("Home/Tasks").ends_with(table), "{}", converted.page("Home/Tasks"));
    let row = converted.page("Home/Tasks/Two lines");
    assert!(row.contains("title: \"Two lines\"\nRel: [\"[[Sub]]\"]\n"), "{row}");
}
