//! Tests of words and phrases in many languages, with accents and with apostrophes.

#![allow(clippy::unwrap_used)]

use super::{Question, tests::*};

/// Texts in languages that have stemmers. The first, English, is the most frequent in the test.
const TEXTS: [&str; 21] = [
    "The meetings of the committee were postponed because nobody had read the published reports.",
    "Die Sitzungen des Ausschusses wurden verschoben, weil niemand die neuen Berichte gelesen hat.",
    "Les réunions du comité ont été reportées parce que personne ne avait lu les rapports publiés.",
    "Las reuniones del comité fueron aplazadas porque nadie había leído los informes publicados.",
    "Le riunioni del comitato sono state rinviate perché nessuno aveva letto i rapporti \
     pubblicati.",
    "As reuniões do comitê foram adiadas porque ninguém tinha lido os relatórios que publicaram.",
    "De vergaderingen van het comité zijn uitgesteld omdat niemand de nieuwe verslagen had \
     gelezen.",
    "Mötena i kommittén sköts upp eftersom ingen av dem hade läst de nya rapporterna om det.",
    "Møderne i udvalget blev udsat fordi ingen af dem havde læst de nye rapporter om det.",
    "Møtene i utvalget ble utsatt fordi ingen av dem hadde lest de nye rapportene om dette.",
    "Valiokunnan kokoukset siirrettiin koska kukaan ei ollut lukenut uusia raportteja siitä ja \
     se on.",
    "A bizottság üléseit elhalasztották mert senki sem olvasta el az új jelentéseket és ez nem jó.",
    "Ședințele comitetului au fost amânate pentru că nimeni nu a citit rapoartele care sunt noi.",
    "Les reunions del comitè es van ajornar perquè ningú no havia llegit els informes que són \
     nous.",
    "Schůze výboru byly odloženy protože nikdo z nich nečetl nové zprávy které byly na stole.",
    "Posiedzenia komisji zostały przełożone ponieważ nikt z nich nie przeczytał nowych raportów \
     które były.",
    "Pertemuan panitia itu ditunda karena tidak ada yang membaca laporan baru yang akan \
     diterbitkan.",
    "Komitenin toplantıları ertelendi çünkü hiç kimse yeni raporları okumamıştı ve bu çok kötü \
     oldu.",
    "Заседания комитета были отложены потому что никто из них не прочитал новые отчёты об этом.",
    "Οι συνεδριάσεις της επιτροπής αναβλήθηκαν γιατί κανείς δεν είχε διαβάσει τις νέες εκθέσεις.",
    "اجتماعات اللجنة تأجلت لأن لا أحد من الأعضاء قد قرأ التقارير الجديدة التي تم نشرها في هذا \
     الشهر",
];

#[test]
fn verbatim_phrases_are_found_in_every_language() {
    let mut changes: Vec<_> =
        (1..).zip(TEXTS).map(|(id, text)| note(id, &format!("{text} {text}"))).collect();
    // English is the most frequent language.
    changes.extend((100..130).map(|id| note(id, TEXTS[0])));
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(changes);
    for stage in ["in the overlay", "on disk"] {
        for (id, text) in (1..).zip(TEXTS) {
            let words: Vec<&str> = text.trim_end_matches('.').split(' ').collect();
            for words in words.windows(4) {
                let phrase = words.join(" ").replace(',', "");
                let found = ids(&index, &format!("\"{phrase}\""));
                assert!(found.contains(&id), "{phrase} {stage}");
                let found = ids(&index, &phrase);
                // Stems of Danish and Norwegian are the same.
                assert!(
                    id == 1 || found.iter().take(2).any(|hit| *hit == id),
                    "{phrase} {stage}, without quotes: {found:?}"
                );
            }
        }
        index.flush().unwrap();
    }
}

#[test]
fn pages_with_the_accents_of_the_question_come_first() {
    let changes = [
        note(1, "The word for mother is má, and much more follows in this rather long note."),
        note(2, "The word is mà."),
        note(3, "In Spanish, year is año, which is a word that everyone knows quite well."),
        note(4, "The ano is another word."),
    ];
    at_every_stage(&changes, |index| {
        assert_eq!(ids(index, "má"), [1, 2]);
        assert_eq!(ids(index, "MA\u{300}"), [2, 1], "in any normal form and case");
        assert_eq!(ids(index, "año"), [3, 4]);
        assert_eq!(sorted_ids(index, "ma"), [1, 2]);
        let explained = Question { explain: true, ..question("má") };
        let hits = index.search(&explained).unwrap().hits;
        assert!(hits[0].explain.iter().any(|part| part.reason == "exact: ma"), "{hits:?}");
    });
}

