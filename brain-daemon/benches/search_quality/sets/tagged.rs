//! Tags in words: `notes tagged evergreen`. Tags are in the frontmatter or in the text (`#tag`);
//! other pages have the tag's word in their prose.

use super::prose::{LANGUAGES, page, parts, prose};
use super::versions::letters;
use crate::films::Rng;
use crate::set::Set;

struct Language {
    /// Tags, which are also words.
    tags: &'static str,
    /// Sentences in which a tag `T` is a word.
    sentences: [&'static str; 3],
    /// Questions about the pages with a tag.
    forms: &'static [&'static str],
}

const WORDS: [Language; 4] = [
    Language {
        tags: "evergreen|draft|family|recipe|reading-list|to-sort|garden|idea|finance|health|\
            project/alpha|travel",
        sentences: [
            "Somebody said T, and T again.",
            "The word T is on the sign.",
            "T, said the old man: T.",
        ],
        forms: &[
            "notes tagged T",
            "everything with the tag T",
            "pages tagged #T",
            "tagged with T",
            "what is tagged T?",
            "show all notes with tag T",
            "which pages have the tag T",
            "all T-tagged pages",
        ],
    },
    Language {
        tags: "immergrün|entwurf|familie|rezept|leseliste|garten|idee|finanzen|gesundheit|reise",
        sentences: ["Jemand sagte T, und wieder T.", "Auf dem Schild steht T.", "T, rief er: T."],
        forms: &[
            "Notizen mit dem Tag T",
            "alles mit Tag T",
            "Seiten mit dem Schlagwort T",
            "mit T getaggte Notizen",
            "was ist mit T getaggt?",
            "welche Seiten haben den Tag #T",
        ],
    },
    Language {
        tags: "permanent|brouillon|famille|recette|lecture|jardin|idée|finances|santé|voyage",
        sentences: [
            "Quelqu'un a dit T, encore T.",
            "Il y a T sur le panneau.",
            "T, disait-il : T.",
        ],
        forms: &[
            "notes avec le tag T",
            "tout ce qui a l'étiquette T",
            "pages étiquetées T",
            "notes taguées T",
            "quelles pages ont le tag #T ?",
        ],
    },
    Language {
        tags: "permanente|borrador|familia|receta|lectura|huerto|idea|finanzas|salud|viaje",
        sentences: ["Alguien dijo T, y otra vez T.", "En el cartel pone T.", "T, decía: T."],
        forms: &[
            "notas con la etiqueta T",
            "todo lo que tiene la etiqueta T",
            "páginas etiquetadas como T",
            "notas etiquetadas T",
            "¿qué páginas tienen el tag #T?",
        ],
    },
];

/// Returns a set for each language.
pub(crate) fn sets() -> Vec<Set> {
    (0..LANGUAGES.len()).map(tag_set).collect()
}

fn tag_set(language: usize) -> Set {
    let words = &WORDS[language];
    let code = LANGUAGES[language];
    let mut rng = Rng(20_261_310 + language as u64);
    let (mut docs, mut questions) = (Vec::new(), Vec::new());
    let tags = parts(words.tags);
    for (number, tag) in tags.iter().enumerate() {
        let other = tags[(number + 5) % tags.len()];
        let mut answers = Vec::new();
        for at in 0..4 {
            let id = format!("notes/{}-{}", letters(number), letters(at));
            let title = prose(code, &mut rng, 1);
            let body = prose(code, &mut rng, 6);
            let (head, text) = match at {
                0 => (format!("tags: [{tag}]\n"), body),
                1 => (format!("tags:\n  - inbox\n  - {tag}\n"), body),
                2 => (String::new(), format!("{body}\n\n#{tag}")),
                // Another tag, and this one as words.
                _ => {
                    let sentence = words.sentences[number % 3].replace('T', tag);
                    (format!("tags: [archive-{}]\n", letters(number)), format!("{body} {sentence}"))
                }
            };
            docs.push(page(id.clone(), title.trim_end_matches('.'), text, &head));
            if at < 3 {
                answers.push(id);
            }
        }
        // The word in a title, and beside a word of the questions.
        let text = format!("{} {other}. {}", prose(code, &mut rng, 5), prose(code, &mut rng, 2));
        docs.push(page(format!("titles/{}", letters(number)), &format!("{tag} 1"), text, ""));
        let asked = words.forms[number % words.forms.len()].replace('T', other);
        let text =
            format!("{} \"{asked}\". {}", prose(code, &mut rng, 3), prose(code, &mut rng, 4));
        let title = prose(code, &mut rng, 1);
        docs.push(page(format!("talk/{}", letters(number)), title.trim_end_matches('.'), text, ""));
        let rounds = if language == 0 { 7 } else { 4 };
        for round in 0..rounds {
            let form = words.forms[(number + round) % words.forms.len()];
            questions.push((form.replace('T', tag), answers.clone()));
        }
    }
    Set::new(&format!("tags-in-words-{code}"), docs, &questions)
}
