//! The frontmatter as a form: title, type, tags and aliases beside the text of a page.
//!
//! A field that the owner changed replaces its key in the text. Unchanged fields leave the text as
//! it is, so the owner can edit both the text and the form.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use brain_page::{Document, EditError, Frontmatter, set_frontmatter};
use brain_protocol::Slug;
use maud::{Markup, html};
use serde::Serialize;

use crate::extract::FormPost;

/// Values of the form, each in one line.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FormFields {
    title: String,
    #[serde(rename = "type")]
    page_type: String,
    /// Separated by commas.
    tags: String,
    /// Separated by semicolons, because names can have commas.
    aliases: String,
}

impl FormFields {
    /// Returns the values in a text; `None` if its frontmatter cannot be read.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let frontmatter = Document::parse(text).ok()?.frontmatter;
        Some(Self {
            title: frontmatter.title().unwrap_or_default(),
            page_type: frontmatter.page_type().unwrap_or_default(),
            tags: frontmatter.tags().join(", "),
            aliases: frontmatter.aliases().join("; "),
        })
    }

    /// Reads the fields of a form whose names begin with `prefix`. `None` if they are absent.
    fn read(form_post: &FormPost, prefix: &str) -> Option<Self> {
        let field = |name: &str| form_post.optional_field(&format!("{prefix}{name}"));
        let text = |name: &str| field(name).map(|value| value.trim().to_owned());
        Some(Self {
            title: text("title")?,
            page_type: text("type")?,
            tags: text("tags")?,
            aliases: text("aliases")?,
        })
    }

    fn entries(&self) -> [(&'static str, &str); 4] {
        [
            ("title", &self.title),
            ("type", &self.page_type),
            ("tags", &self.tags),
            ("aliases", &self.aliases),
        ]
    }
}

/// Returns the text of a form with the fields that changed since it was shown.
///
/// # Errors
/// A message if a field changed, and it cannot be set or the frontmatter cannot be read.
pub(crate) fn merged_text(form_post: &FormPost) -> Result<String, String> {
    let text = form_post.field("text").replace("\r\n", "\n");
    let (Some(fields), Some(former)) =
        (FormFields::read(form_post, "field-"), FormFields::read(form_post, "shown-"))
    else {
        return Ok(text);
    };
    merge(text, &former, &fields)
}

fn merge(text: String, former: &FormFields, fields: &FormFields) -> Result<String, String> {
    if former == fields {
        return Ok(text);
    }
    let mut document = Document::parse(&text)
        .map_err(|error| format!("line {} of the frontmatter: {}", error.line, error.message))?;
    for ((key, new), (_, old)) in fields.entries().into_iter().zip(former.entries()) {
        if new != old {
            set(&mut document.frontmatter, key, new)
                .map_err(|_| format!("{key} has an unusual form; change it in the text"))?;
        }
    }
    Ok(document.render())
}

fn set(frontmatter: &mut Frontmatter, key: &str, value: &str) -> Result<(), EditError> {
    let (separator, singular) = match key {
        "tags" => (',', "tag"),
        "aliases" => (';', "alias"),
        // A title or type in brackets is a text, not a list.
        _ if value.starts_with('[') && frontmatter.is_plain(key) => {
            frontmatter.set(key, value);
            return Ok(());
        }
        _ => return set_frontmatter(frontmatter, key, value),
    };
    for key in [key, singular] {
        if !frontmatter.is_plain(key) {
            return Err(EditError::NotScalar(key.to_owned()));
        }
    }
    let values = value.split(separator).map(|it| it.trim().trim_start_matches('#').to_owned());
    let values: Vec<String> = values.filter(|it| !it.is_empty()).collect();
    frontmatter.remove(singular);
    if values.is_empty() {
        frontmatter.remove(key);
    } else {
        frontmatter.set_list(key, &values);
    }
    Ok(())
}

/// The reply that `assets/fields.js` shows after a change of a field or the text.
#[derive(Serialize)]
struct ApplyReply {
    text: String,
    /// `None` while the frontmatter cannot be read.
    fields: Option<FormFields>,
    /// A slug for a new page, made from its title.
    slug: Option<String>,
    /// Why the fields are not applied.
    problem: Option<String>,
}

/// `POST /web/fields`: the text with the changed fields, and the fields of the text.
pub(crate) async fn apply(form_post: FormPost) -> Response {
    let (text, problem) = match merged_text(&form_post) {
        Ok(text) => (text, None),
        Err(problem) => (form_post.field("text").replace("\r\n", "\n"), Some(problem)),
    };
    let fields = FormFields::of(&text);
    let slug = Document::parse(&text).ok().and_then(|document| suggested_slug(&document));
    Json(ApplyReply { text, fields, slug, problem }).into_response()
}

