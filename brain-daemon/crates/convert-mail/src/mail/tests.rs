use std::fs;

use brain_convert_testing::{Converted, directory};
use tempfile::NamedTempFile;

use crate::FORMATS;

const SEPARATOR: &str = "From ida@x.example Tue Mar  3 10:00:00 2026\n";

fn converted(bytes: &[u8]) -> Converted {
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    Converted::of(&FORMATS, file.path())
}

/// Converts an mbox with these messages. The folder of its pages is `box`.
fn mbox(messages: &[&str]) -> Converted {
    let text: String = messages.iter().map(|it| format!("{SEPARATOR}{it}\n\n")).collect();
    let dir = directory(&[("box", &text)]);
    Converted::of(&FORMATS, &dir.path().join("box"))
}

/// Returns the body of the page with one message.
fn body(message: &str) -> String {
    let converted = mbox(&[message]);
    let path = converted.paths()[0].to_owned();
    let text = converted.page(&path);
    text.split_once("\n---\n\n").unwrap().1.trim_end().to_owned()
}

fn message(id: &str, hour: u32, more: &str) -> String {
    format!(
        "From: {id} <{id}@x.example>\nTo: crew@x.example\n\
         Date: Tue, 3 Mar 2026 {hour}:00:00 +0100\n\
         Message-ID: <{id}@m>\n{more}"
    )
}

#[test]
fn a_thread_is_a_page_in_order_of_date() {
    let replies = message("bo", 12, "Subject: Re: Ferry\nReferences: <ida@m>\n\nGood.\n");
    let root = message("ida", 10, "Subject: Ferry\n\nAt six.\n");
    let other = message("ole", 11, "Subject: Ferry\n\nAnother one.\n");
    let converted = mbox(&[&replies, &other, &root]);
    assert_eq!(converted.paths(), ["mail/box/2026-03-03 Ferry", "mail/box/2026-03-03 Ferry 2"]);
    assert_eq!(
        converted.page("mail/box/2026-03-03 Ferry"),
        "---\nsource_kind: \"import:others\"\n\
         title: \"Ferry\"\ncreated: 2026-03-03T09:00:00Z\nupdated: 2026-03-03T11:00:00Z\n\
         type: \"email\"\nfrom: [\"ida (ida@x.example)\", \"bo (bo@x.example)\"]\n\
         to: [\"crew@x.example\"]\n---\n\n## ida, 2026-03-03 10:00 +0100\n\nTo: \
         crew@x.example\n\nAt six.\n\n## bo, 2026-03-03 12:00 +0100\n\nTo: crew@x.example\n\n\
         Good.\n"
    );
}

#[test]
fn replies_to_a_missing_message_are_one_thread() {
    let one = message("a", 10, "Subject: Re: x\nIn-Reply-To: <gone@m>\n\nOne.\n");
    let two = message("b", 11, "Subject: Re: y\nReferences: <gone@m>\n\nTwo.\n");
    assert_eq!(mbox(&[&two, &one]).paths(), ["mail/box/2026-03-03 x"]);
}

#[test]
fn a_reply_without_references_goes_by_its_subject() {
    let one = message("a", 10, "Subject: Ferry\n\nOne.\n");
    let two = message("b", 11, "Subject: AW: ferry\n\nTwo.\n");
    let new = message("c", 12, "Subject: Ferry\n\nThree.\n");
    assert_eq!(mbox(&[&new, &two, &one]).paths().len(), 2);
}

#[test]
fn im11_messages_deleted_in_thunderbird_are_named() {
    let with = |status: &str, subject: &str| {
        format!("X-Mozilla-Status: {status}\nFrom: a@x.example\nSubject: {subject}\n\ntext\n")
    };
    let converted = mbox(&[
        &with("0001", "kept"),
        &with("0009", "thrown away"),
        &with("0019", "Re: thrown away"),
    ]);
    assert_eq!(converted.paths(), ["mail/box/2026-03-03 kept"]);
    let lost = converted.lost();
    assert_eq!(lost.len(), 2);
    assert!(lost[0].ends_with("\"thrown away\": deleted in Thunderbird"), "{lost:?}");
}

#[test]
fn im11_deleted_messages_of_other_programs_are_named() {
    let with = |field: &str| format!("{field}\nFrom: a@x.example\nSubject: {field}\n\ntext\n");
    let converted = mbox(&[
        &with("X-Evolution: 0000007b-0010"),
        &with("X-Evolution: 0000007c-0012"),
        &with("X-Mozilla-Status2: 00200000"),
        &with("X-Mozilla-Status2: 00800000"),
    ]);
    assert_eq!(converted.paths().len(), 2);
    let lost = converted.lost();
    assert!(lost[0].ends_with("0000007c-0012\": deleted in Evolution"), "{lost:?}");
    assert!(lost[1].ends_with("00200000\": deleted in Thunderbird"), "{lost:?}");
}

