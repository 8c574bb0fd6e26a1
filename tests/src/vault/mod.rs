//! A vault of Obsidian with 240 invented notes: people, companies, meetings and concepts of a
//! coast. Each call writes the same notes.
//!
//! The notes have properties, aliases, timelines and links in all styles. Many titles share words,
//! and some have characters that a file name cannot have. Some links lead to [`MISSING`] notes.

mod texts;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use texts::{
    COMPANY_FORMS, COMPANY_NAMES, EVENTS, FAMILY_NAMES, GIVEN_NAMES, METHODS, PLACES, REMARKS,
    TOWNS,
};

/// The number of notes.
pub const NOTES: usize = 240;
/// The notes to which links lead, but that nobody wrote. A note has at most one such link.
pub const MISSING: [&str; 8] = [
    "Almanac of the Sound",
    "Åland Voyage",
    "Harbour Office (closed)",
    "Letters, 1911",
    "Old Mill",
    "Salt & Rope",
    "The Twelve Pilots",
    "What the Tide Took?",
];

/// Pseudo-random numbers that depend on the seed only.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }

    fn pick(&mut self, texts: &[&'static str]) -> &'static str {
        texts[self.below(texts.len())]
    }
}

/// The name of a note.
struct Name {
    folder: &'static str,
    kind: &'static str,
    title: String,
    alias: Option<String>,
}

impl Name {
    fn new(folder: &'static str, kind: &'static str, title: String) -> Self {
        let alias = title.contains(':').then(|| title.clone());
        Self { folder, kind, title, alias }
    }

    fn person(number: usize) -> Self {
        let (given, family) = (GIVEN_NAMES[number % 10], FAMILY_NAMES[number / 10 % 8]);
        let alias = Some(format!("{}. {family}", &given[..1]));
        Self { alias, ..Self::new("People", "person", format!("{given} {family}")) }
    }

    fn company(number: usize) -> Self {
        let title = COMPANY_FORMS[number % 5].replace("{}", COMPANY_NAMES[number / 5 % 16]);
        Self::new("Companies", "company", title)
    }

    fn concept(number: usize) -> Self {
        let title = METHODS[number / 6 % 6].title.replace("{}", PLACES[number % 6]);
        Self::new("Concepts", "concept", title)
    }

    fn meeting(number: usize) -> Self {
        let title = match number % 3 {
            0 => format!(
                "1:1 {} + {}",
                Self::person(number).title,
                Self::person(number * 7 + 11).title
            ),
            1 => format!("{} Board Meeting Q{} 2025", Self::company(number).title, number % 4 + 1),
            _ => format!("Review of {}", Self::concept(number / 3).title),
        };
        Self::new("Meetings", "meeting", title)
    }

    /// Returns the title without the character that Obsidian refuses in a name.
    fn file(&self) -> String {
        self.title.replace(':', "-")
    }

    /// Returns a link in one of the styles that Obsidian writes.
    fn link(&self, random: &mut Random) -> String {
        let (folder, file, title) = (self.folder, self.file(), &self.title);
        match (random.below(6), &self.alias) {
            (0, _) => format!("[[{file}|{}]]", title.to_lowercase()),
            (1, _) => format!("[[{folder}/{file}]]"),
            (2, _) => format!("[[{file}#Timeline|{title}]]"),
            (3, _) => format!("[{title}](../{folder}/{}.md)", file.replace(' ', "%20")),
            (4, Some(alias)) => format!("[[{alias}]]"),
            _ => format!("[[{file}]]"),
        }
    }

    /// Returns the note: properties, the paragraphs between remarks, and a timeline.
    fn note(&self, random: &mut Random, property: &str, paragraphs: &[String]) -> String {
        let mut timeline = String::new();
        let (mut month, mut days) = (random.below(24), Vec::new());
        for _ in 0..random.below(4) + 3 {
            let day = format!("{}-{:02}-{:02}", 2019 + month / 12, month % 12 + 1, month % 27 + 1);
            writeln!(timeline, "- **{day}** | {}", random.pick(&EVENTS)).unwrap();
            days.push(day);
            month += random.below(8) + 1;
        }
        let mut note = format!("---\ntype: {}\ntags:\n  - {0}\n", self.kind);
        if let Some(alias) = &self.alias {
            writeln!(note, "aliases:\n  - \"{alias}\"").unwrap();
        }
        let (first, last) = (&days[0], &days[days.len() - 1]);
        writeln!(note, "created: {first}\nupdated: {last}T10:00\n{property}---\n").unwrap();
        for paragraph in paragraphs {
            writeln!(note, "{paragraph} {}\n", random.pick(&REMARKS)).unwrap();
        }
        let helpers = (0..random.below(4)).map(|_| Self::person(random.below(80)).link(random));
        let helpers: Vec<String> = helpers.collect();
        if !helpers.is_empty() {
            writeln!(note, "Ask {}.\n", helpers.join(" or ")).unwrap();
        }
        if random.below(3) == 0 {
            writeln!(note, "> [!todo]\n> Find [[{}]].\n", random.pick(&MISSING)).unwrap();
        }
        note + "## Timeline\n\n" + &timeline
    }
}

fn person_note(number: usize, random: &mut Random) -> String {
    let name = Name::person(number);
    let company = Name::company(number).link(random);
    let friend = Name::person(number * 3 + 5).link(random);
    let concept = Name::concept(random.below(36)).link(random);
    let town = random.pick(&TOWNS);
    let paragraphs = [
        format!("{} leads {company} and lives in {town}.", name.title),
        format!("We met through {friend}, who was looking for somebody to trust."),
        format!("At the moment we mostly talk about {concept}."),
    ];
    name.note(random, "", &paragraphs)
}

fn company_note(number: usize, random: &mut Random) -> String {
    let name = Name::company(number);
    let rival = Name::company(number + 7).link(random);
    let adviser = Name::person(random.below(80)).link(random);
    let (place, town) = (random.pick(&PLACES).to_lowercase(), random.pick(&TOWNS));
    let paragraphs = [
        format!("{} is a small company in {town} that works for the {place}.", name.title),
        format!("Customers compare it with {rival}."),
        format!("{adviser} advises the board about wages and equipment."),
    ];
    let founder = format!("founder: \"[[{}]]\"\n", Name::person(number).file());
    name.note(random, &founder, &paragraphs)
}

fn meeting_note(number: usize, random: &mut Random) -> String {
    let topic = match number % 3 {
        0 => Name::person(number * 7 + 11),
        1 => Name::company(number),
        _ => Name::concept(number / 3),
    };
    let (topic, guest) = (topic.link(random), Name::person(number).link(random));
    let company = Name::company(random.below(80)).link(random);
    let paragraphs = [
        format!("With {guest} in {}, about {topic}.", random.pick(&TOWNS)),
        format!("Next step: ask {company} for an offer."),
    ];
    Name::meeting(number).note(random, "", &paragraphs)
}

fn concept_note(number: usize, random: &mut Random) -> String {
    let (method, place) = (&METHODS[number / 6], PLACES[number % 6].to_lowercase());
    let other_place = Name::concept(number / 6 * 6 + (number + 1) % 6).link(random);
    let other_method = Name::concept(number + 6).link(random);
    let person = Name::person(random.below(80)).link(random);
    let paragraphs = [
        format!("At the {place}, the question is how to {}.", method.aim),
        format!("{} {person} showed us.", method.practice),
        format!("See {other_place} for another place, and {other_method} for the next step."),
    ];
    Name::concept(number).note(random, "", &paragraphs)
}

/// Writes the notes to `dir`.
pub fn write(dir: &Path) {
    type Kind = (usize, fn(usize) -> Name, fn(usize, &mut Random) -> String);
    let kinds: [Kind; 4] = [
        (80, Name::person, person_note),
        (80, Name::company, company_note),
        (44, Name::meeting, meeting_note),
        (36, Name::concept, concept_note),
    ];
    let mut random = Random(40);
    for (count, name, note) in kinds {
        for number in 0..count {
            let name = name(number);
            let folder = dir.join(name.folder);
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join(format!("{}.md", name.file()));
            fs::write(path, note(number, &mut random)).unwrap();
        }
    }
}

/// Returns plain questions about each concept, and the slugs of their pages.
#[must_use]
pub fn questions() -> Vec<(String, String)> {
    let about = |number: usize| {
        let (method, place) = (&METHODS[number / 6], PLACES[number % 6].to_lowercase());
        let file = Name::concept(number).file().to_lowercase();
        let slug = format!("concepts/{}", file.replace(' ', "-"));
        [
            format!("how can we {} at the {place}?", method.aim),
            format!("what do our notes say about the {} of the {place}?", method.topic),
        ]
        .map(|question| (question, slug.clone()))
    };
    (0..36).flat_map(about).collect()
}
