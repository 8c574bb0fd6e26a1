//! Questions about pages that are one or two links away from a named page: companies, their people
//! and meetings, in four languages. Links are in sentences, in lists and in the frontmatter.

use crate::films::Rng;
use crate::set::{Doc, Set};

/// Companies of each language.
const COMPANIES: usize = 30;
/// Meetings of each language.
const MEETINGS: usize = 60;

// The relations of people to a company: indices into [`Language::verbs`].
const FOUND: usize = 0;
const INVEST: usize = 1;
const WORK: usize = 2;
const ADVISE: usize = 3;

/// The words of a language. `P` is a person, `C` a company.
struct Language {
    code: &'static str,
    /// Folders of people, companies and meetings.
    folders: [&'static str; 3],
    /// A sentence, and the title of a list, for each relation.
    verbs: [(&'static str, &'static str); 4],
    /// The title of the list of a meeting's people, and a sentence about another person.
    meeting: [&'static str; 2],
    /// Questions with one relation: the kind of the answers, and the text with `C` or `P`.
    one: &'static [(Answers, &'static str)],
    /// Questions with two relations.
    two: &'static [(Answers, &'static str)],
}

/// The kind of a question's answers.
#[derive(Clone, Copy)]
enum Answers {
    /// People with this relation to `C`.
    People(usize),
    /// Meetings of `P`.
    Meetings,
    /// People with the second relation to the companies to which `P` has the first one.
    Colleagues(usize, usize),
    /// Meetings of the people with this relation to `C`.
    MeetingsOf(usize),
}
use Answers::{Colleagues, Meetings, MeetingsOf, People};

