//! Questions to `brain ask` without a language model, each with the right answer.

use super::ask_vault::{Attendees, BOOKS, DAYS, MEETINGS, PEOPLE, PROJECTS, meeting_name, pages};
use crate::set::Set;

/// A vault and questions about it.
pub(crate) struct AskSet {
    /// The pages, without questions to `search`.
    pub(crate) vault: Set,
    pub(crate) questions: Vec<AskQuestion>,
    /// The names of each kind of things. An answer that has a wrong one is false.
    pub(crate) names: Vec<(Kind, Vec<String>)>,
}

/// A question with its right answer.
pub(crate) struct AskQuestion {
    pub(crate) text: String,
    pub(crate) answer: RightAnswer,
}

/// What a question asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Person,
    Author,
    Project,
    Book,
    Meeting,
    /// The day of a daily note.
    Day,
}

/// The right answer to a question.
#[derive(Debug)]
pub(crate) enum RightAnswer {
    /// These names, and no other one of their kind.
    Names(Kind, Vec<String>),
    /// Their number. The answer may list them.
    Count(Kind, Vec<String>),
    /// No name of this kind: the vault does not say it.
    NoList(Kind),
    /// A question in return, or a hint, with all these names, and no meeting.
    Which(Vec<String>),
}
use RightAnswer::{Count, Names, NoList, Which};

/// Questions about the people of a meeting: the kind of meeting is `K`, its project `P`.
const ATTENDEES: [&str; 8] = [
    "who was at the K of P",
    "who attended the P K",
    "Who was at the P K?",
    "Wer war beim P K?",
    "attendees of the P K",
    "qui était au K de P ?",
    "who took part in the K of P?",
    "quién estuvo en el K de P",
];
/// Questions about the number of meetings with `N`.
const COUNTS: [&str; 5] = [
    "how many meetings with N",
    "how many meetings did I have with N?",
    "Wie viele Treffen mit N?",
    "combien de réunions avec N ?",
    "cuántas reuniones con N",
];
/// Questions about the projects with the status `S`.
const STATUSES: [&str; 3] = ["which projects are S", "S projects?", "what projects are S?"];
/// Questions about the books with the rating `R`.
const RATINGS: [&str; 3] =
    ["books I rated R", "which books did I rate R?", "books with a rating of R"];
/// Questions about the author of `B`.
const AUTHORS: [&str; 4] =
    ["who wrote B", "who is the author of B?", "wer hat B geschrieben?", "quién escribió B"];
/// Questions about the lead of `P`.
const LEADS: [&str; 3] = ["who leads P", "lead of P", "who is the lead of P?"];

/// Returns the set.
pub(crate) fn ask_set() -> AskSet {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let names = vec![
        (Kind::Person, owned(&PEOPLE)),
        (Kind::Author, BOOKS.iter().map(|(_, author, _)| (*author).to_owned()).collect()),
        (Kind::Project, PROJECTS.iter().map(|(title, ..)| (*title).to_owned()).collect()),
        (Kind::Book, BOOKS.iter().map(|(title, ..)| (*title).to_owned()).collect()),
        (Kind::Meeting, (0..MEETINGS.len()).map(meeting_name).collect()),
        (Kind::Day, DAYS.iter().map(|(date, ..)| (*date).to_owned()).collect()),
    ];
    let mut questions = Vec::new();
    ask_for_attendees(&mut questions);
    ask_for_meetings(&mut questions);
    ask_for_properties(&mut questions);
    ask_for_links(&mut questions);
    AskSet { vault: Set::new("ask", pages(), &[]), questions, names }
}

fn add(questions: &mut Vec<AskQuestion>, text: String, answer: RightAnswer) {
    questions.push(AskQuestion { text, answer });
}

/// Asks who was at a meeting. Of some, no page says it; some did not take place.
fn ask_for_attendees(questions: &mut Vec<AskQuestion>) {
    let text = |number: usize, kind: &str, project: usize| {
        let (project, ..) = PROJECTS[project];
        // First the kind: the name of a project can contain a `K`.
        ATTENDEES[number % ATTENDEES.len()].replace('K', kind).replace('P', project)
    };
    for (number, meeting) in MEETINGS.iter().enumerate() {
        let people = meeting.people.iter().map(|person| PEOPLE[*person].to_owned());
        let answer = match meeting.form {
            Attendees::Unknown => NoList(Kind::Person),
            _ => Names(Kind::Person, people.collect()),
        };
        add(questions, text(number, meeting.kind, meeting.project), answer);
    }
    for (number, (kind, project)) in
        [("kickoff", 2), ("kickoff", 6), ("workshop", 0), ("handover", 5)].into_iter().enumerate()
    {
        add(questions, text(number, kind, project), NoList(Kind::Person));
    }
}

