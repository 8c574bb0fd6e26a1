//! Tests of times in questions.

use super::*;

/// The day on which the questions are asked, a Monday.
pub(super) fn today() -> Date {
    jiff::civil::date(2026, 11, 23)
}

/// Returns the period of a question as `FIRST LAST`, with `-` for an open end.
fn period(text: &str) -> String {
    let Some(period) = Times::of(text, today()).period else { return String::new() };
    let day = |day: Date| match day {
        Date::MIN | Date::MAX => "-".to_owned(),
        day => day.to_string(),
    };
    format!("{} {}", day(period.first), day(period.last))
}

/// Asserts the period of each question.
pub(super) fn check(rows: &[(&str, &str)]) {
    let found: Vec<(&str, String)> = rows.iter().map(|(text, _)| (*text, period(text))).collect();
    let wrong = found.iter().zip(rows).filter(|((_, found), (_, expected))| found != expected);
    let wrong: Vec<String> = wrong
        .map(|((text, found), (_, expected))| format!("{text}: {found:?}, not {expected:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn calendar_periods_are_found() {
    check(&[
        ("Which meetings took place in March 2025?", "2025-03-01 2025-03-31"),
        ("2025-03", "2025-03-01 2025-03-31"),
        ("notes of 2025-03-14", "2025-03-14 2025-03-14"),
        ("what happened on 14 March 2025", "2025-03-14 2025-03-14"),
        ("March 14th, 2025", "2025-03-14 2025-03-14"),
        ("Was war am 14. März?", "2026-03-14 2026-03-14"),
        ("14.3.2025", "2025-03-14 2025-03-14"),
        ("3/14/2025", "2025-03-14 2025-03-14"),
        ("reuniones del 14 de marzo de 2025", "2025-03-14 2025-03-14"),
        ("plans in December", "2025-12-01 2025-12-31"),
        ("budget for Q3 2025", "2025-07-01 2025-09-30"),
        ("im dritten Quartal 2025", "2025-07-01 2025-09-30"),
        ("no terceiro trimestre de 2025", "2025-07-01 2025-09-30"),
        ("events in 2024", "2024-01-01 2024-12-31"),
        ("réunions en août 2025", "2025-08-01 2025-08-31"),
        ("vergaderingen in maart 2025", "2025-03-01 2025-03-31"),
        ("riunioni a marzo 2025", "2025-03-01 2025-03-31"),
        ("reuniões em março de 2025", "2025-03-01 2025-03-31"),
    ]);
}

#[test]
fn years_of_two_digits_are_found() {
    check(&[
        ("12.04.24", "2024-04-12 2024-04-12"),
        ("12.4.24", "2024-04-12 2024-04-12"),
        ("17.5.98", "1998-05-17 1998-05-17"),
        ("3/3/24", "2024-03-03 2024-03-03"),
        ("notes of 24/12/25", "2025-12-24 2025-12-24"),
        ("May '24", "2024-05-01 2024-05-31"),
        ("Mai 24", "2024-05-01 2024-05-31"),
        ("mayo 24", "2024-05-01 2024-05-31"),
        ("May 24", "2026-05-24 2026-05-24"),
        ("May 17, 24", "2024-05-17 2024-05-17"),
        ("17 May 24", "2024-05-17 2024-05-17"),
        ("17. Mai 24", "2024-05-17 2024-05-17"),
        ("24. Mai", "2026-05-24 2026-05-24"),
        ("Mai 28", "2026-05-28 2026-05-28"),
        ("17 May 24 people came", "2026-05-17 2026-05-17"),
    ]);
    for text in ["1.2.23", "version 1.22.24", "0.14.9", "10.1.23.4", "1.10.1.23", "12.13.24"] {
        assert_eq!(period(text), "", "{text}");
        assert_eq!(Times::of(text, today()).no_day, None, "{text}");
    }
}

#[test]
fn relative_periods_are_found() {
    check(&[
        ("what did I write yesterday", "2026-11-22 2026-11-22"),
        ("Was habe ich gestern geschrieben?", "2026-11-22 2026-11-22"),
        ("qu'est-ce que j'ai fait hier", "2026-11-22 2026-11-22"),
        ("aujourd'hui", "2026-11-23 2026-11-23"),
        ("meetings last week", "2026-11-16 2026-11-22"),
        ("Treffen letzte Woche", "2026-11-16 2026-11-22"),
        ("réunions de la semaine dernière", "2026-11-16 2026-11-22"),
        ("reuniones de la semana pasada", "2026-11-16 2026-11-22"),
        ("reuniões na semana passada", "2026-11-16 2026-11-22"),
        ("riunioni della settimana scorsa", "2026-11-16 2026-11-22"),
        ("vergaderingen vorige week", "2026-11-16 2026-11-22"),
        ("notes of this month", "2026-11-01 2026-11-30"),
        ("last March", "2026-03-01 2026-03-31"),
        ("last December", "2025-12-01 2025-12-31"),
        ("what was said on Friday", "2026-11-20 2026-11-20"),
        ("last Monday", "2026-11-16 2026-11-16"),
        ("mardi dernier", "2026-11-17 2026-11-17"),
        ("na segunda-feira", "2026-11-23 2026-11-23"),
        ("the last 3 months", "2026-08-23 2026-11-23"),
        ("die letzten 7 Tage", "2026-11-16 2026-11-23"),
        ("3 days ago", "2026-11-20 2026-11-20"),
        ("vor 3 Tagen", "2026-11-20 2026-11-20"),
        ("il y a trois jours", "2026-11-20 2026-11-20"),
        ("hace 2 meses", "2026-09-01 2026-09-30"),
        ("3 giorni fa", "2026-11-20 2026-11-20"),
        ("two weeks ago", "2026-11-09 2026-11-15"),
        ("what did I do two years ago in May", "2024-05-01 2024-05-31"),
        ("in May two years ago", "2024-05-01 2024-05-31"),
        ("im Mai vor zwei Jahren", "2024-05-01 2024-05-31"),
        ("vor zwei Jahren im Mai", "2024-05-01 2024-05-31"),
        ("two years ago", "2024-01-01 2024-12-31"),
    ]);
}

#[test]
fn bounds_of_periods_are_found() {
    check(&[
        ("decisions since March", "2026-03-01 -"),
        ("Entscheidungen seit März 2025", "2025-03-01 -"),
        ("meetings before 2024", "- 2023-12-31"),
        ("Treffen vor März 2025", "- 2025-02-28"),
        ("posts after 14 March 2025", "2025-03-15 -"),
        ("notes until yesterday", "- 2026-11-22"),
        ("between March and May 2024", "2024-03-01 2024-05-31"),
        ("zwischen Dezember und Februar 2025", "2024-12-01 2025-02-28"),
        ("from 3 to 10 May 2025", "2025-05-03 2025-05-10"),
        ("between 2025-03-01 and 2025-03-07", "2025-03-01 2025-03-07"),
        ("entre marzo y mayo de 2025", "2025-03-01 2025-05-31"),
        ("desde ayer", "2026-11-22 -"),
    ]);
}

#[test]
fn other_words_are_no_times() {
    for text in [
        "March plan",
        "may we use the second model",
        "the year of the dragon",
        "Was steht hier",
        "last name",
        "vor dem Haus",
        "since we met",
        "revenue 2019",
        "3 days of rain",
        "version 2.3",
        "mon avis sur mars",
        "one of the 14 books",
        "Sunday Times",
        "call 555 2345",
        "a 2 b 3",
        "",
        "é",
    ] {
        assert_eq!(period(text), "", "{text}");
    }
}

#[test]
fn the_rest_of_a_question_has_no_period() {
    let rest = |text: &str| Times::of(text, today()).rest(text);
    assert_eq!(rest("Which meetings took place in March 2025?"), "Which meetings took place ?");
    assert_eq!(rest("2025-03").trim(), "");
    assert_eq!(rest("no time"), "no time");
}

#[test]
fn questions_can_ask_for_an_order() {
    for (text, order) in [
        ("When did I last meet Ann?", Some(Order::Newest)),
        ("Wann habe ich Ann zuletzt getroffen?", Some(Order::Newest)),
        ("the first meeting with Ann", Some(Order::Oldest)),
        ("meetings last week", None),
        ("première réunion", Some(Order::Oldest)),
    ] {
        let times = Times::of(text, today());
        assert_eq!(times.order.map(|(order, _)| order), order, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_has_a_valid_period_or_none(
        text in "(in |last |[0-9]{1,5}|-|\\.|/| |between |and |to |march |vor |days |ago |é|\\PC)\
            {0,12}",
    ) {
        let times = Times::of(&text, today());
        times.rest(&text);
        if let Some(period) = times.period {
            assert!(period.first <= period.last && text.get(period.range).is_some());
        }
    }
}
