//! Amounts, addresses, phone and order numbers, asked in another notation than the page has. Other
//! pages have the same digits in another order.

use super::prose::{LANGUAGES, page, prose};
use super::versions::{letters, same_digits};
use crate::films::Rng;
use crate::set::{Question, Set};

/// A value of a page, and notations in which people ask for it.
struct Value {
    kind: usize,
    /// As the page has it.
    written: String,
    asked: Vec<String>,
}

/// Kinds of values.
const AMOUNT: usize = 0;
const ADDRESS: usize = 1;
const ISBN: usize = 2;
const PHONE: usize = 3;
const ORDER: usize = 4;
const KINDS: usize = 5;

/// Sentences of pages with a value `V`: one for each kind, of each language.
const SENTENCES: [[&str; KINDS]; 4] = [
    [
        "The roof cost V in the end.",
        "The printer has the address V.",
        "The book is ISBN V.",
        "The plumber answers at V.",
        "They confirmed the order V.",
    ],
    [
        "Das Dach hat am Ende V gekostet.",
        "Der Drucker hat die Adresse V.",
        "Das Buch hat die ISBN V.",
        "Der Klempner ist unter V erreichbar.",
        "Die Bestellung V wurde bestätigt.",
    ],
    [
        "Le toit a coûté V au final.",
        "L'imprimante a l'adresse V.",
        "Le livre a l'ISBN V.",
        "Le plombier répond au V.",
        "La commande V est confirmée.",
    ],
    [
        "El tejado costó V al final.",
        "La impresora tiene la dirección V.",
        "El libro tiene el ISBN V.",
        "El fontanero contesta en el V.",
        "Confirmaron el pedido V.",
    ],
];

/// Questions with words, of each language and kind.
const QUESTIONS: [[&[&str]; KINDS]; 4] = [
    [
        &["what cost V", "V for the roof"],
        &["printer at V", "which machine is V"],
        &["isbn V", "book with ISBN V"],
        &["who called from V?", "phone V"],
        &["order V", "where is my order V"],
    ],
    [
        &["was hat V gekostet", "V für das Dach"],
        &["welches Gerät ist V?"],
        &["ISBN V"],
        &["wer hat die Nummer V", "Telefon V"],
        &["Bestellung V", "wo bleibt Bestellung V?"],
    ],
    [
        &["qu'est-ce qui a coûté V ?"],
        &["quelle machine est V", "adresse V"],
        &["ISBN V"],
        &["à qui est le numéro V ?"],
        &["commande V", "où en est la commande V"],
    ],
    [
        &["qué costó V"],
        &["qué aparato es V", "dirección V"],
        &["ISBN V"],
        &["¿de quién es el número V?"],
        &["pedido V", "dónde está el pedido V"],
    ],
];

/// Returns a set for each language.
pub(crate) fn sets() -> Vec<Set> {
    (0..LANGUAGES.len()).map(number_set).collect()
}

/// Returns a value of each kind for a number, in the notation of the language.
fn values(language: usize, digits: u32, rng: &mut Rng) -> Vec<Value> {
    let (high, low) = (digits / 1000, digits % 1000);
    let separator = [",", ".", "\u{202f}", "."][language];
    let amount = Value {
        kind: AMOUNT,
        written: format!("{high}{separator}{low:03}"),
        asked: vec![format!("{digits}"), format!("{high}{separator}{low:03}")],
    };
    let address = format!("10.{}.{}.{}", digits % 97, digits % 199, digits % 251);
    let isbn = [
        "978".to_owned(),
        (rng.below(9) + 1).to_string(),
        format!("{:04}", digits % 9973),
        format!("{:04}", digits * 7 % 9967),
        (digits % 10).to_string(),
    ];
    let phone = [
        format!("0{}", 30 + digits % 60),
        format!("{:03}", digits % 899 + 100),
        format!("{:04}", digits * 3 % 8999 + 1000),
    ];
    let order = format!("{:07}", digits * 13 % 9_999_991);
    vec![
        amount,
        Value { kind: ADDRESS, written: address.clone(), asked: vec![address] },
        Value {
            kind: ISBN,
            written: isbn.join("-"),
            asked: vec![isbn.concat(), isbn.join("-"), isbn.join(" ")],
        },
        Value {
            kind: PHONE,
            written: phone.join(" "),
            asked: vec![phone.concat(), phone.join("-"), phone.join("/")],
        },
        Value {
            kind: ORDER,
            written: format!("#A-{order}"),
            asked: vec![order.clone(), format!("A-{order}"), format!("A{order}")],
        },
    ]
}

fn number_set(language: usize) -> Set {
    let mut rng = Rng(20_261_230 + language as u64);
    let code = LANGUAGES[language];
    let mut docs = Vec::new();
    let mut pages: Vec<(Value, String)> = Vec::new();
    let add = |value: Value, docs: &mut Vec<_>, pages: &mut Vec<_>, rng: &mut Rng| {
        let id = format!("notes/{}", letters(docs.len()));
        let sentence = SENTENCES[language][value.kind].replace('V', &value.written);
        let text = format!("{} {sentence} {}", prose(code, rng, 4), prose(code, rng, 4));
        let title = prose(code, rng, 1);
        docs.push(page(id.clone(), title.trim_end_matches('.'), text, ""));
        pages.push((value, id));
    };
    for number in 0..16_u32 {
        let digits = 12_345 + number * 1_709 + number % 3;
        for value in values(language, digits, &mut rng) {
            // The same value with two digits exchanged.
            let exchanged = exchange(&value.written);
            let near = Value { kind: value.kind, written: exchanged, asked: Vec::new() };
            add(value, &mut docs, &mut pages, &mut rng);
            add(near, &mut docs, &mut pages, &mut rng);
        }
    }
    let mut questions = Vec::new();
    for (number, (value, _)) in pages.iter().enumerate().filter(|(_, (v, _))| !v.asked.is_empty()) {
        let asked = &value.asked[number / 10 % value.asked.len()];
        let digits = |text: &str| text.replace(|c: char| !c.is_ascii_digit(), "");
        let is_same = |other: &Value| {
            other.kind == value.kind && digits(&other.written) == digits(&value.written)
        };
        let ids = |is_selected: &dyn Fn(&Value) -> bool| -> Vec<String> {
            pages.iter().filter(|(v, _)| is_selected(v)).map(|(_, id)| id.clone()).collect()
        };
        let wanted = ids(&is_same);
        let unwanted = ids(&|other| !is_same(other) && same_digits(&other.written, &value.written));
        let forms = QUESTIONS[language][value.kind];
        let form = forms[number / 10 % forms.len()];
        // With words, other pages with these words may be among the hits.
        let with_words = form.replace('V', asked);
        questions.push(Question { text: with_words, wanted: wanted.clone(), unwanted: Vec::new() });
        questions.push(Question { text: asked.clone(), wanted, unwanted });
    }
    Set::with_unwanted(&format!("numbers-{code}"), docs, questions)
}

/// Exchanges the last two neighbouring digits that differ.
fn exchange(text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let differs = |at: &usize| {
        let (a, b) = (letters[*at], letters[*at + 1]);
        a.is_ascii_digit() && b.is_ascii_digit() && a != b
    };
    let at = (0..letters.len() - 1).rev().find(differs);
    if let Some(at) = at {
        letters.swap(at, at + 1);
    }
    letters.into_iter().collect()
}
