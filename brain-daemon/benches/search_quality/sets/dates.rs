//! Days in questions, in four languages, and the last and first meetings with somebody.

use std::collections::BTreeMap;

use crate::films::Rng;
use crate::set::{Doc, Set};

const PEOPLE: [&str; 20] = [
    "Ann Berger",
    "Boris Klein",
    "Chidi Okafor",
    "Dana Fox",
    "Emil Sand",
    "Farah Naim",
    "Goran Vuk",
    "Hana Mori",
    "Ivo Petrov",
    "Jun Park",
    "Kemal Aydin",
    "Lotte Visser",
    "Marek Nowak",
    "Nadia Salem",
    "Otis Reed",
    "Priya Rao",
    "Rashid Khan",
    "Selma Lind",
    "Tomas Vega",
    "Ulla Beck",
];
const TOPICS: [&str; 16] = [
    "harvest forecast",
    "water pump",
    "night shift",
    "paper archive",
    "bridge inspection",
    "glass delivery",
    "kitchen renovation",
    "language course",
    "pension fund",
    "winter schedule",
    "battery supplier",
    "export licence",
    "safety margin",
    "customer survey",
    "spring festival",
    "launch budget",
];
const TALK: [&str; 8] = [
    "The coffee machine was repaired in the meantime.",
    "Nobody had read the minutes of the last round.",
    "After lunch the group walked along the canal.",
    "The plan for the garden was praised by everyone.",
    "It may rain on Sunday, and the march of the band is cancelled.",
    "The first draft is from 2025, the second is not.",
    "Somebody asked about the survey of the old trees.",
    "The supplier of the chairs sent flowers in December.",
];
/// The months in English, German, French and Spanish.
const MONTHS: [[&str; 4]; 12] = [
    ["January", "Januar", "janvier", "enero"],
    ["February", "Februar", "février", "febrero"],
    ["March", "März", "mars", "marzo"],
    ["April", "April", "avril", "abril"],
    ["May", "Mai", "mai", "mayo"],
    ["June", "Juni", "juin", "junio"],
    ["July", "Juli", "juillet", "julio"],
    ["August", "August", "août", "agosto"],
    ["September", "September", "septembre", "septiembre"],
    ["October", "Oktober", "octobre", "octubre"],
    ["November", "November", "novembre", "noviembre"],
    ["December", "Dezember", "décembre", "diciembre"],
];

/// A meeting.
struct Meeting {
    /// The id of its page.
    id: String,
    year: usize,
    /// The month, from 0.
    month: usize,
    /// The day of the month, from 1.
    day: usize,
    /// The index of the person in [`PEOPLE`].
    person: usize,
    /// The index of the topic in [`TOPICS`].
    topic: usize,
}

/// Returns all sets.
pub(crate) fn sets() -> Vec<Set> {
    vec![periods(), last_and_first()]
}

fn talk(rng: &mut Rng, count: usize) -> String {
    (0..count).map(|_| format!("{} ", TALK[rng.below(TALK.len())])).collect()
}

/// Returns pages of people, of meetings in three years and of notes, and the meetings. A meeting's
/// day is in the frontmatter, in the slug, or in the frontmatter and a dated line.
fn pages_and_meetings(rng: &mut Rng) -> (Vec<Doc>, Vec<Meeting>) {
    let page = |id: &str, title: String, text: String, frontmatter: String| Doc {
        id: id.to_owned(),
        title,
        text,
        frontmatter,
        file: None,
    };
    let mut docs = Vec::new();
    for (number, name) in PEOPLE.iter().enumerate() {
        let text = format!("{name} likes long walks. {}", talk(rng, 4));
        docs.push(page(&person_id(number), (*name).to_owned(), text, "type: person\n".into()));
    }
    let mut meetings = Vec::new();
    for number in 0..144 {
        let (year, month) = (2023 + number / 48, number / 4 % 12);
        let (day, person) = (1 + rng.below(28), rng.below(PEOPLE.len()));
        let topic = (number * 5 + number / 16) % TOPICS.len();
        let date = format!("{year}-{:02}-{day:02}", month + 1);
        let (id, frontmatter, line) = match number % 3 {
            0 => (format!("meetings/m{number}"), format!("date: {date}\n"), String::new()),
            1 => (format!("meetings/{date}-m{number}"), String::new(), String::new()),
            _ => {
                let line = format!("\n- {date} | Met about the {}\n", TOPICS[topic]);
                (format!("meetings/m{number}"), format!("date: {date}\n"), line)
            }
        };
        let link = format!("[{}]({})", PEOPLE[person], person_id(person));
        let text = format!("Attendees: {link}\n\n{}{line}\n{}", talk(rng, 3), talk(rng, 5));
        let title = format!("{} with {}", TOPICS[topic], PEOPLE[person].split(' ').next().unwrap());
        docs.push(page(&id, title, text, format!("type: meeting\n{frontmatter}")));
        meetings.push(Meeting { id, year, month, day, person, topic });
    }
    for number in 0..60 {
        let id = format!("notes/n{number}");
        let month = MONTHS[number % 12][0];
        let text = format!("{} The meetings of {month} took place. {}", talk(rng, 2), talk(rng, 5));
        docs.push(page(&id, format!("Note {number}"), text, String::new()));
    }
    (docs, meetings)
}

