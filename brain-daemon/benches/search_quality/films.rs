//! A generated corpus with links: films, artists, bands, albums, festivals, and cookery courses in
//! German. Each run generates the same pages and questions. Its sentences, types of pages and forms
//! of questions differ from those of the set with which the ranking by links was developed.

use std::collections::{BTreeSet, HashMap};

use crate::set::{Doc, Set};

const FIRST: [&str; 20] = [
    "Orla", "Tamsin", "Bastian", "Ingrid", "Cosmo", "Yara", "Dag", "Mirela", "Anselm", "Petra",
    "Quill", "Rosalind", "Stellan", "Uma", "Viggo", "Wanda", "Xenia", "Zoran", "Levi", "Hester",
];
const LAST: [&str; 20] = [
    "Falk",
    "Okafor",
    "Lindqvist",
    "Marchetti",
    "Sorrel",
    "Vance",
    "Abara",
    "Nakamura",
    "Dufresne",
    "Holloway",
    "Petrov",
    "Quintero",
    "Rask",
    "Steinberg",
    "Tallow",
    "Umber",
    "Varga",
    "Whitlock",
    "Yilmaz",
    "Zeller",
];
const NOUNS: [&str; 16] = [
    "Lantern",
    "Harbour",
    "Orchard",
    "Glacier",
    "Carousel",
    "Meridian",
    "Sparrow",
    "Foundry",
    "Tide",
    "Velvet",
    "Comet",
    "Marsh",
    "Cathedral",
    "Thistle",
    "Ember",
    "Canal",
];
const ADJECTIVES: [&str; 10] = [
    "Silent", "Crooked", "Northern", "Borrowed", "Last", "Paper", "Hollow", "Golden", "Distant",
    "Second",
];
const PLOTS: [&str; 12] = [
    "a lighthouse keeper who hides a deserter through a winter of storms",
    "two sisters who inherit a bankrupt circus and a very old elephant",
    "a clockmaker who repairs the town's only bridge at night",
    "smugglers who lose a crate of rare orchids in the fog",
    "a deaf piano tuner who solves a theft at the opera",
    "a beekeeper who walks across three borders with her hives",
    "a chess prodigy who teaches in a prison on an island",
    "a translator who invents the treaty that ends a war",
    "three widows who reopen the coal mine of their village",
    "a mapmaker who draws a street that does not exist",
    "a ferry pilot who finds a child among the cargo",
    "a retired forger who is hired to find forgeries",
];
const DISHES: [&str; 12] = [
    "Linsensuppe",
    "Zwiebelkuchen",
    "Sauerbraten",
    "Forellenfilet",
    "Apfelstrudel",
    "Spargelrisotto",
    "Kartoffelgratin",
    "Rinderroulade",
    "Pilzragout",
    "Grießnockerl",
    "Kürbisgulasch",
    "Pflaumenmus",
];

/// A linear congruential generator of random numbers. The value is its state, at first the seed.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    /// Returns a number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    /// Returns `n` different numbers below `max`, in order.
    fn distinct(&mut self, n: usize, max: usize) -> Vec<usize> {
        let mut out = BTreeSet::new();
        while out.len() < n {
            out.insert(self.below(max));
        }
        out.into_iter().collect()
    }
}

/// Pages, and questions with the ids of their answers.
#[derive(Default)]
struct Corpus {
    docs: Vec<Doc>,
    /// Questions about relations between pages.
    related: Vec<(String, Vec<String>)>,
    /// Questions for which links must not change the results.
    plain: Vec<(String, Vec<String>)>,
}

/// The id and title of a page.
#[derive(Clone)]
struct Page {
    id: String,
    title: String,
}

impl Page {
    fn new(folder: &str, title: &str) -> Self {
        let id = format!("{folder}/{}", title.to_lowercase().replace(' ', "-"));
        Self { id, title: title.to_owned() }
    }

    fn wiki_link(&self) -> String {
        format!("[[{}|{}]]", self.id, self.title)
    }

    fn markdown_link(&self) -> String {
        format!("[{}](/{}.md)", self.title, self.id)
    }
}

/// Returns the two sets of questions over the same pages.
pub(crate) fn sets() -> [Set; 2] {
    let corpus = corpus();
    let docs = || corpus.docs.clone();
    [
        Set::new("films-relational", docs(), &corpus.related),
        Set::new("films-plain", docs(), &corpus.plain),
    ]
}

