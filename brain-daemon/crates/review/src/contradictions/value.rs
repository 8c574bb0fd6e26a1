//! Values of facts, and whether two of them differ for certain.
//!
//! A false alarm costs the owner more than a miss. So values differ only if no usual way of writing
//! makes them equal: other units, rounding, a part of a name, a less exact date.

use jiff::civil::Date;

use super::names::{LINK_OPEN, Names};
use super::span::{Period, fold, period};

/// Maximum number of words of a value. Longer texts are sentences.
const MAX_WORDS: usize = 6;
/// Words that only lead to a value.
const LEADS: [&str; 9] = ["the", "a", "an", "mr", "mrs", "ms", "dr", "prof", "professor"];
/// Words that make a number inexact.
const ABOUT: [&str; 10] =
    ["about", "around", "roughly", "approximately", "nearly", "almost", "ca", "circa", "some", "~"];
/// Words for a bound, which is no value.
const BOUNDS: [&str; 10] =
    ["over", "under", "more", "less", "least", "most", "up", "between", "above", "below"];
/// Words that say that a value is not known.
const UNKNOWN: [&str; 14] = [
    "unknown",
    "tbd",
    "tba",
    "tbc",
    "none",
    "open",
    "unclear",
    "n/a",
    "todo",
    "pending",
    "vacant",
    "various",
    "several",
    "undecided",
];

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A page, by its id.
    Page(u64),
    /// A day, month or year.
    Date(Period),
    /// A number with its dimension, in the base unit of that, and how far it may be off.
    Number { value: f64, dimension: String, tolerance: f64 },
    /// The words of a text, in lower case.
    Text(Vec<String>),
}

impl Value {
    /// Reads the value that all of `words` are; `None` if they are none that can be compared.
    pub(crate) fn read(words: &[&str], today: Option<Date>, names: &Names) -> Option<Self> {
        let folded: Vec<String> = words.iter().map(|word| fold(word)).collect();
        let skipped = folded.iter().take_while(|word| LEADS.contains(&word.as_str())).count();
        let (words, lower): (&[&str], Vec<&str>) =
            (words.get(skipped..)?, folded[skipped..].iter().map(String::as_str).collect());
        if words.is_empty() || words.len() > MAX_WORDS {
            return None;
        }
        let text = words.join(" ");
        if let Some(id) = names.page(text.trim_end_matches(['.', ',', ';', '!'])) {
            return Some(Self::Page(id));
        }
        if lower.iter().any(|word| UNKNOWN.contains(word)) {
            return None;
        }
        if let Some((found, used)) = period(&lower, today)
            && used == lower.len()
        {
            return Some(Self::Date(found));
        }
        let has_digit = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
        // "Hall 4" is a name, "4 halls" a number.
        let is_numbered = Self::is_name(&words[..1]) && !has_digit(&lower[0]);
        if lower.iter().any(has_digit) && !is_numbered {
            return number(&lower);
        }
        // An enumeration, or a value with an exception, is not one value.
        let is_list =
            |word: &&str| matches!(*word, "and" | "or" | "und" | "et" | "y" | "&" | "with");
        let has_list = lower.iter().any(is_list)
            || words.iter().rev().skip(1).any(|word| word.ends_with([',', ';']))
            || words.iter().any(|word| word.contains(['/', '@']));
        let texts: Vec<String> = lower.iter().map(|word| (*word).to_owned()).collect();
        (!has_list && texts.iter().all(|text| !text.is_empty())).then_some(Self::Text(texts))
    }

    /// Returns whether the values cannot both be right.
    pub(crate) fn differs(&self, other: &Self, names: &Names) -> bool {
        match (self, other) {
            (Self::Page(a), Self::Page(b)) => a != b && !names.share_name(*a, *b),
            (Self::Date(a), Self::Date(b)) => dates_differ(*a, *b),
            (
                Self::Number { value: a, dimension, tolerance },
                Self::Number { value: b, dimension: other_dimension, tolerance: other_tolerance },
            ) => dimension == other_dimension && (a - b).abs() > tolerance.max(*other_tolerance),
            (Self::Text(a), Self::Text(b)) => texts_differ(a, b),
            (Self::Page(id), Self::Text(text)) | (Self::Text(text), Self::Page(id)) => {
                names.of(*id).all(|name| {
                    let name: Vec<String> = name.split(' ').map(fold).collect();
                    texts_differ(&name, text)
                })
            }
            _ => false,
        }
    }

