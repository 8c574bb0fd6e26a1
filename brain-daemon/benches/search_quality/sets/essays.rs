//! Essays and chats. A chat repeats a phrase of a question and does not answer it; the essay does,
//! with all its words in other sentences. And the other way round: a remembered line of a chat,
//! whose words an essay also has, but apart.

use super::prose::{LANGUAGES, page, prose, slug};
use super::versions::letters;
use crate::films::Rng;
use crate::set::{Doc, Set};

/// Chats that repeat a phrase of a question.
const CHATS: usize = 3;

struct Language {
    /// The title of an essay, the question that it answers, and what it says.
    essays: &'static [(&'static str, &'static str, &'static str)],
    /// Questions around `Q`.
    forms: &'static [&'static str],
    /// What people say after a phrase.
    replies: [&'static str; 4],
    /// Lines of chats that somebody remembers.
    lines: &'static [&'static str],
}

const WORDS: [Language; 4] = [
    Language {
        essays: &[
            (
                "Bees and the way home",
                "how do bees find their way home",
                "A bee learns the way on its first flights. Bees find landmarks, compare them with \
                    the sun, and fly home on a remembered line. At home, other bees read the dance.",
            ),
            (
                "Why bridges hum",
                "why do old bridges hum in the wind",
                "Wind sheds vortices behind a cable. In an old bridge the cables are slack, so they \
                    hum; new bridges have dampers. The hum of bridges follows the wind's speed.",
            ),
            (
                "Keeping bread fresh",
                "how to keep sourdough bread fresh",
                "Bread goes stale because starch crystallises. To keep it fresh, sourdough needs \
                    its crust and a wooden box. Fresh loaves of sourdough keep for five days.",
            ),
            (
                "The price of salt",
                "what made salt so expensive in the middle ages",
                "In the middle ages, transport made the price. Salt was heavy, and taxes made it \
                    expensive; the salt of the mines and that of the middle coast cost the same.",
            ),
            (
                "Cold engines",
                "why does a diesel engine start badly when cold",
                "A diesel ignites by heat. A cold engine loses that heat, so the start is bad; an \
                    engine with glow plugs does not start badly even when diesel is cold.",
            ),
            (
                "Learning names",
                "how can I remember the names of people",
                "To remember people, repeat their names aloud. Names without a picture fade, so \
                    people who remember well tie names to faces.",
            ),
            (
                "Ink on parchment",
                "what ink did monks use on parchment",
                "Monks cooked oak galls with vitriol for their ink. On parchment this ink bites; \
                    the use of soot ink on parchment came earlier, with other monks.",
            ),
            (
                "Tides in rivers",
                "how far do tides travel up a river",
                "Tides slow down over a shallow bed. Up the river the wave gets steeper; in a wide \
                    river tides travel as far as the first weir, sometimes far above.",
            ),
            (
                "Mould on walls",
                "which walls of a house grow mould first",
                "Outer walls cool a house. Mould likes the corner first, since walls in the north \
                    of the house stay damp; there the first mould will grow.",
            ),
            (
                "Sleep and light",
                "does blue light really ruin your sleep",
                "Sleep follows melatonin. Blue light delays it a little; what people ruin is the \
                    hour. Light at noon helps your sleep, and blue screens matter less.",
            ),
            (
                "Paper maps",
                "are paper maps better than a phone for hiking",
                "For hiking, paper shows context. A phone is better in fog; maps on paper need no \
                    battery. Hiking with both is better than trusting a phone alone.",
            ),
            (
                "Frost and pipes",
                "how do I protect water pipes from frost",
                "Frost bursts pipes since water expands. Protect them with a slow flow of water, \
                    then with foam; pipes in outer walls need to be emptied before frost.",
            ),
            (
                "Owls in towns",
                "where do owls nest in large towns",
                "Owls nest where towns keep old trees. Large churches have towers with a nest; in \
                    towns, owls take boxes when a large hollow is missing.",
            ),
            (
                "Violins and varnish",
                "does the varnish change how violins sound",
                "Varnish protects the wood. Violins without varnish sound brighter for a year; the \
                    change in sound comes from damping, and old violins lost much varnish.",
            ),
        ],
        forms: &["Q?", "Q", "explain Q", "notes: Q", "tell me Q", "I always wondered Q"],
        replies: ["no idea", "good question", "ask somebody else", "I was wondering the same"],
        lines: &[
            "did you bring the green ladder back yet",
            "the parcel is behind the second bin",
            "grandma wants the blue kettle for Sunday",
            "my train is late again so start without soup",
            "leave the window open for the cat please",
            "the wifi password is on the fridge door",
            "who took my left glove from the bench",
            "the dentist moved us to the later slot",
            "buy two lemons and the small candles",
            "the neighbours drill again since six",
            "your aunt calls the dog a lazy sausage",
            "we meet at the fountain not the tower",
            "the spare key hangs in the wrong shed",
            "tell the plumber the left tap drips",
        ],
    },
    Language {
        essays: &[
            (
                "Bienen und der Heimweg",
                "wie finden Bienen den Weg nach Hause",
                "Eine Biene lernt den Weg auf den ersten Flügen. Bienen merken sich Bäume und \
                    finden nach der Sonne; zu Hause zeigt der Tanz, wie weit der Weg war.",
            ),
            (
                "Brummende Brücken",
                "warum brummen alte Brücken im Wind",
                "Wind löst Wirbel hinter Seilen. Bei einer alten Brücke hängen Seile durch und \
                    brummen; neue Brücken sind gedämpft. Alte brummen lauter, wenn Wind dreht.",
            ),
            (
                "Brot lagern",
                "wie bleibt Sauerteigbrot lange frisch",
                "Brot altert durch Stärke. Frisch hält sich Sauerteigbrot in Holz; lange bleibt \
                    die Kruste weich, wenn Sauerteigbrot im Tuch liegt. Frisch bleibt es fünf Tage.",
            ),
            (
                "Kalte Motoren",
                "warum startet ein Diesel bei Kälte schlecht",
                "Ein Diesel zündet durch Wärme. Kälte nimmt sie, er startet dann schlecht; bei \
                    einem Diesel mit Glühkerzen startet auch in Kälte alles.",
            ),
            (
                "Tinte auf Pergament",
                "welche Tinte nutzten Mönche für Pergament",
                "Mönche kochten Galläpfel für Tinte. Pergament saugt wenig, die Tinte beißt; \
                    andere Mönche nutzten Ruß, doch Pergament hielt ihn nicht.",
            ),
            (
                "Schimmel an Wänden",
                "an welcher Wand wächst Schimmel zuerst",
                "Die kühle Wand im Norden wird feucht. Schimmel sitzt zuerst in der Ecke; an \
                    warmer Wand wächst kaum etwas. Zuerst kommt Feuchte, dann Schimmel.",
            ),
            (
                "Rohre und Frost",
                "wie schütze ich Wasserrohre vor Frost",
                "Frost sprengt, weil Wasser sich dehnt. Wasserrohre schütze man mit Schaum; vor \
                    dem Frost leert man sie. Wasserrohre in Wänden sind gefährdet.",
            ),
            (
                "Eulen in der Stadt",
                "wo nisten Eulen in großen Städten",
                "Eulen nisten in alten Bäumen. In Städten nehmen sie Türme; große Kirchen haben \
                    Kästen. Wo Städte große Parks haben, gibt es Eulen.",
            ),
            (
                "Lack auf Geigen",
                "verändert Lack den Klang von Geigen",
                "Lack schützt das Holz. Geigen ohne Lack haben hellen Klang; was den Klang \
                    verändert, ist Dämpfung. Alte Geigen verloren viel Lack.",
            ),
            (
                "Namen merken",
                "wie merke ich mir Namen von Leuten",
                "Leute prägt man sich mit Bildern ein. Namen sage man laut; wer sich Namen gut \
                    merkt, verbindet Leute mit Orten. So merke ich mir viele.",
            ),
        ],
        forms: &["Q?", "Q", "erkläre: Q", "Notizen: Q"],
        replies: ["keine Ahnung", "gute Frage", "frag jemand anders", "das frage ich mich auch"],
        lines: &[
            "hast du die grüne Leiter schon zurückgebracht",
            "das Paket liegt hinter der zweiten Tonne",
            "Oma will den blauen Kessel für Sonntag",
            "mein Zug ist wieder spät also fangt an",
            "lass das Fenster für die Katze offen",
            "das Passwort hängt an der Kühlschranktür",
            "wer hat meinen linken Handschuh genommen",
            "kauf zwei Zitronen und die kleinen Kerzen",
            "der Ersatzschlüssel hängt im falschen Schuppen",
            "sag dem Klempner der linke Hahn tropft",
        ],
    },
    Language {
        essays: &[
            (
                "Les abeilles et la ruche",
                "comment les abeilles retrouvent leur ruche",
                "Une abeille apprend ses repères. Les abeilles suivent le soleil et retrouvent la \
                    ligne de vol ; dans leur ruche, la danse dit comment.",
            ),
            (
                "Les ponts qui chantent",
                "pourquoi les vieux ponts chantent dans le vent",
                "Le vent crée des tourbillons. Un vieux pont a des câbles lâches qui chantent ; \
                    les ponts neufs sont amortis. Les vieux suivent le vent.",
            ),
            (
                "Garder le pain",
                "comment garder le pain au levain frais",
                "Le pain rassit par l'amidon. Frais, le levain garde sa croûte ; pour garder le \
                    pain, une boîte de bois. Le levain tient cinq jours.",
            ),
            (
                "Moteurs froids",
                "pourquoi un diesel démarre mal à froid",
                "Un diesel s'allume par la chaleur. Le froid l'enlève, alors il démarre mal ; un \
                    diesel à bougies démarre même par grand froid.",
            ),
            (
                "Encre et parchemin",
                "quelle encre les moines mettaient sur le parchemin",
                "Les moines cuisaient des galles pour leur encre. Le parchemin boit peu ; d'autres \
                    moines mettaient de la suie, et cette encre quittait le parchemin.",
            ),
            (
                "Moisissure",
                "sur quel mur la moisissure vient en premier",
                "Le mur du nord reste humide. La moisissure vient au coin ; sur un mur chaud, \
                    rien. En premier l'eau, ensuite la moisissure.",
            ),
            (
                "Tuyaux et gel",
                "comment protéger les tuyaux du gel",
                "Le gel fait éclater, car l'eau gonfle. Les tuyaux se vident avant ; pour protéger \
                    du gel, de la mousse autour des tuyaux.",
            ),
            (
                "Chouettes en ville",
                "où nichent les chouettes dans les grandes villes",
                "Les chouettes nichent dans les arbres creux. Les villes ont des clochers ; les \
                    grandes églises ont des nichoirs à chouettes.",
            ),
            (
                "Vernis et violons",
                "est-ce que le vernis change le son des violons",
                "Le vernis protège le bois. Des violons sans vernis ont un son clair ; ce qui \
                    change le son est l'amorti des violons.",
            ),
            (
                "Retenir les noms",
                "comment retenir les noms des gens",
                "Les gens se retiennent par l'image. Les noms se disent à voix haute ; pour \
                    retenir des noms, lier les gens aux lieux.",
            ),
        ],
        forms: &["Q ?", "Q", "expliquer Q", "notes : Q"],
        replies: ["aucune idée", "bonne question", "demande ailleurs", "je me le demande aussi"],
        lines: &[
            "as-tu rapporté la grande échelle verte",
            "le colis est derrière la deuxième poubelle",
            "mamie veut la bouilloire bleue pour dimanche",
            "mon train est encore en retard commencez",
            "laisse la fenêtre ouverte pour le chat",
            "le mot de passe est sur la porte du frigo",
            "qui a pris mon gant gauche sur le banc",
            "achète deux citrons et les petites bougies",
            "la clé de secours est dans le mauvais abri",
            "dis au plombier que le robinet gauche goutte",
        ],
    },
    Language {
        essays: &[
            (
                "Las abejas y la colmena",
                "cómo encuentran las abejas su colmena",
                "Una abeja aprende señales. Las abejas siguen el sol y encuentran la línea; en su \
                    colmena, la danza cuenta cómo.",
            ),
            (
                "Puentes que zumban",
                "por qué zumban los puentes viejos con el viento",
                "El viento crea remolinos. Un puente viejo tiene cables flojos que zumban; los \
                    puentes nuevos no. Los viejos siguen al viento.",
            ),
            (
                "Guardar el pan",
                "cómo guardar fresco el pan de masa madre",
                "El pan envejece por el almidón. Fresco, el de masa madre guarda la corteza; para \
                    guardar pan, madera. La masa madre dura cinco días.",
            ),
            (
                "Motores fríos",
                "por qué un diésel arranca mal en frío",
                "Un diésel enciende por calor. El frío lo quita y arranca mal; un diésel con \
                    bujías arranca aun con frío.",
            ),
            (
                "Tinta y pergamino",
                "qué tinta usaban los monjes en pergamino",
                "Los monjes cocían agallas para su tinta. El pergamino bebe poco; otros monjes \
                    usaban hollín, y esa tinta dejaba el pergamino.",
            ),
            (
                "Moho en paredes",
                "en qué pared sale primero el moho",
                "La pared del norte queda húmeda. El moho sale en la esquina; en pared caliente, \
                    nada. Primero el agua, luego el moho.",
            ),
            (
                "Tuberías y heladas",
                "cómo proteger las tuberías de la helada",
                "La helada revienta, pues el agua crece. Las tuberías se vacían antes; para \
                    proteger de la helada, espuma en las tuberías.",
            ),
            (
                "Búhos en la ciudad",
                "dónde anidan los búhos en ciudades grandes",
                "Los búhos anidan en árboles huecos. Las ciudades tienen torres; iglesias grandes \
                    tienen cajas para búhos.",
            ),
            (
                "Barniz y violines",
                "cambia el barniz el sonido de los violines",
                "El barniz protege la madera. Violines sin barniz tienen sonido claro; lo que \
                    cambia el sonido es cómo amortiguan los violines.",
            ),
            (
                "Recordar nombres",
                "cómo recordar los nombres de la gente",
                "La gente se recuerda por imágenes. Los nombres se dicen en voz alta; para \
                    recordar nombres, unir gente y lugares.",
            ),
        ],
        forms: &["¿Q?", "Q", "explica Q", "notas: Q"],
        replies: ["ni idea", "buena pregunta", "pregunta a otro", "yo también me lo pregunto"],
        lines: &[
            "ya devolviste la escalera verde grande",
            "el paquete está detrás del segundo cubo",
            "la abuela quiere la tetera azul el domingo",
            "mi tren llega tarde otra vez empezad",
            "deja la ventana abierta para el gato",
            "la clave está en la puerta de la nevera",
            "quién cogió mi guante izquierdo del banco",
            "compra dos limones y las velas pequeñas",
            "la llave de repuesto está en el otro cobertizo",
            "dile al fontanero que gotea el grifo izquierdo",
        ],
    },
];

