//! Names of pages: words in another order, inside sentences, half typed, and mistyped; and
//! mistyped words.

use super::lexicon::{LEXICONS, Lexicon};
use super::phrases::sentence;
use crate::films::Rng;
use crate::set::{Doc, Set};

const BEGINNINGS: [&str; 16] = [
    "Mar", "Lo", "Ven", "Ka", "Tor", "Bel", "Ru", "Si", "Dan", "Fe", "Gor", "Hal", "In", "Jo",
    "Pe", "Zan",
];
const MIDDLES: [&str; 10] = ["a", "e", "in", "or", "al", "is", "un", "ara", "eli", "ost"];
const ENDS: [&str; 12] =
    ["ta", "ck", "son", "dez", "vic", "ner", "ley", "ghi", "mann", "quist", "ro", "lin"];
/// Things that are named after a place or a person.
const THINGS: [&str; 10] = [
    "Water Pump",
    "Night Ferry",
    "Review Board",
    "Solar Array",
    "Reading Club",
    "Tax Office",
    "Garden Plan",
    "Data Bridge",
    "Choir",
    "Repair Shop",
];
/// Sentences that ask about a name, which replaces `NAME`.
const SENTENCES: [&str; 8] = [
    "how does NAME work",
    "what do we know about NAME?",
    "tell me everything about NAME please",
    "notes on NAME from the last years",
    "when did anybody talk about NAME",
    "was wissen wir über NAME?",
    "que savons-nous de NAME ?",
    "I need the page of NAME now",
];

/// Names and rare words of a language, for mistyped questions. `|` separates the words of a field.
struct Vocabulary {
    code: &'static str,
    first: &'static str,
    last: &'static str,
    words: &'static str,
}

const VOCABULARIES: [Vocabulary; 6] = [
    Vocabulary {
        code: "en",
        first: "Margaret|Benjamin|Charlotte|Theodore|Penelope",
        last: "Whitcombe|Lovelace|Harrington|Ellsworth|Pemberton",
        words: "telescope|marmalade|lighthouse|orchestra|parachute|saxophone|cinnamon|\
            scaffold|pendulum|avalanche|porcelain|hurricane|cathedral|molasses|trampoline|\
            submarine|chandelier|caterpillar|barometer|gondola|walnut|thimble|lantern|\
            peppermint|accordion",
    },
    Vocabulary {
        code: "de",
        first: "Friedrich|Mechthild|Siegfried|Annegret|Leopold",
        last: "Zimmermann|Hohenstein|Brückner|Lindemann|Schwarzkopf",
        words: "Fernrohr|Leuchtturm|Schornstein|Regenschirm|Kreuzworträtsel|Blockflöte|Gewächshaus|\
            Pfefferminze|Wollmütze|Schraubstock|Lawine|Kathedrale|Quittengelee|Lötkolben|Windmühle|\
            Standuhr|Eichhörnchen|Schlittschuh|Trompete|Zwiebelturm|Hängematte|Feldstecher|\
            Glühwürmchen|Schubkarre|Wasserwaage",
    },
    Vocabulary {
        code: "tr",
        first: "Mehmet|Zeynep|Mustafa|Elifnur|İbrahim",
        last: "Yıldırım|Karadeniz|Çelikkol|Özdemir|Demirtaş",
        words: "teleskop|kelebek|kaplumbağa|şemsiye|portakal|keman|sincap|fırtına|makas|\
            denizaltı|pusula|çarkıfelek|kestane|trampet|merdiven|balıkçıl|zencefil|kuyumcu|\
            değirmen|sardunya|patlıcan|salıncak|gergedan|çekirge|mıknatıs",
    },
    Vocabulary {
        code: "ru",
        first: "Маргарита|Вениамин|Людмила|Ярослав|Серафима",
        last: "Воробьёва|Левандовский|Крестовская|Голубкин|Мельниченко",
        words: "телескоп|черепаха|парашют|виолончель|скворечник|подсолнух|маятник|подлодка|\
            сметана|барометр|карусель|фонарь|светлячок|ножницы|водопад|каракатица|кузнечик|\
            ласточка|облепиха|самовар|шиповник|телега|журавль|тромбон|ежевика",
    },
    Vocabulary {
        code: "el",
        first: "Μαργαρίτα|Θεόδωρος|Πηνελόπη|Αλέξανδρος|Καλλιόπη",
        last: "Παπαδόπουλος|Καραμανλής|Βενιζέλος|Σταθοπούλου|Μαυρομάτης",
        words: "τηλεσκόπιο|χελώνα|αλεξίπτωτο|ομπρέλα|πορτοκάλι|κανέλα|φανάρι|πυξίδα|τρομπέτα|\
            καταρράκτης|υποβρύχιο|μαρμελάδα|πεταλούδα|ψαλίδι|μαγνήτης|κάστανο|ανεμόμυλος|\
            βαρόμετρο|ακορντεόν|σκίουρος|κουκουβάγια|τζίτζικας|δελφίνι|σαλιγκάρι|γεράνι",
    },
    Vocabulary {
        code: "ar",
        first: "إبراهيم|فاطمة|عبدالرحمن|مصطفى|سليمان",
        last: "الحمداني|المنصوري|القحطاني|الزهراني|البغدادي",
        words: "تلسكوب|سلحفاة|مظلة|برتقال|كمنجة|سنجاب|عاصفة|غواصة|بوصلة|كستناء|طاحونة|\
            زنجبيل|باذنجان|أرجوحة|مغناطيس|فراشة|منارة|ياسمين|شلال|ملعقة|خفاش|قنديل|\
            عنكبوت|فستق|مطرقة",
    },
];

