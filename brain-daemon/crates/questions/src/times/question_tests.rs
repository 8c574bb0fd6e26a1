//! Tests of whole questions about times, in phrasings of four languages.

use super::tests::{check, today};
use super::*;

#[test]
fn months_are_found_inside_questions() {
    check(&[
        ("notes from October 2021", "2021-10-01 2021-10-31"),
        ("anything I jotted down back in October 2021?", "2021-10-01 2021-10-31"),
        ("October 2021 journal entries", "2021-10-01 2021-10-31"),
        ("show me the posts dated october, 2021", "2021-10-01 2021-10-31"),
        ("everything about gardening, Oct 2021", "2021-10-01 2021-10-31"),
        ("Notizen aus dem Oktober 2021", "2021-10-01 2021-10-31"),
        ("Was stand im Okt. 2021 in meinem Tagebuch?", "2021-10-01 2021-10-31"),
        ("mes notes d'octobre 2021", "2021-10-01 2021-10-31"),
        ("qu'ai-je écrit au mois d'octobre 2021 ?", "2021-10-01 2021-10-31"),
        ("apuntes de octubre de 2021", "2021-10-01 2021-10-31"),
        ("¿qué anoté en octubre del 2021?", "2021-10-01 2021-10-31"),
        ("entries of May '21", "2021-05-01 2021-05-31"),
        ("ideas from the end of May 2021", "2021-05-01 2021-05-31"),
        ("Ende Mai 2021", "2021-05-01 2021-05-31"),
        ("début mai 2021", "2021-05-01 2021-05-31"),
        ("a finales de mayo de 2021", "2021-05-01 2021-05-31"),
        ("the last week of May 2021", "2021-05-01 2021-05-31"),
    ]);
}

#[test]
fn months_in_digits_are_found() {
    check(&[
        ("05/2021", "2021-05-01 2021-05-31"),
        ("5/2021", "2021-05-01 2021-05-31"),
        ("2021/05", "2021-05-01 2021-05-31"),
        ("05-2021", "2021-05-01 2021-05-31"),
        ("05.2021", "2021-05-01 2021-05-31"),
        ("invoices 05/2021", "2021-05-01 2021-05-31"),
        ("was habe ich im 05.2021 gemacht", "2021-05-01 2021-05-31"),
        ("13/2021", ""),
        ("release 2021.3", ""),
        ("ratio 3/2021", "2021-03-01 2021-03-31"),
        ("upgrade to 05.2021", ""),
    ]);
}

#[test]
fn a_month_without_a_year_is_the_last_one() {
    check(&[
        ("what did I write in March", "2026-03-01 2026-03-31"),
        ("what did I write in December", "2025-12-01 2025-12-31"),
        ("what have we noted this March", "2026-03-01 2026-03-31"),
        ("Was habe ich im März geschrieben?", "2026-03-01 2026-03-31"),
        ("Qu'est-ce que j'ai noté en mars ?", "2026-03-01 2026-03-31"),
        ("¿Qué escribí en marzo?", "2026-03-01 2026-03-31"),
        ("March notes", "2026-03-01 2026-03-31"),
        ("journal entries march", "2026-03-01 2026-03-31"),
        ("what did I write in March last year", "2025-03-01 2025-03-31"),
        ("im März letzten Jahres", "2025-03-01 2025-03-31"),
        ("en mars de l'année dernière", "2025-03-01 2025-03-31"),
        ("en marzo del año pasado", "2025-03-01 2025-03-31"),
        ("notes mars", ""),
    ]);
}

#[test]
fn a_month_that_writes_is_a_person() {
    check(&[
        ("what did Jan write", ""),
        ("wo hat Jan geschrieben", ""),
        ("was Jan geschrieben hat", ""),
        ("Was schrieb August?", ""),
        ("notes that April wrote", ""),
        ("what has June written", ""),
        ("what May has noted", ""),
        ("qu'a Jan écrit ?", ""),
        ("où a Jan écrit", ""),
        ("what did Summer write", ""),
        ("what did I write in January", "2026-01-01 2026-01-31"),
        ("what did Jan write in June", "2026-06-01 2026-06-30"),
        ("what did I write January", "2026-01-01 2026-01-31"),
        ("Was habe ich Januar geschrieben", "2026-01-01 2026-01-31"),
        ("was hat Jan im März geschrieben", "2026-03-01 2026-03-31"),
        ("what did Jan write yesterday", "2026-11-22 2026-11-22"),
        ("April notes", "2026-04-01 2026-04-30"),
        ("find a March note", "2026-03-01 2026-03-31"),
        ("cosa ho scritto a marzo", "2026-03-01 2026-03-31"),
    ]);
}

