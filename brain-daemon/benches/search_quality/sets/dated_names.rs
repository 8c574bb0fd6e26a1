//! Meetings whose names have a period: `Harbour Review Q1 2025`. A question that names one asks for
//! what links to it, not for other pages of those days.

use super::properties::name;
use super::prose::{page, pick, prose};
use crate::films::Rng;
use crate::set::{Doc, Set};

const SUBJECTS: [&str; 6] = ["Harbour", "Orchard", "Lantern", "Copper", "Meadow", "Granite"];
/// Periods in names, each with a day of it.
const PERIODS: [(&str, &str); 4] = [
    ("Q1 2025", "2025-02-11"),
    ("Q2 2025", "2025-05-20"),
    ("August 2025", "2025-08-07"),
    ("December 2025", "2025-12-02"),
];
/// Questions for the people at the meeting `M`.
const FORMS: [&str; 4] = ["Who attended M?", "who was at the M", "people at M", "wer war beim M"];
const PEOPLE: usize = 36;

/// Returns the set.
pub(crate) fn sets() -> Vec<Set> {
    let mut rng = Rng(20_261_360);
    let (mut docs, mut questions): (Vec<Doc>, Vec<(String, Vec<String>)>) = Default::default();
    let person = |number: usize| format!("people/p{}", number % PEOPLE);
    for number in 0..PEOPLE {
        let day = PERIODS[number % PERIODS.len()].1;
        let text = format!(
            "{} Moved to the office on {day}. {}",
            prose("en", &mut rng, 2),
            prose("en", &mut rng, 2)
        );
        docs.push(page(person(number), &name(number), text, "type: person\n"));
    }
    for (at, subject) in SUBJECTS.iter().enumerate() {
        for (of_year, (period, day)) in PERIODS.iter().enumerate() {
            let number = at * PERIODS.len() + of_year;
            let title = format!("{subject} Review {period}");
            let people = [number * 3, number * 3 + 1, number * 3 + 2];
            let links = people.map(|it| format!("[[{}|{}]]", person(it), name(it % PEOPLE)));
            let text = format!(
                "{} {} and {} took part, and {} wrote the minutes. {}",
                prose("en", &mut rng, 2),
                links[0],
                links[1],
                links[2],
                prose("en", &mut rng, 3)
            );
            let head = format!("type: meeting\ndate: {day}\n");
            docs.push(page(format!("meetings/m{number}"), &title, text, &head));
            let wanted: Vec<String> = people.map(person).to_vec();
            let form = pick(&mut rng, &FORMS);
            questions.push((form.replace('M', &title), wanted.clone()));
            questions.push((FORMS[number % FORMS.len()].replace('M', &title), wanted));
        }
    }
    questions.sort();
    questions.dedup();
    vec![Set::new("dated-names", docs, &questions)]
}
