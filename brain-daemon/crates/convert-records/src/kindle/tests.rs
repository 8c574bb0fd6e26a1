use std::fs;

use brain_convert_testing::{Converted, directory};
use brain_page::headings;

use crate::FORMATS;

fn convert(text: &str) -> Converted {
    let directory = directory(&[("My Clippings.txt", text)]);
    Converted::of(&FORMATS, &directory.path().join("My Clippings.txt"))
}

const SEPARATOR: &str = "==========\n";

#[test]
fn im20_the_last_record_of_a_highlight_counts() {
    let found = convert(
        "\u{feff}The Weir (Ole Strand)\n- Your Highlight on page 12 | Location 170-174 | Added on \
        Monday, March 2, 2026 9:15:02 PM\n\nthe gate was shut and nobody\n==========\n\
        The Weir (Ole Strand)\n- Your Highlight on page 12 | Location 170-176 | Added on Monday, \
        March 2, 2026 9:15:09 PM\n\nthe gate was shut and nobody had the key\n==========\n",
    );
    assert_eq!(found.format, "kindle");
    assert_eq!(found.paths(), ["Kindle/The Weir"]);
    assert_eq!(
        found.page("Kindle/The Weir"),
        "---\nsource_kind: \"import:others\"\n\
         title: \"The Weir\"\nauthor: \"Ole Strand\"\ncreated: \"2026-03-02\"\n\
         updated: \"2026-03-02\"\n---\n\n> the gate was shut and nobody had the key\n>\n\
         > — page 12, location 170-176, 2026-03-02 21:15:09\n"
    );
    let lost = "My Clippings.txt, The Weir (Ole Strand), page 12, location 170-174, \
                2026-03-02 21:15:02: a later highlight of the same place replaces it";
    assert_eq!(found.lost(), [lost]);
}

#[test]
fn a_changed_note_counts_once_and_later_by_its_time() {
    let note = |text: &str, minute: u32| {
        format!(
            "The Weir (Ole Strand)\n- Your Note on page 12 | Location 174 | Added on Monday, March \
             2, 2026 9:{minute}:02 PM\n\n{text}\n==========\n"
        )
    };
    // The files of two devices, put together.
    let found =
        convert(&[note("ask Ann, soon", 18), note("ask Ann", 17), note("why", 19)].concat());
    let page = found.page("Kindle/The Weir");
    assert!(page.contains("ask Ann, soon") && page.contains("why"), "{page}");
    assert_eq!(page.matches("ask Ann").count(), 1, "{page}");
    assert!(found.lost()[0].ends_with("a later note of the same place replaces it"));
}

#[test]
fn overlapping_highlights_of_other_texts_are_two() {
    let record = |place: &str, text: &str| {
        format!(
            "B (A)\r\n- Your Highlight at location {place} | Added on Wednesday, 6 November 2019 \
            13:36:03\r\n\r\n{text}\r\n==========\r\n"
        )
    };
    let text = [
        record("10-14", "one two"),
        record("13-15", "two three"),
        record("13-15", "two three"),
        record("10-12", "one"),
    ]
    .concat();
    let found = convert(&text);
    let page = found.page("Kindle/B");
    assert_eq!(page.matches("\n> — location").count(), 2, "{page}");
    assert!(page.contains("> one\n>\n> — location 10-12, 2019-11-06 13:36:03"), "{page}");
    assert_eq!(found.lost().len(), 1, "{:?}", found.lost());
}

#[test]
fn notes_and_bookmarks_are_in_the_order_of_the_book() {
    let found = convert(&[
        "The Weir (old) (Strand (Jr.), Ole)\n- Your Bookmark on page xii | Location 300 | Added \
        on Monday, March 2, 2026 12:15:02 AM\n\n\n",
        "The Weir (old) (Strand (Jr.), Ole)\n- Your Note on page 12 | Location 176 | Added on \
        Monday, March 2, 2026 12:16:02 PM\n\n# look up\n",
        "The Weir (old) (Strand (Jr.), Ole)\n- Your Highlight on page 12 | Location 170-176 | \
        Added on Monday, March 2, 2026 9:15:09 PM\n\n1986. A dry year\n",
        "No author\n- Highlight Loc. 1170-74  | Added on Monday, March 2, 2026, 09:15 PM\n\nold\n",
        "No author\n- Your Highlight on page 3 | Added on nonsense\n\
        \n <You have reached the clipping limit for this item>\n",
        "",
    ].join(SEPARATOR));
    assert_eq!(found.paths(), ["Kindle/The Weir (old)", "Kindle/No author"]);
    let page = found.page("Kindle/The Weir (old)");
    assert!(page.contains("author: \"Strand (Jr.), Ole\""), "{page}");
    assert!(
        page.ends_with(
            "---\n\n> 1986\\. A dry year\n>\n> — page 12, location 170-176, 2026-03-02 21:15:09\n\n\
        Note, page 12, location 176, 2026-03-02 12:16:02:\n\n\\# look up\n\n\
        Bookmark: page xii, location 300, 2026-03-02 00:15:02\n"
        ),
        "{page}"
    );
    assert!(headings(page.split("---\n").last().unwrap()).is_empty());
    let page = found.page("Kindle/No author");
    assert!(page.contains("> — location 1170-1174, 2026-03-02 21:15:00"), "{page}");
    assert!(page.contains("> — page 3, Added on nonsense"), "{page}");
    assert_eq!(
        found.lost(),
        ["My Clippings.txt, No author, page 3, Added on nonsense: the Kindle did not store its \
            text"]
    );
    assert_eq!(found.error, None);
}

