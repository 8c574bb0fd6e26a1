//! The text of a paragraph of a DOCX.

use brain_convert_base::count_words;

use super::body::{Reader, alternative, is_left_out};
use super::fields;
use super::styles::is_on;
use super::symbols::symbol;
use crate::math::formula;
use crate::model::{Inline, Link, Style, Text};
use crate::xml::Element;

impl Reader<'_> {
    /// Reads the runs in an element, which can lie in wrappers.
    pub(super) fn runs(&mut self, parent: Element<'_>, link: Option<&Link>, out: &mut Vec<Inline>) {
        for element in parent.children() {
            match element.name() {
                "w:r" if self.is_hidden(element.child("w:rPr")) => self.hidden_run(element),
                "w:r" => {
                    let style = self.look(element.child("w:rPr"));
                    self.run(element, style, link, out);
                }
                "w:hyperlink" => {
                    let target = self.target(element);
                    self.runs(element, target.as_ref().or(link), out);
                }
                "w:fldSimple" => {
                    let instruction = element.attribute("w:instr").unwrap_or_default();
                    let target = fields::link(instruction);
                    self.runs(element, target.as_ref().or(link), out);
                }
                "w:bookmarkStart" => self.place(element),
                "m:oMath" | "m:oMathPara" => {
                    self.text(formula(element), Style::default(), link, out);
                }
                "mc:AlternateContent" => {
                    if let Some(choice) = alternative(element) {
                        self.runs(choice, link, out);
                    }
                }
                _ if is_left_out(element) => {}
                _ => self.runs(element, link, out),
            }
        }
    }

    fn run(&mut self, run: Element<'_>, style: Style, link: Option<&Link>, out: &mut Vec<Inline>) {
        for element in run.children() {
            match element.name() {
                "w:t" => self.text(element.text(), style, link, out),
                "w:tab" | "w:ptab" => self.text(" ".to_owned(), style, link, out),
                "w:noBreakHyphen" => self.text("-".to_owned(), style, link, out),
                "w:br" | "w:cr" if self.part.fields.is_shown() => out.push(Inline::Break),
                "w:sym" => self.symbol(element, style, link, out),
                "w:fldChar" => self.field(element, out),
                "w:instrText" => {
                    let text = element.text();
                    self.part.fields.instruction(&text);
                }
                "w:footnoteReference" => self.note("footnote", element, out),
                "w:endnoteReference" => self.note("endnote", element, out),
                "w:commentReference" => self.note("comment", element, out),
                "w:drawing" | "w:pict" | "w:object" => self.drawing(element, "", out),
                "w:ruby" => self.ruby(element, style, link, out),
                "mc:AlternateContent" => {
                    if let Some(choice) = alternative(element) {
                        self.run(choice, style, link, out);
                    }
                }
                // A soft hyphen is only for the line's end, and marks of notes are theirs.
                _ => {}
            }
        }
    }

    /// Counts the words of a hidden run. Marks of fields in it count: what follows can be shown.
    fn hidden_run(&mut self, run: Element<'_>) {
        for element in run.children() {
            match element.name() {
                "w:t" if self.part.fields.is_shown() => {
                    self.draft.hide(count_words(&element.text()));
                }
                "w:fldChar" => {
                    let kind = element.attribute("w:fldCharType").unwrap_or_default();
                    self.part.fields.mark(kind);
                }
                "w:instrText" => {
                    let text = element.text();
                    self.part.fields.instruction(&text);
                }
                _ => {}
            }
        }
    }

    /// Adds text, unless it is a part of a field's instruction.
    pub(super) fn text(
        &mut self,
        text: String,
        style: Style,
        link: Option<&Link>,
        out: &mut Vec<Inline>,
    ) {
        if self.part.fields.is_shown() {
            let link = self.part.fields.link().or(link).cloned();
            out.push(Inline::Text(Text { text, style, link }));
        }
    }

    fn symbol(
        &mut self,
        element: Element<'_>,
        style: Style,
        link: Option<&Link>,
        out: &mut Vec<Inline>,
    ) {
        let font = element.attribute("w:font").unwrap_or_default();
        let number = element.attribute("w:char").and_then(|it| u32::from_str_radix(it, 16).ok());
        match number.and_then(|number| symbol(font, number)) {
            Some(c) => self.text(c.to_string(), style, link, out),
            None => {
                let font = brain_page::single_line(font);
                self.text("\u{fffd}".to_owned(), style, link, out);
                self.draft.lost(format!("a symbol of the font {font} is shown as \u{fffd}"));
            }
        }
    }

    /// Reads a mark of a field. Fields of a form have no text of their own.
    fn field(&mut self, mark: Element<'_>, out: &mut Vec<Inline>) {
        let kind = mark.attribute("w:fldCharType").unwrap_or_default();
        let form = mark.child("w:ffData");
        if let Some(check) = form.and_then(|it| it.child("w:checkBox")) {
            let state = check.child("w:checked").or_else(|| check.child("w:default"));
            let sign = if state.is_some_and(is_on) { "☒" } else { "☐" };
            self.text(sign.to_owned(), Style::default(), None, out);
        } else if let Some(list) = form.and_then(|it| it.child("w:ddList")) {
            let number = list.child("w:result").and_then(|it| it.attribute("w:val")?.parse().ok());
            let mut entries = list.children().filter(|it| it.name() == "w:listEntry");
            let entry = entries.nth(number.unwrap_or(0)).and_then(|it| it.attribute("w:val"));
            self.text(entry.unwrap_or_default().to_owned(), Style::default(), None, out);
        }
        self.part.fields.mark(kind);
    }

    /// Reads a text with its pronunciation: `漢字 (かんじ)`.
    fn ruby(
        &mut self,
        ruby: Element<'_>,
        style: Style,
        link: Option<&Link>,
        out: &mut Vec<Inline>,
    ) {
        if let Some(base) = ruby.child("w:rubyBase") {
            self.runs(base, link, out);
        }
        if let Some(spoken) = ruby.child("w:rt") {
            self.text("(".to_owned(), style, link, out);
            self.runs(spoken, link, out);
            self.text(")".to_owned(), style, link, out);
        }
    }

    fn target(&mut self, hyperlink: Element<'_>) -> Option<Link> {
        let place = hyperlink.attribute("w:anchor");
        let Some(id) = hyperlink.attribute("r:id") else {
            return place.map(|place| Link::Place(place.into()));
        };
        let relationship = self.part.relationships.get(id)?;
        let address = match place {
            Some(place) if !relationship.target.contains('#') => {
                format!("{}#{place}", relationship.target)
            }
            _ => relationship.target.clone(),
        };
        Some(Link::Address(address.into()))
    }
}