const LANGUAGES: [Language; 4] = [
    Language {
        code: "en",
        folders: ["people", "companies", "meetings"],
        verbs: [
            ("P founded C in a former bakery", "Founders"),
            ("P invested in C after a long walk", "Investors"),
            ("P works at C, mostly from home", "Workers"),
            ("P advises C on contracts", "Advisors"),
        ],
        meeting: ["Attendees", "P could not come and sent a note"],
        one: &[
            (People(INVEST), "C investors"),
            (People(INVEST), "C's investors"),
            (People(ADVISE), "advisors C"),
            (People(FOUND), "founder of C"),
            (People(ADVISE), "who has been advising C?"),
            (Meetings, "P's meetings"),
            (Meetings, "meetings with P"),
            (Meetings, "P meetings"),
        ],
        two: &[
            (Colleagues(FOUND, INVEST), "who invested in the company that P founded?"),
            (Colleagues(FOUND, WORK), "who works at the company founded by P"),
            (Colleagues(FOUND, ADVISE), "Which people advise the firm P founded?"),
            (Colleagues(FOUND, INVEST), "investors of P's company"),
            (Colleagues(WORK, INVEST), "Who invested in the company where P works?"),
            (Colleagues(WORK, FOUND), "who is the founder of the company P works at?"),
            (Colleagues(FOUND, ADVISE), "who advises the business whose founder is P"),
            (MeetingsOf(FOUND), "Which meetings did the founder of C attend?"),
            (MeetingsOf(ADVISE), "meetings with the advisors of C"),
            (MeetingsOf(FOUND), "which meetings were with the person who founded C?"),
        ],
    },
    Language {
        code: "de",
        folders: ["personen", "firmen", "treffen"],
        verbs: [
            ("P gründete C in einer alten Bäckerei", "Gründer"),
            ("P investierte in C nach langem Zögern", "Investoren"),
            ("P arbeitet bei C, meist von daheim", "Mitarbeiter"),
            ("P berät C bei Verträgen", "Berater"),
        ],
        meeting: ["Teilnehmer", "P konnte nicht kommen und schrieb einen Brief"],
        one: &[
            (People(INVEST), "Investoren von C"),
            (People(INVEST), "C Investoren"),
            (People(ADVISE), "Berater von C"),
            (People(FOUND), "Gründer C"),
            (People(FOUND), "Wer hat C gegründet?"),
            (Meetings, "Treffen mit P"),
            (Meetings, "welche Treffen mit P gab es?"),
        ],
        two: &[
            (Colleagues(FOUND, INVEST), "Wer hat in die Firma investiert, die P gegründet hat?"),
            (Colleagues(FOUND, WORK), "Wer arbeitet bei der von P gegründeten Firma?"),
            (Colleagues(FOUND, ADVISE), "wer berät das Unternehmen, das P gegründet hat"),
            (Colleagues(WORK, INVEST), "Wer investierte in die Firma, bei der P arbeitet?"),
            (Colleagues(FOUND, INVEST), "Investoren der Firma von P"),
            (Colleagues(WORK, FOUND), "Wer gründete das Unternehmen, in dem P arbeitet?"),
            (MeetingsOf(FOUND), "Bei welchen Treffen war der Gründer von C?"),
            (MeetingsOf(ADVISE), "Treffen mit den Beratern von C"),
        ],
    },
    Language {
        code: "fr",
        folders: ["personnes", "entreprises", "réunions"],
        verbs: [
            ("P a fondé C dans une vieille boulangerie", "Fondateurs"),
            ("P a investi dans C après une promenade", "Investisseurs"),
            ("P travaille chez C, souvent le soir", "Employés"),
            ("P conseille C pour les contrats", "Conseillers"),
        ],
        meeting: ["Participants", "P était absent et a envoyé une lettre"],
        one: &[
            (People(INVEST), "investisseurs de C"),
            (People(INVEST), "les investisseurs C"),
            (People(FOUND), "qui a fondé C ?"),
            (People(ADVISE), "Qui conseille C ?"),
            (Meetings, "réunions avec P"),
            (Meetings, "quelles réunions avec P ?"),
        ],
        two: &[
            (Colleagues(FOUND, INVEST), "Qui a investi dans l'entreprise que P a fondée ?"),
            (Colleagues(FOUND, WORK), "qui travaille dans l'entreprise fondée par P ?"),
            (Colleagues(WORK, INVEST), "Qui a investi dans l'entreprise où P travaille ?"),
            (Colleagues(FOUND, ADVISE), "Qui conseille l'entreprise dont P est le fondateur ?"),
            (Colleagues(WORK, FOUND), "qui a fondé l'entreprise dans laquelle P travaille ?"),
            (MeetingsOf(FOUND), "réunions avec le fondateur de C"),
            (MeetingsOf(INVEST), "Quelles réunions avec les investisseurs de C ?"),
        ],
    },
    Language {
        code: "es",
        folders: ["personas", "empresas", "reuniones"],
        verbs: [
            ("P fundó C en una panadería antigua", "Fundadores"),
            ("P invirtió en C tras un largo paseo", "Inversores"),
            ("P trabaja en C, casi siempre de noche", "Trabajadores"),
            ("P asesora a C en los contratos", "Asesores"),
        ],
        meeting: ["Participantes", "P no pudo venir y mandó una carta"],
        one: &[
            (People(INVEST), "inversores de C"),
            (People(FOUND), "¿Quién fundó C?"),
            (People(ADVISE), "¿Quién asesora a C?"),
            (People(ADVISE), "asesores C"),
            (Meetings, "reuniones con P"),
            (Meetings, "¿Qué reuniones con P hubo?"),
        ],
        two: &[
            (Colleagues(FOUND, INVEST), "¿Quién invirtió en la empresa que fundó P?"),
            (Colleagues(FOUND, WORK), "¿Quién trabaja en la empresa fundada por P?"),
            (Colleagues(WORK, INVEST), "¿Quién invirtió en la empresa donde trabaja P?"),
            (Colleagues(FOUND, ADVISE), "quién asesora a la empresa cuyo fundador es P"),
            (Colleagues(WORK, FOUND), "¿Quién fundó la empresa en la que trabaja P?"),
            (MeetingsOf(FOUND), "reuniones con el fundador de C"),
            (MeetingsOf(ADVISE), "¿Qué reuniones hubo con los asesores de C?"),
        ],
    },
];