/// Returns two sets for each language: the answer is the essay, or the chat.
pub(crate) fn sets() -> Vec<Set> {
    let by_language = |language| [essays(language), chats(language)];
    (0..LANGUAGES.len()).flat_map(by_language).collect()
}

/// Returns an essay, which has what it says between other sentences.
fn essay(id: String, title: &str, statement: &str, code: &str, rng: &mut Rng) -> Doc {
    let mut text = prose(code, rng, 3);
    for sentence in statement.split_inclusive(['.', ';']) {
        text.push_str(&format!("\n\n{} {}", sentence.trim(), prose(code, rng, 3)));
    }
    page(id, title, text, "")
}

/// Returns a chat in which somebody says `line` `times` times.
fn chat(id: String, line: &str, times: usize, language: usize, rng: &mut Rng) -> Doc {
    let code = LANGUAGES[language];
    let mut text = String::new();
    for number in 0..8 {
        let speaker = ["Ann", "Bo", "Cleo"][number % 3];
        let said = match number {
            n if n % 2 == 0 && n / 2 < times => line.to_owned(),
            n if n % 2 == 1 => WORDS[language].replies[rng.below(4)].to_owned(),
            _ => prose(code, rng, 1),
        };
        text.push_str(&format!("**{speaker}:** {said}\n\n"));
    }
    let title = format!("Chat {}", id.rsplit('/').next().unwrap_or_default());
    page(id, &title, text, "type: chat\n")
}