#[allow(clippy::too_many_lines)]
fn corpus() -> Corpus {
    let mut rng = Rng(20_261_121);
    let mut all = Corpus::default();
    let people: Vec<Page> = (0..90)
        .map(|n| Page::new("stage", &format!("{} {}", FIRST[n % 20], LAST[(n * 7 + n / 20) % 20])))
        .collect();
    let films: Vec<Page> = (0..80)
        .map(|n| {
            Page::new(
                "screen",
                &format!("The {} {}", ADJECTIVES[n % 10], NOUNS[(n * 3 + n / 10) % 16]),
            )
        })
        .collect();
    let bands: Vec<Page> = (0..24)
        .map(|n| {
            Page::new("sound", &format!("{} & the {}s", LAST[n % 20], NOUNS[(n * 5 + 1) % 16]))
        })
        .collect();
    let festivals: Vec<Page> = (0..14)
        .map(|n| Page::new("places", &format!("{} Film Days 20{:02}", LAST[n + 3], 10 + n)))
        .collect();
    let mut biographies: Vec<Vec<String>> = vec![Vec::new(); people.len()];
    let mut films_by_director: HashMap<usize, Vec<String>> = HashMap::new();
    let mut festivals_by_film: Vec<Vec<usize>> = vec![Vec::new(); films.len()];
    for (number, festival) in festivals.iter().enumerate() {
        let films_there = rng.distinct(9, films.len());
        let jury = rng.distinct(3, people.len());
        let mut text = format!(
            "{} ran for four days under a leaking roof.\n\n## Programme\n\n",
            festival.title
        );
        for &film in &films_there {
            festivals_by_film[film].push(number);
            text.push_str(&format!("- {} on the big screen\n", films[film].wiki_link()));
        }
        text.push_str("\n## Jury\n\n");
        for &person in &jury {
            text.push_str(&format!("- {}\n", people[person].wiki_link()));
        }
        let answers: Vec<String> = jury.iter().map(|&p| people[p].id.clone()).collect();
        all.related.push((format!("jury of {}", festival.title), answers));
        let guest = rng.below(people.len());
        text.push_str(&format!(
            "\nA lecture by {} was cancelled. The weather was wet.",
            people[guest].wiki_link()
        ));
        all.add_page(festival, "festival", "", text);
    }
    for (number, film) in films.iter().enumerate() {
        let (director, composer) = (rng.below(people.len()), rng.below(people.len()));
        let cast = rng.distinct(4, people.len());
        let (other, critic) = (&films[(number + 11) % films.len()], rng.below(people.len()));
        let plot = PLOTS[number % 12];
        let mut text = format!("The story of {plot}. ");
        // 0: the film's text names the director; 1: the biography does; 2: the frontmatter does.
        let director_place = number % 3;
        if director_place == 0 {
            text.push_str(&format!(
                "It was directed by {} in eleven weeks. ",
                people[director].wiki_link()
            ));
        }
        text.push_str(&format!(
            "The score was composed by {} for strings alone.\n\n## Cast\n\n",
            people[composer].wiki_link()
        ));
        for &person in &cast {
            text.push_str(&format!(
                "- {} as the {}\n",
                people[person].wiki_link(),
                NOUNS[rng.below(16)].to_lowercase()
            ));
        }
        text.push_str(&format!(
            "\n## Reception\n\nCritics compared it with {}. {} walked out of the premiere.",
            other.wiki_link(),
            people[critic].wiki_link()
        ));
        if director_place == 1 {
            biographies[director].push(format!(
                "In the year after, {} was directed in a hurry and without money.",
                film.markdown_link()
            ));
        }
        let frontmatter = if director_place == 2 {
            format!("director: \"[[{}]]\"\n", people[director].id)
        } else {
            String::new()
        };
        films_by_director.entry(director).or_default().push(film.id.clone());
        all.add_page(film, "film", &frontmatter, text);
        let cast: Vec<String> = cast.iter().map(|&p| people[p].id.clone()).collect();
        match number % 4 {
            0 => all.related.push((
                format!("Who composed the score of {}?", film.title),
                vec![people[composer].id.clone()],
            )),
            1 => all.related.push((format!("cast of {}", film.title), cast)),
            2 => all.related.push((
                format!("who was the director of {}", film.title),
                vec![people[director].id.clone()],
            )),
            _ => {
                let festivals: Vec<String> =
                    festivals_by_film[number].iter().map(|&f| festivals[f].id.clone()).collect();
                if !festivals.is_empty() && festivals.len() <= 5 {
                    all.related
                        .push((format!("at which festivals was {} shown", film.title), festivals));
                }
            }
        }
        if number < 12 {
            let films_with_plot: Vec<String> =
                (number..films.len()).step_by(12).map(|n| films[n].id.clone()).collect();
            all.plain.push((format!("film about {plot}"), films_with_plot));
        }
        all.plain.push((format!("what is {} about?", film.title), vec![film.id.clone()]));
    }
    for (number, band) in bands.iter().enumerate() {
        let members = rng.distinct(4, people.len());
        let album = Page::new("sound", &format!("{} Songs {}", NOUNS[number % 16], number + 3));
        let producer = rng.below(people.len());
        let member_lines: Vec<String> =
            members.iter().map(|&p| format!("  - {}\n", people[p].id)).collect();
        let text = format!(
            "A group from the coast. Their first record was {}, and they once opened for {}.",
            album.wiki_link(),
            bands[(number + 5) % bands.len()].wiki_link()
        );
        all.add_page(band, "band", &format!("members:\n{}", member_lines.concat()), text);
        all.add_page(
            &album,
            "album",
            "",
            format!(
                "Recorded by {} in a barn. {} produced it and played the organ. The cover shows \
                    {}.",
                band.wiki_link(),
                people[producer].wiki_link(),
                people[rng.below(people.len())].wiki_link()
            ),
        );
        let answers: Vec<String> = members.iter().map(|&p| people[p].id.clone()).collect();
        all.related.push(match number % 3 {
            0 => (format!("members of {}", band.title), answers),
            1 => (format!("which albums did {} record", band.title), vec![album.id.clone()]),
            _ => (format!("who produced {}?", album.title), vec![people[producer].id.clone()]),
        });
        all.plain.push((format!("when was {} released", album.title), vec![album.id.clone()]));
    }
    for (number, person) in people.iter().enumerate() {
        let friend = &people[(number + 17) % people.len()];
        let mut text = format!(
            "{} grew up above a bakery and shared a flat with {}. ",
            person.title,
            friend.wiki_link()
        );
        text.push_str(&biographies[number].join(" "));
        text.push_str(" Later years were spent teaching.");
        all.add_page(person, "artist", "", text);
        if let Some(films) = films_by_director.get(&number).filter(|films| films.len() <= 5) {
            all.related.push((
                if number % 2 == 0 {
                    format!("Which films did {} direct?", person.title)
                } else {
                    format!("films directed by {}", person.title)
                },
                films.clone(),
            ));
        }
        all.plain.push((format!("tell me about {}", person.title), vec![person.id.clone()]));
    }
    courses(&mut all, &mut rng, &people);
    all
}