/// Returns all sets.
pub(crate) fn sets() -> Vec<Set> {
    vec![
        reordered(),
        in_sentences(),
        half_typed().while_typing(),
        mistyped_names(),
        mistyped_words(),
    ]
}

fn invented_name(rng: &mut Rng) -> String {
    [&BEGINNINGS[..], &MIDDLES, &ENDS].map(|parts| parts[rng.below(parts.len())]).concat()
}

/// Names of pages, of two to three words.
struct Names {
    /// Persons: first and last name.
    people: Vec<(String, String)>,
    things: Vec<String>,
}

fn names(rng: &mut Rng) -> Names {
    let people = (0..300).map(|_| (invented_name(rng), invented_name(rng))).collect();
    let thing = |number: usize, rng: &mut Rng| {
        format!("{} {}", invented_name(rng), THINGS[number % THINGS.len()])
    };
    Names { people, things: (0..100).map(|number| thing(number, rng)).collect() }
}

/// Returns pages of people, of things, and of calls. The page of a call has the names of a person
/// and a thing. Every page also names others.
fn pages(names: &Names, rng: &mut Rng) -> Vec<Doc> {
    let prose = |rng: &mut Rng, count: usize| -> String {
        (0..count).map(|_| format!("{}. ", sentence(&LEXICONS[0], rng))).collect()
    };
    let mention = |rng: &mut Rng| -> String {
        let (first, last) = &names.people[rng.below(names.people.len())];
        let (other, _) = &names.people[rng.below(names.people.len())];
        let thing = &names.things[rng.below(names.things.len())];
        format!("{first} {last} showed {other} how the {thing} works. ")
    };
    let page = |id: String, title: String, text: String, frontmatter: String| Doc {
        id,
        title,
        text,
        frontmatter,
        file: None,
    };
    let mut docs = Vec::new();
    for (number, (first, last)) in names.people.iter().enumerate() {
        let aliases = match number % 3 {
            0 => format!("aliases: [\"{}{number}\"]\n", &last[..3]),
            _ => String::new(),
        };
        let text = format!("{}{}{}", prose(rng, 3), mention(rng), prose(rng, 2));
        docs.push(page(format!("people/{number}"), format!("{first} {last}"), text, aliases));
    }
    for (number, name) in names.things.iter().enumerate() {
        let text = format!("{}{}{}", prose(rng, 4), mention(rng), prose(rng, 3));
        docs.push(page(format!("things/{number}"), name.clone(), text, String::new()));
    }
    for number in 0..200 {
        let (first, last) = &names.people[number % names.people.len()];
        let thing = &names.things[rng.below(names.things.len())];
        let text = format!(
            "{first} {last} called. {}We spoke about the {thing}: how {first} thinks it should \
                work, and what we know about {last}. {}{}",
            prose(rng, 2),
            mention(rng),
            prose(rng, 2)
        );
        let title = format!("Call with {first} {last} about work");
        docs.push(page(format!("calls/{number}"), title, text, String::new()));
    }
    docs
}

