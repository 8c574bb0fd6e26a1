//! Questions with `not` or `without` that exclude nothing: titles, phrases, and sentences about
//! what did not work. Other notes have the words without the negation.

use super::prose::{page, prose};
use crate::films::Rng;
use crate::set::Set;

struct Language {
    code: &'static str,
    /// Titles and phrases.
    phrases: &'static [&'static str],
    /// Questions about a phrase, which replaces `P`.
    forms: &'static [&'static str],
    /// What a note says, and a question about it.
    sentences: &'static [(&'static str, &'static str)],
    /// Words that other notes have alone.
    alone: &'static str,
}

const LANGUAGES: [Language; 4] = [
    Language {
        code: "en",
        phrases: &[
            "Life without principle",
            "Not invented here",
            "A room without a view",
            "No country for old gardeners",
            "To mend or not to mend",
            "Nothing but the tide",
            "Games without frontiers",
            "Bread without kneading",
            "Worse is not better",
            "Do not disturb the bees",
            "Small but not alone",
            "Doctors without pagers",
            "Not only money",
            "Maps without north",
            "If not now",
            "Speed, not haste",
        ],
        forms: &["P", "P essay", "notes on P", "where did I read \"P\"", "who said P?"],
        sentences: &[
            ("The pump does not start when it is cold.", "why does the pump not start"),
            ("We could not open the old safe.", "safe we could not open"),
            ("The scanner prints without colour since May.", "scanner without colour"),
            ("The visa is not valid for transit.", "visa not valid"),
            ("Flights without luggage are half the price.", "flights without luggage price"),
            ("The boiler is not under warranty any more.", "boiler not under warranty"),
            ("The lease ends without notice in June.", "lease ends without notice"),
            ("Mushrooms should not be washed.", "should mushrooms not be washed?"),
        ],
        alone: "principle|invented|view|gardeners|mend|tide|frontiers|kneading|better|bees|alone|\
            pagers|money|north|now|haste|pump|safe|colour|valid|luggage|warranty|notice|mushrooms",
    },
    Language {
        code: "de",
        phrases: &[
            "Leben ohne Grundsatz",
            "Nicht hier erfunden",
            "Zimmer ohne Aussicht",
            "Kein Land für alte Gärtner",
            "Brot ohne Kneten",
            "Schneller ist nicht besser",
            "Klein, aber nicht allein",
            "Karten ohne Norden",
            "Wenn nicht jetzt",
            "Eile, nicht Hast",
        ],
        forms: &["P", "Aufsatz P", "Notizen zu P", "wo steht P?"],
        sentences: &[
            ("Die Pumpe springt bei Kälte nicht an.", "warum springt die Pumpe nicht an"),
            ("Den alten Tresor konnten wir nicht öffnen.", "Tresor nicht öffnen"),
            ("Der Scanner druckt seit Mai ohne Farbe.", "Scanner ohne Farbe"),
            ("Das Visum ist nicht für den Transit gültig.", "Visum nicht gültig"),
            ("Flüge ohne Gepäck kosten die Hälfte.", "Flüge ohne Gepäck"),
        ],
        alone: "Grundsatz|erfunden|Aussicht|Gärtner|Kneten|besser|allein|Norden|jetzt|Hast|Pumpe|\
            Tresor|Farbe|gültig|Gepäck",
    },
    Language {
        code: "fr",
        phrases: &[
            "La vie sans principe",
            "Pas inventé ici",
            "Chambre sans vue",
            "Pas de pays pour les vieux jardiniers",
            "Pain sans pétrissage",
            "Plus vite n'est pas mieux",
            "Petit mais pas seul",
            "Cartes sans nord",
            "Médecins sans horaires",
            "Sans famille ni bateau",
        ],
        forms: &["P", "essai P", "notes sur P", "où ai-je lu « P » ?"],
        sentences: &[
            ("La pompe ne démarre pas à froid.", "pourquoi la pompe ne démarre pas"),
            ("Nous n'avons pas pu ouvrir le coffre.", "coffre pas ouvert"),
            ("Le scanner imprime sans couleur depuis mai.", "scanner sans couleur"),
            ("Le visa n'est pas valable en transit.", "visa pas valable"),
            ("Les vols sans bagage sont à moitié prix.", "vols sans bagage"),
        ],
        alone: "principe|inventé|vue|jardiniers|pétrissage|mieux|seul|nord|horaires|bateau|pompe|\
            coffre|couleur|valable|bagage",
    },
    Language {
        code: "es",
        phrases: &[
            "Vida sin principios",
            "No inventado aquí",
            "Habitación sin vistas",
            "No es país para viejos jardineros",
            "Pan sin amasado",
            "Más rápido no es mejor",
            "Pequeño pero no solo",
            "Mapas sin norte",
            "Médicos sin horario",
            "Prisa no, ritmo",
        ],
        forms: &["P", "ensayo P", "notas sobre P", "¿dónde leí «P»?"],
        sentences: &[
            ("La bomba no arranca en frío.", "por qué no arranca la bomba"),
            ("No pudimos abrir la caja fuerte.", "caja fuerte no abrir"),
            ("El escáner imprime sin color desde mayo.", "escáner sin color"),
            ("El visado no es válido en tránsito.", "visado no válido"),
            ("Los vuelos sin equipaje cuestan la mitad.", "vuelos sin equipaje"),
        ],
        alone: "principios|inventado|vistas|jardineros|amasado|mejor|solo|norte|horario|ritmo|\
            bomba|abrir|color|válido|equipaje",
    },
];