const FIRST: [&str; 24] = [
    "Alma", "Bruno", "Celia", "Dario", "Edda", "Fabian", "Greta", "Hugo", "Irma", "Jonas", "Klara",
    "Leo", "Marta", "Nils", "Olga", "Pablo", "Rita", "Simon", "Tessa", "Urs", "Vera", "Willem",
    "Yann", "Zita",
];
const LAST: [&str; 24] = [
    "Abt", "Bellini", "Carver", "Dorn", "Eklund", "Farkas", "Gruber", "Hansen", "Ivanov", "Jensen",
    "Kovacs", "Lemaire", "Moreau", "Novak", "Olsen", "Pereira", "Roth", "Sato", "Toth", "Ulrich",
    "Vidal", "Weber", "Ximenes", "Zimmer",
];
const BRAND: [&str; 15] = [
    "Lumora", "Vantiq", "Brelko", "Ostrava", "Nimbor", "Calyx", "Drovo", "Ferrin", "Galdor",
    "Hexaro", "Jolvi", "Kestra", "Mondur", "Pelago", "Quorin",
];

/// Returns a set of one relation and a set of two relations for each language.
pub(crate) fn sets() -> Vec<Set> {
    LANGUAGES
        .iter()
        .flat_map(|language| {
            let world = World::new(language);
            [("one", language.one), ("two", language.two)].map(|(hops, forms)| {
                let name = format!("relations-{hops}-{}", language.code);
                Set::new(&name, world.docs(language), &world.questions(forms))
            })
        })
        .collect()
}

/// The people, companies and meetings of a language.
struct World {
    // Ids and titles.
    people: Vec<(String, String)>,
    companies: Vec<(String, String)>,
    meetings: Vec<(String, String)>,
    /// For each company, the people of each relation.
    roles: Vec<[Vec<usize>; 4]>,
    /// The people of each meeting, and the person who was absent.
    attendance: Vec<(Vec<usize>, usize)>,
}

impl World {
    fn new(language: &Language) -> Self {
        let mut rng = Rng(20_261_140);
        let [people_in, companies_in, meetings_in] = language.folders;
        let id = |folder: &str, title: &str| {
            (format!("{folder}/{}", title.to_lowercase().replace(' ', "-")), title.to_owned())
        };
        let people: Vec<_> = (0..COMPANIES * 6)
            .map(|number| {
                let (first, last) = (FIRST[number % 24], LAST[(number / 24 + number * 5) % 24]);
                id(people_in, &format!("{first} {last}"))
            })
            .collect();
        let companies: Vec<_> = (0..COMPANIES)
            .map(|number| {
                let end = ["Labs", "Works"][number / 15];
                id(companies_in, &format!("{} {end}", BRAND[number % 15]))
            })
            .collect();
        let roles = (0..COMPANIES)
            .map(|number| {
                // Six people belong to a company. Its investors and advisors belong to others.
                let own = number * 6;
                let member = |step: usize, place: usize| (number + step) % COMPANIES * 6 + place;
                [
                    vec![own],
                    vec![member(3, 1), member(7, 4)],
                    vec![own + 1, own + 2, own + 3],
                    vec![member(11, 4), member(5, 5)],
                ]
            })
            .collect();
        let meetings: Vec<_> = (0..MEETINGS)
            .map(|number| {
                let brand = BRAND[rng.below(15)];
                id(meetings_in, &format!("{brand} {}", 100 + number))
            })
            .collect();
        let attendance = (0..MEETINGS)
            .map(|number| {
                let count = 2 + rng.below(3);
                let mut attendees: Vec<usize> = (0..count)
                    .map(|_| rng.below(people.len()))
                    .chain([number % COMPANIES * 6])
                    .collect();
                attendees.sort_unstable();
                attendees.dedup();
                let absent = (attendees[0] + 1) % people.len();
                (attendees, absent)
            })
            .collect();
        Self { people, companies, meetings, roles, attendance }
    }