/// Asks with all words of a name, in another order.
fn reordered() -> Set {
    let mut rng = Rng(20_261_127);
    let names = names(&mut rng);
    let docs = pages(&names, &mut rng);
    let people = names.people.iter().enumerate().take(150);
    let mut questions: Vec<(String, Vec<String>)> = people
        .map(|(number, (first, last))| {
            let text = match number % 3 {
                0 => format!("{last} {first}"),
                1 => format!("{last}, {first}").to_lowercase(),
                _ => format!("{last} the {first}"),
            };
            (text, vec![format!("people/{number}")])
        })
        .collect();
    for (number, name) in names.things.iter().enumerate() {
        let mut words: Vec<&str> = name.split(' ').collect();
        let by = 1 + number % (words.len() - 1);
        words.rotate_left(by);
        questions.push((words.join(" "), vec![format!("things/{number}")]));
    }
    Set::new("names-reordered", docs, &questions)
}

/// Asks with a name among other words.
fn in_sentences() -> Set {
    let mut rng = Rng(20_261_128);
    let names = names(&mut rng);
    let docs = pages(&names, &mut rng);
    let mut questions = Vec::new();
    for (number, name) in names.things.iter().enumerate() {
        let sentence = SENTENCES[number % SENTENCES.len()];
        questions.push((sentence.replace("NAME", name), vec![format!("things/{number}")]));
    }
    for (number, (first, last)) in names.people.iter().enumerate().take(200) {
        let name = match number % 4 {
            3 => format!("{last} {first}"),
            _ => format!("{first} {last}"),
        };
        let sentence = SENTENCES[(number + number / 8) % SENTENCES.len()];
        questions.push((sentence.replace("NAME", &name), vec![format!("people/{number}")]));
    }
    Set::new("names-in-sentences", docs, &questions)
}

/// Asks with beginnings of names.
fn half_typed() -> Set {
    let mut rng = Rng(20_261_129);
    let names = names(&mut rng);
    let docs = pages(&names, &mut rng);
    let beginning = |text: &str, letters: usize| text.chars().take(letters).collect::<String>();
    let mut questions: Vec<(String, Vec<String>)> = Vec::new();
    for (number, (first, last)) in names.people.iter().enumerate().take(200) {
        let text = match number % 5 {
            0 => beginning(last, 4),
            1 => beginning(first, 4).to_lowercase(),
            2 => format!("{first} {}", beginning(last, 2)),
            3 => format!("{last} {}", beginning(first, 2)).to_lowercase(),
            _ => beginning(last, 5),
        };
        questions.push((text, vec![format!("people/{number}")]));
    }
    for (number, name) in names.things.iter().enumerate() {
        let words: Vec<&str> = name.split(' ').collect();
        let text = match number % 3 {
            0 => beginning(name, words[0].chars().count() + 3),
            1 => format!("{} {}", words[1], beginning(words[0], 3)),
            _ => beginning(name, 5),
        };
        questions.push((text, vec![format!("things/{number}")]));
    }
    Set::new("names-half-typed", docs, &questions)
}

