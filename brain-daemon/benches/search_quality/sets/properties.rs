//! Questions about values of frontmatter: plain, nested and in lists. The bodies do not hold them;
//! other pages have the same words in their text.

use super::properties_words::{Kind, VOCABULARIES, Vocabulary};
use super::prose::{page, parts, pick, prose, slug};
use crate::films::Rng;
use crate::set::{Doc, Set};

const FIRST: [&str; 16] = [
    "Nadia", "Tobias", "Ines", "Ravi", "Clara", "Owen", "Mireille", "Pavel", "Sunniva", "Diego",
    "Agnes", "Kofi", "Yuki", "Bruno", "Leila", "Anton",
];
const LAST: [&str; 16] = [
    "Holt",
    "Ferrante",
    "Okoye",
    "Lindgren",
    "Marsh",
    "Castellan",
    "Drummond",
    "Ybarra",
    "Novák",
    "Sørli",
    "Weiss",
    "Tanaka",
    "Amari",
    "Pell",
    "Vasquez",
    "Grieg",
];
const CITIES: [&str; 8] =
    ["Oslo", "Trieste", "Lagos", "Cork", "Valparaíso", "Tartu", "Osaka", "Halifax"];
const EMPLOYERS: [&str; 6] =
    ["Brightwater", "Kestrel Labs", "Nordlys", "Tallow & Sons", "Ombra", "Quayside"];
/// Authors of a language. Each has one or two books.
const AUTHORS: usize = 9;
const DAYS: usize = 60;
const PEOPLE: usize = 24;

/// Returns a set for each language.
pub(crate) fn sets() -> Vec<Set> {
    VOCABULARIES.iter().enumerate().map(|(number, words)| property_set(number, words)).collect()
}

/// Pages, and the values of their frontmatter with what they are.
struct Vault {
    docs: Vec<Doc>,
    /// The id of a page, and a value.
    values: Vec<(Kind, String, String)>,
}

impl Vault {
    /// Records that the last page has a value.
    fn record(&mut self, kind: Kind, value: &str) {
        let id = self.docs.last().expect("a page").id.clone();
        self.values.push((kind, value.to_owned(), id));
    }

    /// Returns the different values of a kind, in order of their pages.
    fn different(&self, kind: Kind) -> Vec<&str> {
        let mut found = Vec::new();
        for (_, value, _) in self.values.iter().filter(|(other, ..)| *other == kind) {
            if !found.contains(&value.as_str()) {
                found.push(value);
            }
        }
        found
    }

    fn ids(&self, kind: Kind, value: &str) -> Vec<String> {
        let is_same = |entry: &&(Kind, String, String)| entry.0 == kind && entry.1 == value;
        self.values.iter().filter(is_same).map(|(_, _, id)| id.clone()).collect()
    }
}

/// Returns the name of a person.
pub(super) fn name(number: usize) -> String {
    format!("{} {}", FIRST[number % 16], LAST[(number * 7 + number / 16) % 16])
}

fn property_set(number: usize, words: &Vocabulary) -> Set {
    let mut rng = Rng(20_261_210 + number as u64);
    let mut vault = Vault { docs: Vec::new(), values: Vec::new() };
    add_books(&mut vault, words, number, &mut rng);
    add_projects(&mut vault, words, number, &mut rng);
    add_clips(&mut vault, words, &mut rng);
    add_people(&mut vault, words, &mut rng);
    add_days(&mut vault, words, number, &mut rng);
    let mut questions = Vec::new();
    for (number, (kind, form)) in words.forms.iter().enumerate() {
        let values = vault.different(*kind);
        // Each form is asked about every second value, so that forms differ in their values.
        for value in values.iter().skip(number % 2).step_by(2) {
            let answers = vault.ids(*kind, value);
            assert!(answers.len() <= 5, "{value} has {} pages", answers.len());
            questions.push((form.replace('V', value), answers));
        }
    }
    Set::new(&format!("properties-{}", words.code), vault.docs, &questions)
}

