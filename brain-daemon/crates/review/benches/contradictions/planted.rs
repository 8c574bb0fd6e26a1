//! An invented brain with planted pairs of statements.
//!
//! The forms were written before the rules were tried on them, and some are of no form that a rule
//! knows: nobody writes for a parser.

use std::collections::HashMap;

/// The number of pages.
const PAGES: usize = 10_000;
/// The number of pairs of each form of contradiction, and of each form that is none.
const OF_EACH: usize = 10;
const OF_EACH_NEAR: usize = 20;

const FIRST: [&str; 24] = [
    "Oda", "Pia", "Jan", "Mia", "Nils", "Tove", "Ruben", "Ines", "Karel", "Lena", "Bram", "Sofie",
    "Anton", "Greta", "Henrik", "Yara", "Tomas", "Vera", "Emil", "Nora", "Pavel", "Ilse", "Matteo",
    "Freya",
];
const LAST: [&str; 30] = [
    "Lind", "Holm", "Roemer", "Vance", "Tanaka", "Moreau", "Keller", "Novak", "Ferri", "Dahl",
    "Okafor", "Brandt", "Silva", "Haas", "Petrov", "Ruiz", "Berg", "Costa", "Wirth", "Aalto",
    "Quist", "Lorenz", "Marsh", "Duarte", "Ekman", "Fiala", "Grant", "Hovland", "Iversen",
    "Jonker",
];
const PLACES: [&str; 10] =
    ["Bergen", "Turku", "Ghent", "Lucca", "Porto", "Cadiz", "Graz", "Aarhus", "Brno", "Split"];
const THINGS: [&str; 20] = [
    "Harbour",
    "Mill",
    "Beacon",
    "Quarry",
    "Orchard",
    "Foundry",
    "Viaduct",
    "Granary",
    "Lantern",
    "Weir",
    "Chapel",
    "Depot",
    "Arsenal",
    "Cannery",
    "Tannery",
    "Brewery",
    "Sawmill",
    "Ropewalk",
    "Lockhouse",
    "Signal",
];

/// Whether the statements of a pair can both be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Contradiction,
    Near,
}

/// A planted pair.
pub struct Planted {
    pub kind: Kind,
    /// The number of its form.
    pub form: usize,
    /// Both statements.
    pub text: String,
}

/// Pages with planted pairs.
pub struct Brain {
    /// Slug and text of each page.
    pub pages: Vec<(String, String)>,
    pub planted: Vec<Planted>,
    /// Slug → number of its pair.
    pub pair_of: HashMap<String, usize>,
}

impl Brain {
    /// Invents a brain. Equal seeds give equal brains.
    pub fn invent(seed: u64) -> Self {
        let mut brain = Self { pages: Vec::new(), planted: Vec::new(), pair_of: HashMap::new() };
        let mut numbers = Numbers(seed);
        // These persons have pages of their own, as everybody's values do.
        for first in FIRST {
            for last in LAST {
                let page =
                    format!("---\ntitle: {first} {last}\ntype: person\n---\n{first} was here.\n");
                brain.pages.push((person_slug(first, last), page));
            }
        }
        for (kind, forms, of_each) in
            [(Kind::Contradiction, 20, OF_EACH), (Kind::Near, 20, OF_EACH_NEAR)]
        {
            for form in 0..forms {
                for _ in 0..of_each {
                    let pair = Pair::new(brain.planted.len(), &mut numbers);
                    let pages = match kind {
                        Kind::Contradiction => pair.contradiction(form),
                        Kind::Near => pair.near(form),
                    };
                    brain.add(kind, form, pages);
                }
            }
        }
        brain.fill(&mut numbers);
        brain
    }

