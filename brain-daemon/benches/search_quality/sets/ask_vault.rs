//! The vault of the questions to `brain ask`: people, projects, meetings, books and days.

use super::prose::{page, prose, slug};
use crate::films::Rng;
use crate::set::Doc;

/// Two people are called Tom, and one Greta.
pub(super) const PEOPLE: [&str; 14] = [
    "Greta Lindqvist",
    "Tom Ferrante",
    "Tom Okoye",
    "Nadia Holt",
    "Ravi Castellan",
    "Ines Drummond",
    "Pavel Novák",
    "Mireille Weiss",
    "Owen Marsh",
    "Yuki Tanaka",
    "Agnes Pell",
    "Bruno Grieg",
    "Leila Amari",
    "Kofi Ybarra",
];

/// Projects: title, status, lead.
pub(super) const PROJECTS: [(&str, &str, usize); 10] = [
    ("Harbour Survey", "active", 3),
    ("Seed Library", "active", 4),
    ("Night Bus Map", "paused", 5),
    ("Choir Website", "done", 6),
    ("Flood Sensors", "active", 7),
    ("Reading Room", "planned", 8),
    ("Loft Conversion", "done", 9),
    ("Tool Pool", "paused", 10),
    ("Oral History", "planned", 11),
    ("Bee Monitor", "done", 12),
];

/// How a meeting's page says who was there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attendees {
    /// A line `Attendees: …` with links.
    Line,
    /// A list under a heading.
    List,
    /// A key of the frontmatter with wiki links.
    Key,
    /// A sentence with links.
    Sentence,
    /// Names without links.
    Names,
    /// Not at all.
    Unknown,
}
use Attendees::{Key, Line, List, Names, Sentence, Unknown};

/// A meeting about a project.
pub(super) struct Meeting {
    pub(super) project: usize,
    pub(super) kind: &'static str,
    pub(super) date: &'static str,
    pub(super) form: Attendees,
    pub(super) people: &'static [usize],
    /// A person who is linked, but was not there.
    absent: Option<usize>,
}

const fn meeting(
    project: usize,
    kind: &'static str,
    date: &'static str,
    form: Attendees,
    people: &'static [usize],
    absent: Option<usize>,
) -> Meeting {
    Meeting { project, kind, date, form, people, absent }
}

pub(super) const MEETINGS: [Meeting; 18] = [
    meeting(0, "kickoff", "2024-01-15", Line, &[0, 4, 8], Some(1)),
    meeting(0, "review", "2024-03-12", List, &[0, 3, 9], None),
    meeting(0, "retrospective", "2024-06-20", Key, &[3, 5], Some(0)),
    meeting(1, "kickoff", "2024-02-06", Unknown, &[], None),
    meeting(1, "review", "2024-05-14", Line, &[4, 7, 10, 11], None),
    meeting(2, "review", "2024-03-26", Sentence, &[0, 5], None),
    meeting(2, "workshop", "2024-04-09", List, &[1, 5, 12], None),
    meeting(3, "kickoff", "2023-11-08", Key, &[6, 13], None),
    meeting(3, "handover", "2024-02-21", Unknown, &[], None),
    meeting(4, "kickoff", "2024-03-05", Line, &[0, 7, 2], Some(6)),
    meeting(4, "review", "2024-07-02", Names, &[7, 9], None),
    meeting(5, "kickoff", "2024-08-13", Sentence, &[8, 10], None),
    meeting(6, "handover", "2023-12-05", Line, &[9, 1], None),
    meeting(7, "review", "2024-09-17", List, &[10, 2, 13], None),
    meeting(7, "workshop", "2024-10-01", Unknown, &[], None),
    meeting(8, "kickoff", "2024-10-22", Line, &[11, 12], Some(0)),
    meeting(9, "review", "2023-10-10", Key, &[12, 4, 6], None),
    meeting(9, "handover", "2023-12-19", Line, &[12, 0], None),
];

/// Books: title, author, rating.
pub(super) const BOOKS: [(&str, &str, u32); 12] = [
    ("The Amber Ledger", "Clara Sørli", 5),
    ("Salt Roads", "Anton Vasquez", 3),
    ("A Quiet Arithmetic", "Sunniva Berg", 4),
    ("The Ninth Orchard", "Clara Sørli", 2),
    ("Weather for Two", "Diego Marin", 5),
    ("Low Tide Letters", "Tobias Ekdal", 4),
    ("Small Engines", "Ruth Ansah", 1),
    ("Winter Grammar", "Ida Molnár", 5),
    ("The Borrowed Choir", "Anton Vasquez", 4),
    ("Glass Harvest", "Hedda Quist", 3),
    ("Nobody's Compass", "Ruth Ansah", 2),
    ("The Slow Archive", "Ida Molnár", 1),
];

