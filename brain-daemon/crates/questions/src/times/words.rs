//! Words of times in English, German, French, Spanish, Portuguese, Italian and Dutch, in lower case
//! and without accents. No I/O.

use std::ops::RangeInclusive;

pub(super) use brain_page::month_named as month;
use jiff::civil::Weekday;

/// Numbers of four digits that can be years.
pub(super) const YEARS: RangeInclusive<i16> = 1800..=2199;

/// A unit of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CalendarUnit {
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// The days of the week, from Monday. Portuguese days are two words; see [`FEIRA`].
const WEEKDAYS: [&[&str]; 7] = [
    &["monday", "montag", "lundi", "lunes", "lunedi", "maandag"],
    &["tuesday", "dienstag", "mardi", "martes", "martedi", "dinsdag"],
    &["wednesday", "mittwoch", "mercredi", "miercoles", "mercoledi", "woensdag"],
    &["thursday", "donnerstag", "jeudi", "jueves", "giovedi", "donderdag"],
    &["friday", "freitag", "vendredi", "viernes", "venerdi", "vrijdag"],
    &["saturday", "samstag", "sonnabend", "samedi", "sabado", "sabato", "zaterdag"],
    &["sunday", "sonntag", "dimanche", "domingo", "domenica", "zondag"],
];
/// Days of the week that are followed by [`FEIRA`], from Monday.
const NUMBERED_WEEKDAYS: [&str; 5] = ["segunda", "terca", "quarta", "quinta", "sexta"];
const FEIRA: &str = "feira";

/// The seasons, from spring. The Italian word for summer is left out: it is `estate`.
const SEASONS: [&[&str]; 4] = [
    &["spring", "fruhling", "fruhjahr", "printemps", "primavera", "voorjaar"],
    &["summer", "sommer", "ete", "verano", "verao", "zomer"],
    &["autumn", "fall", "herbst", "automne", "otono", "outono", "autunno", "herfst", "najaar"],
    &["winter", "hiver", "invierno", "inverno"],
];
/// The number of the winter among the seasons.
pub(super) const WINTER: i8 = 3;

/// Words for a part of a month, a season or a year.
pub(super) const PARTS: [&str; 20] = [
    "early",
    "mid",
    "late",
    "beginning",
    "start",
    "middle",
    "end",
    "anfang",
    "mitte",
    "ende",
    "debut",
    "milieu",
    "mi",
    "fin",
    "principios",
    "mediados",
    "finales",
    "inicio",
    "fine",
    "inizio",
];
/// Words between a part of a period and the period: `the last week of May`.
pub(super) const OF: [&str; 8] = ["of", "de", "du", "des", "del", "di", "van", "im"];
/// Words before the number of a week, beside those for a week.
pub(super) const NUMBERED_WEEK: [&str; 3] = ["kw", "kalenderwoche", "wk"];
/// Words for half a year.
pub(super) const HALF: [&str; 5] = ["half", "halbjahr", "semestre", "halfjaar", "semester"];

const UNITS: [(CalendarUnit, &[&str]); 5] = [
    (
        CalendarUnit::Day,
        &[
            "day", "days", "tag", "tage", "tagen", "jour", "jours", "dia", "dias", "giorno",
            "giorni", "dag", "dagen",
        ],
    ),
    (
        CalendarUnit::Week,
        &[
            "week",
            "weeks",
            "woche",
            "wochen",
            "semaine",
            "semaines",
            "semana",
            "semanas",
            "settimana",
            "settimane",
            "weken",
        ],
    ),
    (
        CalendarUnit::Month,
        &[
            "month", "months", "monat", "monate", "monaten", "mois", "mes", "meses", "mese",
            "mesi", "maand", "maanden",
        ],
    ),
    (
        CalendarUnit::Quarter,
        &[
            "quarter",
            "quarters",
            "quartal",
            "quartale",
            "quartalen",
            "trimestre",
            "trimestres",
            "trimestri",
            "kwartaal",
            "kwartalen",
        ],
    ),
    (
        CalendarUnit::Year,
        &[
            "year", "years", "jahr", "jahre", "jahren", "jahres", "an", "ans", "annee", "annees",
            "ano", "anos", "anno", "anni", "jaar", "jaren",
        ],
    ),
];

