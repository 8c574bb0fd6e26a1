//! The little of CSS that changes what text means: bold, italic, struck, raised, lowered and code,
//! by class.
//!
//! Programs such as calibre write classes in place of `<b>` and `<i>`.

use std::collections::HashMap;

use crate::model::{Position, Style};

/// Maximum number of classes.
const MAX_CLASSES: usize = 20_000;

/// How text of each class looks.
#[derive(Debug, Default)]
pub(crate) struct Looks(HashMap<String, Look>);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Look {
    bold: Option<bool>,
    italic: Option<bool>,
    strike: Option<bool>,
    code: Option<bool>,
    position: Option<Position>,
}

impl Looks {
    /// Adds the classes of a stylesheet. Other selectors than `.class` and `element.class` do not
    /// count.
    pub(crate) fn add(&mut self, css: &str) {
        for rule in css.split('}') {
            let Some((selectors, declarations)) = rule.rsplit_once('{') else { continue };
            let look = Look::of(declarations);
            if look == Look::default() {
                continue;
            }
            // A comment before the rule.
            let selectors = selectors.rsplit("*/").next().unwrap_or_default();
            for selector in selectors.split(',') {
                let Some((element, class)) = selector.trim().split_once('.') else { continue };
                let is_name =
                    |it: &str| it.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
                if is_name(element) && is_name(class) && self.0.len() < MAX_CLASSES {
                    let known = self.0.entry(class.to_owned()).or_default();
                    *known = look.or(*known);
                }
            }
        }
    }

    /// Returns whether a class raises or lowers its text.
    pub(crate) fn has_positions(&self) -> bool {
        self.0.values().any(|look| look.position.is_some())
    }

    /// Returns how text looks with these classes and declarations, within text of `outer`.
    pub(crate) fn look(&self, classes: &str, declarations: &str, outer: Style) -> Style {
        let known = classes.split_whitespace().filter_map(|class| self.0.get(class));
        let look = known.fold(Look::default(), |all, look| look.or(all));
        let look = Look::of(declarations).or(look);
        Style {
            bold: look.bold.unwrap_or(outer.bold),
            italic: look.italic.unwrap_or(outer.italic),
            strike: look.strike.unwrap_or(outer.strike),
            code: look.code.unwrap_or(outer.code),
            position: look.position.unwrap_or(outer.position),
        }
    }
}

impl Look {
    fn of(declarations: &str) -> Self {
        let mut look = Self::default();
        for (name, value) in declarations.split(';').filter_map(|it| it.split_once(':')) {
            let value = value.trim().to_ascii_lowercase();
            match name.trim().to_ascii_lowercase().as_str() {
                "font-weight" => {
                    let is_heavy = value.parse::<u32>().is_ok_and(|it| it >= 600);
                    look.bold = Some(is_heavy || value.starts_with("bold"));
                }
                "font-style" => look.italic = Some(matches!(value.as_str(), "italic" | "oblique")),
                "text-decoration" | "text-decoration-line" => {
                    look.strike = Some(value.contains("line-through"));
                }
                "vertical-align" => {
                    look.position = match value.as_str() {
                        "super" => Some(Position::Raised),
                        "sub" => Some(Position::Lowered),
                        "baseline" => Some(Position::Normal),
                        _ => None,
                    };
                }
                "font-family" => look.code = value.contains("monospace").then_some(true),
                _ => {}
            }
        }
        look
    }

    /// Returns this look, with what it does not say from `base`.
    fn or(self, base: Self) -> Self {
        Self {
            bold: self.bold.or(base.bold),
            italic: self.italic.or(base.italic),
            strike: self.strike.or(base.strike),
            code: self.code.or(base.code),
            position: self.position.or(base.position),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_say_how_text_looks() {
        let mut looks = Looks::default();
        looks.add("/* a. */ .b1, span.b2 { Font-Weight: 700 } p .x { font-style: italic }");
        looks.add(".i{font-style:italic} .n { font-weight: normal; color: red }");
        let plain = Style::default();
        let bold = Style { bold: true, ..plain };
        assert_eq!(looks.look("b1", "", plain), bold);
        assert_eq!(looks.look("b2 other", "", plain), bold);
        assert_eq!(looks.look("x", "", plain), plain);
        assert_eq!(looks.look("b1 i", "", plain), Style { italic: true, ..bold });
        assert_eq!(looks.look("n", "", bold), plain);
        assert!(looks.look("", "text-decoration: line-through", plain).strike);
        assert_eq!(looks.look("", "vertical-align: Super", plain).position, Position::Raised);
    }
}
