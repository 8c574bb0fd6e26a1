//! Title, authors, keywords and times: from the Info dictionary, else from XMP.

use jiff::Timestamp;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};
use unpdf::parser::backend::PdfMetadataRaw;
use unpdf::parser::raw::{RawDocument, stream};

use super::values::time;

/// Titles that programs give to a document without one, in lower case.
const NO_TITLES: [&str; 8] = [
    "unknown",
    "untitled",
    "untitled document",
    "title",
    "document",
    "unknown title",
    "powerpoint presentation",
    "none",
];
/// Ends of names of files, which programs take for titles.
const FILE_ENDS: [&str; 13] = [
    ".doc", ".docx", ".dvi", ".eps", ".indd", ".odt", ".pdf", ".ppt", ".ps", ".qxd", ".rtf",
    ".tex", ".xls",
];
/// Authors that are none, in lower case.
const NO_AUTHORS: [&str; 8] =
    ["unknown", "author", "user", "admin", "administrator", "anonymous", "root", "(unspecified)"];
/// Maximum number of characters of a title.
const MAX_TITLE: usize = 300;
/// Maximum length of XMP that is read, in bytes. Some programs keep their history in it.
const MAX_XMP: usize = 4 << 20;

/// What the metadata of a document says.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) title: Option<String>,
    pub(super) authors: Vec<String>,
    pub(super) keywords: Vec<String>,
    pub(super) subject: String,
    pub(super) created: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
}

impl Metadata {
    /// Adds what is missing from the Info dictionary.
    pub(super) fn add_info(&mut self, info: &PdfMetadataRaw) {
        let value = |text: &Option<String>| text.clone().unwrap_or_default();
        self.add_title(&value(&info.title));
        if self.authors.is_empty() {
            value(&info.author).split(';').for_each(|it| self.add_author(it));
        }
        if self.keywords.is_empty() {
            self.add_keywords(&value(&info.keywords));
        }
        if self.subject.is_empty() {
            self.subject = brain_page::single_line(&value(&info.subject));
        }
        self.created = self.created.or_else(|| time(&value(&info.creation_date)));
        self.updated = self.updated.or_else(|| time(&value(&info.mod_date)));
    }

    /// Adds what is missing from XMP.
    pub(super) fn add_xmp(&mut self, document: &RawDocument) {
        let values = xmp(document);
        let has_authors = !self.authors.is_empty();
        let has_keywords = !self.keywords.is_empty();
        for (name, value) in &values {
            match name.as_str() {
                "title" => self.add_title(value),
                "creator" if !has_authors => self.add_author(value),
                "subject" | "Keywords" if !has_keywords => self.add_keywords(value),
                "CreateDate" => self.created = self.created.or_else(|| time(value)),
                "ModifyDate" => self.updated = self.updated.or_else(|| time(value)),
                _ => {}
            }
        }
    }

    fn add_title(&mut self, text: &str) {
        let line = brain_page::single_line(text);
        let lower = line.to_lowercase();
        let is_file = FILE_ENDS.iter().any(|end| lower.ends_with(end));
        // Word's printer driver writes the program and the file.
        let is_printed = lower.starts_with("microsoft ") && lower.contains(" - ");
        let is_none = NO_TITLES.contains(&lower.as_str())
            || !line.chars().any(char::is_alphanumeric)
            || line.contains(char::REPLACEMENT_CHARACTER);
        if self.title.is_none() && !is_file && !is_printed && !is_none {
            self.title = Some(line.chars().take(MAX_TITLE).collect());
        }
    }

    fn add_author(&mut self, text: &str) {
        let name = brain_page::single_line(text);
        let is_none = name.is_empty() || NO_AUTHORS.contains(&name.to_lowercase().as_str());
        if !is_none && !self.authors.contains(&name) {
            self.authors.push(name);
        }
    }