/// Days by their distance from today.
const DAYS: [(i64, &[&str]); 5] = [
    (0, &["today", "heute", "aujourd'hui", "aujourdhui", "hoy", "hoje", "oggi", "vandaag"]),
    (-1, &["yesterday", "gestern", "ayer", "ontem", "ieri", "gisteren"]),
    (1, &["tomorrow", "demain", "amanha", "domani"]),
    (-2, &["vorgestern", "anteayer", "anteontem", "eergisteren"]),
    (2, &["ubermorgen", "overmorgen", "dopodomani"]),
];

/// Words between the parts of a time that mean nothing by themselves.
const FILLERS: [&str; 31] = [
    "the", "of", "der", "die", "das", "dem", "den", "des", "de", "du", "la", "le", "les", "el",
    "los", "las", "del", "do", "da", "il", "lo", "gli", "i", "o", "a", "het", "van", "month",
    "year", "monat", "mes",
];

/// Prepositions after which a month, a year or a day of the week is a time.
const PREPOSITIONS: [&str; 27] = [
    "in", "on", "during", "of", "from", "im", "am", "vom", "von", "wahrend", "en", "au", "du",
    "pendant", "el", "durante", "nel", "nell", "a", "no", "na", "em", "op", "tijdens", "de", "le",
    "del",
];

/// Endings of the number of a day: `14th`, `1er`, `14ten`, `1º`.
pub(super) const DAY_ENDINGS: [&str; 8] = ["", "st", "nd", "rd", "th", "er", "ten", "o"];
/// Prepositions before a day without a year: `le 24/05`, `on 5/24`.
pub(super) const DAY_PREPOSITIONS: [&str; 9] =
    ["on", "from", "am", "vom", "le", "du", "el", "del", "op"];
/// Prepositions before a day with points: `am 24.5.`.
pub(super) const DAY_PREPOSITIONS_DOTS: [&str; 3] = ["am", "vom", "op"];

pub(super) const LAST: [&str; 28] = [
    "last",
    "past",
    "previous",
    "letzte",
    "letzter",
    "letztes",
    "letzten",
    "letztem",
    "vergangene",
    "vergangenen",
    "vorige",
    "vorigen",
    "dernier",
    "derniere",
    "derniers",
    "dernieres",
    "passe",
    "passee",
    "ultimo",
    "ultima",
    "ultimos",
    "ultimas",
    "ultimi",
    "pasado",
    "pasada",
    "passado",
    "passada",
    "afgelopen",
];
/// More words for `last`, which never precede a number of units.
pub(super) const LAST_ONE: [&str; 4] = ["scorso", "scorsa", "vorig", "laatste"];
pub(super) const THIS: [&str; 17] = [
    "this", "current", "diese", "dieser", "dieses", "diesem", "diesen", "ce", "cette", "este",
    "esta", "questo", "questa", "quest", "deze", "dit", "neste",
];
pub(super) const NEXT: [&str; 14] = [
    "next",
    "nachste",
    "nachster",
    "nachstes",
    "nachsten",
    "nachstem",
    "prochain",
    "prochaine",
    "proximo",
    "proxima",
    "prossimo",
    "prossima",
    "volgende",
    "komende",
];
pub(super) const SINCE: [&str; 8] =
    ["since", "seit", "depuis", "desde", "dal", "dalla", "sinds", "vanaf"];
pub(super) const AFTER: [&str; 8] =
    ["after", "nach", "apres", "despues", "depois", "dopo", "na", "later"];
