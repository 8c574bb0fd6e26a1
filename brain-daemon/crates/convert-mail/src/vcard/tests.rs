use std::fs;

use brain_convert_testing::{Converted, directory};
use tempfile::NamedTempFile;

use crate::FORMATS;

fn converted(text: &str) -> Converted {
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    Converted::of(&FORMATS, file.path())
}

/// Returns the body of the page of a contact in version 3.0 with these lines.
fn body(lines: &str) -> String {
    let text = format!("BEGIN:VCARD\nVERSION:3.0\nFN:Ida\n{lines}\nEND:VCARD\n");
    let page = converted(&text).page("contacts/Ida").to_owned();
    page.split_once("\n---\n\n").unwrap().1.trim_end().to_owned()
}

#[test]
fn im09_quoted_printable_of_version_2_1_is_read() {
    let converted = converted(
        "BEGIN:VCARD\nVERSION:2.1\n\
         N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=\n=B6rg;;;\n\
         FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=B6rg M=C3=BCller\n\
         ADR;HOME;ENCODING=QUOTED-PRINTABLE:;;Yard 3=3B rear;Oslo;;;\n\
         NOTE;ENCODING=QUOTED-PRINTABLE:Key under pot=0D=0ARing twice=3B wait=\ning helps\n\
         END:VCARD\n",
    );
    assert_eq!(
        converted.page("contacts/Jörg Müller"),
        "---\ntitle: \"Jörg Müller\"\ntype: \"person\"\n---\n\n\
         - Address: Yard 3; rear, Oslo (home)\n\nKey under pot  \nRing twice; waiting helps\n"
    );
    assert!(converted.lost().is_empty());
}

#[test]
fn im09_the_name_is_that_of_its_parts_without_a_shown_one() {
    let text = "BEGIN:VCARD\nVERSION:2.1\n\
                N;ENCODING=QUOTED-PRINTABLE;CHARSET=ISO-8859-1:M=FCller;J=\n\
                =F6rg\nEND:VCARD\n";
    assert_eq!(converted(text).paths(), ["contacts/Jörg Müller"]);
}

#[test]
fn im09_text_in_base64_is_text() {
    for note in [
        "NOTE;ENCODING=BASE64:\n S2V5IHVuZGVyIHBv\n dApSaW5n\n",
        "NOTE;BASE64:S2V5IHVuZGVyIHBvdApSaW5n",
    ] {
        let text = format!("BEGIN:VCARD\nVERSION:2.1\nFN;BASE64:SsO4cmc=\n{note}\nEND:VCARD\n");
        let converted = converted(&text);
        assert!(converted.page("contacts/J\u{f8}rg").ends_with("---\n\nKey under pot  \nRing\n"));
        assert!(converted.files().is_empty());
    }
}

#[test]
fn im18_a_note_has_no_effect() {
    assert_eq!(
        body("NOTE:#fence\\n- [ ] no task\\, just text\\n[[map]]"),
        "\\#fence  \n\\- \\[ \\] no task, just text  \n\\[\\[map\\]\\]"
    );
}

#[test]
fn a_contact_is_a_page_of_a_person() {
    let text = "BEGIN:VCARD\nVERSION:4.0\nFN:Ida Brandt\nN:Brandt;Ida;;;\nNICKNAME:Idi,Bra\n\
                EMAIL;TYPE=work:ida@x.example\nTEL;VALUE=uri;TYPE=\"cell,voice\":tel:+47-1\n\
                item1.TEL:2\nitem1.X-ABLabel:_$!<Boat>!$_\nORG:Harbour AS;Sales\nBDAY:--0504\n\
                CATEGORIES:crew,old friends\nREV:20260303T090000Z\nX-FOO:a_b\nUID:u\nEND:VCARD\n";
    assert_eq!(
        converted(text).page("contacts/Ida Brandt"),
        "---\ntitle: \"Ida Brandt\"\nupdated: 2026-03-03T09:00:00Z\n\
         tags: [\"crew\", \"old friends\"]\n\
         type: \"person\"\naliases: [\"Idi\", \"Bra\", \"ida@x.example\"]\n\
         email: [\"ida@x.example\"]\nphone: [\"+47-1\", \"2\"]\ncompany: [\"Harbour AS\"]\n\
         birthday: \"4 May\"\n---\n\n- Email: ida@x.example (work)\n- Phone: +47-1 (cell)\n\
         - Phone: 2 (Boat)\n- Birthday: 4 May\n- Company: Harbour AS, Sales\n- X-FOO: a_b\n"
    );
}

