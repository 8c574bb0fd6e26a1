//! Quoted pieces inside questions. The piece stands in another page than the answer, so it must not
//! be a condition.

use super::prose::{LANGUAGES, page, prose};
use super::versions::letters;
use crate::films::Rng;
use crate::set::Set;

struct Language {
    /// Questions with a quoted piece, and the sentence of the page that answers.
    questions: &'static [(&'static str, &'static str)],
    /// Questions around `Q`, a question without its question mark.
    forms: &'static [&'static str],
}

const WORDS: [Language; 4] = [
    Language {
        questions: &[
            (
                "why did the old baker call the oven \"the beast\"",
                "The baker's oven got its nickname, as the old baker told, after it burned a beard.",
            ),
            (
                "which valve closes when the display says \"low pressure\"",
                "The display of the boiler warns, then the red valve closes by itself.",
            ),
            (
                "how long does the \"slow train\" to the coast take",
                "To the coast, the train without a dining car takes seven hours.",
            ),
            (
                "who painted the ceiling that visitors call \"blue heaven\"",
                "Visitors look up: Matilda Orr painted the ceiling in three winters.",
            ),
            (
                "what do beekeepers mean by \"quiet hive\" in spring",
                "Beekeepers listen in spring; a hive without sound has lost its queen.",
            ),
            (
                "is \"plain flour\" enough for the dumplings of my aunt",
                "For dumplings, my aunt takes semolina and never flour alone.",
            ),
            (
                "where did the ferry captain see the \"green flash\" at sunset",
                "The ferry captain saw it at sunset, west of the two islands.",
            ),
            (
                "how does the choir learn \"silent night\" without sheet music",
                "Without sheet music, the choir learns by ear, voice after voice.",
            ),
            (
                "when is the \"open day\" of the observatory on the hill",
                "The observatory on the hill lets everybody in on the first Sunday of May.",
            ),
            (
                "what did the surveyor write about \"soft ground\" behind the school",
                "Behind the school, the surveyor found peat and wrote that nothing can be built.",
            ),
            (
                "which dictionary explains \"false friends\" for sailors",
                "For sailors there is a dictionary with the words that mislead, by Ahlers.",
            ),
            (
                "how often should the \"night shift\" of the bakery pause",
                "The bakery pauses every two hours at night, says the contract.",
            ),
            (
                "what costs the \"annual pass\" of the botanical garden",
                "The botanical garden costs sixty for the whole year, for families ninety.",
            ),
            (
                "which glue holds the \"broken spine\" of an atlas",
                "An atlas that lost its back holds with wheat paste, no other glue.",
            ),
            (
                "why is the \"north gate\" of the cemetery locked",
                "The cemetery locks that gate because of foxes, since autumn.",
            ),
            (
                "who repairs the \"speaking clock\" in the tower",
                "Only one watchmaker in the county repairs the clock of the tower: Jonah Pike.",
            ),
        ],
        forms: &["Q?", "Q", "do you know: Q", "note: Q", "I forgot Q"],
    },
    Language {
        questions: &[
            (
                "warum nannte der Bäcker den Ofen „das Biest“",
                "Der Ofen des Bäckers bekam den Namen, nachdem er einen Bart verbrannt hatte.",
            ),
            (
                "welches Ventil schließt, wenn „Druck niedrig“ erscheint",
                "Der Kessel warnt, dann schließt das rote Ventil von selbst.",
            ),
            (
                "wie lange fährt der „Bummelzug“ an die Küste",
                "An die Küste braucht der Zug ohne Speisewagen sieben Stunden.",
            ),
            (
                "wer malte die Decke, die Besucher „blauer Himmel“ nennen",
                "Besucher schauen hinauf: Mathilde Orr malte die Decke in drei Wintern.",
            ),
            (
                "reicht „glattes Mehl“ für die Knödel der Tante",
                "Für Knödel nimmt die Tante Grieß, nie Mehl allein.",
            ),
            (
                "wo sah der Kapitän den „grünen Blitz“ bei Sonnenuntergang",
                "Der Kapitän sah es bei Sonnenuntergang westlich der zwei Inseln.",
            ),
            (
                "wann ist der „offene Tag“ der Sternwarte auf dem Hügel",
                "Die Sternwarte auf dem Hügel lässt am ersten Sonntag im Mai alle hinein.",
            ),
            (
                "welcher Kleber hält den „Rücken“ eines Atlas",
                "Ein Atlas hält mit Weizenkleister, kein anderer Kleber taugt.",
            ),
            (
                "wer repariert die „sprechende Uhr“ im Turm",
                "Nur ein Uhrmacher im Kreis repariert die Uhr im Turm: Jonas Hecht.",
            ),
            (
                "was kostet die „Jahreskarte“ des botanischen Gartens",
                "Der botanische Garten kostet sechzig für alle Monate, Familien neunzig.",
            ),
        ],
        forms: &["Q?", "Q", "Frage: Q", "ich weiß nicht mehr, Q"],
    },
    Language {
        questions: &[
            (
                "pourquoi le boulanger appelait le four « la bête »",
                "Le four du boulanger reçut ce nom après avoir brûlé une barbe.",
            ),
            (
                "quelle vanne se ferme quand il y a « pression basse »",
                "La chaudière prévient, puis la vanne rouge se ferme seule.",
            ),
            (
                "combien de temps met le « train lent » vers la côte",
                "Vers la côte, le train sans restaurant met sept heures.",
            ),
            (
                "qui a peint le plafond dit « ciel bleu »",
                "On lève la tête : Mathilde Orr a peint le plafond en trois hivers.",
            ),
            (
                "la « farine blanche » suffit pour les quenelles de ma tante",
                "Pour les quenelles, ma tante prend de la semoule.",
            ),
            (
                "où le capitaine a vu le « rayon vert » au couchant",
                "Le capitaine l'a vu au couchant, à l'ouest des deux îles.",
            ),
            (
                "quand ont lieu les « portes ouvertes » de l'observatoire sur la colline",
                "L'observatoire sur la colline accueille tout le monde le premier dimanche de mai.",
            ),
            (
                "quelle colle tient le « dos cassé » d'un atlas",
                "Un atlas tient avec de l'amidon, aucune autre colle.",
            ),
            (
                "qui répare « l'horloge parlante » de la tour",
                "Un seul artisan du canton répare celle de la tour : Jonas Brochet.",
            ),
            (
                "combien coûte le « pass annuel » du jardin botanique",
                "Le jardin botanique coûte soixante pour douze mois.",
            ),
        ],
        forms: &["Q ?", "Q", "question : Q", "j'ai oublié Q"],
    },
    Language {
        questions: &[
            (
                "por qué el panadero llamaba al horno «la bestia»",
                "El horno del panadero recibió el nombre tras quemar una barba.",
            ),
            (
                "qué válvula se cierra cuando dice «presión baja»",
                "La caldera avisa, luego la válvula roja se cierra sola.",
            ),
            (
                "cuánto tarda el «tren lento» a la costa",
                "A la costa, el tren sin comedor tarda siete horas.",
            ),
            (
                "quién pintó el techo que llaman «cielo azul»",
                "Se mira arriba: Matilde Orr pintó el techo en tres inviernos.",
            ),
            (
                "basta la «harina blanca» para las albóndigas de mi tía",
                "Para las albóndigas, mi tía usa sémola.",
            ),
            (
                "dónde vio el capitán el «rayo verde» al atardecer",
                "El capitán lo vio al atardecer, al oeste de las dos islas.",
            ),
            (
                "cuándo es el «día abierto» del observatorio de la colina",
                "El observatorio de la colina recibe a todos el primer domingo de mayo.",
            ),
            (
                "qué pegamento sujeta el «lomo roto» de un atlas",
                "Un atlas se sujeta con engrudo, ningún otro pegamento.",
            ),
            (
                "quién repara el «reloj parlante» de la torre",
                "Un solo relojero de la comarca repara el de la torre: Jonás Lucio.",
            ),
            (
                "cuánto cuesta el «pase anual» del jardín botánico",
                "El jardín botánico cuesta sesenta por doce meses.",
            ),
        ],
        forms: &["¿Q?", "Q", "pregunta: Q", "olvidé Q"],
    },
];