    fn add_keywords(&mut self, text: &str) {
        for word in text.split([',', ';', '\n']) {
            let word = brain_page::single_line(word);
            if !word.is_empty() && !self.keywords.contains(&word) {
                self.keywords.push(word);
            }
        }
    }
}

/// Returns the names and values of XMP, in order. An item of a list has the name of the list.
fn xmp(document: &RawDocument) -> Vec<(String, String)> {
    let object = document.catalog().ok().and_then(|it| it.get(&b"Metadata"[..]));
    let stream = object.and_then(|it| document.resolve(it).as_stream());
    let bytes = stream.and_then(|it| stream::decompress(it).ok()).unwrap_or_default();
    match std::str::from_utf8(&bytes) {
        Ok(xml) if xml.len() <= MAX_XMP => xmp_values(xml),
        _ => Vec::new(),
    }
}

fn xmp_values(xml: &str) -> Vec<(String, String)> {
    let mut reader = Reader::from_str(xml);
    let (mut names, mut text, mut values) = (Vec::<String>::new(), String::new(), Vec::new());
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(ref start) | Event::Empty(ref start) => {
                text.clear();
                for attribute in start.attributes().flatten() {
                    let name = attribute.key.local_name().as_ref().to_owned();
                    values.push((name, attribute.value.into_owned()));
                }
                if matches!(event, Event::Start(_)) {
                    names.push(start.local_name().as_ref().to_owned());
                }
            }
            Event::Text(part) => text.push_str(&part),
            Event::GeneralRef(reference) => text.push_str(&resolved(&reference)),
            Event::End(_) => {
                let is_part =
                    |name: &&String| !matches!(name.as_str(), "li" | "Alt" | "Bag" | "Seq");
                if let Some(name) = names.iter().rev().find(is_part)
                    && !text.trim().is_empty()
                {
                    values.push((name.clone(), text.trim().to_owned()));
                }
                text.clear();
                names.pop();
            }
            Event::Eof => break,
            _ => {}
        }
    }
    values
}

/// Returns the text of `&amp;`, `&#8211;` and the like. An unknown one stays as it is.
fn resolved(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(c)) = reference.resolve_char_ref() {
        return c.to_string();
    }
    let name: &str = reference;
    let known = quick_xml::escape::resolve_predefined_entity(name);
    known.map_or_else(|| format!("&{name};"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_programs_are_none() {
        for text in [
            "Microsoft Word - Report final.doc",
            "untitled",
            "Unknown",
            "main.dvi",
            "()",
            " ",
            "\u{fffd}\u{fffd}x",
        ] {
            let mut metadata = Metadata::default();
            metadata.add_title(text);
            assert_eq!(metadata.title, None, "{text}");
        }
        let mut metadata = Metadata::default();
        metadata.add_title("Microsoft Word\n for sailors");
        assert_eq!(metadata.title.as_deref(), Some("Microsoft Word for sailors"));
    }

    #[test]
    fn xmp_gives_elements_and_attributes() {
        let xml = "<x:xmpmeta><rdf:RDF><rdf:Description xmp:CreateDate='2026-07-03T14:00:00Z'>\
                   <dc:title><rdf:Alt><rdf:li xml:lang='x-default'>Salt &amp; Sons &#8211; 5\
                   </rdf:li></rdf:Alt></dc:title><dc:creator><rdf:Seq><rdf:li>Ida</rdf:li>\
                   <rdf:li>Ole</rdf:li></rdf:Seq></dc:creator></rdf:Description>";
        let values = xmp_values(xml);
        let of = |wanted: &str| -> Vec<&str> {
            let is_wanted = |it: &&(String, String)| it.0 == wanted;
            values.iter().filter(is_wanted).map(|it| it.1.as_str()).collect()
        };
        assert_eq!(of("title"), ["Salt & Sons – 5"]);
        assert_eq!(of("creator"), ["Ida", "Ole"]);
        assert_eq!(of("CreateDate"), ["2026-07-03T14:00:00Z"]);
    }
}