/// Days: date, what the day says, and the slug of the page that it links to or names. `{link}` is a
/// link, `{name}` a name without one.
pub(super) const DAYS: [(&str, &str, &str); 12] = [
    ("2024-01-16", "Wrote down what came up yesterday: {link}.", "Harbour Survey"),
    ("2024-02-07", "Long walk, thought about {link}.", "Harbour Survey"),
    ("2024-02-20", "Read in the evening: {name}.", "Salt Roads"),
    ("2024-03-13", "Half asleep all day. {link} again.", "Salt Roads"),
    ("2024-04-02", "Somebody asked about {name} at lunch.", "Flood Sensors"),
    ("2024-04-18", "Paid the invoice for {link}.", "Flood Sensors"),
    ("2024-05-03", "Phoned {link} about the bicycle.", "Agnes Pell"),
    ("2024-05-30", "{name} sent a postcard from Tartu.", "Agnes Pell"),
    ("2024-06-11", "Fixed the tap. {link} lent me a wrench.", "Agnes Pell"),
    ("2024-07-21", "Nothing happened, and that was good.", ""),
    ("2024-08-04", "Finished {link} in one afternoon.", "Winter Grammar"),
    ("2024-09-09", "The shelf fell down, with {name} on it.", "Winter Grammar"),
];

/// Returns the name of a meeting. The title of its page may begin with the day.
pub(super) fn meeting_name(number: usize) -> String {
    let Meeting { project, kind, .. } = &MEETINGS[number];
    format!("{} {kind}", PROJECTS[*project].0)
}

/// Returns the folder of the page with this title.
fn folder(title: &str) -> &'static str {
    let is_project = PROJECTS.iter().any(|(project, ..)| *project == title);
    match () {
        () if PEOPLE.contains(&title) => "people",
        () if is_project => "projects",
        () => "books",
    }
}

fn link(title: &str) -> String {
    format!("[{title}]({}/{})", folder(title), slug(title))
}

/// Returns the pages of the vault.
pub(super) fn pages() -> Vec<Doc> {
    let mut rng = Rng(20_261_360);
    let mut docs = Vec::new();
    let id = |title: &str| format!("{}/{}", folder(title), slug(title));
    for person in PEOPLE {
        let text = prose("en", &mut rng, 5);
        docs.push(page(id(person), person, text, "type: person\n"));
    }
    for (title, status, lead) in PROJECTS {
        let text = format!("Lead: {}\n\n{}", link(PEOPLE[lead]), prose("en", &mut rng, 6));
        let head = format!("type: project\nstatus: {status}\n");
        docs.push(page(id(title), title, text, &head));
    }
    for (title, author, rating) in BOOKS {
        let head = format!("type: book\nauthor: {author}\nrating: {rating}\n");
        docs.push(page(id(title), title, prose("en", &mut rng, 6), &head));
    }
    for number in 0..MEETINGS.len() {
        docs.push(meeting_page(number, &mut rng));
    }
    for (date, sentence, title) in DAYS {
        let sentence = match title {
            "" => sentence.to_owned(),
            title => sentence.replace("{link}", &link(title)).replace("{name}", title),
        };
        let text = format!("{} {sentence} {}", prose("en", &mut rng, 3), prose("en", &mut rng, 3));
        docs.push(page(format!("daily/{date}"), date, text, ""));
    }
    docs
}

fn meeting_page(number: usize, rng: &mut Rng) -> Doc {
    let Meeting { project, kind, date, form, people, absent } = &MEETINGS[number];
    let (project, ..) = PROJECTS[*project];
    let names: Vec<&str> = people.iter().map(|person| PEOPLE[*person]).collect();
    let links: Vec<String> = names.iter().map(|name| link(name)).collect();
    let mut head = format!("type: meeting\ndate: {date}\n");
    let said = match form {
        Line => format!("Attendees: {}\n\n", links.join(", ")),
        List => format!("## Attendees\n\n- {}\n\n## Notes\n\n", links.join("\n- ")),
        Key => {
            let wiki = names.iter().map(|name| format!("\"[[people/{}|{name}]]\"", slug(name)));
            head.push_str(&format!("attendees: [{}]\n", wiki.collect::<Vec<_>>().join(", ")));
            String::new()
        }
        Sentence => format!("Present were {}.\n\n", links.join(" and ")),
        Names => format!("Attendees: {}\n\n", names.join(", ")),
        Unknown => String::new(),
    };
    let absent = absent.map(|person| format!(" {} was ill and sent a note.", link(PEOPLE[person])));
    let text = format!(
        "About {}.\n\n{said}{}{}",
        link(project),
        prose("en", rng, 5),
        absent.unwrap_or_default()
    );
    // Half of the slugs have the day.
    let id = match number % 2 {
        0 => format!("meetings/{}-{kind}", slug(project)),
        _ => format!("meetings/{date}-{}-{kind}", slug(project)),
    };
    let name = meeting_name(number);
    let title = if number % 3 == 2 { format!("{date} {name}") } else { name };
    page(id, &title, text, &head)
}