pub(super) const BEFORE: [&str; 6] = ["before", "vor", "avant", "antes", "prima", "voor"];
pub(super) const UNTIL: [&str; 10] =
    ["until", "till", "by", "bis", "jusqu", "jusque", "hasta", "ate", "fino", "tot"];
pub(super) const BETWEEN: [&str; 14] = [
    "between", "from", "zwischen", "von", "vom", "entre", "de", "du", "tra", "fra", "dal", "del",
    "tussen", "van",
];
pub(super) const AND: [&str; 15] = [
    "and", "to", "und", "bis", "et", "y", "e", "a", "en", "au", "al", "hasta", "ate", "tot",
    "through",
];
/// Words between two ends of a period without a word before it: `March to May`.
pub(super) const TO: [&str; 11] =
    ["to", "through", "thru", "until", "till", "bis", "au", "al", "hasta", "ate", "tot"];
/// Words after an age: `3 days ago`, `3 giorni fa`.
pub(super) const AGO: [&str; 5] = ["ago", "fa", "geleden", "atras", "zuvor"];
/// Words before an age: `vor 3 Tagen`, `hace 3 días`, `il y a 3 jours`, `há 3 dias`.
pub(super) const AGO_BEFORE: [&str; 5] = ["vor", "hace", "a", "ha", "faz"];
/// Numbers as words.
const NUMBERS: [(i64, &[&str]); 6] = [
    (1, &["one", "a", "ein", "einem", "einer", "eine", "un", "une", "una", "um", "uma", "een"]),
    (2, &["two", "zwei", "deux", "dos", "dois", "duas", "due", "twee"]),
    (3, &["three", "drei", "trois", "tres", "tre", "drie"]),
    (4, &["four", "vier", "quatre", "cuatro", "quatro", "quattro"]),
    (5, &["five", "funf", "cinq", "cinco", "cinque", "vijf"]),
    (6, &["six", "sechs", "seis", "sei", "zes"]),
];
/// Ordinals of quarters.
const ORDINALS: [&[&str]; 4] = [
    &[
        "first", "1st", "erste", "ersten", "erstes", "premier", "primer", "primeiro", "primo",
        "eerste",
    ],
    &["second", "2nd", "zweite", "zweiten", "zweites", "deuxieme", "segundo", "secondo", "tweede"],
    &[
        "third",
        "3rd",
        "dritte",
        "dritten",
        "drittes",
        "troisieme",
        "tercer",
        "terceiro",
        "terzo",
        "derde",
    ],
    &["fourth", "4th", "vierte", "vierten", "viertes", "quatrieme", "cuarto", "quarto", "vierde"],
];

/// Words that ask for the newest pages.
pub(super) const NEWEST: [&str; 37] = [
    "last",
    "latest",
    "newest",
    "recent",
    "recently",
    "lately",
    "letzte",
    "letzter",
    "letztes",
    "letzten",
    "letztens",
    "zuletzt",
    "neueste",
    "neuesten",
    "neuester",
    "neuestes",
    "neulich",
    "kurzlich",
    "jungst",
    "jungste",
    "dernier",
    "derniere",
    "dernieres",
    "recents",
    "recente",
    "ultimo",
    "ultima",
    "ultimos",
    "ultimas",
    "ultimi",
    "ultime",
    "laatste",
    "laatst",
    "nieuwste",
    "reciente",
    "recientes",
    "recentes",
];
/// Words that ask for the oldest pages.
pub(super) const OLDEST: [&str; 24] = [
    "first", "earliest", "oldest", "erste", "erster", "erstes", "ersten", "zuerst", "fruheste",
    "alteste", "altesten", "premier", "premiere", "primer", "primera", "primero", "primeiro",
    "primeira", "primo", "prima", "eerste", "oudste", "vroegste", "antigua",
];
/// Words that ask for a day.
pub(super) const WHEN: [&str; 7] = ["when", "wann", "quand", "cuando", "quando", "wanneer", "date"];