#[test]
fn a_month_that_owns_something_is_a_person() {
    check(&[
        ("Jan's notes", ""),
        ("June’s diary entries", ""),
        ("show me April's journal", ""),
        ("notes by Jan", ""),
        ("pages written by May", ""),
        ("Notizen von Jan", ""),
        ("entradas por Augusto", ""),
        ("Jan's notes from June", "2026-06-01 2026-06-30"),
        ("notes by Jan in March 2025", "2025-03-01 2025-03-31"),
        ("notes by Jan 2025", "- 2025-01-31"),
        ("last January's notes", "2026-01-01 2026-01-31"),
        ("October's entries", "2026-10-01 2026-10-31"),
        ("notes from Jan", "2026-01-01 2026-01-31"),
    ]);
}

#[test]
fn may_before_a_verb_is_no_month() {
    check(&[
        ("what may change", ""),
        ("which pages may change", ""),
        ("notes that may be added", ""),
        ("who may edit", ""),
        ("May notes", "2026-05-01 2026-05-31"),
        ("what did I write in May", "2026-05-01 2026-05-31"),
        ("what changed in May", "2026-05-01 2026-05-31"),
        ("notes may 2021", "2021-05-01 2021-05-31"),
    ]);
}

#[test]
fn years_and_their_parts_are_found() {
    check(&[
        ("what happened in 2019", "2019-01-01 2019-12-31"),
        ("2019 notes", "2019-01-01 2019-12-31"),
        ("Einträge 2019", "2019-01-01 2019-12-31"),
        ("late 2019", "2019-01-01 2019-12-31"),
        ("Q2 2021", "2021-04-01 2021-06-30"),
        ("what did we decide in 2021 Q2?", "2021-04-01 2021-06-30"),
        ("second quarter of 2021", "2021-04-01 2021-06-30"),
        ("im 2. Quartal 2021", "2021-04-01 2021-06-30"),
        ("au deuxième trimestre 2021", "2021-04-01 2021-06-30"),
        ("goals for H1 2021", "2021-01-01 2021-06-30"),
        ("im ersten Halbjahr 2021", "2021-01-01 2021-06-30"),
        ("second semestre 2021", "2021-07-01 2021-12-31"),
        ("notes from last spring", "2026-03-01 2026-05-31"),
        ("summer of 2020", "2020-06-01 2020-08-31"),
        ("im letzten Winter", "2025-12-01 2026-02-28"),
        ("Winter 2020/21", "2020-12-01 2021-02-28"),
        ("letztes Frühjahr", "2026-03-01 2026-05-31"),
        ("l'été dernier", "2026-06-01 2026-08-31"),
        ("pendant l'été 2020", "2020-06-01 2020-08-31"),
        ("el verano pasado", "2026-06-01 2026-08-31"),
        ("otoño de 2020", "2020-09-01 2020-11-30"),
        ("what did I write in spring", "2026-03-01 2026-05-31"),
        ("dependency injection in Spring", ""),
        ("il a été 2 fois", ""),
        ("the fall of Rome", ""),
    ]);
}

#[test]
fn weeks_and_days_are_found() {
    check(&[
        ("the week of 12 May 2021", "2021-05-10 2021-05-16"),
        ("what did I do the week of May 12, 2021?", "2021-05-10 2021-05-16"),
        ("in der Woche vom 12. Mai 2021", "2021-05-10 2021-05-16"),
        ("la semaine du 12 mai 2021", "2021-05-10 2021-05-16"),
        ("la semana del 12 de mayo de 2021", "2021-05-10 2021-05-16"),
        ("week 20 of 2021", "2021-05-17 2021-05-23"),
        ("KW 20 2021", "2021-05-17 2021-05-23"),
        ("2021-W20", "2021-05-17 2021-05-23"),
        ("W20 2021", "2021-05-17 2021-05-23"),
        ("KW20", "2026-05-11 2026-05-17"),
        ("wk20 notes", "2026-05-11 2026-05-17"),
        ("income from W2", ""),
        ("W2", ""),
        ("what did I write of W9", ""),
        ("week 3 of the course", ""),
        ("what did I write on May 24th", "2026-05-24 2026-05-24"),
        ("the 24th of May, what was it", "2026-05-24 2026-05-24"),
        ("Monday, 24 May 2021", "2021-05-24 2021-05-24"),
        ("am Montag, den 24. Mai 2021", "2021-05-24 2021-05-24"),
        ("lundi 24 mai 2021", "2021-05-24 2021-05-24"),
        ("Was war am 24.5.?", "2026-05-24 2026-05-24"),
        ("les notes du 24/05", "2026-05-24 2026-05-24"),
        ("el 1º de mayo de 2021", "2021-05-01 2021-05-01"),
        ("on 29 February", "2024-02-29 2024-02-29"),
        ("notes from Friday", "2026-11-20 2026-11-20"),
        ("changes from 1.8 to 1.9", ""),
        ("bugs in 2.3.", ""),
    ]);
}