    fn add(&mut self, kind: Kind, form: usize, pages: Vec<(String, String)>) {
        let pair = self.planted.len();
        let text: Vec<&str> = pages.iter().map(|(_, text)| text.as_str()).collect();
        let text = text.join(" || ").replace('\n', "⏎");
        self.planted.push(Planted { kind, form, text });
        for (slug, text) in pages {
            self.pair_of.insert(slug.clone(), pair);
            self.pages.push((slug, text));
        }
    }

    /// Adds pages that repeat facts, name people, and contradict nothing.
    fn fill(&mut self, numbers: &mut Numbers) {
        for n in self.pages.len()..PAGES {
            let (a, b) = (numbers.name(), numbers.name());
            let (place, day) = (numbers.of(&PLACES), numbers.below(28) + 1);
            let thing = format!("{} {n}", numbers.of(&THINGS));
            let text = match n % 6 {
                0 => format!(
                    "---\ntitle: {thing}\nlead: {a}\nmembers: [{a}, {b}]\n---\nThe lead of {thing} is {a}.\n\n- 2026-03-{day:02} | {b} is a member of {thing}\n"
                ),
                1 => format!(
                    "{a} and {b} talked about the budget. The weather is cold. It is late.\n\n- 2026-02-{day:02} | Met {b} in {place}\n"
                ),
                2 => format!(
                    "---\ntitle: {thing}\nbased in: {place}\nfounded: 19{:02}\n---\n{thing} is based in {place}.\n",
                    10 + n % 80
                ),
                3 => format!(
                    "## Notes\n\n{a} is a friend of {b}. {b} lives in {place}.\n\n- [ ] ask {a} about the boat\n- 2026-05-{day:02} | {a} is in {place}\n"
                ),
                4 => format!(
                    "---\ntitle: Log {n}\ndate: 2026-04-{day:02}\nattendees: [{a}, {b}]\n---\nThe meeting is at {}:30. The next step is a call with {b}.\n",
                    8 + n % 9
                ),
                _ => format!(
                    "{a} sold {} boxes. The total is {}. The mood is good.\n",
                    n % 90,
                    n % 700
                ),
            };
            self.pages.push((format!("notes/n{n}"), text));
        }
    }
}

fn person_slug(first: &str, last: &str) -> String {
    format!("people/{}-{}", first.to_lowercase(), last.to_lowercase())
}

/// A generator of numbers (a linear congruence).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn of(&mut self, list: &[&'static str]) -> &'static str {
        list[self.below(list.len())]
    }

    fn name(&mut self) -> String {
        format!("{} {}", self.of(&FIRST), self.of(&LAST))
    }
}

/// What the statements of a pair are made of.
struct Pair {
    n: usize,
    /// The name of the thing or person that both are about.
    name: String,
    slug: String,
    /// Two persons with different first and last names, and their slugs.
    a: String,
    b: String,
    a_slug: String,
    b_slug: String,
    /// Two places.
    from: &'static str,
    to: &'static str,
}

impl Pair {
    fn new(n: usize, numbers: &mut Numbers) -> Self {
        let thing = THINGS[n % THINGS.len()];
        let name = format!(
            "{thing} {}",
            ["North", "South", "East", "West"][n / 20 % 4].to_owned()
                + ["gate", "side", "wharf", "field", "bank", "hill", "ford", "holt"][n / 80 % 8]
        );
        let (first, last) = (numbers.below(12), numbers.below(15));
        let (other_first, other_last) = (12 + numbers.below(12), 15 + numbers.below(15));
        let at = numbers.below(5);
        Self {
            n,
            slug: format!("things/{}", name.to_lowercase().replace(' ', "-")),
            name,
            a: format!("{} {}", FIRST[first], LAST[last]),
            b: format!("{} {}", FIRST[other_first], LAST[other_last]),
            a_slug: person_slug(FIRST[first], LAST[last]),
            b_slug: person_slug(FIRST[other_first], LAST[other_last]),
            from: PLACES[at],
            to: PLACES[at + 5],
        }
    }

