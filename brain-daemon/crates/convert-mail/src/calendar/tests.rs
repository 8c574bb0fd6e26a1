use std::fs;

use brain_convert_testing::{Converted, directory};
use tempfile::NamedTempFile;

use crate::FORMATS;

fn converted(components: &str) -> Converted {
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), format!("BEGIN:VCALENDAR\n{components}\nEND:VCALENDAR\n")).unwrap();
    Converted::of(&FORMATS, file.path())
}

fn event(lines: &str) -> String {
    format!("BEGIN:VEVENT\n{lines}\nEND:VEVENT\n")
}

/// Returns the body of the page of an event on 7 January 2026 with these lines.
fn body(lines: &str) -> String {
    let converted = converted(&event(&format!("SUMMARY:Choir\n{lines}")));
    let page = converted.page("calendar/2026-01-07 Choir");
    page.split_once("\n---\n\n").unwrap().1.trim_end().to_owned()
}

const SERIES: &str = "UID:choir@x.example\nDTSTART;TZID=Europe/Berlin:20260107T190000\n\
                      RRULE:FREQ=WEEKLY;COUNT=3\nSUMMARY:Choir";
const MOVED: &str = "UID:choir@x.example\nRECURRENCE-ID;TZID=Europe/Berlin:20260114T190000\n\
                     DTSTART;TZID=Europe/Berlin:20260115T200000\nSUMMARY:Choir in the chapel";

#[test]
fn im07_a_moved_instance_belongs_to_its_series() {
    let (series, moved) = (event(SERIES), event(MOVED));
    for both in [format!("{series}{moved}"), format!("{moved}{series}")] {
        let converted = converted(&both);
        assert_eq!(converted.paths(), ["calendar/2026-01-07 Choir"]);
        assert_eq!(
            converted.page("calendar/2026-01-07 Choir"),
            "---\ntitle: \"Choir\"\ndate: \"2026-01-07T19:00:00+01:00\"\ntype: \"event\"\n---\n\n\
             - 2026-01-07 | 19:00 Europe/Berlin\n\
             - 2026-01-15 | 20:00 Europe/Berlin Choir in the chapel (moved from 2026-01-14 19:00 \
             Europe/Berlin)\n\
             - 2026-01-21 | 19:00 Europe/Berlin\n\n- Repeats: every week, 3 times\n"
        );
    }
}

#[test]
fn im07_a_moved_instance_can_be_alone() {
    let converted = converted(&event(MOVED));
    assert_eq!(converted.paths(), ["calendar/2026-01-15 Choir in the chapel"]);
}

#[test]
fn im08_times_in_zones_of_outlook_are_moments() {
    let zone = "BEGIN:VTIMEZONE\nTZID:Customized Time Zone\nBEGIN:STANDARD\n\
                DTSTART:16010101T000000\n\
                TZOFFSETFROM:+0200\nTZOFFSETTO:+0200\nEND:STANDARD\nEND:VTIMEZONE\n";
    let romance = event("SUMMARY:A\nDTSTART;TZID=Romance Standard Time:20260710T130000");
    let custom = event("SUMMARY:B\nDTSTART;TZID=\"Customized Time Zone\":20260115T090000");
    let unknown = event("SUMMARY:C\nDTSTART;TZID=Nowhere:20260115T090000");
    let converted = converted(&format!("{zone}{romance}{custom}{unknown}"));
    for (path, date) in [
        ("calendar/2026-07-10 A", "2026-07-10T13:00:00+02:00"),
        ("calendar/2026-01-15 B", "2026-01-15T09:00:00+02:00"),
        ("calendar/2026-01-15 C", "2026-01-15T09:00:00"),
    ] {
        assert!(converted.page(path).contains(&format!("date: \"{date}\"\n")), "{path}");
    }
    assert!(converted.lost()[0].contains("the time zone \"Nowhere\" is not known"));
}

#[test]
fn a_series_without_an_end_has_its_first_date() {
    let text = body(
        "DTSTART;TZID=Europe/Oslo:20260107T190000\nDURATION:PT1H30M\nRRULE:FREQ=MONTHLY;BYDAY=1WE\n\
         EXDATE;TZID=Europe/Oslo:20260204T190000\nRDATE;TZID=Europe/Oslo:20260206T190000",
    );
    assert_eq!(
        text,
        "- 2026-01-07 | 19:00–20:30 Europe/Oslo\n- 2026-02-06 | 19:00–20:30 Europe/Oslo\n\n\
         - Repeats: every month on the 1st Wednesday, without an end; not on 2026-02-04"
    );
}