    fn docs(&self, language: &Language) -> Vec<Doc> {
        let mut texts: Vec<String> = vec![String::new(); self.people.len()];
        let mut docs = Vec::new();
        let link = |(id, title): &(String, String)| format!("[[{id}|{title}]]");
        for (number, company) in self.companies.iter().enumerate() {
            let (mut text, mut frontmatter) = (String::new(), String::new());
            for (role, people) in self.roles[number].iter().enumerate() {
                let (sentence, title) = language.verbs[role];
                match (number + role) % 4 {
                    // In a sentence on the company's page.
                    0 => people.iter().for_each(|&person| {
                        let name = link(&self.people[person]);
                        let sentence = sentence.replace('P', &name).replace('C', &company.1);
                        text.insert_str(0, &format!("{sentence}.\n\n"));
                    }),
                    // In a sentence on the person's page.
                    1 => people.iter().for_each(|&person| {
                        let name = self.people[person].1.split(' ').next().unwrap_or_default();
                        let sentence = sentence.replace('C', "\u{1}").replace('P', name);
                        let sentence = sentence.replace('\u{1}', &link(company));
                        texts[person].push_str(&format!("{sentence}.\n\n"));
                    }),
                    2 => {
                        let people: Vec<String> = people
                            .iter()
                            .map(|&person| format!("\"{}\"", link(&self.people[person])))
                            .collect();
                        let key = title.to_lowercase();
                        frontmatter.push_str(&format!("{key}: [{}]\n", people.join(", ")));
                    }
                    _ => {
                        text.push_str(&format!("## {title}\n\n"));
                        for &person in people {
                            text.push_str(&format!("- {}\n", link(&self.people[person])));
                        }
                        text.push('\n');
                    }
                }
            }
            docs.push(doc(company, text, frontmatter));
        }
        for (person, text) in self.people.iter().zip(texts) {
            docs.push(doc(person, text, String::new()));
        }
        for (meeting, (attendees, absent)) in self.meetings.iter().zip(&self.attendance) {
            let [title, note] = language.meeting;
            let mut text = format!("## {title}\n\n");
            for &person in attendees {
                text.push_str(&format!("- {}\n", link(&self.people[person])));
            }
            let note = note.replacen('P', &link(&self.people[*absent]), 1);
            docs.push(doc(meeting, format!("{text}\n## 2\n\n{note}.\n"), String::new()));
        }
        docs
    }

    fn questions(&self, forms: &[(Answers, &str)]) -> Vec<(String, Vec<String>)> {
        let mut out = Vec::new();
        for (form, (kind, text)) in forms.iter().enumerate() {
            for round in 0..8 {
                let company = (form * 7 + round * 11) % COMPANIES;
                let person = match kind {
                    Colleagues(role, _) => self.roles[company][*role][0],
                    _ => company * 6,
                };
                let answers: Vec<&String> = match kind {
                    People(role) => self.ids(&self.roles[company][*role]),
                    Colleagues(_, role) => self.ids(&self.roles[company][*role]),
                    Meetings => self.meetings_of(&[person]),
                    MeetingsOf(role) => self.meetings_of(&self.roles[company][*role]),
                };
                let answers: Vec<String> = answers.into_iter().take(5).cloned().collect();
                if answers.is_empty() {
                    continue;
                }
                let filled = |text: &str| {
                    // Placeholders stand alone; other words may begin with the letters.
                    let words: Vec<String> = text
                        .split(' ')
                        .map(|word| {
                            match word.trim_end_matches(['?', ',']).trim_end_matches("'s") {
                                "C" => word.replacen('C', &self.companies[company].1, 1),
                                "P" => word.replacen('P', &self.people[person].1, 1),
                                _ => word.to_owned(),
                            }
                        })
                        .collect();
                    words.join(" ")
                };
                out.push((filled(text), answers));
            }
        }
        out
    }

    fn ids(&self, people: &[usize]) -> Vec<&String> {
        people.iter().map(|&person| &self.people[person].0).collect()
    }

    fn meetings_of(&self, people: &[usize]) -> Vec<&String> {
        let meetings = self.meetings.iter().zip(&self.attendance);
        meetings
            .filter(|(_, (attendees, _))| attendees.iter().any(|person| people.contains(person)))
            .map(|(meeting, _)| &meeting.0)
            .collect()
    }
}

fn doc((id, title): &(String, String), text: String, frontmatter: String) -> Doc {
    Doc { id: id.clone(), title: title.clone(), text, frontmatter, file: None }
}
