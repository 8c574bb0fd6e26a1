//! Tags in words: `notes tagged evergreen`. Tags are in the frontmatter or in the text (`#tag`);
//! other pages have the tag's word in their prose.

use super::prose::{LANGUAGES, page, parts, prose};
use super::versions::letters;
use crate::films::Rng;
use crate::set::Set;

struct Language {
    /// Tags, which are also words.
    tags: &'static str,
    /// Sentences in which a tag is a word.
    sentences: [&'static str; 3],
    /// Questions about the pages with a tag.
    forms: &'static [&'static str],
}

const WORDS: [Language; 4] = [
    Language {
        tags: "evergreen|draft|family|recipe|reading-list|to-sort|garden|idea|finance|health|\
            project/alpha|travel",
        sentences: [
            "Somebody said {tag}, and {tag} again.",
            "The word {tag} is on the sign.",
            "{tag}, said the old man: {tag}.",
        ],
        forms: &[
            "notes tagged {tag}",
            "everything with the tag {tag}",
            "pages tagged #{tag}",
            "tagged with {tag}",
            "what is tagged {tag}?",
            "show all notes with tag {tag}",
            "which pages have the tag {tag}",
            "all {tag}-tagged pages",
        ],
    },
    Language {
        tags: "immergrün|entwurf|familie|rezept|leseliste|garten|idee|finanzen|gesundheit|reise",
        sentences: [
            "Jemand sagte {tag}, und wieder {tag}.",
            "Auf dem Schild steht {tag}.",
            "{tag}, rief er: {tag}.",
        ],
        forms: &[
            "Notizen mit dem Tag {tag}",
            "alles mit Tag {tag}",
            "Seiten mit dem Schlagwort {tag}",
            "mit {tag} getaggte Notizen",
            "was ist mit {tag} getaggt?",
            "welche Seiten haben den Tag #{tag}",
        ],
    },
    Language {
        tags: "permanent|brouillon|famille|recette|lecture|jardin|idée|finances|santé|voyage",
        sentences: [
            "Quelqu'un a dit {tag}, encore {tag}.",
            "Il y a {tag} sur le panneau.",
            "{tag}, disait-il : {tag}.",
        ],
        forms: &[
            "notes avec le tag {tag}",
            "tout ce qui a l'étiquette {tag}",
            "pages étiquetées {tag}",
            "notes taguées {tag}",
            "quelles pages ont le tag #{tag} ?",
        ],
    },
    Language {
        tags: "permanente|borrador|familia|receta|lectura|huerto|idea|finanzas|salud|viaje",
        sentences: [
            "Alguien dijo {tag}, y otra vez {tag}.",
            "En el cartel pone {tag}.",
            "{tag}, decía: {tag}.",
        ],
        forms: &[
            "notas con la etiqueta {tag}",
            "todo lo que tiene la etiqueta {tag}",
            "páginas etiquetadas como {tag}",
            "notas etiquetadas {tag}",
            "¿qué páginas tienen el tag #{tag}?",
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
                    let sentence = words.sentences[number % 3].replace("{tag}", tag);
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
        let asked = words.forms[number % words.forms.len()].replace("{tag}", other);
        let text =
            format!("{} \"{asked}\". {}", prose(code, &mut rng, 3), prose(code, &mut rng, 4));
        let title = prose(code, &mut rng, 1);
        docs.push(page(format!("talk/{}", letters(number)), title.trim_end_matches('.'), text, ""));
        let rounds = if language == 0 { 7 } else { 4 };
        for round in 0..rounds {
            let form = words.forms[(number + round) % words.forms.len()];
            questions.push((form.replace("{tag}", tag), answers.clone()));
        }
    }
    Set::new(&format!("tags-in-words-{code}"), docs, &questions)
}