#[test]
fn ranges_are_found() {
    check(&[
        ("between March and May 2021", "2021-03-01 2021-05-31"),
        ("what did I write from March to May 2021", "2021-03-01 2021-05-31"),
        ("March–May 2021", "2021-03-01 2021-05-31"),
        ("March 2021 to May", "2021-03-01 2021-05-31"),
        ("November 2020 to February", "2020-11-01 2021-02-28"),
        ("März bis Mai 2021", "2021-03-01 2021-05-31"),
        ("de mars à mai 2021", "2021-03-01 2021-05-31"),
        ("entre marzo y mayo de 2021", "2021-03-01 2021-05-31"),
        ("2019-2021", "2019-01-01 2021-12-31"),
        ("between 2019 and 2021", "2019-01-01 2021-12-31"),
        ("12-18 May 2021", "2021-05-12 2021-05-18"),
        ("vom 12. bis 18. Mai 2021", "2021-05-12 2021-05-18"),
        ("12.–18. Mai 2021", "2021-05-12 2021-05-18"),
        ("du 12 au 18 mai 2021", "2021-05-12 2021-05-18"),
        ("2021-05-12 - 2021-05-18", "2021-05-12 2021-05-18"),
        ("between Monday and Friday", "2026-11-16 2026-11-20"),
    ]);
}

#[test]
fn days_that_do_not_exist_are_no_period() {
    for (text, day) in [
        ("2021-02-30", "2021-02-30"),
        ("meeting on 2021-02-30", "2021-02-30"),
        ("30/02/2021", "30/02/2021"),
        ("le 29/02/2021", "29/02/2021"),
        ("what happened on 30 February 2021", "30 February 2021"),
        ("February 30th, 2021", "February 30th, 2021"),
        ("am 31. April", "31. April"),
        ("le 31 juin 2021", "31 juin 2021"),
        ("2021-13-01", "2021-13-01"),
    ] {
        let times = Times::of(text, today());
        assert_eq!(times.period, None, "{text}");
        assert_eq!(times.no_day.map(|at| &text[at]), Some(day), "{text}");
    }
    for text in ["29 February", "may 99", "1.2.3", "2021.13.1", "10-20-30", "tea"] {
        assert_eq!(Times::of(text, today()).no_day, None, "{text}");
    }
}

#[test]
fn an_ambiguous_time_has_two_readings() {
    for (text, spans) in [
        ("03/04/2021", "2021-04-03 2021-04-03 2021-03-04 2021-03-04"),
        ("week of 03/04/2021", "2021-03-29 2021-04-04 2021-03-01 2021-03-07"),
        ("winter 2020", "2020-12-01 2021-02-28 2020-01-01 2020-02-29"),
        ("03.04.2021", "2021-04-03 2021-04-03"),
        ("04/04/2021", "2021-04-04 2021-04-04"),
    ] {
        let period = Times::of(text, today()).period.unwrap();
        let found: Vec<String> = period.spans().map(|(a, b)| format!("{a} {b}")).collect();
        assert_eq!(found.join(" "), spans, "{text}");
    }
}

#[test]
fn the_topic_has_no_words_for_pages_and_writing() {
    for (text, topic) in [
        ("notes from October 2021", ""),
        ("What did I write in March?", ""),
        ("Was habe ich im März geschrieben?", ""),
        ("Qu'ai-je écrit en mars ?", ""),
        ("¿Qué escribí en marzo?", ""),
        ("notes about sqlite from October 2021", "about sqlite"),
        ("Which meetings took place in March 2025?", "meetings"),
        ("tag:work entries of May 2021", "tag:work"),
        ("\"my notes\" in May 2021", "\"my notes\""),
        ("may* -notes 2021-05", "may* -notes"),
    ] {
        assert_eq!(Times::of(text, today()).topic(text).trim(), topic, "{text}");
    }
}

#[test]
fn a_period_without_a_year_can_be_of_an_earlier_one() {
    let today: Date = "2026-11-23".parse().unwrap();
    let earlier = |text: &str| {
        let period = Times::of(text, today).period?.a_year_earlier(text)?;
        Some(format!("{} {}", period.first, period.last))
    };
    assert_eq!(earlier("notes from February").as_deref(), Some("2025-02-01 2025-02-28"));
    assert_eq!(earlier("what happened on 24 May").as_deref(), Some("2025-05-24 2025-05-24"));
    for (text, days) in [
        ("KW 20", "2025-05-12 2025-05-18"),
        ("the week of 12 May", "2025-05-12 2025-05-18"),
        ("on 29 February", "2020-02-29 2020-02-29"),
        ("last winter", "2024-12-01 2025-02-28"),
        ("between November and February", "2024-11-01 2025-02-28"),
        ("notes since March", "2025-03-01 9999-12-31"),
        ("notes after March", "2025-04-01 9999-12-31"),
        ("notes after 29 February", "2020-03-01 9999-12-31"),
    ] {
        assert_eq!(earlier(text).as_deref(), Some(days), "{text}");
    }
    assert_eq!(earlier("notes from February 2024"), None, "the year is named");
    for text in [
        "notes from Friday",
        "between Monday and Friday",
        "notes before March",
        "next March",
        "this March",
        "mars prochain",
    ] {
        assert_eq!(earlier(text), None, "{text}");
    }
}
