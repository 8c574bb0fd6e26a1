//! Words of `My Clippings.txt` in the languages of a Kindle.
//!
//! The structure of a record is the same in all languages. The kind, the page and the month are
//! words. They are known in English, German, French, Spanish, Italian, Portuguese, Dutch, Russian,
//! Japanese, Chinese and Korean.

use jiff::civil::{Date, DateTime, Time};

use super::kind::Kind;

/// Words for kinds. A word that contains another one is before it.
const KINDS: [(&str, Kind); 37] = [
    ("bookmark", Kind::Bookmark),
    ("lesezeichen", Kind::Bookmark),
    ("signet", Kind::Bookmark),
    ("marcador", Kind::Bookmark),
    ("segnalibro", Kind::Bookmark),
    ("bladwijzer", Kind::Bookmark),
    ("закладка", Kind::Bookmark),
    ("ブックマーク", Kind::Bookmark),
    ("书签", Kind::Bookmark),
    ("書籤", Kind::Bookmark),
    ("북마크", Kind::Bookmark),
    ("highlight", Kind::Highlight),
    ("markierung", Kind::Highlight),
    ("surlign", Kind::Highlight),
    ("subrayado", Kind::Highlight),
    ("evidenziazione", Kind::Highlight),
    ("destaque", Kind::Highlight),
    ("markering", Kind::Highlight),
    ("выдел", Kind::Highlight),
    ("ハイライト", Kind::Highlight),
    ("标注", Kind::Highlight),
    ("標註", Kind::Highlight),
    ("하이라이트", Kind::Highlight),
    // An article of a periodical.
    ("clip", Kind::Highlight),
    ("ausschnitt", Kind::Highlight),
    ("recorte", Kind::Highlight),
    ("ritaglio", Kind::Highlight),
    ("剪", Kind::Highlight),
    ("note", Kind::Note),
    ("notiz", Kind::Note),
    ("nota", Kind::Note),
    ("notitie", Kind::Note),
    ("заметка", Kind::Note),
    ("メモ", Kind::Note),
    ("笔记", Kind::Note),
    ("筆記", Kind::Note),
    ("메모", Kind::Note),
];

/// Words for a page.
const PAGES: [&str; 11] =
    ["page", "seite", "página", "pagina", "страниц", "ページ", "页", "頁", "페이지", "pg.", "стр."];

/// Names of the months.
const MONTHS: [&[&str]; 12] = [
    &["january", "januar", "janvier", "enero", "gennaio", "janeiro", "januari", "января"],
    &["february", "februar", "février", "febrero", "febbraio", "fevereiro", "februari", "февраля"],
    &["march", "märz", "mars", "marzo", "março", "maart", "марта"],
    &["april", "avril", "abril", "aprile", "апреля"],
    &["may", "mai", "mayo", "maggio", "maio", "mei", "мая"],
    &["june", "juni", "juin", "junio", "giugno", "junho", "июня"],
    &["july", "juli", "juillet", "julio", "luglio", "julho", "июля"],
    &["august", "août", "agosto", "augustus", "августа"],
    &["september", "septembre", "septiembre", "settembre", "setembro", "сентября"],
    &["october", "oktober", "octobre", "octubre", "ottobre", "outubro", "октября"],
    &["november", "novembre", "noviembre", "novembro", "ноября"],
    &["december", "dezember", "décembre", "diciembre", "dicembre", "dezembro", "декабря"],
];

/// Marks of the second half of the day, and of the first.
const AFTERNOON: [&str; 5] = ["pm", "p.m.", "下午", "午後", "오후"];
const MORNING: [&str; 5] = ["am", "a.m.", "上午", "午前", "오전"];

/// Returns the kind that a part names.
pub(super) fn kind_in(part: &str) -> Option<Kind> {
    let part = part.to_lowercase();
    KINDS.iter().find(|(word, _)| part.contains(word)).map(|(_, kind)| *kind)
}

/// Returns whether a part names a page.
pub(super) fn is_page(part: &str) -> bool {
    let part = part.to_lowercase();
    PAGES.iter().any(|word| part.contains(word))
}

/// Returns the time in a part: `Added on Monday, March 2, 2026 9:15:02 PM`.
pub(super) fn time_in(part: &str) -> Option<DateTime> {
    let part = part.to_lowercase();
    let (clock_start, clock) = clock_in(&part)?;
    let clock = half_of_day(clock, &part)?;
    let date = date_in(part.get(..clock_start)?)?;
    Some(date.to_datetime(clock))
}

/// Returns the place and the time of day.
fn clock_in(part: &str) -> Option<(usize, Time)> {
    // "Added: Monday …" has another colon before.
    let mut colons = part.match_indices(':').map(|(at, _)| at);
    let colon = colons.find(|at| has_digits(part, *at))?;
    let before = part.get(..colon)?;
    let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
    let start = colon - digits;
    let end = part.get(start..)?.find(|c: char| !c.is_ascii_digit() && c != ':');
    let clock = part.get(start..end.map_or(part.len(), |end| start + end))?;
    let mut numbers = clock.split(':').map(|it| it.parse::<i8>().ok());
    let hour = numbers.next()??;
    let minute = numbers.next()??;
    let second = numbers.next().unwrap_or(Some(0))?;
    Some((start, Time::new(hour, minute, second, 0).ok()?))
}

fn has_digits(part: &str, colon: usize) -> bool {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = part.as_bytes();
    is_digit(bytes.get(colon + 1)) && colon > 0 && is_digit(bytes.get(colon - 1))
}

/// Returns the time of a clock of twelve hours, if the part names a half of the day.
fn half_of_day(clock: Time, part: &str) -> Option<Time> {
    let has = |words: &[&str]| {
        let mut named = part.split([' ', '\u{a0}', '\u{202f}']);
        named.any(|it| words.contains(&it))
            || words.iter().any(|it| !it.is_ascii() && part.contains(it))
    };
    let hour = match clock.hour() {
        12 if has(&MORNING) => 0,
        hour @ ..12 if has(&AFTERNOON) => hour + 12,
        hour => hour,
    };
    Time::new(hour, clock.minute(), clock.second(), 0).ok()
}

/// Returns the date: its numbers in the order of the language, and the name of its month.
fn date_in(text: &str) -> Option<Date> {
    let numbers: Vec<i16> =
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|it| it.parse().ok()).collect();
    if text.contains(['年', '년']) {
        let [year, month, day, ..] = numbers[..] else { return None };
        return Date::new(year, month.try_into().ok()?, day.try_into().ok()?).ok();
    }
    let words = text.split(|c: char| !c.is_alphabetic());
    let month = words
        .filter_map(|word| MONTHS.iter().position(|names| names.contains(&word)))
        .next_back()?;
    let year = numbers.iter().copied().find(|it| *it > 1000)?;
    let day = numbers.iter().copied().find(|it| (1..=31).contains(it))?;
    Date::new(year, i8::try_from(month + 1).ok()?, i8::try_from(day).ok()?).ok()
}