    /// Returns the thing's page with these lines of frontmatter and this body.
    fn own(&self, fields: &str, body: &str) -> (String, String) {
        (self.slug.clone(), format!("---\ntitle: {}\n{fields}---\n{body}\n", self.name))
    }

    /// Returns a page of notes.
    fn log(&self, side: char, body: &str) -> (String, String) {
        (format!("logs/{}-{side}", self.n), format!("{body}\n"))
    }

    /// Returns a person of this pair alone.
    fn person(&self, side: char, fields: &str) -> (String, String) {
        let slug = format!("people/of-{}-{side}", self.n);
        (slug, format!("---\ntitle: Person {side}{}\n{fields}---\nA person.\n", self.n))
    }

    /// Returns the thing's page and two pages of notes.
    fn two(&self, first: &str, second: &str) -> Vec<(String, String)> {
        vec![self.own("", "A thing."), self.log('a', first), self.log('b', second)]
    }

    /// Returns the thing's page with fields, and a page of notes.
    fn one(&self, fields: &str, second: &str) -> Vec<(String, String)> {
        vec![self.own(fields, "A thing."), self.log('b', second)]
    }

    #[allow(clippy::too_many_lines, reason = "one arm a form")]
    fn contradiction(&self, form: usize) -> Vec<(String, String)> {
        let Self { name: p, slug, a, b, a_slug, b_slug, from, to, n, .. } = self;
        let two = |first: String, second: String| self.two(&first, &second);
        let one = |fields: String, second: String| self.one(&fields, &second);
        match form {
            0 => one(format!("captain: \"[[{a_slug}]]\"\n"), format!("{p}'s captain is {b}.")),
            1 => two(
                format!("- 2026-02-03 | The head of [[{slug}|{p}]] is [[{a_slug}|{a}]]"),
                format!("- 2026-02-10 | [[{b_slug}|{b}]] heads [[{slug}|{p}]] [Source: letter]"),
            ),
            2 => vec![
                self.own("", "A firm."),
                self.person('a', &format!("role: CEO\ncompany: \"[[{slug}]]\"\n")),
                self.person('b', &format!("role: CEO\ncompany: \"[[{slug}]]\"\n")),
            ],
            3 => one("born: 1971-03-04\n".into(), format!("{p} was born on 9 November 1973.")),
            4 => two(
                format!("- 2026-01-05 | {p} was founded in 1998"),
                format!("It turns out that there is a plaque. {p} was established in 2003."),
            ),
            5 => one(
                "deadline: 2026-09-30\n".into(),
                format!("The deadline for {p} is 15 October 2026."),
            ),
            6 => two(
                format!("- 2026-03-01 | {p} is based in {from} [Source: register]"),
                format!("- 2026-03-09 | The headquarters of {p} are in {to}"),
            ),
            7 => one("length: 12.4 m\n".into(), format!("- 2026-04-02 | {p} is 15 metres long")),
            8 => two(format!("{p} weighs 340 kg."), format!("{p} has a weight of 410 kg.")),
            9 => two(
                format!("[[{a_slug}]] owns [[{slug}]]."),
                format!("- 2026-02-02 | {p} belongs to {b}"),
            ),
            10 => two(
                format!("{a} has been running {p} since 2021."),
                format!("{b} is in charge of {p}."),
            ),
            11 => two(format!("- {p}'s treasurer: {a}"), format!("Treasurer of {p} is {b}.")),
            12 => vec![
                self.own("", "A project."),
                self.person('a', &format!("leads: \"[[{slug}]]\"\n")),
                self.person('b', &format!("lead_of: [\"[[{slug}]]\", other/x]\n")),
            ],
            13 => two(
                format!("{a} was the mayor of {p} from 2014 to 2018."),
                format!("- 2026-01-20 | {b} was mayor of {p} from 2016 to 2020"),
            ),
            14 => two(
                format!("{p} died on 4 May 2001."),
                format!("- 2026-02-01 | {p} died in {}", 1990 + n % 9),
            ),
            15 => two(
                format!("As skipper of {p}, {a} decides alone."),
                format!("Skipper of {p} is {b}."),
            ),
            16 => one("license: MIT\n".into(), format!("The licence of {p} is Apache.")),
            17 => {
                two(format!("{p} opens on 3 June 2026."), format!("Opening of {p}: 10 June 2026"))
            }
            18 => two(
                format!("{a} is {p}'s supervisor."),
                format!("- 2026-03-03 | {p} reports to {b}"),
            ),
            _ => two(
                format!("{p} was built in 1912."),
                format!("{p}'s year of construction is 1926."),
            ),
        }
    }