#[test]
fn messages_with_the_flag_deleted_are_named() {
    // mutt and Alpine write it.
    let with = |flags: &str, subject: &str| {
        format!("Status: RO\nX-Status: {flags}\nFrom: a@x.example\nSubject: {subject}\n\ntext\n")
    };
    let converted = mbox(&[&with("AF", "kept"), &with("AD", "thrown away")]);
    assert_eq!(converted.paths(), ["mail/box/2026-03-03 kept"]);
    assert!(converted.lost()[0].ends_with("\"thrown away\": deleted: its X-Status has the flag D"));
}

#[test]
fn folders_of_deleted_mail_are_left_out_beside_others() {
    let mailbox = |subject: &str| format!("{SEPARATOR}Subject: {subject}\nFrom: a@x\n\ntext\n");
    let (kept, gone) = (mailbox("kept"), mailbox("gone"));
    let files = [("Inbox", kept.as_str()), ("Trash", &gone), ("Boats.sbd/Junk", &gone)];
    let dir = directory(&files);
    let converted = Converted::of(&FORMATS, dir.path());
    assert_eq!(converted.paths(), ["mail/Inbox/2026-03-03 kept"]);
    assert!(converted.lost()[0].ends_with("in a folder for deleted mail or spam"));
    // A folder that is imported alone is meant.
    let alone = Converted::of(&FORMATS, &dir.path().join("Trash"));
    assert_eq!(alone.paths(), ["mail/Trash/2026-03-03 gone"]);
}

#[test]
fn deleted_messages_are_imported_on_request() {
    let message =
        |status: &str| format!("X-Mozilla-Status: {status}\nFrom: a@x\n\ntext {status}\n");
    let text: String = ["0001", "0009"].map(|it| format!("{SEPARATOR}{}\n", message(it))).concat();
    let dir = directory(&[("Inbox", &text)]);
    for (format, expected) in [(&super::MBOX, 1), (&super::ALL, 2)] {
        let mut out = Vec::new();
        brain_convert_base::convert(format, &dir.path().join("Inbox"), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.matches("text 000").count(), expected, "{out}");
    }
}

#[test]
fn im18_plain_text_has_no_effect() {
    let text = body(
        "From: a@x.example\nSubject: s\n\n---\n#fence is broken\n1986. A dry year\n[[map]] <b>\n",
    );
    assert_eq!(
        text,
        "## a@x.example\n\n\\---  \n\\#fence is broken  \n\
         1986\\. A dry year  \n\\[\\[map\\]\\] \\<b>"
    );
}

#[test]
fn the_html_is_used_if_plain_text_is_a_stub() {
    let message = |plain: &str| {
        format!(
            "From: a@x.example\nSubject: s\nContent-Type: multipart/alternative; boundary=b\n\n\
             --b\n\n\
             {plain}\n--b\nContent-Type: text/html\n\n\
             <p>The <b>ferry</b> leaves at six from the old \
             pier</p>\n--b--\n"
        )
    };
    assert!(
        body(&message("See the HTML.")).ends_with("The **ferry** leaves at six from the old pier")
    );
    let plain = "The ferry leaves at six from the old pier";
    assert!(body(&message(plain)).ends_with(&format!("\n\n{plain}")));
}

#[test]
fn attachments_are_files_of_the_page() {
    let text = "From: a@x.example\nSubject: s\nContent-Type: multipart/mixed; boundary=\"b c\"\n\n\
                preamble\n--b c\nContent-Type: multipart/related; boundary=r\n\n--r\n\
                Content-Type: text/html; charset=utf-8\n\n<p>Look <img src=\"cid:p@x\"> here</p>\n\
                --r\nContent-Type: image/png\nContent-ID: <p@x>\n\
                Content-Transfer-Encoding: base64\n\n\
                UE5H\n--r--\n--b c\nContent-Type: application/pdf\n\
                Content-Disposition: attachment;\n\
                \tfilename*0*=utf-8''Gr%C3; filename*1*=%BCn.pdf\n\
                Content-Transfer-Encoding: base64\n\nUERG\n--b c--\nepilogue\n";
    let converted = mbox(&[text, &text.replace("Subject: s", "Subject: Re: s")]);
    let page = converted.page("mail/box/2026-03-03 s");
    assert!(page.contains("Look ![[attachment.png]] here\n\n- [[Grün.pdf]]\n"), "{page}");
    assert!(page.contains("attachments: [\"attachment.png\", \"Grün.pdf\"]"), "{page}");
    assert!(!page.contains("preamble") && !page.contains("epilogue"));
    // The reply repeats them.
    assert_eq!(
        converted.files(),
        [
            ("mail/box/2026-03-03 s", "attachment.png", b"PNG".to_vec()),
            ("mail/box/2026-03-03 s", "Grün.pdf", b"PDF".to_vec()),
        ]
    );
}

