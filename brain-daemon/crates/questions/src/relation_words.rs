//! Words for the same relation that have no common root, such as `works` and `employees`. No I/O.

use std::ops::Range;

use brain_search::QuestionTerms;

/// Beginnings of words without accents, one list for each relation, in English, German, French,
/// Spanish and Italian. They are long enough that few words of another meaning begin with them.
const RELATIONS: [&[&str]; 6] = [
    &[
        "work",
        "employ",
        "staff",
        "arbeit",
        "mitarbeit",
        "angestellt",
        "beschaftigt",
        "belegschaft",
        "travail",
        "salarie",
        "collaborat",
        "trabaj",
        "emplead",
        "lavor",
        "dipendent",
        "impiegat",
    ],
    &[
        "found", "create", "creator", "grunder", "grundet", "fonda", "fonde", "createur", "fundad",
        "cread",
    ],
    INVESTMENT,
    &["advis", "counsel", "consult", "mentor", "berat", "beirat", "conseil", "asesor", "consej"],
    ATTENDANCE,
    &[
        "writ",
        "wrote",
        "author",
        "autor",
        "auteur",
        "verfass",
        "schreib",
        "schrieb",
        "geschrieb",
        "ecri",
        "escrib",
    ],
];

/// Beginnings of words for investment.
const INVESTMENT: &[&str] = &[
    "invest",
    "backed",
    "backers",
    "shareholder",
    "financed",
    "financier",
    "finanzier",
    "geldgeber",
    "aktionar",
    "actionnaire",
    "inversor",
    "accionist",
    "invir",
];
/// Beginnings of words for attendance.
pub(crate) const ATTENDANCE: &[&str] =
    &["attend", "particip", "teilnehm", "teilgenomm", "anwesend", "asist"];
/// Labels of lists of people at an event, besides those for attendance.
const PRESENT: [&str; 23] = [
    "present",
    "presents",
    "presentes",
    "people",
    "persons",
    "guests",
    "guest",
    "who",
    "gaste",
    "gast",
    "personen",
    "leute",
    "dabei",
    "invites",
    "personnes",
    "invitados",
    "personas",
    "members",
    "mitglieder",
    "teilnehmer",
    "attendees",
    "asistente",
    "asistentes",
];

/// Keys of a person's page for the employer.
const EMPLOYER: [&str; 12] = [
    "company",
    "employer",
    "organization",
    "organisation",
    "firm",
    "works at",
    "firma",
    "arbeitgeber",
    "unternehmen",
    "entreprise",
    "employeur",
    "empresa",
];

/// Words before whom or what somebody invests in.
const INTO: [&str; 6] = ["in", "into", "dans", "en", "sur", "a"];

/// Returns whether the question asks who invests in what has its name at `name`: `which companies
/// invested in Acme`, but not `which companies did Acme invest in`.
pub fn asks_who_invests_in(terms: &QuestionTerms, name: &Range<usize>) -> bool {
    let word = |at: usize| terms.words.get(at).map_or("", |word| word.text.as_str());
    let is_before = name.start.checked_sub(1).is_some_and(|at| INTO.contains(&word(at)));
    is_before && (0..terms.words.len()).any(|at| names_relation(word(at), INVESTMENT))
}

/// Returns whether a key of a person's page names the employer.
pub fn is_employer(key: &str) -> bool {
    EMPLOYER.contains(&key.to_lowercase().as_str())
}

/// Returns whether `word` is the label of a list of people at an event: `attendees`, `present`.
pub fn names_attendance(word: &str) -> bool {
    names_relation(word, ATTENDANCE) || PRESENT.contains(&word)
}

/// Returns the beginnings of the words for the relation that `word` names.
pub fn relation_of(word: &str) -> Option<&'static [&'static str]> {
    RELATIONS.into_iter().find(|beginnings| names_relation(word, beginnings))
}

/// Returns whether `word` is one of `beginnings` with only a short ending.
pub fn names_relation(word: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|begin| {
        // `workers` and `employment`, but not `workshop`.
        word.strip_prefix(begin).is_some_and(|end| end.len() <= begin.len() / 2 + 1)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::forms::tests::terms;
    use super::*;

    #[test]
    fn whom_somebody_invests_in_follows_a_preposition() {
        for (text, expected) in [
            ("which companies invested in [Ann]", true),
            ("welche Firmen haben in [Ann] investiert", true),
            ("qui a investi dans [Acme]", true),
            ("which companies did [Ann] invest in", false),
            ("in welche Firmen hat [Ann] investiert", false),
            ("who works in [Acme]", false),
        ] {
            let terms = terms(text);
            let name = &terms.subjects[0].words;
            assert_eq!(asks_who_invests_in(&terms, name), expected, "{text}");
        }
    }

    #[test]
    fn words_of_one_relation_are_found_in_any_form() {
        for (question_word, page_word) in [
            ("works", "employees"),
            ("travaille", "employes"),
            ("travaillent", "salaries"),
            ("arbeitet", "angestellte"),
            ("trabaja", "empleados"),
            ("wrote", "author"),
            ("backed", "investors"),
            ("fondee", "createurs"),
        ] {
            let words = relation_of(question_word).unwrap();
            assert!(names_relation(page_word, words), "{question_word} {page_word}");
        }
        for label in ["attendees", "present", "teilnehmer", "participants", "asistentes"] {
            assert!(names_attendance(label), "{label}");
        }
        assert!(!names_attendance("notes"));
        for word in ["workshop", "foundation", "budget", "personal", "attention", "creature"] {
            assert_eq!(relation_of(word), None, "{word}");
        }
    }
}