#[test]
fn until_is_a_moment() {
    // 00:30 in Oslo is still the day before in UTC.
    let text =
        body("DTSTART;TZID=Europe/Oslo:20260107T003000\nRRULE:FREQ=DAILY;UNTIL=20260108T233000Z");
    assert_eq!(text.matches("| 00:30").count(), 3, "{text}");
    let text =
        body("DTSTART;TZID=Europe/Oslo:20260107T003000\nRRULE:FREQ=DAILY;UNTIL=20260108T232959Z");
    assert_eq!(text.matches("| 00:30").count(), 2, "{text}");
    let text = body("DTSTART;VALUE=DATE:20260107\nRRULE:FREQ=DAILY;UNTIL=20260108");
    assert!(text.starts_with("- 2026-01-07 | all day\n- 2026-01-08 | all day\n\n"), "{text}");
}

#[test]
fn a_series_keeps_its_time_when_the_clocks_change() {
    let text = body(
        "DTSTART;TZID=Europe/Oslo:20260107T190000\nRRULE:FREQ=MONTHLY;COUNT=5\n\
                     EXDATE:20260407T170000Z\nEXDATE;VALUE=DATE:20260207",
    );
    assert!(text.contains("- 2026-05-07 | 19:00 Europe/Oslo"), "{text}");
    assert!(!text.contains("2026-04-07") && !text.contains("2026-02-07"), "{text}");
}

#[test]
fn im18_a_description_has_no_effect() {
    let text = body(
        "DTSTART:20260107T190000\nLOCATION:Old pier\\, rear\nDESCRIPTION:#fence\\n- [ ] x\n\
         ORGANIZER;CN=Ida:mailto:ida@x.example\n\
         ATTENDEE;CN=\"Strand, Bo\";PARTSTAT=ACCEPTED:MAILTO:bo@x.example\n\
         STATUS:CONFIRMED\nBEGIN:VALARM\nTRIGGER:-PT15M\nEND:VALARM",
    );
    assert_eq!(
        text,
        "- 2026-01-07 | 19:00\n\n- Place: Old pier, rear\n- Organizer: Ida (ida@x.example)\n\
         - Attendee: Strand, Bo (bo@x.example), accepted\n- Reminder: 15m before\n\n\\#fence  \n\
         \\- \\[ \\] x"
    );
}

#[test]
fn a_changed_instance_has_its_own_text() {
    let moved = format!("{MOVED}\nDESCRIPTION:Bring lamps\nLOCATION:Chapel");
    let converted = converted(&format!("{}{}", event(SERIES), event(&moved)));
    let page = converted.page("calendar/2026-01-07 Choir");
    assert!(
        page.ends_with("\n\n## 2026-01-15 20:00 Europe/Berlin\n\n- Place: Chapel\n\nBring lamps\n"),
        "{page}"
    );
}

#[test]
fn tasks_and_journals_are_pages() {
    let converted = converted(
        "BEGIN:VTODO\nUID:1\nSUMMARY:Oil #hinge\nDUE;VALUE=DATE:20260110\n\
         CREATED:20260101T080000Z\n\
         CATEGORIES:boat\nDESCRIPTION:thin oil\nEND:VTODO\n\
         BEGIN:VTODO\nUID:2\nSUMMARY:Paint\nSTATUS:COMPLETED\n\
         COMPLETED:20260109T101500Z\nEND:VTODO\n\
         BEGIN:VTODO\nUID:3\nSUMMARY:Sell\nSTATUS:CANCELLED\nEND:VTODO\n\
         BEGIN:VJOURNAL\nUID:1\nSUMMARY:Log\nDTSTART;VALUE=DATE:20260111\nDESCRIPTION:Calm\n\
         END:VJOURNAL\n\
         BEGIN:VFREEBUSY\nUID:4\nEND:VFREEBUSY\n",
    );
    assert_eq!(
        converted.page("calendar/Oil -hinge"),
        "---\ntitle: \"Oil #hinge\"\ncreated: 2026-01-01T08:00:00Z\ntags: [\"boat\"]\n\
         type: \"task\"\n---\n\n- [ ] Oil \\#hinge (due 2026-01-10)\n\nthin oil\n"
    );
    let paint = converted.page("calendar/Paint");
    assert!(paint.contains("\ncompleted: \"2026-01-09T10:15:00Z\"\n"), "{paint}");
    assert!(paint.ends_with("- [x] Paint\n"));
    assert!(converted.page("calendar/Sell").ends_with("\n- Sell\n\n- Status: CANCELLED\n"));
    assert!(converted.page("calendar/2026-01-11 Log").ends_with("\nCalm\n"));
    assert!(converted.lost()[0].ends_with("entries of the kind VFREEBUSY are not read: 1"));
}

