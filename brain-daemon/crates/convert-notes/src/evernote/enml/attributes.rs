//! Attributes of an element of ENML, and the properties in its `style`.

use quick_xml::events::BytesStart;

use super::super::entities;

/// The attributes of an element.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    values: Vec<(String, String)>,
    /// The properties of `style`.
    styles: Vec<(String, String)>,
    unknown: Vec<String>,
}

impl Attributes {
    /// Reads the attributes of a tag.
    ///
    /// # Errors
    /// The reason why they are not XML.
    pub(super) fn of(tag: &BytesStart<'_>) -> Result<Self, String> {
        let mut found = Self::default();
        // Programs other than Evernote write attributes as in HTML.
        let mut attributes = tag.html_attributes();
        for attribute in attributes.with_checks(false) {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let (value, unknown) = entities::resolve_all(&attribute.value);
            found.unknown.extend(unknown);
            found.values.push((attribute.key.as_ref().to_owned(), value));
        }
        let rules = found.get("style").split(';').filter_map(|rule| rule.split_once(':'));
        let rules = rules.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        found.styles = rules.collect();
        Ok(found)
    }

    /// Returns the value of an attribute; empty if there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        value(&self.values, name)
    }

    /// Returns the value of a property of the style; empty if there is none. Evernote writes its
    /// own properties with one or two dashes before them.
    pub(super) fn style(&self, name: &str) -> &str {
        match value(&self.styles, name) {
            "" => value(&self.styles, &format!("-{name}")),
            value => value,
        }
    }

    /// Returns whether a property of the style is `true`.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.style(name) == "true"
    }

    /// Returns whether the element is hidden.
    pub(super) fn is_hidden(&self) -> bool {
        let hidden = self.values.iter().find(|(key, _)| key == "hidden");
        brain_page::is_hidden_html(hidden.map(|(_, value)| value.as_str()), self.get("style"))
    }

    /// Returns the elements of HTML that say the same as the style.
    pub(super) fn formats(&self) -> Vec<&'static str> {
        let mut formats = Vec::new();
        if matches!(self.style("font-weight"), "bold" | "bolder" | "600" | "700" | "800" | "900") {
            formats.push("b");
        }
        if self.style("font-style") == "italic" {
            formats.push("i");
        }
        let lines = ["text-decoration", "text-decoration-line"];
        if lines.iter().any(|name| self.style(name).contains("line-through")) {
            formats.push("s");
        }
        formats
    }

    /// Returns whether Evernote shows the text as marked.
    pub(super) fn is_highlighted(&self) -> bool {
        !self.style("--en-highlight").is_empty() || self.is_on("-evernote-highlight")
    }

    /// Returns the unknown names of references.
    pub(super) fn unknown(&self) -> &[String] {
        &self.unknown
    }
}

fn value<'a>(list: &'a [(String, String)], name: &str) -> &'a str {
    list.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
}