/// Asks what an essay answers; chats repeat phrases of the question.
fn essays(language: usize) -> Set {
    let words = &WORDS[language];
    let code = LANGUAGES[language];
    let mut rng = Rng(20_261_340 + language as u64);
    let (mut docs, mut questions) = (Vec::new(), Vec::new());
    for (number, (title, question, statement)) in words.essays.iter().enumerate() {
        let id = format!("essays/{}", slug(title));
        // Half of the titles do not have words of the question.
        let other_title = prose(code, &mut rng, 1);
        let title = if number % 2 == 0 { title } else { other_title.trim_end_matches('.') };
        docs.push(essay(id.clone(), title, statement, code, &mut rng));
        let asked: Vec<&str> = question.split(' ').collect();
        let half = asked.len() / 2;
        for at in 0..CHATS {
            // The first half, the second half, and what is between them.
            let phrase = match at {
                0 => &asked[..half + 1],
                1 => &asked[half - 1..],
                _ => &asked[half - 2..half + 2],
            };
            let id = format!("chats/{}-{at}", letters(number));
            docs.push(chat(id, &phrase.join(" "), 1 + at, language, &mut rng));
        }
        for form in words.forms {
            questions.push((form.replace('Q', question), vec![id.clone()]));
        }
    }
    Set::new(&format!("essays-beside-chats-{code}"), docs, &questions)
}