#[test]
fn a_newer_version_of_an_event_replaces_it() {
    let old = event("UID:1\nSEQUENCE:1\nDTSTART:20260107T190000\nSUMMARY:Old");
    let new = event("UID:1\nSEQUENCE:2\nDTSTART:20260107T190000\nSUMMARY:New");
    for both in [format!("{old}{new}"), format!("{new}{old}")] {
        let converted = converted(&both);
        assert_eq!(converted.paths(), ["calendar/2026-01-07 New"]);
        assert!(converted.lost()[0].contains("\"Old\": a newer version"));
    }
}

#[test]
fn a_calendar_of_version_1_0_is_read() {
    let old = event(
        "DTSTART:20260510T130000Z\nDTEND:20260510T140000Z\nRRULE:D2 #3\n\
         EXDATE:20260512T130000Z;20260601T130000Z\nCATEGORIES:MEETING;BOAT\n\
         SUMMARY;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:B=C3=B8lge=\n one\n\
         DESCRIPTION;ENCODING=QUOTED-PRINTABLE:Line 1=0D=0ALine 2\nDALARM:20260510T124500Z;;;",
    );
    let task = "BEGIN:VTODO\nSUMMARY:Oil\nSTATUS:NEEDS ACTION\nDCREATED:20260101T080000Z\n\
                END:VTODO\n";
    let converted = converted(&format!("VERSION:1.0\nTZ:+01\n{old}{task}"));
    assert_eq!(
        converted.page("calendar/2026-05-10 B\u{f8}lge one"),
        "---\ntitle: \"B\u{f8}lge one\"\ntags: [\"MEETING\", \"BOAT\"]\n\
         date: \"2026-05-10T13:00:00+00:00\"\ntype: \"event\"\n---\n\n\
         - 2026-05-10 | 13:00\u{2013}14:00 UTC\n- 2026-05-14 | 13:00\u{2013}14:00 UTC\n\n\
         - Repeats: every 2 days, 3 times\n\nLine 1  \nLine 2\n"
    );
    let task = converted.page("calendar/Oil");
    assert!(task.ends_with("\n- [ ] Oil\n") && task.contains("created: 2026-01-01"), "{task}");
    assert!(converted.lost().is_empty(), "{:?}", converted.lost());
}

#[test]
fn a_rule_that_is_not_read_is_named() {
    let converted =
        converted(&event("DTSTART:20260107T190000\nSUMMARY:x\nRRULE:FREQ=HOURLY;COUNT=3"));
    assert!(converted.lost()[0].ends_with(
        "the rule FREQ=HOURLY;COUNT=3 is not read; only its first \
                                           date is listed"
    ));
}

#[test]
fn an_attachment_is_a_file_of_the_page() {
    let converted = converted(&event(
        "DTSTART:20260107T190000\nSUMMARY:x\n\
         ATTACH;FILENAME=a.txt;ENCODING=BASE64;VALUE=BINARY:aGk=\n\
         ATTACH:https://x.example/b.pdf",
    ));
    assert_eq!(converted.files(), [("calendar/2026-01-07 x", "a.txt", b"hi".to_vec())]);
    let page = converted.page("calendar/2026-01-07 x");
    assert!(page.ends_with("- [[a.txt]]\n- https://x.example/b.pdf\n"), "{page}");
}

#[test]
fn khal_has_its_calendars_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/ics/khal");
    let converted = Converted::of(&FORMATS, path.as_ref());
    assert_eq!(converted.format, "ics");
    let page = converted.page("calendar/boat/2026-01-07 Choir");
    assert!(page.contains("- 2026-01-07 | 19:00–20:30 Europe/Berlin\n"), "{page}");
    // khal wrote the last day as `UNTIL=20260120T230000Z`, which is its midnight in Berlin.
    assert!(page.contains("- 2026-01-14 | 19:00–20:30 Europe/Berlin\n\n"), "{page}");
    assert!(page.contains("- Repeats: every week, until 2026-01-21 00:00\n"), "{page}");
    assert!(page.contains("Bring \\*lamps\\*"), "{page}");
    assert!(converted.page("calendar/boat/2026-05-17 Parade").contains("| all day\n"));
    assert!(converted.lost().is_empty(), "{:?}", converted.lost());
}

