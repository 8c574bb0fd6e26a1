//! Versions of programs in release notes, and days that do not exist. Other pages have the same
//! digits in another order, or longer versions that begin with the same digits.

use super::prose::{LANGUAGES, page, prose};
use crate::films::Rng;
use crate::set::{Doc, Question, Set};

/// Versions of the first program: each has a neighbour with the same digits, or a longer one.
const VERSIONS: [&str; 40] = [
    "1.8.3", "1.3.8", "8.3.1", "1.8.1", "1.1.8", "1.8.13", "1.8.31", "11.8.3", "2.0.0", "2.0.1",
    "2.1.0", "0.2.1", "0.12.4", "0.14.2", "0.4.12", "3.10.2", "3.1.02", "3.2.10", "3.12.0",
    "3.21.0", "4.5.6", "4.6.5", "5.4.6", "6.5.4", "0.9.7", "0.7.9", "7.9.0", "9.7.0", "1.22.3",
    "1.23.2", "1.32.2", "2.13.22", "10.4.1", "10.1.4", "1.10.4", "4.10.1", "0.0.17", "0.0.71",
    "0.1.07", "17.0.0",
];
/// Versions of the second program. The first program has them, too.
const SHARED: [&str; 12] = [
    "1.8.3", "2.0.1", "0.12.4", "3.10.2", "4.5.6", "0.9.7", "1.22.3", "10.4.1", "0.0.17", "3.12.0",
    "7.9.0", "1.1.8",
];
const PROGRAMS: [&str; 2] = ["Vellum", "Tidewater"];

/// Questions about a version of any program, of each language.
const ANY: [&[&str]; 4] = [
    &[
        "{version}",
        "v{version}",
        "version {version}",
        "what changed in {version}",
        "release {version}",
        "changelog {version}",
        "bug in {version}?",
    ],
    &[
        "{version}",
        "Version {version}",
        "was ist neu in {version}",
        "Fehler in der Version {version}",
    ],
    &[
        "v{version}",
        "version {version}",
        "quoi de neuf dans la {version} ?",
        "problème avec la version {version}",
    ],
    &[
        "{version}",
        "versión {version}",
        "qué cambió en la {version}",
        "notas de la versión {version}",
    ],
];
/// Questions about a version of a program.
const NAMED: [&[&str]; 4] = [
    &[
        "{program} {version}",
        "{program} v{version}",
        "release notes {program} {version}",
        "is {program} {version} safe to install",
    ],
    &["{program} {version}", "Neuerungen in {program} {version}", "{program} Version {version}"],
    &["{program} {version}", "nouveautés de {program} {version}", "{program} version {version}"],
    &["{program} {version}", "novedades de {program} {version}", "{program} versión {version}"],
];

/// Sentences of a page with a version: with and without `v`, in a heading, in a name.
const MENTIONS: [&str; 5] = [
    "{program} v{version} is out.",
    "Installed {program} {version} on the old laptop.",
    "## {version}\n\nThe release of {program} has three changes.",
    "The file is `{file}-{version}.tar.gz`.",
    "{program}, version {version}: see the notes.",
];

/// Returns all sets.
pub(crate) fn sets() -> Vec<Set> {
    let mut sets: Vec<Set> = (0..LANGUAGES.len()).map(version_set).collect();
    sets.push(impossible_days());
    sets
}