fn add_books(vault: &mut Vault, words: &Vocabulary, offset: usize, rng: &mut Rng) {
    let [author_key, rating_key, themes_key, ..] = words.keys;
    let themes = parts(words.themes);
    for (number, title) in parts(words.books).into_iter().enumerate() {
        let author = name(offset * 20 + number % AUTHORS);
        let rating = (1 + number % 5).to_string();
        let (one, two) = (themes[number % themes.len()], themes[(number + 3) % themes.len()]);
        let list = match number % 2 {
            0 => format!("{themes_key}: [{one}, {two}]\n"),
            _ => format!("{themes_key}:\n  - {one}\n  - {two}\n"),
        };
        let head = format!("type: book\n{author_key}: {author}\n{rating_key}: {rating}\n{list}");
        let text = prose(words.code, rng, 6);
        vault.docs.push(page(format!("{}/{}", words.folders[0], slug(title)), title, text, &head));
        vault.record(Kind::Author, &author);
        vault.record(Kind::Title, title);
        vault.record(Kind::Rating, &rating);
        vault.record(Kind::Theme, one);
        vault.record(Kind::Theme, two);
    }
}

fn add_projects(vault: &mut Vault, words: &Vocabulary, offset: usize, rng: &mut Rng) {
    let statuses = parts(words.statuses);
    for (number, title) in parts(words.projects).into_iter().enumerate() {
        let status = statuses[number % statuses.len()];
        let lead = name(offset * 20 + 10 + number);
        let head = format!("type: project\n{}: {status}\nlead: {lead}\n", words.keys[3]);
        let text = prose(words.code, rng, 7);
        vault.docs.push(page(format!("{}/{}", words.folders[1], slug(title)), title, text, &head));
        vault.record(Kind::Status, status);
    }
}

fn add_clips(vault: &mut Vault, words: &Vocabulary, rng: &mut Rng) {
    for (number, description) in parts(words.descriptions).into_iter().enumerate() {
        let quoted =
            if number % 2 == 0 { format!("\"{description}\"") } else { description.into() };
        let head = format!("{}: {quoted}\nsite: example.org\n", words.keys[4]);
        let id = format!("{}/clip-{}", words.folders[2], (b'a' + number as u8) as char);
        let title = prose(words.code, rng, 1);
        vault.docs.push(page(id, title.trim_end_matches('.'), prose(words.code, rng, 9), &head));
        vault.record(Kind::Description, description);
    }
}

fn add_people(vault: &mut Vault, words: &Vocabulary, rng: &mut Rng) {
    for number in 0..PEOPLE {
        let person = name(100 + number);
        let (city, employer) = (CITIES[number % 8], EMPLOYERS[number % 6]);
        let [.., contact, city_key, employer_key] = words.keys;
        let head = format!(
            "type: person\n{contact}:\n  {city_key}: {city}\n  {employer_key}: {employer}\n"
        );
        let text = prose(words.code, rng, 5);
        vault.docs.push(page(format!("{}/p{number}", words.folders[3]), &person, text, &head));
        vault.record(Kind::City, city);
        vault.record(Kind::Employer, employer);
    }
}

/// Adds days whose text has statuses, themes, cities, numbers, and names like those of authors.
fn add_days(vault: &mut Vault, words: &Vocabulary, offset: usize, rng: &mut Rng) {
    for number in 0..DAYS {
        let author = name(offset * 20 + number % AUTHORS);
        let (first, last) = author.split_once(' ').unwrap_or_default();
        let other = match number % 2 {
            0 => format!("{first} {}", pick(rng, &LAST)),
            _ => format!("{} {last}", pick(rng, &FIRST)),
        };
        // An author in the text of a day, without a book.
        let other = if number % 12 == 5 { author } else { other };
        let day = words
            .day
            .replace("{status}", pick(rng, &parts(words.statuses)))
            .replace("{theme}", pick(rng, &parts(words.themes)))
            .replace("{city}", pick(rng, &CITIES))
            .replace("{name}", &other);
        let text = format!(
            "{} {day}\n\n{}\n\n- {} / 5\n",
            prose(words.code, rng, 3),
            prose(words.code, rng, 3),
            1 + number % 5
        );
        let title = format!("2022-{:02}-{:02}", 1 + number / 28, 1 + number % 28);
        vault.docs.push(page(format!("{}/{title}", words.folders[4]), &title, text, ""));
    }
}
