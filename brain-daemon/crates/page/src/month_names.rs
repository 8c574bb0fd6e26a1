//! Names of months in English, German, French, Spanish, Portuguese, Italian and Dutch, in lower
//! case and without accents.

/// The names of the months, from January.
const MONTHS: [&[&str]; 12] = [
    &["january", "jan", "januar", "janner", "janvier", "enero", "janeiro", "gennaio", "januari"],
    &[
        "february",
        "feb",
        "februar",
        "fevrier",
        "fevr",
        "febrero",
        "fevereiro",
        "febbraio",
        "februari",
    ],
    &["march", "mar", "marz", "maerz", "mars", "marzo", "marco", "maart"],
    &["april", "apr", "avril", "abril", "aprile"],
    &["may", "mai", "mayo", "maio", "maggio", "mei"],
    &["june", "jun", "juni", "juin", "junio", "junho", "giugno"],
    &["july", "jul", "juli", "juillet", "julio", "julho", "luglio"],
    &["august", "aug", "aout", "agosto", "augustus"],
    &["september", "sep", "sept", "septembre", "septiembre", "setembro", "settembre"],
    &["october", "oct", "oktober", "okt", "octobre", "octubre", "outubro", "ottobre"],
    &["november", "nov", "novembre", "noviembre", "novembro"],
    &["december", "dec", "dezember", "dez", "decembre", "diciembre", "dezembro", "dicembre"],
];

/// Returns the number of the month that `word` names, from 1. `word` is in lower case and has no
/// accents.
#[must_use]
pub fn month_named(word: &str) -> Option<i8> {
    (1..).zip(MONTHS).find(|(_, names)| names.contains(&word)).map(|(month, _)| month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_have_names_in_several_languages() {
        for (word, month) in [("march", 3), ("aout", 8), ("sept", 9), ("dezember", 12)] {
            assert_eq!(month_named(word), Some(month), "{word}");
        }
        for word in ["", "mart", "sunday", "März"] {
            assert_eq!(month_named(word), None, "{word}");
        }
    }
}