/// Returns a slug made from the title of a text, or else from its top heading.
fn suggested_slug(document: &Document) -> Option<String> {
    let title = document.frontmatter.title().or_else(|| brain_page::top_heading(&document.body))?;
    let name = title.replace(['/', '\\', '.'], " ");
    let name = name.split_whitespace().collect::<Vec<_>>().join("-");
    Slug::from_path(&name).ok().map(|slug| slug.to_string())
}

/// Shows the form; nothing if the frontmatter cannot be read. Hidden fields send the values that it
/// showed.
pub(crate) fn form(text: &str) -> Markup {
    let Some(fields) = FormFields::of(text) else { return html! {} };
    let labels = ["Title", "Type", "Tags, separated by commas", "Other names, separated by ;"];
    html! {
        details id="fields" class="fields" open[fields != FormFields::default()] {
            summary { "Title, type, tags, other names" }
            div class="grid" {
                @for ((key, value), label) in fields.entries().into_iter().zip(labels) {
                    // The values are sent back: they are escaped, but not otherwise changed.
                    div {
                        label for={ "field-" (key) } { (label) }
                        input id={ "field-" (key) } name={ "field-" (key) } value=(value)
                            autocomplete="off" dir="auto"
                            spellcheck=[(key == "tags").then_some("false")];
                        input type="hidden" name={ "shown-" (key) } value=(value);
                    }
                }
            }
            p id="fields-problem" class="facts" role="status" {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn fields(title: &str, tags: &str, aliases: &str) -> FormFields {
        let (title, tags, aliases) = (title.to_owned(), tags.to_owned(), aliases.to_owned());
        FormFields { title, tags, aliases, page_type: String::new() }
    }

    #[test]
    fn changed_fields_replace_their_keys_alone() {
        let text = "---\n# a comment\ntitle: A\ntag: one\nother: 1\n---\n\nBody\n";
        let shown = FormFields::of(text).unwrap();
        assert_eq!(shown, fields("A", "one", ""));
        assert_eq!(merge(text.into(), &shown, &shown).unwrap(), text, "nothing changed");
        let changed = fields("B: c", "one, #two", "Bee; B, the second");
        let merged = merge(text.into(), &shown, &changed).unwrap();
        assert_eq!(
            FormFields::of(&merged).unwrap(),
            fields("B: c", "one, two", "Bee; B, the second")
        );
        assert!(merged.contains("# a comment") && merged.contains("other: 1"), "{merged}");
        assert!(!merged.contains("tag: one") && merged.ends_with("\n\nBody\n"), "{merged}");
        // The text was edited meanwhile: only the changed field is replaced.
        let text = "---\ntitle: C\n---\nBody\n";
        let merged = merge(text.into(), &shown, &fields("A", "three", "")).unwrap();
        assert_eq!(FormFields::of(&merged).unwrap(), fields("C", "three", ""));
        let emptied = merge(merged, &fields("C", "three", ""), &fields("", "", "")).unwrap();
        assert_eq!(emptied, "Body\n");
    }

    #[test]
    fn changes_of_unusual_frontmatter_are_refused() {
        let text = "---\ntags: [a, {b: c}]\n---\nBody\n";
        let shown = FormFields::of(text).unwrap();
        let changed = FormFields { tags: "x".into(), ..shown.clone() };
        assert!(merge(text.into(), &shown, &changed).unwrap_err().contains("tags"));
        let broken = "---\ntitle: [\n---\nBody\n";
        assert_eq!(FormFields::of(broken), None);
        assert!(merge(broken.into(), &shown, &changed).unwrap_err().contains("line"));
        let list = merge("Body\n".into(), &FormFields::default(), &fields("[x]", "", "")).unwrap();
        assert_eq!(FormFields::of(&list).unwrap().title, "[x]");
    }

    #[test]
    fn a_slug_is_made_from_the_title() {
        let slug = |text: &str| suggested_slug(&Document::parse(text).unwrap());
        assert_eq!(
            slug("---\ntitle: Ada Lovelace / 1.0\n---\n").as_deref(),
            Some("ada-lovelace-1-0")
        );
        assert_eq!(slug("# Ein Ärger\n").as_deref(), Some("ein-ärger"));
        assert_eq!(slug("text\n"), None);
    }
}
