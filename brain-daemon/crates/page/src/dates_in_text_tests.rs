//! Tests of dates in texts.

use super::*;

/// Returns the dates of a text: `2020-05-24` for a day, `2020-05` for a month.
fn dates(text: &str) -> String {
    let name = |date: &DateInText| match date.is_day() {
        true => date.first.to_string(),
        false => date.first.strftime("%Y-%m").to_string(),
    };
    dates_in(text).map(|date| name(&date)).collect::<Vec<_>>().join(" ")
}

#[test]
fn days_are_written_in_many_ways() {
    for text in [
        "Released on 24 May 2020.",
        "released 24th of May, 2020",
        "It came out May 24, 2020, with a fix",
        "May 24th 2020",
        "MAY 24 2020",
        "am 24. Mai 2020 erschienen",
        "Am 24.05.2020 war",
        "24.5.2020",
        "le 24 mai 2020, à Lyon",
        "el 24 de mayo de 2020",
        "em 24 de maio de 2020",
        "il 24 maggio 2020",
        "op 24 mei 2020",
        "24/05/2020",
        "05/24/2020",
        "2020/05/24",
        "2020/5/24",
        "2020-05-24T10:00",
        "2020.05.24",
        "24-05-2020",
        "24-May-2020",
        "retro-may-24-2020",
        "(24 May\n2020)",
        "[[2020-05-24|yesterday]]",
        "note-3-2020-05-24",
    ] {
        assert_eq!(dates(text), "2020-05-24", "{text}");
    }
    assert_eq!(dates("le 1er août 2019"), "2019-08-01");
    assert_eq!(
        dates("3. März 2019, Sept. 4, 2018; 5 févr. 2017"),
        "2019-03-03 2018-09-04 2017-02-05"
    );
}

#[test]
fn a_month_needs_its_year() {
    assert_eq!(dates("in May 2020 and in Oktober 2021"), "2020-05 2021-10");
    assert_eq!(dates("octobre de 2021"), "2021-10");
    assert_eq!(dates("May, and 24 May, and 2020, and may 24 people"), "");
}

#[test]
fn an_ambiguous_day_has_both_readings() {
    assert_eq!(dates("03/04/2021"), "2021-04-03 2021-03-04");
    assert_eq!(dates("04/04/2021 and 03-04-2021"), "2021-04-04 2021-04-03 2021-03-04");
    assert_eq!(dates("03.04.2021"), "2021-04-03");
}

#[test]
fn days_that_do_not_exist_are_no_dates() {
    for text in [
        "2021-02-30",
        "30/02/2021",
        "30.02.2021",
        "30 February 2021",
        "February 30, 2021",
        "31. April 2021",
        "le 32 mai 2021",
        "2021-13-01",
        "29 février 2021",
    ] {
        assert_eq!(dates(text), "", "{text}");
    }
}

#[test]
fn other_numbers_are_no_dates() {
    for text in [
        "1.24.5.2020",
        "24.5.2020.1",
        "2021.3.4",
        "12025-03-14",
        "2025-03-145",
        "192.168.10.2020",
        "call 555-2020-1234",
        "24 May 20201",
        "0024-05-20",
        "3/4",
        "mar",
        "é-03-14",
        "-",
        "",
    ] {
        assert_eq!(dates(text), "", "{text}");
    }
}

#[test]
fn the_range_is_the_place_of_the_date() {
    let text = "née le 1er août 2019 à Lyon, 2020-05-24";
    let ranges: Vec<&str> = dates_in(text).map(|date| &text[date.range]).collect();
    assert_eq!(ranges, ["1er août 2019", "2020-05-24"]);
}

proptest::proptest! {
    #[test]
    fn any_text_has_valid_ranges(
        text in "(24|2020|[0-9]{1,5}|-|\\.|/|_| |, |may |März |août|of |de |th|º|é|\\PC){0,14}",
    ) {
        let mut end = 0;
        for date in dates_in(&text) {
            assert!(text.get(date.range.clone()).is_some_and(|at| !at.is_empty()));
            assert!(date.first <= date.last && date.range.end >= end);
            end = date.range.end;
        }
    }
}