/// Returns pages with a version each, and for each the program, the version and the id.
fn releases(language: usize, rng: &mut Rng) -> (Vec<Doc>, Vec<(&'static str, String, String)>) {
    let code = LANGUAGES[language];
    let mut docs = Vec::new();
    let mut versions = Vec::new();
    for (program, numbers) in PROGRAMS.iter().zip([&VERSIONS[..], &SHARED[..]]) {
        for (number, version) in numbers.iter().enumerate() {
            let id = format!("log/{}-{}", program.to_lowercase(), letters(number));
            let mention = MENTIONS[(number + language) % MENTIONS.len()];
            let mention = mention
                .replace("{version}", version)
                .replace("{file}", &program.to_lowercase())
                .replace("{program}", program);
            let text = format!("{}\n\n{mention}\n\n{}", prose(code, rng, 3), prose(code, rng, 4));
            // A third has the version in the title.
            let title = match number % 3 {
                0 => format!("{program} v{version}"),
                _ => prose(code, rng, 1).trim_end_matches('.').to_owned(),
            };
            docs.push(page(id.clone(), &title, text, ""));
            versions.push((*program, (*version).to_owned(), id));
        }
    }
    for number in 0..60 {
        // Parts of versions and sums in other places.
        let version = VERSIONS[rng.below(VERSIONS.len())];
        let (start, end) = version.rsplit_once('.').unwrap_or_default();
        let text = format!(
            "{} The table has {end} rows and {start} points. {}",
            prose(code, rng, 4),
            prose(code, rng, 3)
        );
        docs.push(page(
            format!("notes/{}", letters(number)),
            &format!("Note {}", letters(number)),
            text,
            "",
        ));
    }
    (docs, versions)
}

/// Returns a number as two letters, so that ids and titles have no digits.
pub(super) fn letters(number: usize) -> String {
    [number / 26, number % 26].iter().map(|part| (b'a' + (*part % 26) as u8) as char).collect()
}

fn version_set(language: usize) -> Set {
    let mut rng = Rng(20_261_220 + language as u64);
    let (docs, versions) = releases(language, &mut rng);
    let mut questions = Vec::new();
    let ids = |is_answer: &dyn Fn(&str, &str) -> bool| -> Vec<String> {
        let found = versions.iter().filter(|(program, version, _)| is_answer(program, version));
        found.map(|(.., id)| id.clone()).collect()
    };
    let rounds = if language == 0 { 2 } else { 1 };
    for round in 0..rounds {
        for (number, version) in VERSIONS.iter().enumerate() {
            let form = ANY[language][(number + round * 3) % ANY[language].len()];
            let wanted = ids(&|_, other| other == *version);
            let has_words = form.contains(' ');
            // A version in another order of digits must not be among the hits of a bare version.
            let unwanted =
                ids(&|_, other| !has_words && other != *version && same_digits(other, version));
            questions.push(Question { text: form.replace("{version}", version), wanted, unwanted });
        }
    }
    for (number, version) in SHARED.iter().enumerate() {
        for (round, program) in PROGRAMS.iter().enumerate() {
            let form = NAMED[language][(number + round) % NAMED[language].len()];
            let text = form.replace("{version}", version).replace("{program}", program);
            let wanted = ids(&|other, v| other == *program && v == *version);
            questions.push(Question { text, wanted, unwanted: Vec::new() });
        }
    }
    Set::with_unwanted(&format!("versions-{}", LANGUAGES[language]), docs, questions)
}

/// Returns whether two texts have the same digits in any order.
pub(super) fn same_digits(a: &str, b: &str) -> bool {
    let sorted = |text: &str| {
        let mut digits: Vec<char> = text.chars().filter(char::is_ascii_digit).collect();
        digits.sort_unstable();
        digits
    };
    sorted(a) == sorted(b)
}

/// Days that do not exist: year, month, day.
const IMPOSSIBLE: [(u32, u32, u32); 12] = [
    (2021, 2, 30),
    (2021, 2, 29),
    (2021, 4, 31),
    (2021, 6, 31),
    (2021, 9, 31),
    (2021, 11, 31),
    (2022, 2, 31),
    (2022, 2, 29),
    (2022, 4, 31),
    (2022, 6, 31),
    (2022, 9, 31),
    (2022, 13, 1),
];
/// Questions about a day `D`.
const DAY_QUESTIONS: [&str; 7] = [
    "D",
    "notes from D",
    "what happened on D?",
    "was war am D",
    "notes du D",
    "notas del D",
    "invoice of D",
];

/// Asks for days that do not exist. Another day is no answer; a page that has the mistaken date in
/// its text is.
fn impossible_days() -> Set {
    let mut rng = Rng(20_261_224);
    let mut docs = Vec::new();
    let mut days = Vec::new();
    for (year, month) in (2021..=2022).flat_map(|year| (1..=12).map(move |month| (year, month))) {
        for day in [1, 2, 3, 13, 27, 28, 30, 31] {
            let in_month = match month {
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            if day <= in_month {
                let title = format!("{year}-{month:02}-{day:02}");
                let text = prose("en", &mut rng, 5);
                docs.push(page(format!("daily/{title}"), &title, text, ""));
                days.push(title);
            }
        }
    }
    let mut questions = Vec::new();
    for (number, (year, month, day)) in IMPOSSIBLE.iter().enumerate() {
        let date = format!("{year}-{month:02}-{day:02}");
        let id = format!("letters/{}", letters(number));
        let text = format!(
            "{} The invoice is dated {date}, a day that does not exist. {}",
            prose("en", &mut rng, 4),
            prose("en", &mut rng, 3)
        );
        docs.push(page(id.clone(), &format!("A wrong date {}", letters(number)), text, ""));
        for form in DAY_QUESTIONS {
            questions.push(Question {
                text: form.replace('D', &date),
                wanted: vec![id.clone()],
                unwanted: days.iter().map(|day| format!("daily/{day}")).collect(),
            });
        }
    }
    Set::with_unwanted("days-impossible", docs, questions)
}