#[test]
fn a_photo_is_a_file_of_the_page() {
    for photo in [
        "PHOTO;ENCODING=b;TYPE=JPEG:/9j/\n 4AAQ",
        "PHOTO;JPEG;ENCODING=BASE64:\n /9j/4A\n AQ\n",
        "PHOTO;ENCODING=BASE64;TYPE=JPEG:/9j/4A\nAQ\n",
        "PHOTO:data:image/jpeg;base64\\,/9j/4AAQ",
        "PHOTO:data:image/jpeg;base64,/9j/4AAQ",
    ] {
        let text = format!("BEGIN:VCARD\nFN:Ida\n{photo}\nTEL:1\nEND:VCARD\n");
        let converted = converted(&text);
        let bytes = vec![0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10];
        assert_eq!(converted.files(), [("contacts/Ida", "photo.jpg", bytes)], "{photo}");
        let page = converted.page("contacts/Ida");
        assert!(page.ends_with("\n\n- Phone: 1\n\n![[photo.jpg]]\n"), "{page}");
    }
    assert_eq!(body("PHOTO;VALUE=uri:https://x.example/p.png"), "photo: https://x.example/p.png");
}

#[test]
fn a_directory_and_a_file_of_several_are_read() {
    let card = |name: &str| format!("BEGIN:VCARD\r\nVERSION:3.0\r\nFN:{name}\r\nEND:VCARD\r\n");
    let both = card("Ida") + &card("Ida");
    assert_eq!(converted(&both).paths(), ["contacts/Ida", "contacts/Ida 2"]);
    let dir = directory(&[("work/b.vcf", &card("Bo")), ("a.vcf", &card("Ida")), (".x", "state")]);
    let converted = Converted::of(&FORMATS, dir.path());
    assert_eq!(converted.paths(), ["contacts/Ida", "contacts/work/Bo"]);
}

#[test]
fn khard_has_its_contacts_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/vcard/khard");
    let converted = Converted::of(&FORMATS, path.as_ref());
    assert_eq!(converted.paths().len(), 2);
    let page = converted.page("contacts/Åse Bråten");
    assert!(page.contains("- Birthday: 4 May\n"), "{page}");
    assert!(page.contains("- Address: ") && page.contains("Yard 3; rear"), "{page}");
    assert!(page.contains("Key under the pot,  \nring \\*twice\\*"), "{page}");
}

#[test]
fn cut_and_hostile_files_end() {
    let whole = "BEGIN:VCARD\nFN:Ida\nTEL:1\nEND:VCARD\nBEGIN:VCARD\nFN:Bo\nNOTE:x\nEND:VCARD\n";
    for tenth in 4..10 {
        let end = whole.len() * tenth / 10;
        let converted = converted(&whole[..end]);
        assert_eq!(converted.paths().len(), usize::from(tenth >= 5), "{tenth}");
        assert_eq!(converted.error.is_some(), tenth != 5, "{tenth} {:?}", converted.error);
    }
    let long = "x".repeat(1_000_000);
    for lines in [
        format!("NOTE:{long}"),
        format!("{long}:1"),
        "TEL;".repeat(10_000) + ":1",
        "BEGIN:VCARD\n".repeat(100_000),
        "NOTE;ENCODING=QUOTED-PRINTABLE:=\n".repeat(10_000),
        "A:1\n".repeat(100_000),
        "\u{0}\u{1}:;;=\"".to_owned(),
    ] {
        let text = format!("BEGIN:VCARD\nFN:Ida\n{lines}\nEND:VCARD\n");
        converted(&text);
    }
    assert!(converted("BEGIN:VCARD\nEND:VCARD\n").lost()[0].contains("empty"));
}

#[test]
fn members_of_a_group_are_links() {
    let converted = converted(
        "BEGIN:VCARD\nVERSION:4.0\nKIND:group\nFN:Crew\nMEMBER:urn:uuid:A1\nMEMBER:urn:uuid:none\n\
         END:VCARD\nBEGIN:VCARD\nVERSION:4.0\nUID:urn:uuid:a1\nFN:Ole\nEND:VCARD\n",
    );
    let page = converted.page("contacts/Crew");
    assert!(page.ends_with("- Member: [[contacts/Ole|Ole]]\n- Member: urn:uuid:none\n"), "{page}");
}

#[test]
fn utf_16_with_a_byte_order_mark_is_read() {
    let text = "\u{feff}BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Åse 𝄞\r\nEND:VCARD\r\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let files = directory(&[]);
    for (name, bytes) in [("a.vcf", &little), ("b.vcf", &big)] {
        fs::write(files.path().join(name), bytes).unwrap();
        let converted = Converted::of(&FORMATS, &files.path().join(name));
        assert_eq!((converted.format, converted.paths()), ("vcard", vec!["contacts/Åse 𝄞"]));
    }
    let both = Converted::of(&FORMATS, files.path());
    assert_eq!(both.paths(), ["contacts/Åse 𝄞", "contacts/Åse 𝄞 2"]);
}