/// What a Kindle writes in its languages, and what a page shows.
const LANGUAGES: &str = "\
Ihre Markierung auf Seite 12 | Position 170-174 | Hinzugefügt am Montag, 2. März 2026 21:15:02
= page 12, location 170-174, 2026-03-02 21:15:02
Ihre Markierung bei Position 170-174 | Hinzugefügt am Montag, 2. März 2026 um 21:15:02 Uhr
= location 170-174, 2026-03-02 21:15:02
Votre surlignement sur la page 12 | emplacement 170-174 | Ajouté le lundi 2 mars 2026 21:15:02
= page 12, location 170-174, 2026-03-02 21:15:02
Tu subrayado en la página 12 | Posición 170-174 | Añadido el lunes, 2 de marzo de 2026 21:15:02
= page 12, location 170-174, 2026-03-02 21:15:02
La tua evidenziazione a pagina 12 | posizione 170-174 | Aggiunto in data lunedì 2 marzo 2026 \
21:15:02
= page 12, location 170-174, 2026-03-02 21:15:02
Seu destaque na página 12 | posição 170-174 | Adicionado: segunda-feira, 2 de março de 2026 21:15:02
= page 12, location 170-174, 2026-03-02 21:15:02
Uw markering op pagina 12 | locatie 170-174 | Toegevoegd op maandag 2 maart 2026 21:15:02
= page 12, location 170-174, 2026-03-02 21:15:02
Ваше выделение на странице 12 | Место 170-174 | Добавлено: понедельник, 2 марта 2026 г. в 21:15:02
= page 12, location 170-174, 2026-03-02 21:15:02
您在第 12 页（位置 #170-174）的标注 | 添加于 2026年3月2日星期一 下午9:15:02
= page 12, location 170-174, 2026-03-02 21:15:02
7ページ｜位置No. 114-116のメモ | 作成日: 2024年12月30日月曜日 14:46:33
= page 7, location 114-116, 2024-12-30 14:46:33
페이지 12의 하이라이트 | 위치 170-174 | 추가됨: 2026년 3월 2일 월요일 오후 9:15:02
= page 12, location 170-174, 2026-03-02 21:15:02
Ваш выделенный отрывок на странице 5 | Местоположение 1234-1236 | Добавлено: понедельник, 30 \
декабря 2024 г. в 14:46:33
= page 5, location 1234-1236, 2024-12-30 14:46:33
您在位置 #170-174的标注 | 添加于 2026年3月2日星期一 下午9:15:02
= location 170-174, 2026-03-02 21:15:02
12ページ|位置No. 170-174のハイライト |作成日: 2026年3月2日月曜日 21:15:02
= page 12, location 170-174, 2026-03-02 21:15:02
Sizin Vurgu 12 | Konum 170-174 | Eklenme 2 Mart
= Sizin Vurgu 12 | Konum 170-174 | Eklenme 2 Mart
";

#[test]
fn other_languages_of_the_device_are_read() {
    let lines: Vec<&str> = LANGUAGES.lines().collect();
    for pair in lines.chunks(2) {
        let (place, caption) = (pair[0], pair[1].trim_start_matches("= "));
        let found = convert(&format!("B (A)\n- {place}\n\ntext\n==========\n"));
        let page = found.page("Kindle/B");
        let shown = brain_convert_base::literal_line(caption);
        let shown = match place.contains("メモ") {
            true => format!("Note, {shown}:\n\ntext\n"),
            false => format!("> text\n>\n> — {shown}\n"),
        };
        assert!(page.ends_with(&shown), "{place}: {page}");
    }
}

#[test]
fn a_cut_file_gives_its_whole_records_and_an_error() {
    let record = "The Weir (Ole Strand)\n- Your Highlight on page 12 | Location 170-174 | Added \
    on Monday, March 2, 2026 9:15:02 PM\n\nthe gate\n==========\n";
    let whole = format!("{record}{}", record.replace("170-174", "270-274").replace("Weir", "Lock"));
    for tenth in 6..10 {
        let found = convert(&whole[..whole.len() * tenth / 10]);
        assert_eq!(found.paths(), ["Kindle/The Weir"]);
        assert!(found.error.unwrap().contains("ends in the middle of a record"));
    }
}

#[test]
fn garbage_between_records_does_no_harm() {
    let directory = directory(&[]);
    let path = directory.path().join("My Clippings.txt");
    let record = b"The Weir (Ole Strand)\n- Your Highlight on page 12 | Location \
    170-99999999999999999999 | Added on 99:99:99 2026\n\nthe gate\n==========\n";
    let garbage = b"\xff\xfe\x00\n==========\n\n\n==========\n)\n-\n==========\n";
    fs::write(&path, [&record[..], &garbage[..], &record[..]].concat()).unwrap();
    let found = Converted::of(&FORMATS, &path);
    assert!(found.paths().contains(&"Kindle/The Weir"));
    assert_eq!(found.error, None);
}