#[test]
fn cut_and_hostile_files_end() {
    let whole = format!("{}{}", event(SERIES), event(MOVED));
    let dir = directory(&[("a.ics", "")]);
    let path = dir.path().join("a.ics");
    for tenth in 1..10 {
        let text = format!("BEGIN:VCALENDAR\n{}", &whole[..whole.len() * tenth / 10]);
        fs::write(&path, text).unwrap();
        let converted = Converted::of(&FORMATS, &path);
        assert!(converted.error.is_some(), "{tenth}");
        assert_eq!(converted.paths().len(), usize::from(tenth > 4), "{tenth}");
    }
    let rule = "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31;COUNT=5\n";
    for lines in [
        format!("DTSTART:20260107T190000\n{}", rule.repeat(20)),
        "DTSTART:99991231T235959Z\nRRULE:FREQ=DAILY;COUNT=9999\nDURATION:P9999W".to_owned(),
        "DTSTART:00010101\nRRULE:FREQ=YEARLY;UNTIL=99990101\nDTEND:16010101".to_owned(),
        "DTSTART;TZID=x\nRRULE\nSUMMARY".to_owned(),
        format!("DTSTART:20260107\n{}", "EXDATE:20260107T1\n".repeat(10_000)),
        "BEGIN:VALARM\n".repeat(10_000),
    ] {
        converted(&event(&lines));
    }
    assert!(converted("").paths().is_empty());
}

#[test]
fn the_end_of_whole_days_is_the_last_one() {
    let page = |end: &str| {
        let converted =
            converted(&event(&format!("SUMMARY:A\nDTSTART;VALUE=DATE:20260501\n{end}")));
        converted.page("calendar/2026-05-01 A").to_owned()
    };
    assert!(!page("DTEND;VALUE=DATE:20260502").contains("end:"));
    assert!(!page("DTEND;VALUE=DATE:20260501").contains("end:"));
    let three = page("DTEND;VALUE=DATE:20260504");
    assert!(three.contains("end: \"2026-05-03\"\n"), "{three}");
    assert!(three.contains("- 2026-05-01 | all day, to 2026-05-03\n"), "{three}");
}

#[test]
fn zones_and_times_that_are_not_known_are_named() {
    let found = converted(&format!(
        "{}{}{}",
        event("UID:a\nSUMMARY:A\nDTSTART;TZID=\"(UTC-07:00) Arizona\":20260107T190000"),
        event("UID:b\nSUMMARY:B\nDTSTART;TZID=Mars/Olympus:20260107T190000"),
        event("UID:c\nSUMMARY:C\nDTSTART:tomorrow"),
    ));
    let date = |name: &str| {
        let page = found.page(name);
        page.split("date: \"").nth(1).map(|it| it.split('"').next().unwrap().to_owned())
    };
    assert_eq!(date("calendar/2026-01-07 A").unwrap(), "2026-01-07T19:00:00-07:00");
    assert_eq!(date("calendar/2026-01-07 B").unwrap(), "2026-01-07T19:00:00");
    assert_eq!(date("calendar/C"), None);
    let lost = found.lost().join("\n");
    for part in [
        "\"C\": its DTSTART \"tomorrow\" is no time that can be read",
        "\"(UTC-07:00) Arizona\" only the offset is known",
        "\"Mars/Olympus\" is not known",
    ] {
        assert!(lost.contains(part), "{part} in {lost}");
    }
}

#[test]
fn a_time_can_have_an_offset() {
    for (time, date) in [
        ("20260710T130000+0200", "2026-07-10T13:00:00+02:00"),
        ("2026-07-10T13:00:00-03:30", "2026-07-10T13:00:00-03:30"),
    ] {
        let found = converted(&event(&format!("SUMMARY:A\nDTSTART:{time}")));
        let page = found.page("calendar/2026-07-10 A");
        assert!(page.contains(&format!("date: \"{date}\"")), "{page}");
    }
}

#[test]
fn a_name_with_an_escaped_comma_is_read() {
    let text = body("DTSTART:20260107T190000\nORGANIZER;CN=\"Doe\\, J\":mailto:j@x.example");
    assert!(text.ends_with("- Organizer: Doe, J (j@x.example)"), "{text}");
}