/// Returns a set for each language.
pub(crate) fn sets() -> Vec<Set> {
    LANGUAGES.iter().enumerate().map(|(number, language)| negation_set(number, language)).collect()
}

fn negation_set(number: usize, language: &Language) -> Set {
    let mut rng = Rng(20_261_250 + number as u64);
    let code = language.code;
    let (mut docs, mut questions) = (Vec::new(), Vec::new());
    let plain_title = |rng: &mut Rng| prose(code, rng, 1).trim_end_matches('.').to_owned();
    for (number, phrase) in language.phrases.iter().enumerate() {
        let id = format!("essays/{number}");
        // A phrase is the title, or stands in the text.
        let title = if number % 3 < 2 { (*phrase).to_owned() } else { plain_title(&mut rng) };
        let text = match number % 3 {
            0 => prose(code, &mut rng, 8),
            _ => format!("{} {phrase}. {}", prose(code, &mut rng, 4), prose(code, &mut rng, 4)),
        };
        docs.push(page(id.clone(), &title, text, ""));
        for (at, form) in language.forms.iter().enumerate() {
            let phrase =
                if (number + at) % 2 == 0 { phrase.to_lowercase() } else { (*phrase).into() };
            questions.push((form.replace('P', &phrase), vec![id.clone()]));
        }
    }
    for (number, (sentence, question)) in language.sentences.iter().enumerate() {
        let id = format!("repairs/{number}");
        let text = format!("{} {sentence} {}", prose(code, &mut rng, 3), prose(code, &mut rng, 4));
        docs.push(page(id.clone(), &plain_title(&mut rng), text, ""));
        questions.push(((*question).to_owned(), vec![id]));
    }
    // Other notes have the words alone, or the beginnings of the phrases.
    for (number, word) in language.alone.split('|').enumerate() {
        let text = format!("{} {word}. {}", prose(code, &mut rng, 4), prose(code, &mut rng, 3));
        docs.push(page(format!("words/{number}"), &plain_title(&mut rng), text, ""));
    }
    for (number, phrase) in language.phrases.iter().enumerate() {
        let first = phrase.split([' ', ',']).next().unwrap_or_default();
        let text =
            format!("{} {first} {first}. {}", prose(code, &mut rng, 3), prose(code, &mut rng, 3));
        docs.push(page(format!("starts/{number}"), &plain_title(&mut rng), text, ""));
    }
    Set::new(&format!("negation-in-title-{code}"), docs, &questions)
}