#[test]
fn a_picture_that_is_not_in_the_message_is_named() {
    let text = "From: a@x.example\nContent-Type: text/html\n\n<p>Look <img src=\"cid:p@x\"></p>";
    let converted = mbox(&[text]);
    assert!(
        converted.lost().iter().any(|it| it.contains("its picture p@x is not in the message")),
        "{:?}",
        converted.lost()
    );
}

#[test]
fn a_message_in_a_message_is_a_section() {
    let text = body(
        "From: a@x.example\nSubject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nFyi\n\
         --b\n\
         Content-Type: message/rfc822\n\nFrom: Bo <bo@x.example>\n\
         Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\n\
         \nHello\n--b\n\nfooter\n--b--\n",
    );
    assert_eq!(
        text,
        "## a@x.example\n\nFyi\n\n### Grüße\n\nFrom: Bo (bo@x.example)\n\nHello\n\n* * *\n\nfooter"
    );
}

#[test]
fn encrypted_text_is_named_and_kept_as_a_file() {
    let text = "From: a@x.example\nSubject: s\nContent-Type: multipart/encrypted; boundary=b\n\n\
                --b\n\
                Content-Type: application/pgp-encrypted\n\nVersion: 1\n--b\n\
                Content-Type: application/octet-stream; name=encrypted.asc\n\n-----BEGIN\n--b--\n";
    let converted = mbox(&[text]);
    assert_eq!(converted.files().len(), 1);
    assert!(converted.lost()[0].ends_with("its text is encrypted, and is kept as a file"));
}

#[test]
fn the_same_message_twice_is_on_one_page() {
    let one = message("a", 10, "Subject: x\n\nOne.\n");
    let other = message("a", 10, "Subject: x\n\nOne, with a footer.\n");
    let converted = mbox(&[&one, &one, &other]);
    assert_eq!(converted.paths().len(), 1);
    assert!(converted.lost()[0].contains("\"x\": the same message is in box, byte "));
    assert_eq!(converted.page("mail/box/2026-03-03 x").matches("## a,").count(), 2);
}

#[test]
fn directories_of_messages_are_read() {
    let one = message("a", 10, "Subject: x\n\nOne.\n");
    let two = message("b", 11, "Subject: Re: x\nReferences: <a@m>\n\nTwo.\n");
    let dir = directory(&[("Work/1.eml", &one), ("Work/2.eml", &two), (".DS_Store", "x")]);
    let converted = Converted::of(&FORMATS, dir.path());
    assert_eq!((converted.format, converted.paths()), ("eml", vec!["mail/Work/2026-03-03 x"]));
    let dir = directory(&[
        ("cur/1.h:2,S", &one),
        (".Work/new/2.h", &two),
        ("cur/3.h:2,ST", &message("c", 9, "Subject: gone\n\nx")),
        ("dovecot.index.log", "x"),
    ]);
    let converted = Converted::of(&FORMATS, dir.path());
    assert_eq!(converted.paths(), ["mail/2026-03-03 x"]);
    assert!(converted.lost()[0].contains("\"gone\": deleted"));
    let dir = directory(&[("Inbox", &format!("{SEPARATOR}{one}")), ("Inbox.msf", "// x")]);
    assert_eq!(Converted::of(&FORMATS, dir.path()).paths(), ["mail/Inbox/2026-03-03 x"]);
}

#[test]
fn a_long_thread_is_several_pages() {
    let first = message("a", 10, &format!("Subject: x\n\n{}", "one word\n".repeat(250_000)));
    let second = message("b", 11, "Subject: Re: x\nReferences: <a@m>\n\nTwo.\n");
    let converted = mbox(&[&first, &second]);
    assert_eq!(converted.paths(), ["mail/box/2026-03-03 x", "mail/box/2026-03-03 x (2)"]);
    assert!(converted.lost()[0].contains("only the first"), "{:?}", converted.lost());
}