/// Asks for remembered lines of chats; essays have their words apart.
fn chats(language: usize) -> Set {
    let words = &WORDS[language];
    let code = LANGUAGES[language];
    let mut rng = Rng(20_261_350 + language as u64);
    let (mut docs, mut questions) = (Vec::new(), Vec::new());
    for (number, line) in words.lines.iter().enumerate() {
        let id = format!("chats/{}", letters(number));
        docs.push(chat(id.clone(), line, 1, language, &mut rng));
        for at in 0..2 {
            let mut spread: Vec<&str> = line.split(' ').collect();
            spread.reverse();
            let sentences = spread.iter().map(|word| {
                let sentence = prose(code, &mut rng, 1);
                format!("{word}: {sentence} ")
            });
            let text = sentences.collect::<String>();
            let title = prose(code, &mut rng, 1);
            let id = format!("essays/{}-{at}", letters(number));
            docs.push(page(id, title.trim_end_matches('.'), text, ""));
        }
        // The whole line, and pieces of it.
        let words: Vec<&str> = line.split(' ').collect();
        let middle = words.len() / 2;
        for piece in
            [&words[..], &words[1..], &words[..words.len() - 1], &words[middle - 2..middle + 2]]
        {
            questions.push((piece.join(" "), vec![id.clone()]));
        }
        if code == "en" {
            questions.push((format!("who said {line}"), vec![id.clone()]));
            questions.push((format!("the chat with {line}"), vec![id]));
        }
    }
    Set::new(&format!("chats-beside-essays-{code}"), docs, &questions)
}