    #[allow(clippy::too_many_lines, reason = "one arm a form")]
    fn near(&self, form: usize) -> Vec<(String, String)> {
        let Self { name: p, slug, a, b, a_slug, b_slug, from, to, n } = self;
        let two = |first: String, second: String| self.two(&first, &second);
        let one = |fields: String, second: String| self.one(&fields, &second);
        match form {
            0 => two(
                format!("{p} was led by {a} until June 2024."),
                format!("{p} is led by {b} since September 2024."),
            ),
            1 => one(
                format!("email: info{n}@one.example\n"),
                format!("The e-mail address of {p} is desk{n}@two.example."),
            ),
            2 => two(
                format!("{p}'s phone number is 555 01{n}."),
                format!("The phone number of {p} is 555 77{n}."),
            ),
            3 => vec![
                self.own("born: 1971-03-04\n", "A person."),
                (
                    format!("{slug}-2"),
                    format!("---\ntitle: {p}\nborn: 1984-10-11\n---\nA person of the same name.\n"),
                ),
            ],
            4 => two(
                format!("The ticket of {p} is 47{n}."),
                format!("The ticket of {p} is 48{n}. The id of {p} is 9."),
            ),
            5 => two(
                format!("The club met {p} in 2019."),
                format!("- 2026-01-01 | The year of the fair at {p} is 2021"),
            ),
            6 => two(format!("{p}'s version is 1.2."), format!("The version of {p} is 1.3.")),
            7 => one("length: 12 m\n".into(), format!("{p} is 39.4 ft long.")),
            8 => one(
                format!("members: [{a}, {b}]\n"),
                format!("The member of {p} is {b}. A member of {p} is {a}."),
            ),
            9 => two(format!("Die Leitung von {p} hat {a}."), format!("The lead of {p} is {a}.")),
            10 => two(
                format!("{p} has a population of 12,483."),
                format!("The population of {p} is about 12,000."),
            ),
            11 => one("born: 1980-03-04\n".into(), format!("{p} was born in March 1980.")),
            12 => two(
                format!("The captain of {p} is {a}."),
                format!("{} is {p}'s captain.", a.split(' ').next().unwrap_or(a)),
            ),
            13 => two(
                format!("- 2025-01-05 | The status of {p} is draft"),
                format!("- 2025-02-10 | The status of {p} is final"),
            ),
            14 => two(
                format!("- 2024-03-01 | The captain of {p} is {a}"),
                format!("- 2025-04-01 | {b} took over as captain of {p}"),
            ),
            15 => two(
                format!("- 2024-03-01 | {p} is based in {from}"),
                format!("- 2025-04-01 | {p} moved to {to}"),
            ),
            16 => two(
                format!("[[{a_slug}]] is the captain of {p}."),
                format!("[[{b_slug}]] is the deputy captain of {p}."),
            ),
            17 => two(
                format!("The owner of {p} is {a}."),
                format!("Perhaps {b} is the owner of {p}. The owner of {p} is not {b}."),
            ),
            18 => two(format!("{a} leads the archive of {p}."), format!("{b} leads {p}.")),
            _ => two(
                format!("{a} was mayor of {p} 2010–2014."),
                format!("{b} was mayor of {p} 2014–2018."),
            ),
        }
    }
}