#[test]
fn names_with_apostrophes_are_found_in_all_spellings() {
    let changes = [
        note(1, "Maeve O'Brien met Luc L’Hôpital."),
        note(2, "Bianca D'Angelo met Kai Hawaiʻi."),
        note(3, "שירה צה״ל ליד ג׳ורג׳"),
    ];
    at_every_stage(&changes, |index| {
        for name in ["O'Brien", "O’Brien", "o'brien", "OBrien", "O Brien", "L'Hôpital", "LHopital"]
        {
            assert_eq!(ids(index, name), [1], "{name}");
        }
        for name in ["D’Angelo", "d'angelo", "DAngelo", "dangelo", "Hawai'i", "Hawaii", "hawai‘i"]
        {
            assert_eq!(ids(index, name), [2], "{name}");
        }
        for name in ["צה\"ל", "צהל", "\"צה\"ל\"", "צה״ל", "ג'ורג'", "גורג"] {
            assert_eq!(ids(index, name), [3], "{name}");
        }
        for phrase in ["\"Maeve O’Brien\"", "\"luc l'hopital\""] {
            assert_eq!(ids(index, phrase), [1], "{phrase}");
        }
    });
}

#[test]
fn languages_that_differ_in_signs_are_different_words() {
    let many = "C++ and again C++, the C++ of old C++. ";
    let pages = [
        note(1, "A page about C, which is small."),
        note(2, many),
        note(3, "C# C# C# and F# are on the page, and C# again."),
        note(4, "Notes about a plan B and a letter."),
    ];
    at_every_stage(&pages, |index| {
        for (text, id) in
            [("C", 1), ("C++", 2), ("\"C++\"", 2), ("c#", 3), ("\"C#\"", 3), ("f#", 3)]
        {
            assert_eq!(ids(index, text).first(), Some(&id), "{text}");
        }
        assert_eq!(sorted_ids(index, "C"), [1, 2, 3], "the others follow");
        assert_eq!(ids(index, "plan b").first(), Some(&4));
    });
}

#[test]
fn a_word_that_no_page_has_weakens_no_adjacent_words() {
    let mut changes: Vec<_> = (10..40).map(|id| note(id, "tea bread salt milk")).collect();
    changes.push(note(1, "base was old but data was not here"));
    changes.push(note(2, "they spoke of that data base when it was late"));
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(changes);
    assert_eq!(ids(&index, "data base"), [2, 1], "adjacent words outweigh a shorter page");
    assert_eq!(ids(&index, "problems data base"), [2, 1]);
}

#[test]
fn words_of_a_day_count_less_than_other_words() {
    let mut changes: Vec<_> = (10..40).map(|id| note(id, "tea bread salt milk")).collect();
    changes.push(note(1, "2019-09-17"));
    changes.push(note(2, "the album was released in autumn"));
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(changes);
    let found = |day_words| {
        let question = Question { day_words, ..question("album 2019-09-17") };
        index.search(&question).unwrap().hits.iter().map(|hit| hit.id).collect::<Vec<_>>()
    };
    assert_eq!(found(None), [1, 2]);
    assert_eq!(found(Some(6..16)), [2, 1]);
}

#[test]
fn a_number_with_narrow_spaces_is_found_in_other_notations() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(vec![
        note(1, "the roof cost 12\u{202f}345 €"),
        note(2, "the roof cost 12,345 €"),
        note(3, "the roof cost 12\u{202f}354 € for 345 tiles"),
        note(4, "in 2021\u{a0}300 people came, 12\u{a0}3456 of them late"),
        note(5, "1\u{2009}234\u{a0}567 stars"),
    ]);
    for query in ["12345", "12,345", "12.345"] {
        assert_eq!(sorted_ids(&index, query), [1, 2], "{query}");
    }
    // A space can divide two numbers in a question, too.
    for query in ["12\u{202f}345", "12 345"] {
        assert!(matches!(ids(&index, query)[..2], [1, 2] | [2, 1]), "{query}");
    }
    assert_eq!(ids(&index, "2021"), [4]);
    assert_eq!(ids(&index, "123456"), Vec::<u64>::new());
    assert_eq!(ids(&index, "1,234,567"), [5]);
}