/// Returns the day of the week whose name begins with `word`, and the number of words in the name.
pub(super) fn weekday(word: &str, next: &str) -> Option<(Weekday, usize)> {
    let found = |at: usize, words| {
        let day = Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()?;
        Some((day, words))
    };
    if let Some(at) = WEEKDAYS.iter().position(|names| names.contains(&word)) {
        return found(at, 1);
    }
    let at = NUMBERED_WEEKDAYS.iter().position(|name| *name == word)?;
    if next == FEIRA { found(at, 2) } else { None }
}

/// Names of months that are also other words, such as that of a planet.
pub(super) const OTHER_WORDS: [&str; 3] = ["mars", "mayo", "mar"];

/// Names of months in English, where the day can come after the month.
pub(super) const ENGLISH_MONTHS: [&str; 24] = [
    "january",
    "jan",
    "february",
    "feb",
    "march",
    "mar",
    "april",
    "apr",
    "may",
    "june",
    "jun",
    "july",
    "jul",
    "august",
    "aug",
    "september",
    "sep",
    "sept",
    "october",
    "oct",
    "november",
    "nov",
    "december",
    "dec",
];

/// Names of times that are first names, too.
pub(super) const FIRST_NAMES: [&str; 9] =
    ["jan", "april", "may", "june", "august", "summer", "autumn", "avril", "augusto"];

/// Returns the number of the season that `word` names, from 0 for spring.
pub(super) fn season(word: &str) -> Option<i8> {
    (0..).zip(SEASONS).find(|(_, names)| names.contains(&word)).map(|(season, _)| season)
}

/// Returns the number of the half year that `word` names: `h1`, `s2`.
pub(super) fn half(word: &str) -> Option<i8> {
    let digit = word.strip_prefix(['h', 's'])?.parse().ok()?;
    (1..=2).contains(&digit).then_some(digit)
}

/// Returns the unit that `word` names.
pub(super) fn unit(word: &str) -> Option<CalendarUnit> {
    UNITS.iter().find(|(_, names)| names.contains(&word)).map(|(unit, _)| *unit)
}

/// Returns the distance in days from today to the day that `word` names.
pub(super) fn day(word: &str) -> Option<i64> {
    DAYS.iter().find(|(_, names)| names.contains(&word)).map(|(distance, _)| *distance)
}

/// Returns the number that `word` is: up to four digits, or a word of [`NUMBERS`].
pub(super) fn number(word: &str) -> Option<i64> {
    if word.len() <= 4 && !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) {
        return word.parse().ok();
    }
    NUMBERS.iter().find(|(_, names)| names.contains(&word)).map(|(number, _)| *number)
}

/// Returns the number of the quarter that `word` names, from 1, and whether it has the short form:
/// `q3`, `t3`, but not `third`.
pub(super) fn quarter(word: &str) -> Option<(i8, bool)> {
    let short = word.strip_prefix(['q', 't', 'k']).and_then(|digit| digit.parse::<i8>().ok());
    if let Some(number) = short.filter(|number| (1..=4).contains(number)) {
        return Some((number, true));
    }
    let named = (1..).zip(ORDINALS).find(|(_, names)| names.contains(&word));
    let digit = || word.parse::<i8>().ok().filter(|number| (1..=4).contains(number));
    named.map(|(number, _)| number).or_else(digit).map(|number| (number, false))
}

/// Returns whether `word` is `first`, `second`, `third` or `fourth`.
pub(super) fn is_ordinal(word: &str) -> bool {
    ORDINALS.iter().any(|names| names.contains(&word))
}

/// Returns whether a word between the parts of a time means nothing by itself.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
}

/// Returns whether a word is one of the [`PREPOSITIONS`].
pub(super) fn is_preposition(word: &str) -> bool {
    PREPOSITIONS.contains(&word)
}