/// Returns notes of all languages in [`VOCABULARIES`], each with the code of its language and its
/// rare words: notes that have a name as title and two rare words, and notes without rare words.
fn notes(rng: &mut Rng) -> Vec<(Doc, &'static str, Vec<&'static str>)> {
    let mut out = Vec::new();
    for vocabulary in &VOCABULARIES {
        let lexicon = LEXICONS.iter().find(|lexicon| lexicon.code == vocabulary.code);
        let Some(lexicon) = lexicon else { continue };
        let parts = |text: &'static str| text.split('|').map(str::trim).collect::<Vec<_>>();
        let (first, last) = (parts(vocabulary.first), parts(vocabulary.last));
        let words = parts(vocabulary.words);
        for number in 0..25 {
            let rare = vec![words[number], words[(number + 7) % 25]];
            let name = format!("{} {}", first[number % 5], last[number / 5]);
            let text = prose(lexicon, &rare, rng);
            let id = format!("notes/{}-{number}", vocabulary.code);
            let doc = Doc { id, title: name, text, frontmatter: String::new(), file: None };
            out.push((doc, vocabulary.code, rare));
        }
        for number in 0..40 {
            let other = [first[rng.below(5)]];
            let text = prose(lexicon, &other, rng);
            let id = format!("days/{}-{number}", vocabulary.code);
            let title = format!("{} {number}", vocabulary.code);
            let doc = Doc { id, title, text, frontmatter: String::new(), file: None };
            out.push((doc, vocabulary.code, Vec::new()));
        }
    }
    out
}

fn prose(lexicon: &Lexicon, words: &[&str], rng: &mut Rng) -> String {
    let mut text = String::new();
    for word in words {
        for _ in 0..3 {
            text.push_str(&sentence(lexicon, rng));
            text.push_str(lexicon.end);
        }
        text.push_str(&format!("{}{}{word}{}", sentence(lexicon, rng), lexicon.space, lexicon.end));
    }
    text
}

/// Asks with names of pages in which a letter is wrong, missing, added or exchanged with the next.
fn mistyped_names() -> Set {
    let mut rng = Rng(20_261_130);
    let notes = notes(&mut rng);
    let mut questions = Vec::new();
    for (doc, _, words) in &notes {
        if words.is_empty() {
            continue;
        }
        let mut words: Vec<String> = doc.title.split(' ').map(str::to_owned).collect();
        let wrong = rng.below(words.len());
        words[wrong] = mistyped(&words[wrong], &mut rng);
        questions.push((words.join(" "), vec![doc.id.clone()]));
    }
    Set::new("typos-names", notes.into_iter().map(|note| note.0).collect(), &questions)
}

/// Asks with single mistyped words that are in two notes.
fn mistyped_words() -> Set {
    let mut rng = Rng(20_261_131);
    let notes = notes(&mut rng);
    let mut questions = Vec::new();
    for (_, code, words) in &notes {
        let Some(word) = words.first() else { continue };
        let answers = notes
            .iter()
            .filter(|(_, other, words)| other == code && words.contains(word))
            .map(|(doc, ..)| doc.id.clone());
        questions.push((mistyped(word, &mut rng), answers.collect()));
    }
    Set::new("typos-words", notes.into_iter().map(|note| note.0).collect(), &questions)
}

/// Returns `word` with one typing error, or with one or two if it has ten letters or more.
fn mistyped(word: &str, rng: &mut Rng) -> String {
    let mut letters: Vec<char> = word.to_lowercase().chars().collect();
    let errors = if letters.len() >= 10 { 1 + rng.below(2) } else { 1 };
    for error in 0..errors {
        // Most errors are after the first letter.
        let first = usize::from(rng.below(8) > 0);
        let half = (letters.len() - first).div_ceil(errors);
        let at = (first + error * half + rng.below(half)).min(letters.len() - 2);
        let others: Vec<char> = letters.iter().copied().filter(|c| *c != letters[at]).collect();
        let other = others[rng.below(others.len())];
        match rng.below(4) {
            0 if letters[at] != letters[at + 1] => letters.swap(at, at + 1),
            1 => _ = letters.remove(at),
            2 => letters.insert(at, other),
            _ => letters[at] = other,
        }
    }
    letters.into_iter().collect()
}
