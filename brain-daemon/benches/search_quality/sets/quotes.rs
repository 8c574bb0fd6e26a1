//! Words in quotes beside other words, names with apostrophes, and words that differ in accents
//! only.

use crate::films::Rng;
use crate::set::{Doc, Set};

const PEOPLE: [&str; 24] = [
    "Ann", "Boris", "Chidi", "Dana", "Emil", "Farah", "Goran", "Hana", "Ivo", "Jun", "Kemal",
    "Lotte", "Marek", "Nadia", "Otis", "Priya", "Rashid", "Selma", "Tomas", "Ulla", "Vera", "Wim",
    "Yusuf", "Zita",
];
/// Word pairs. Some are adjacent in all notes, the others in none.
const PAIRS: [(&str, &str); 16] = [
    ("launch", "budget"),
    ("safety", "margin"),
    ("winter", "schedule"),
    ("export", "licence"),
    ("battery", "supplier"),
    ("customer", "survey"),
    ("harvest", "forecast"),
    ("pension", "fund"),
    ("water", "pump"),
    ("night", "shift"),
    ("paper", "archive"),
    ("bridge", "inspection"),
    ("spring", "festival"),
    ("glass", "delivery"),
    ("kitchen", "renovation"),
    ("language", "course"),
];
const VERDICTS: [&str; 12] = [
    "should be cut before the autumn",
    "is larger than anyone expected",
    "needs a second signature",
    "was postponed again",
    "depends on the weather",
    "must not reach the press",
    "had been copied from last year",
    "will be paid by the partners",
    "is the only thing that works",
    "has no owner",
    "could wait until the new year",
    "cost more than the building",
];
const TALK: [&str; 14] = [
    "The meeting began late because of the snow.",
    "Nobody had read the minutes of the last round.",
    "The coffee machine was repaired in the meantime.",
    "Two guests from the north listened and said nothing.",
    "The plan for the garden was praised by everyone.",
    "After lunch the group walked along the canal.",
    "The budget of the library is a question for another day.",
    "A launch of the small boat is planned for Sunday.",
    "The fund for the museum has a new chair.",
    "The schedule of the trains was on the wall.",
    "Somebody asked about the survey of the old trees.",
    "The supplier of the chairs sent flowers.",
    "The night was short and the water cold.",
    "There was a delivery of bread at the door.",
];

/// Returns all sets.
pub(crate) fn sets() -> Vec<Set> {
    vec![quotes_in_prose(), names_with_apostrophes(), accents()]
}

fn note(id: String, title: String, text: String) -> Doc {
    Doc { id, title, text, frontmatter: String::new(), file: None }
}

fn pick<'a>(of: &[&'a str], rng: &mut Rng) -> &'a str {
    of[rng.below(of.len())]
}

/// Returns a set with notes of meetings in which people speak about things. For each word pair,
/// either the two words are adjacent in all notes about it, or in none.
fn quotes_in_prose() -> Set {
    let mut rng = Rng(20_261_124);
    let mut docs = Vec::new();
    let mut questions = Vec::new();
    for number in 0..240 {
        let (person, (first, second)) =
            (PEOPLE[number % PEOPLE.len()], PAIRS[(number * 7 + number / 24) % PAIRS.len()]);
        let verdict = VERDICTS[(number * 5 + number / 16) % VERDICTS.len()];
        let talk = |rng: &mut Rng, count: usize| -> String {
            (0..count).map(|_| format!("{} ", pick(&TALK, rng))).collect()
        };
        let are_adjacent =
            PAIRS.iter().position(|pair| *pair == (first, second)).unwrap_or(0) % 3 != 0;
        let statement = if are_adjacent {
            format!("{person} said that the {first} {second} {verdict}.")
        } else {
            format!("{person} said that the {second} for the {first} {verdict}.")
        };
        let length = 2 + rng.below(12);
        let text = format!(
            "{}{statement} {}\n\n{}",
            talk(&mut rng, length),
            talk(&mut rng, length),
            talk(&mut rng, 3)
        );
        let id = format!("meetings/round-{number}");
        docs.push(note(id.clone(), format!("Round {number}"), text));
        let text = match number % 4 {
            0 => format!("What did {person} say about the \"{first} {second}\"?"),
            1 => format!("who said that the \"{first} {second}\" {verdict}"),
            2 => format!("the round in which {person} thought the \"{first} {second}\" {verdict}"),
            _ => format!("{person} \"{first} {second}\""),
        };
        questions.push((text, vec![id]));
    }
    Set::new("quote-in-prose", docs, &questions)
}