fn person_id(number: usize) -> String {
    format!("people/p{number}")
}

/// Returns the set of questions about months, days and quarters.
fn periods() -> Set {
    let mut rng = Rng(20_261_127);
    let (docs, meetings) = pages_and_meetings(&mut rng);
    let mut questions = Vec::new();
    let ids = |is_answer: &dyn Fn(&Meeting) -> bool| -> Vec<String> {
        meetings.iter().filter(|m| is_answer(m)).map(|m| m.id.clone()).collect()
    };
    for number in 0..36 {
        let (year, month) = (2023 + number / 12, number % 12);
        let [english, german, french, spanish] = MONTHS[month];
        let text = match number % 6 {
            0 => format!("Which meetings took place in {english} {year}?"),
            1 => format!("Welche Treffen fanden im {german} {year} statt?"),
            2 => format!("Quelles réunions ont eu lieu en {french} {year} ?"),
            3 => format!("¿Qué reuniones hubo en {spanish} de {year}?"),
            4 => format!("meetings of {english} {year}"),
            _ => format!("{year}-{:02}", month + 1),
        };
        questions.push((text, ids(&|m| (m.year, m.month) == (year, month))));
    }
    for (number, meeting) in meetings.iter().step_by(4).enumerate() {
        let Meeting { id, year, month, day, person, topic } = meeting;
        let [english, german, french, spanish] = MONTHS[*month];
        let (name, topic) = (PEOPLE[*person], TOPICS[*topic]);
        let text = match number % 6 {
            0 => format!("What happened on {day} {english} {year}?"),
            1 => format!("Was war am {day}. {german} {year}?"),
            2 => format!("réunion du {day} {french} {year}"),
            3 => format!("reunión del {day} de {spanish} de {year}"),
            4 => format!("{year}-{:02}-{day:02}", month + 1),
            _ => format!("{name} on {english} {day}, {year}"),
        };
        let on_day = ids(&|m| (m.year, m.month, m.day) == (*year, *month, *day));
        questions.push((text, on_day));
        // The meetings of a month have different topics.
        let text = match number % 4 {
            0 => format!("What did we say about the {topic} in {english} {year}?"),
            1 => format!("{topic} between {english} {year} and {english} {year}"),
            2 => format!("{topic} im {german} {year}"),
            _ => format!("What did {name} say in Q{} {year}?", month / 3 + 1),
        };
        let answers = match number % 4 {
            3 => ids(&|m| (m.year, m.month / 3, m.person) == (*year, month / 3, *person)),
            _ => vec![id.clone()],
        };
        questions.push((text, answers));
    }
    questions.retain(|(_, answers)| (1..=5).contains(&answers.len()));
    questions.truncate(100);
    Set::new("dates", docs, &questions)
}

/// Returns the set of questions about the last and the first meeting with a person.
fn last_and_first() -> Set {
    let mut rng = Rng(20_261_128);
    let (docs, meetings) = pages_and_meetings(&mut rng);
    let mut by_person: BTreeMap<usize, Vec<&Meeting>> = BTreeMap::new();
    for meeting in &meetings {
        by_person.entry(meeting.person).or_default().push(meeting);
    }
    let mut questions = Vec::new();
    for (person, mut meetings) in by_person {
        meetings.sort_by_key(|m| (m.year, m.month, m.day));
        let name = PEOPLE[person];
        let (first, last) = (meetings[0].id.clone(), meetings[meetings.len() - 1].id.clone());
        for (text, answer) in [
            (format!("When did I last meet {name}?"), &last),
            (format!("Wann habe ich {name} zuletzt getroffen?"), &last),
            (format!("the latest meeting with {name}"), &last),
            (format!("the first meeting with {name}"), &first),
            (format!("das erste Treffen mit {name}"), &first),
            (format!("la dernière réunion avec {name}"), &last),
            (format!("la última reunión con {name}"), &last),
            (format!("When did I first meet {name}?"), &first),
        ] {
            questions.push((text, vec![answer.clone()]));
        }
    }
    Set::new("dates-last-first", docs, &questions)
}