/// Returns a set for each language.
pub(crate) fn sets() -> Vec<Set> {
    (0..LANGUAGES.len()).map(quoted_set).collect()
}

/// Returns the quoted piece of a question.
fn piece(question: &str) -> &str {
    let start = question.find(['"', '„', '«']).unwrap_or_default();
    let rest = question[start..].trim_start_matches(['"', '„', '«']);
    let end = rest.find(['"', '“', '»']).unwrap_or(rest.len());
    rest[..end].trim()
}

fn quoted_set(language: usize) -> Set {
    let words = &WORDS[language];
    let code = LANGUAGES[language];
    let mut rng = Rng(20_261_330 + language as u64);
    let (mut docs, mut questions) = (Vec::new(), Vec::new());
    for (number, (question, answer)) in words.questions.iter().enumerate() {
        let id = format!("facts/{}", letters(number));
        let text = format!("{} {answer} {}", prose(code, &mut rng, 4), prose(code, &mut rng, 4));
        let title = prose(code, &mut rng, 1);
        docs.push(page(id.clone(), title.trim_end_matches('.'), text, ""));
        // The piece in two other pages, once quoted.
        let piece = piece(question);
        for (at, sentence) in
            [format!("\"{piece}\" again."), format!("A song: {piece}, {piece}.")].iter().enumerate()
        {
            let text =
                format!("{} {sentence} {}", prose(code, &mut rng, 3), prose(code, &mut rng, 4));
            let id = format!("songs/{}-{at}", letters(number));
            let title = prose(code, &mut rng, 1);
            docs.push(page(id, title.trim_end_matches('.'), text, ""));
        }
        // The piece alone asks for the pages that have it.
        let songs: Vec<String> =
            (0..2).map(|at| format!("songs/{}-{at}", letters(number))).collect();
        questions.push((format!("\"{piece}\""), songs));
        for form in words.forms {
            questions.push((form.replace('Q', question), vec![id.clone()]));
        }
    }
    Set::new(&format!("quoted-piece-{code}"), docs, &questions)
}