/// Asks how many meetings there were with a person, and for the last and the first one.
fn ask_for_meetings(questions: &mut Vec<AskQuestion>) {
    let with = |person: usize| -> Vec<usize> {
        let mut found: Vec<usize> =
            (0..MEETINGS.len()).filter(|at| MEETINGS[*at].people.contains(&person)).collect();
        found.sort_by_key(|at| MEETINGS[*at].date);
        found
    };
    let names = |meetings: &[usize]| meetings.iter().map(|at| meeting_name(*at)).collect();
    // By the first name of the only one, by the whole name, and in other languages.
    for (number, (name, person)) in
        [("Greta", 0), ("Greta Lindqvist", 0), ("Mireille", 7), ("Leila Amari", 12), ("Ravi", 4)]
            .into_iter()
            .enumerate()
    {
        let text = COUNTS[number % COUNTS.len()].replace('N', name);
        add(questions, text, Count(Kind::Meeting, names(&with(person))));
    }
    for text in ["how many meetings with Tom", "which meetings did I have with Tom?"] {
        let toms = vec![PEOPLE[1].to_owned(), PEOPLE[2].to_owned()];
        add(questions, text.to_owned(), Which(toms));
    }
    for (text, person, is_last) in [
        ("the last meeting with Greta", 0, true),
        ("the first meeting with Pavel Novák", 6, false),
        ("das letzte Treffen mit Ines Drummond", 5, true),
        ("la dernière réunion avec Owen Marsh", 8, true),
    ] {
        let meetings = with(person);
        let at = if is_last { meetings.last() } else { meetings.first() };
        let one: Vec<usize> = at.copied().into_iter().collect();
        add(questions, text.to_owned(), Names(Kind::Meeting, names(&one)));
    }
    let march: Vec<usize> =
        with(0).into_iter().filter(|at| MEETINGS[*at].date.starts_with("2024-03")).collect();
    let text = "how many meetings with Greta in March 2024?";
    add(questions, text.to_owned(), Count(Kind::Meeting, names(&march)));
}

/// Asks for statuses, ratings, authors and leads.
fn ask_for_properties(questions: &mut Vec<AskQuestion>) {
    for (number, status) in ["active", "paused", "done", "planned"].into_iter().enumerate() {
        let projects = PROJECTS.iter().filter(|(_, other, _)| *other == status);
        let projects = projects.map(|(title, ..)| (*title).to_owned()).collect();
        let text = STATUSES[number % STATUSES.len()].replace('S', status);
        add(questions, text, Names(Kind::Project, projects));
    }
    for (number, rating) in [5, 4, 1].into_iter().enumerate() {
        let books = BOOKS.iter().filter(|(.., other)| *other == rating);
        let books = books.map(|(title, ..)| (*title).to_owned()).collect();
        let text = RATINGS[number].replace('R', &rating.to_string());
        add(questions, text, Names(Kind::Book, books));
    }
    for (number, (title, author, _)) in BOOKS.iter().enumerate().step_by(2) {
        let text = AUTHORS[number / 2 % AUTHORS.len()].replace('B', title);
        add(questions, text, Names(Kind::Author, vec![(*author).to_owned()]));
    }
    // A book that nobody has, and an author of none.
    add(questions, "who wrote The Tin Almanac".to_owned(), NoList(Kind::Author));
    let by_two = vec![BOOKS[0].0.to_owned(), BOOKS[3].0.to_owned()];
    add(questions, "books by Clara Sørli".to_owned(), Names(Kind::Book, by_two));
    for (number, (title, _, lead)) in PROJECTS.iter().enumerate().step_by(4) {
        let text = LEADS[number / 4 % LEADS.len()].replace('P', title);
        add(questions, text, Names(Kind::Person, vec![PEOPLE[*lead].to_owned()]));
    }
}

/// Asks for the days that link to a page or mention it.
fn ask_for_links(questions: &mut Vec<AskQuestion>) {
    let days = |title: &str, with_names: bool| -> Vec<String> {
        let is_one = |(_, text, other): &&(&str, &str, &str)| {
            *other == title && (with_names || text.contains("{link}"))
        };
        DAYS.iter().filter(is_one).map(|(date, ..)| (*date).to_owned()).collect()
    };
    for (text, title, with_names) in [
        ("what links to Salt Roads", "Salt Roads", false),
        ("which notes mention Salt Roads", "Salt Roads", true),
        ("what links to Winter Grammar?", "Winter Grammar", false),
        ("where did I mention Winter Grammar", "Winter Grammar", true),
        ("was verlinkt auf Winter Grammar", "Winter Grammar", false),
        ("which daily notes mention Agnes Pell?", "Agnes Pell", true),
        ("which days link to Flood Sensors?", "Flood Sensors", false),
    ] {
        add(questions, text.to_owned(), Names(Kind::Day, days(title, with_names)));
    }
}