/// Adds cookery courses in German.
fn courses(all: &mut Corpus, rng: &mut Rng, people: &[Page]) {
    let recipes: Vec<Page> = DISHES.iter().map(|dish| Page::new("küche", dish)).collect();
    let mut recipes_by_cook: HashMap<usize, Vec<String>> = HashMap::new();
    for (number, recipe) in recipes.iter().enumerate() {
        let cook = rng.below(people.len());
        recipes_by_cook.entry(cook).or_default().push(recipe.id.clone());
        let guest = &people[rng.below(people.len())];
        let text = format!(
            "Ein Gericht für kalte Tage, das lange auf dem Herd steht. Das Rezept stammt von {}, \
                die es nie gewogen hat. {} mochte es nicht.",
            people[cook].wiki_link(),
            guest.wiki_link()
        );
        all.add_page(recipe, "rezept", "", text);
        all.related
            .push((format!("Von wem stammt {}?", recipe.title), vec![people[cook].id.clone()]));
        let course = Page::new("küche", &format!("Kochkurs {}", LAST[number]));
        let participants = rng.distinct(5, people.len());
        let names: Vec<String> = participants.iter().map(|&p| people[p].wiki_link()).collect();
        let text = format!(
            "Ein Abend in der Lehrküche am Hafen, mit viel Dampf und wenig Platz. Teilgenommen \
                haben {}. Gekocht wurde {}. Die Rechnung ging an {}.",
            names.join(", "),
            recipe.wiki_link(),
            people[rng.below(people.len())].wiki_link()
        );
        all.add_page(&course, "kurs", "", text);
        let answers: Vec<String> = participants.iter().map(|&p| people[p].id.clone()).collect();
        all.related.push((format!("Wer hat an {} teilgenommen?", course.title), answers));
        all.plain.push((format!("Wie kocht man {}?", recipe.title), vec![recipe.id.clone()]));
    }
    for (cook, recipes) in recipes_by_cook {
        all.related.push((format!("Welche Rezepte stammen von {}?", people[cook].title), recipes));
    }
}

impl Corpus {
    fn add_page(&mut self, page: &Page, kind: &str, frontmatter: &str, text: String) {
        let frontmatter = format!("type: {kind}\n{frontmatter}");
        let (id, title) = (page.id.clone(), page.title.clone());
        self.docs.push(Doc { id, title, text, frontmatter, file: None });
    }
}