#[test]
fn cut_and_hostile_messages_end() {
    let deep = |kind: &str, n: usize| -> String {
        let parts = (0..n).map(|n| format!("Content-Type: {kind}; boundary=b{n}\n\n--b{n}\n"));
        format!("From: a@x.example\nSubject: deep\n{}\n\nend", parts.collect::<String>())
    };
    let many = |n: usize| (0..n).map(|n| format!("p{n}@x.example, ")).collect::<String>();
    let one_file = "--b\nContent-Type: image/png; name=image001.png\n\nx\n";
    let nested = "Content-Type: message/rfc822\n\n".repeat(1000);
    for text in [
        deep("multipart/mixed", 1000),
        deep("multipart/alternative", 1000),
        format!("From: a@x.example\nSubject: deep\n{nested}\nend"),
        format!("From: a@x.example\nSubject: {}\n\nx", "=?utf-8?B?".repeat(20_000)),
        format!("From: {}\nSubject: s\n\nx", "a <b@x>,".repeat(20_000)),
        format!("From: a@x\nTo: {}\nSubject: s\n\nx", many(20_000)),
        format!("From: a@x\nSubject: {}\n\nx", "=?a?b?xxxx".repeat(20_000)),
        format!("From: {0}@x\nDate: {0}\nSubject: {0}\n\nx", "x".repeat(2_000_000)),
        format!("From: a@x\nContent-Type: text/html\n\n<p>{}", "![](cid:a".repeat(50_000)),
        format!(
            "From: a@x\nContent-Type: multipart/mixed; boundary=b\n\n{}",
            one_file.repeat(1900)
        ),
        format!(
            "From: a@x\nSubject: s\nContent-Type: multipart/mixed; boundary=b\n\n{}",
            "--b\n\n".repeat(20_000)
        ),
        format!("From: a@x\nSubject: s\n{}", "x".repeat(1_000_000)),
        "From: a@x\nSubject: s\nContent-Type: multipart/mixed; boundary=\"\"\n\n--\n\nx".to_owned(),
    ] {
        assert_eq!(mbox(&[&text]).paths().len(), 1);
    }
    let whole = fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/fixtures/import/mail/crew.mbox"
    ));
    let whole = whole.unwrap();
    for tenth in 1..10 {
        assert_eq!(converted(&whole[..whole.len() * tenth / 10]).error, None);
    }
}

#[test]
fn hidden_text_of_messages_is_left_out_and_counted_once() {
    let html = |id: &str| {
        let head = "Subject: News\nContent-Type: text/html\n\n";
        message(id, 10, &format!("{head}<p style=\"display:none\">Two words</p><p>Seen</p>\n"))
    };
    let converted = mbox(&[&html("a"), &html("b")]);
    let pages: Vec<&str> = converted.paths().iter().map(|path| converted.page(path)).collect();
    assert!(pages.iter().all(|page| page.ends_with("\n\nSeen\n") && !page.contains("words")));
    assert_eq!(converted.lost(), ["text of messages: text that it hides is left out: 4 words"]);
}

#[test]
fn a_message_without_a_date_has_that_of_its_delivery() {
    let converted = mbox(&["From: Bo <bo@x.example>\nSubject: Ferry\n\nAt six.\n"]);
    let page = converted.page("mail/box/2026-03-03 Ferry");
    assert!(page.contains("created: 2026-03-03T10:00:00Z\n"), "{page}");
    assert!(page.contains("\n\n## Bo\n\n"), "{page}");
}

#[test]
fn the_container_of_outlook_is_kept_and_named() {
    for kind in
        ["application/ms-tnef; name=winmail.dat", "application/octet-stream; name=WinMail.dat"]
    {
        let text = message(
            "ida",
            10,
            &format!(
                "Subject: Plan\nContent-Type: multipart/mixed; boundary=b\n\n\
                 --b\n\nSee the plan.\n--b\nContent-Type: {kind}\n\
                 Content-Transfer-Encoding: base64\n\neJ8+Ig==\n--b--\n"
            ),
        );
        let converted = mbox(&[&text]);
        let page = converted.page("mail/box/2026-03-03 Plan").to_lowercase();
        let line = "- [[winmail.dat]] (outlook's container; its files are in it)\n";
        assert!(page.ends_with(&format!("see the plan.\n\n{line}")), "{page}");
        let files = converted.files();
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].2, b"\x78\x9f\x3e\x22");
        let lost = converted.lost();
        assert_eq!(lost.len(), 1, "{lost:?}");
        assert!(lost[0].contains("is kept as it is: Outlook's container"), "{lost:?}");
    }
}

#[test]
fn an_invitation_without_a_text_shows_its_event() {
    let event = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:7@x\r\n\
                 DTSTART:20260310T090000Z\r\nDTEND:20260310T100000Z\r\nSUMMARY:Harbour survey\r\n\
                 LOCATION:Pier 4\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    let head = "Subject: Invitation\nContent-Type: text/calendar; method=REQUEST";
    let converted = mbox(&[&message("ida", 10, &format!("{head}\n\n{event}"))]);
    let page = converted.page("mail/box/2026-03-03 Invitation");
    let shown = "\n\nHarbour survey\n\n- 2026-03-10 | ";
    assert!(page.contains(shown) && page.contains("\n- Place: Pier 4\n"), "{page}");
    assert!(page.ends_with("- [[attachment.ics]]\n"), "{page}");
    assert_eq!(converted.files().len(), 1);

    let broken = mbox(&[&message("ida", 10, &format!("{head}\n\nBEGIN:VCALENDAR\nBEGIN:"))]);
    assert_eq!(broken.files().len(), 1, "what cannot be read is kept as a file");
}