    /// Returns whether the value looks like the name of a person, a place or a thing.
    pub(crate) fn is_name(words: &[&str]) -> bool {
        words.iter().any(|word| word.starts_with(|c: char| c.is_uppercase() || c == LINK_OPEN))
    }

    /// Returns a text that is equal for equal values, for keys.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Page(id) => format!("page {id}"),
            Self::Date(period) => format!("{} {}", period.first, period.last),
            Self::Number { value, dimension, .. } => format!("{value} {dimension}"),
            Self::Text(words) => words.join(" "),
        }
    }
}

fn dates_differ(a: Period, b: Period) -> bool {
    if a.has_no_year || b.has_no_year {
        let day = |date: Date| (date.month(), date.day());
        return day(a.last) < day(b.first) || day(b.last) < day(a.first);
    }
    a.last < b.first || b.last < a.first
}

/// Returns whether two texts name different things: none has all words of the other one, as
/// written, as initials, or with a slip.
fn texts_differ(a: &[String], b: &[String]) -> bool {
    let joined = |words: &[String]| -> String { words.concat().replace(['-', '.', '\''], "") };
    let (a_text, b_text) = (joined(a), joined(b));
    let (a_name, b_name) = (a.join(" "), b.join(" "));
    let is_translation =
        SAME.iter().any(|of| of.contains(&a_name.as_str()) && of.contains(&b_name.as_str()));
    if a_text == b_text || is_translation || is_slip(&a_text, &b_text) {
        return false;
    }
    let initials = |words: &[String]| -> String {
        words.iter().filter_map(|word| word.chars().next()).collect()
    };
    if (a.len() > 1 && initials(a) == b_text) || (b.len() > 1 && initials(b) == a_text) {
        return false;
    }
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let has = |word: &String| long.iter().any(|other| is_same_word(word, other));
    !short.iter().filter(|word| !is_filler(word)).all(has)
}

fn is_filler(word: &str) -> bool {
    matches!(word, "of" | "the" | "in" | "de" | "von" | "van" | "at")
}

/// Returns whether the words are equal, or one is an initial or the beginning of the other one.
fn is_same_word(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim_matches('.'), b.trim_matches('.'));
    let is_start = |short: &str, long: &str| {
        let length = short.chars().count();
        (length == 1 || length >= 4) && long.starts_with(short)
    };
    a == b || is_start(a, b) || is_start(b, a) || is_slip(a, b)
}

/// Returns whether long words differ by one letter only.
fn is_slip(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().min(b.len()) < 6 || a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let start = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    start + end + 1 >= a.len().max(b.len())
}

/// Units: names, dimension, and the factor to the base unit.
const UNITS: [(&[&str], &str, f64); 33] = [
    (&["mm", "millimetre", "millimeter"], "length", 0.001),
    (&["cm", "centimetre", "centimeter"], "length", 0.01),
    (&["m", "metre", "meter"], "length", 1.0),
    (&["km", "kilometre", "kilometer"], "length", 1000.0),
    (&["mi", "mile"], "length", 1609.344),
    (&["nm", "nmi"], "length", 1852.0),
    (&["yd", "yard"], "length", 0.9144),
    (&["ft", "foot", "feet"], "length", 0.3048),
    (&["inch", "inche"], "length", 0.0254),
    (&["g", "gram", "gramme"], "mass", 0.001),
    (&["kg", "kilo", "kilogram", "kilogramme"], "mass", 1.0),
    (&["t", "ton", "tonne"], "mass", 1000.0),
    (&["lb", "pound"], "mass", 0.453_592),
    (&["oz", "ounce"], "mass", 0.028_35),
    (&["s", "sec", "second"], "time", 1.0),
    (&["min", "minute"], "time", 60.0),
    (&["h", "hr", "hour"], "time", 3600.0),
    (&["day"], "time", 86_400.0),
    (&["week"], "time", 604_800.0),
    (&["month"], "time", 2_629_800.0),
    (&["year"], "time", 31_557_600.0),
    (&["ml", "millilitre", "milliliter"], "volume", 0.001),
    (&["cl"], "volume", 0.01),
    (&["l", "litre", "liter"], "volume", 1.0),
    (&["m³", "m3"], "volume", 1000.0),
    (&["gal", "gallon"], "volume", 3.785),
    (&["m²", "m2", "sqm"], "area", 1.0),
    (&["ha", "hectare"], "area", 10_000.0),
    (&["km²", "km2"], "area", 1_000_000.0),
    (&["acre"], "area", 4046.86),
    (&["%", "percent"], "share", 1.0),
    (&["kw", "kilowatt"], "power", 1.0),
    (&["mw", "megawatt"], "power", 1000.0),
];

