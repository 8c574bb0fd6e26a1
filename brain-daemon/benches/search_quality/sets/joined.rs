//! Words that people join, split or hyphenate in another way than the page has them, and names of
//! program code. The controls ask for words as they are written.

use super::prose::{page, prose};
use super::versions::letters;
use crate::films::Rng;
use crate::set::{Doc, Set};

struct Language {
    code: &'static str,
    /// Compounds with a space between their parts.
    words: &'static str,
    /// Sentences with a compound.
    sentences: [&'static str; 4],
    /// Sentences in which the parts `A` and `B` stand apart.
    apart: [&'static str; 2],
    /// Questions.
    forms: &'static [&'static str],
}

const LANGUAGES: [Language; 4] = [
    Language {
        code: "en",
        words: "data base|self authored|note taking|white board|news letter|book mark|time zone|\
            check list|short cut|fire wall|key board|log book|work flow|spread sheet|\
            back end|pass word|web site|green house|rain water|sea weed|flow chart|\
            road map|name space|stop watch|eye witness|wind mill|hand book|cross word",
        sentences: [
            "The {word} needs attention.",
            "We talked about the {word} for an hour.",
            "A new {word} arrived.",
            "Nobody likes the {word}.",
        ],
        apart: ["The A was fine, but the B was not.", "First the B, much later the A."],
        forms: &[
            "{word}",
            "{word} problems",
            "notes on {word}",
            "the new {word}",
            "what about the {word}?",
        ],
    },
    Language {
        code: "de",
        words: "Daten bank|Kessel haus|Regen wasser|Zeit zone|Druck kessel|Milch schaum|\
            Fahrrad schlauch|Steuer bescheid|Garten zaun|Bücher regal|Netz teil|Kern seife|\
            Wind mühle|Apfel ernte|Schlüssel bund|Fenster laden|Brief kasten|Wärme pumpe",
        sentences: [
            "Die Sache mit {word} ist offen.",
            "Wir sprachen lange über {word}.",
            "{word} kam heute an.",
            "Niemand mag {word}.",
        ],
        apart: ["A war gut, B war es nicht.", "Zuerst B, viel später A."],
        forms: &["{word}", "Notizen zu {word}", "Probleme mit {word}"],
    },
    Language {
        code: "fr",
        words: "porte monnaie|socio économique|auto portrait|micro ondes|extra scolaire|\
            haut parleur|pluri annuel|plate forme|tire bouchon|week end|électro ménager|anti gel|\
            porte feuille|auto école|anti vol|contre poids|extra terrestre|rétro éclairage",
        sentences: [
            "La question de {word} reste ouverte.",
            "On a parlé de {word} une heure.",
            "{word} est arrivé.",
            "Personne n'aime {word}.",
        ],
        apart: ["A allait bien, B non.", "D'abord B, bien plus tard A."],
        forms: &["{word}", "notes sur {word}", "problèmes de {word}"],
    },
    Language {
        code: "es",
        words: "anti inflamatorio|socio económico|auto servicio|contra ejemplo|\
            micro ondas|sub título|extra escolar|tele trabajo|video llamada|baja mar|\
            super mercado|saca corchos|foto copia|medio día|auto escuela|porta equipajes|\
            agua nieve|porta aviones",
        sentences: [
            "Lo de {word} sigue abierto.",
            "Hablamos de {word} una hora.",
            "{word} llegó hoy.",
            "A nadie le gusta {word}.",
        ],
        apart: ["A iba bien, B no.", "Primero B, mucho más tarde A."],
        forms: &["{word}", "notas sobre {word}", "problemas con {word}"],
    },
];

/// Names of program code, as words.
const NAMES: &str = "cached metadata|parse header|user session token|max retry count|\
    render frame buffer|load config file|is dirty flag|event loop delay|http client pool|\
    read only mode|query plan cache|file system watcher|line end offset|undo stack depth|\
    create temp dir|merge sort run|socket write timeout|page cache size|text layout engine|\
    sync cursor position|block list filter|auth token expiry|index shard map|log level filter|\
    job queue worker|image resize ratio|tab strip view|row height hint|lazy load images|\
    search result row";

/// Returns all sets.
pub(crate) fn sets() -> Vec<Set> {
    let mut sets = Vec::new();
    for (number, language) in LANGUAGES.iter().enumerate() {
        sets.push(compounds(number, language, true));
        sets.push(compounds(number, language, false));
    }
    sets.push(code_names(true));
    sets.push(code_names(false));
    sets
}

/// Returns the three ways to write a compound: with a space, joined, and with a hyphen.
fn spellings(compound: &str) -> [String; 3] {
    let (first, second) = compound.split_once(' ').unwrap_or_default();
    // In German, the second part of a compound with a space or a hyphen is a noun of its own.
    let mut letters = second.chars();
    let capital: String = match first.chars().next().is_some_and(char::is_uppercase) {
        true => letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect(),
        false => second.to_owned(),
    };
    [format!("{first} {capital}"), format!("{first}{second}"), format!("{first}-{capital}")]
}

/// Asks for compounds in another spelling than the page has, or in the same one.
fn compounds(number: usize, language: &Language, in_another: bool) -> Set {
    let mut rng = Rng(20_261_270 + number as u64);
    let code = language.code;
    let (mut docs, mut questions) = (Vec::new(), Vec::new());
    let mut add = |sentence: &str, rng: &mut Rng| -> String {
        let id = format!("notes/{}", letters(docs.len()));
        let text = format!("{} {sentence} {}", prose(code, rng, 4), prose(code, rng, 4));
        docs.push(page(id.clone(), prose(code, rng, 1).trim_end_matches('.'), text, ""));
        id
    };
    for (number, compound) in language.words.split('|').enumerate() {
        let spellings = spellings(compound);
        let written = number % 3;
        let sentence = language.sentences[number % 4].replace("{word}", &spellings[written]);
        let id = add(&sentence, &mut rng);
        for apart in language.apart {
            let (first, second) = spellings[0].split_once(' ').unwrap_or_default();
            let words = apart.split(' ').map(|word| match word.trim_end_matches([',', '.']) {
                "A" => word.replace('A', first),
                "B" => word.replace('B', second),
                _ => word.to_owned(),
            });
            add(&words.collect::<Vec<_>>().join(" "), &mut rng);
        }
        let ways = if in_another { [1, 2] } else { [0, 3] };
        for (round, way) in ways.into_iter().enumerate() {
            let asked = &spellings[(written + way) % 3];
            let asked = if round == 1 { asked.to_lowercase() } else { asked.clone() };
            for form in [number + round, number * 2 + round + 1] {
                let form = language.forms[form % language.forms.len()];
                questions.push((form.replace("{word}", &asked), vec![id.clone()]));
            }
        }
    }
    questions.sort();
    questions.dedup();
    let name = if in_another { "joined" } else { "joined-as-written" };
    Set::new(&format!("{name}-{code}"), docs, &questions)
}

/// Returns the spellings of a name of program code; the last one has spaces.
fn code_spellings(name: &str) -> [String; 6] {
    let words: Vec<&str> = name.split(' ').collect();
    let capital = |word: &&str| format!("{}{}", word[..1].to_uppercase(), &word[1..]);
    let pascal: String = words.iter().map(capital).collect();
    [
        format!("{}{}", words[0], &pascal[words[0].len()..]),
        words.join("_"),
        words.join("-"),
        pascal,
        words.join("_").to_uppercase(),
        name.to_owned(),
    ]
}

/// Asks for names of program code in another spelling, or as written.
fn code_names(in_another: bool) -> Set {
    let mut rng = Rng(20_261_274);
    let mut docs: Vec<Doc> = Vec::new();
    let mut questions = Vec::new();
    let names: Vec<&str> = NAMES.split('|').collect();
    for (number, name) in names.iter().enumerate() {
        let spellings = code_spellings(name);
        let written = &spellings[number % 5];
        let id = format!("code/{}", letters(number));
        let mention = match number % 2 {
            0 => format!("The reason is `{written}`, set too late."),
            _ => format!("```rust\nlet x = {written}(a, b);\n```"),
        };
        let text =
            format!("{}\n\n{mention}\n\n{}", prose("en", &mut rng, 4), prose("en", &mut rng, 4));
        docs.push(page(id.clone(), prose("en", &mut rng, 1).trim_end_matches('.'), text, ""));
        // The words apart, and names that share one of them.
        let words: Vec<&str> = name.split(' ').collect();
        let text = format!(
            "{} The {} is new, and so is its {}. {}",
            prose("en", &mut rng, 3),
            words[words.len() - 1],
            words[0],
            prose("en", &mut rng, 3)
        );
        let title = prose("en", &mut rng, 1);
        docs.push(page(format!("talk/{}", letters(number)), title.trim_end_matches('.'), text, ""));
        let asked = match in_another {
            true => vec![&spellings[5], &spellings[(number + 1) % 5], &spellings[(number + 3) % 5]],
            false => vec![written],
        };
        for spelling in asked {
            questions.push((spelling.clone(), vec![id.clone()]));
        }
        let spelling = if in_another { &spellings[5] } else { written };
        questions.push((format!("where is {spelling} used"), vec![id]));
    }
    Set::new(if in_another { "code-names" } else { "code-names-as-written" }, docs, &questions)
}