/// Returns a set with people whose names have apostrophes or Hebrew marks.
fn names_with_apostrophes() -> Set {
    const FIRST: [&str; 8] = ["Maeve", "Conor", "Bianca", "Luc", "Shira", "Kai", "Amina", "Rory"];
    /// The surname as the page has it, and other spellings of it.
    const LAST: [(&str, [&str; 3]); 14] = [
        ("O'Brien", ["O’Brien", "OBrien", "O Brien"]),
        ("O’Connell", ["O'Connell", "OConnell", "o connell"]),
        ("D'Angelo", ["D’Angelo", "DAngelo", "dangelo"]),
        ("D’Arcy", ["D'Arcy", "DArcy", "darcy"]),
        ("L'Hôpital", ["L’Hôpital", "LHopital", "l'hopital"]),
        ("N'Diaye", ["N’Diaye", "NDiaye", "n'diaye"]),
        ("M’Baye", ["M'Baye", "MBaye", "mbaye"]),
        ("Dell'Orto", ["Dell’Orto", "DellOrto", "dell'orto"]),
        ("T'Challa", ["T’Challa", "TChalla", "tchalla"]),
        ("Hawaiʻi", ["Hawai'i", "Hawaii", "hawai’i"]),
        ("צה״ל", ["צה\"ל", "צהל", "צה”ל"]),
        ("ג׳ורג׳", ["ג'ורג'", "גורג", "ג’ורג’"]),
        ("שָׁלוֹם", ["שלום", "שָׁלוֹם", "שלוֹם"]),
        ("Ta'ayush", ["Ta’ayush", "Taayush", "Taʿayush"]),
    ];
    let mut rng = Rng(20_261_125);
    let mut docs = Vec::new();
    let mut questions = Vec::new();
    for (at, first) in FIRST.iter().enumerate() {
        for (number, (last, others)) in LAST.iter().enumerate() {
            let name = format!("{first} {last}");
            let friend = LAST[(number + at + 1) % LAST.len()].0;
            let id = format!("people/{at}-{number}");
            let mut text = format!("{name} shares an office with {first} {friend}. ");
            (0..3 + rng.below(5))
                .for_each(|_| text.push_str(&format!("{} ", pick(&TALK, &mut rng))));
            docs.push(note(id.clone(), name.clone(), text));
            questions.push((name, vec![id.clone()]));
            let other = others[(at + number) % others.len()];
            questions.push((format!("{first} {other}"), vec![id.clone()]));
            let other = others[(at + number + 1) % others.len()];
            questions.push((format!("what do we know about {first} {other}"), vec![id]));
        }
    }
    Set::new("apostrophe-names", docs, &questions)
}

/// Returns a set with pairs of words that differ only in accents. The questions have the words that
/// have accents.
fn accents() -> Set {
    const WORDS: [(&str, &str); 20] = [
        ("má", "mà"),
        ("bàn", "bạn"),
        ("gạo", "gáo"),
        ("đường", "dương"),
        ("hội", "hơi"),
        ("cưới", "cười"),
        ("año", "ano"),
        ("papá", "papa"),
        ("résumé", "resume"),
        ("pêcheur", "pécheur"),
        ("côté", "coté"),
        ("schon", "schön"),
        ("Bar", "Bär"),
        ("Mutter", "Mütter"),
        ("kış", "kis"),
        ("açık", "acık"),
        ("låg", "lag"),
        ("hår", "har"),
        ("все", "всё"),
        ("небо", "нёбо"),
    ];
    let mut rng = Rng(20_261_126);
    let mut docs = Vec::new();
    let mut questions = Vec::new();
    for (number, (first, second)) in WORDS.iter().enumerate() {
        for (which, word) in [first, second].into_iter().enumerate() {
            for copy in 0..3 {
                let id = format!("words/{number}-{which}-{copy}");
                let text = format!(
                    "{} The word of the day is {word}. {}",
                    pick(&TALK, &mut rng),
                    pick(&TALK, &mut rng)
                );
                docs.push(note(id, format!("Day {number} {copy}"), text));
            }
            if !word.is_ascii() {
                let answers = (0..3).map(|copy| format!("words/{number}-{which}-{copy}"));
                questions.push((format!("word of the day {word}"), answers.collect()));
            }
        }
    }
    Set::new("accents", docs, &questions)
}