/// Reads a number with its unit: `12,500 kg`, `about 1.2 million`, `€40`, `12m`.
fn number(words: &[&str]) -> Option<Value> {
    if words.iter().any(|word| BOUNDS.contains(word)) {
        return None;
    }
    let is_about = words.iter().any(|word| ABOUT.contains(word));
    let mut words = words.iter().copied().filter(|word| !ABOUT.contains(word));
    let first = words.next()?.trim_start_matches('~');
    let start = first.find(|c: char| c.is_ascii_digit())?;
    let currency = &first[..start];
    let length = first[start..]
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))
        .unwrap_or(first.len() - start);
    let (digits, joined_unit) = first[start..].split_at(length);
    let mut rest: Vec<&str> = Vec::new();
    rest.extend(Some(currency).filter(|text| !text.is_empty()));
    rest.extend(Some(joined_unit).filter(|text| !text.is_empty()));
    rest.extend(words);
    let (mut value, mut tolerance) = amount(digits)?;
    for (names, factor) in
        [(["thousand", "k"], 1e3), (["million", "mio"], 1e6), (["billion", "bn"], 1e9)]
    {
        if let Some(at) = rest.iter().position(|word| names.contains(word)) {
            rest.remove(at);
            (value, tolerance) = (value * factor, tolerance * factor);
        }
    }
    if is_about {
        tolerance = tolerance.max(value.abs() * 0.15);
    }
    let dimension = match rest[..] {
        [] => String::new(),
        [unit] => {
            let singular = unit.strip_suffix('s').filter(|it| it.len() > 1).unwrap_or(unit);
            let found =
                UNITS.iter().find(|(names, ..)| names.contains(&unit) || names.contains(&singular));
            let Some((_, dimension, factor)) = found else {
                return Some(Value::Number { value, dimension: singular.into(), tolerance });
            };
            // Whoever converts also rounds.
            (value, tolerance) = (value * factor, (tolerance * factor).max(value * factor * 0.01));
            (*dimension).to_owned()
        }
        // More words name what the number counts, or limit it.
        _ => return None,
    };
    Some(Value::Number { value, dimension, tolerance })
}

/// Reads digits with points and commas. Returns the number, and half of its last exact place: 300
/// may be a rounded 312, 304 is not.
fn amount(digits: &str) -> Option<(f64, f64)> {
    let digits = digits.trim_end_matches(['.', ',']);
    let groups: Vec<&str> = digits.split([',', '.']).collect();
    let is_grouped = groups.len() > 1 && groups[1..].iter().all(|group| group.len() == 3);
    let plain = match is_grouped {
        true => groups.concat(),
        // Three parts that are no groups of thousands: a version, an address or a date.
        false if groups.len() > 2 => return None,
        false => digits.replace(',', "."),
    };
    let value: f64 = plain.parse().ok()?;
    let places = plain.split_once('.').map_or(0, |(_, places)| places.len());
    let zeros = match places {
        0 => plain.len() - plain.trim_end_matches('0').len(),
        _ => 0,
    };
    let exponent = i32::try_from(zeros).unwrap_or(0) - i32::try_from(places).unwrap_or(0);
    Some((value, 10_f64.powi(exponent) * 0.5))
}

/// Words that exclude each other as what a thing is, and the field that they fill.
const EXCLUSIVE: [(&str, &[&str]); 8] = [
    ("colour", &["red", "blue", "green", "yellow", "white", "black", "grey", "brown", "purple"]),
    ("diet", &["vegetarian", "vegan", "omnivore"]),
    ("handedness", &["left-handed", "right-handed"]),
    ("obligation", &["mandatory", "compulsory", "optional", "voluntary"]),
    ("state of opening", &["open", "closed", "shut"]),
    ("state of plan", &["cancelled", "canceled", "confirmed", "postponed"]),
    ("state of consent", &["approved", "rejected", "declined"]),
    ("state of life", &["alive", "dead", "deceased"]),
];

/// Returns the field that the text fills, if it is a word of [`EXCLUSIVE`].
pub(crate) fn exclusive_class(words: &[&str]) -> Option<&'static str> {
    let [word] = words else { return None };
    let word = fold(word);
    EXCLUSIVE.iter().find(|(_, class)| class.contains(&word.as_str())).map(|(field, _)| *field)
}

