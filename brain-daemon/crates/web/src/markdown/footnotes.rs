//! Writes footnotes and the references to them. Each links to the other.

use maud::Markup;

use super::Renderer;

impl<F, P, E> Renderer<'_, F, P, E>
where
    F: Fn(&str) -> Option<String>,
    P: Fn(&str) -> Option<String>,
    E: Fn(&str) -> Option<Markup>,
{
    /// Returns the number of a footnote, and whether the text referred to it before. Records a
    /// reference.
    fn footnote(&mut self, label: &str, is_reference: bool) -> (usize, bool) {
        let next = self.footnotes.len() + 1;
        let known = self.footnotes.entry(label.to_owned()).or_insert((next, false));
        let before = *known;
        known.1 |= is_reference;
        before
    }

    pub(super) fn footnote_reference(&mut self, label: &str) {
        let (number, was_referenced) = self.footnote(label, true);
        let (id, target) =
            (format!("{}r{number}", self.ids.prefix), format!("#{}f{number}", self.ids.prefix));
        if was_referenced {
            self.out.start("sup");
        } else {
            self.out.start_with("sup", &[("id", &id)]);
        }
        if self.links.contains(&true) {
            self.out.text(&number.to_string());
        } else {
            let label = format!("Footnote {number}");
            self.out.start_with("a", &[("href", &target), ("aria-label", &label)]);
            self.out.text(&number.to_string());
            self.out.end();
        }
        self.out.end();
    }

    pub(super) fn footnote_definition(&mut self, label: &str) {
        let (number, was_referenced) = self.footnote(label, false);
        let id = format!("{}f{number}", self.ids.prefix);
        self.out.start_with("div", &[("class", "footnote"), ("id", &id)]);
        let number = number.to_string();
        if was_referenced {
            let (target, label) =
                (format!("#{}r{number}", self.ids.prefix), format!("Back to reference {number}"));
            self.out.start("sup");
            self.out.start_with("a", &[("href", &target), ("aria-label", &label)]);
            self.out.text(&number);
            self.out.end();
            self.out.end();
        } else {
            self.out.element("sup", &number);
        }
        self.out.text(" ");
    }
}