/// Names of one thing in several languages or spellings. Other pairs differ in their letters, too,
/// but nothing says that they are the same.
const SAME: [&[&str]; 44] = [
    &["vienna", "wien", "vienne"],
    &["cologne", "köln", "koeln"],
    &["munich", "münchen", "monaco"],
    &["prague", "praha", "prag"],
    &["rome", "roma", "rom"],
    &["milan", "milano", "mailand"],
    &["florence", "firenze", "florenz"],
    &["venice", "venezia", "venedig"],
    &["naples", "napoli", "neapel"],
    &["turin", "torino"],
    &["copenhagen", "københavn", "kopenhagen"],
    &["warsaw", "warszawa", "warschau"],
    &["lisbon", "lisboa", "lissabon"],
    &["geneva", "genève", "genf", "ginevra"],
    &["brussels", "bruxelles", "brussel", "brüssel"],
    &["gothenburg", "göteborg"],
    &["turku", "åbo"],
    &["helsinki", "helsingfors"],
    &["athens", "athen", "athina"],
    &["moscow", "moskau", "moskva"],
    &["seville", "sevilla"],
    &["nuremberg", "nürnberg"],
    &["hanover", "hannover"],
    &["zurich", "zürich"],
    &["basel", "basle", "bâle"],
    &["antwerp", "antwerpen", "anvers"],
    &["ghent", "gent", "gand"],
    &["the hague", "den haag"],
    &["germany", "deutschland", "allemagne", "alemania"],
    &["france", "frankreich", "francia"],
    &["spain", "españa", "spanien", "espagne"],
    &["italy", "italia", "italien", "italie"],
    &["norway", "norge", "norwegen"],
    &["sweden", "sverige", "schweden"],
    &["denmark", "danmark", "dänemark"],
    &["austria", "österreich"],
    &["switzerland", "schweiz", "suisse", "svizzera"],
    &["netherlands", "nederland", "holland", "niederlande"],
    &["poland", "polska", "polen"],
    &["red", "rot", "rouge", "rojo", "rosso"],
    &["blue", "blau", "bleu", "azul"],
    &["green", "grün", "vert", "verde"],
    &["grey", "gray", "grau", "gris"],
    &["white", "weiß", "weiss", "blanc", "blanco"],
];

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(a: &str, b: &str) -> Option<bool> {
        let names = Names::default();
        let read = |text: &str| {
            Value::read(
                &text.split_whitespace().collect::<Vec<_>>(),
                Date::new(2024, 1, 1).ok(),
                &names,
            )
        };
        Some(read(a)?.differs(&read(b)?, &names))
    }

    #[test]
    fn values_that_may_be_the_same_do_not_differ() {
        for (a, b) in [
            ("5 km", "3.1 miles"),
            ("150 cm", "1.5 m"),
            ("12,500", "12500"),
            ("about 300", "312"),
            ("300 guests", "312 guests"),
            ("12 %", "12 percent"),
            ("1.2 million", "1200000"),
            ("March 1980", "1980-03-04"),
            ("3 May", "2024-05-03"),
            ("Oda", "Dr. Oda Lind"),
            ("J. Roe", "Jan Roe"),
            ("Oslo", "Oslo, Norway"),
            ("UN", "United Nations"),
            ("Gothenburg", "Gothenborg"),
            ("40 €", "40 USD"),
            ("1980", "Bergen"),
            ("Vienna", "Wien"),
        ] {
            assert_ne!(differ(a, b), Some(true), "{a} | {b}");
        }
    }

    #[test]
    fn other_values_differ() {
        for (a, b) in [
            ("5 km", "7 km"),
            ("312", "341"),
            ("March 1980", "1981-03-04"),
            ("3 May", "4 May"),
            ("Oda Lind", "Pia Holm"),
            ("the harbour", "the mill"),
            ("40 €", "60 €"),
            ("2 hours", "180 min"),
        ] {
            assert_eq!(differ(a, b), Some(true), "{a} | {b}");
        }
    }

    #[test]
    fn lists_bounds_and_versions_are_no_values() {
        for text in ["Oda and Pia", "Oda, Pia", "more than 300", "1.2.3", "unknown", "8 € for all"]
        {
            assert_eq!(differ(text, "Oda"), None, "{text}");
        }
    }
}
