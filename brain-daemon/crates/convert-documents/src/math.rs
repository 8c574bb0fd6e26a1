//! Formulas as one line of text: those of Word (OMML), and MathML.
//!
//! No part of a formula joins the one before it: the fraction of 1 and 2 is `1/2`, not 12.

use crate::xml::Element;

/// Returns a formula as text.
pub(crate) fn formula(math: Element<'_>) -> String {
    let mut line = Line::default();
    line.element(math);
    brain_page::single_line(&line.text)
}

/// A part of a formula.
#[derive(Default)]
struct Line {
    text: String,
    /// Whether the last part is more than a text.
    ends_structure: bool,
}

impl Line {
    fn of(element: Option<Element<'_>>) -> String {
        element.map(formula).unwrap_or_default()
    }

    /// Adds a part. Numbers and letters of two parts stay apart.
    fn add(&mut self, part: &str, is_structure: bool) {
        let is_apart = (is_structure || self.ends_structure)
            && self.text.ends_with(|c: char| c.is_alphanumeric())
            && part.starts_with(|c: char| c.is_alphanumeric());
        if is_apart {
            self.text.push(' ');
        }
        self.text.push_str(part);
        self.ends_structure = is_structure;
    }

    fn element(&mut self, element: Element<'_>) {
        if element.is_text() {
            // In MathML, blanks around a text mean nothing.
            return self.add(element.own_text().trim(), false);
        }
        let word = |name: &str| Self::of(element.child(&format!("m:{name}")));
        let mut parts = element.children().filter(|it| !it.is_text()).map(formula);
        let mut part = || parts.next().unwrap_or_default();
        match element.local_name() {
            "t" => self.add(&element.text(), false),
            "annotation" | "annotation-xml" | "mphantom" | "del" | "moveFrom" => {}
            // Properties.
            name if name.ends_with("Pr") => {}
            "f" => self.add(&fraction(&word("num"), &word("den")), true),
            "mfrac" => self.add(&fraction(&part(), &part()), true),
            "sSup" => self.add(&script(&word("e"), "", &word("sup")), true),
            "sSub" => self.add(&script(&word("e"), &word("sub"), ""), true),
            "sSubSup" => self.add(&script(&word("e"), &word("sub"), &word("sup")), true),
            "limLow" => self.add(&script(&word("e"), &word("lim"), ""), true),
            "limUpp" => self.add(&script(&word("e"), "", &word("lim")), true),
            "nary" => {
                let sign = property(element, "chr").unwrap_or("\u{222b}");
                self.add(&script(sign, &word("sub"), &word("sup")), true);
                self.add(&format!(" {}", word("e")), true);
            }
            "func" => {
                self.add(&word("fName"), true);
                self.add(&word("e"), true);
            }
            "msup" | "mover" => self.add(&script(&part(), "", &part()), true),
            "msub" | "munder" => self.add(&script(&part(), &part(), ""), true),
            "msubsup" | "munderover" => {
                let (base, below, above) = (part(), part(), part());
                self.add(&script(&base, &below, &above), true);
            }
            "rad" => self.add(&root(&word("deg"), &word("e")), true),
            "mroot" => {
                let base = part();
                self.add(&root(&part(), &base), true);
            }
            "msqrt" => {
                let inner: Vec<String> = parts.collect();
                self.add(&root("", &inner.concat()), true);
            }
            "d" | "mfenced" => self.fenced(element),
            // Rows of tables and of systems of equations.
            "mr" | "mtr" => self.row(element, ", "),
            "m" | "mtable" | "eqArr" => self.row(element, "; "),
            _ => element.children().for_each(|child| self.element(child)),
        }
    }

    fn row(&mut self, element: Element<'_>, separator: &str) {
        let cells = element.children().filter(|it| !it.is_text() && !it.name().ends_with("Pr"));
        let cells: Vec<String> = cells.map(formula).collect();
        self.add(&cells.join(separator), true);
    }

    fn fenced(&mut self, element: Element<'_>) {
        let sign = |omml: &str, mathml: &str, usual| {
            property(element, omml).or_else(|| element.attribute(mathml)).unwrap_or(usual)
        };
        let parts = element.children().filter(|it| !it.is_text() && !it.name().ends_with("Pr"));
        let parts: Vec<String> = parts.map(formula).collect();
        let usual = if element.local_name() == "d" { "|" } else { ", " };
        let inner = parts.join(sign("sepChr", "separators", usual));
        let (begin, end) = (sign("begChr", "open", "("), sign("endChr", "close", ")"));
        self.add(&format!("{begin}{inner}{end}"), true);
    }
}

/// Returns a sign that the properties of an element of Word state.
fn property<'a>(element: Element<'a>, name: &str) -> Option<&'a str> {
    let properties = element.children().find(|it| it.name().ends_with("Pr"))?;
    properties.child(&format!("m:{name}"))?.attribute("m:val")
}

/// Returns a part in parentheses, unless it is one number or word.
fn closed(part: &str) -> String {
    let is_one = part.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | ','));
    let is_closed = part.starts_with('(') && part.find(')') == Some(part.len() - 1);
    if is_one || is_closed { part.to_owned() } else { format!("({part})") }
}

fn fraction(above: &str, below: &str) -> String {
    format!("{}/{}", closed(above), closed(below))
}

fn root(degree: &str, inner: &str) -> String {
    let degree = match degree {
        "" => String::new(),
        degree => brain_page::raised_text(degree, None, None, true),
    };
    format!("{degree}\u{221a}({inner})")
}

fn script(base: &str, below: &str, above: &str) -> String {
    let mut out = if base.chars().count() > 1 { closed(base) } else { base.to_owned() };
    for (part, is_raised) in [(below, false), (above, true)] {
        if !part.is_empty() {
            let before = out.chars().next_back();
            out.push_str(&brain_page::raised_text(part, before, None, is_raised));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::Xml;

    fn word(inner: &str) -> String {
        let namespace = "http://schemas.openxmlformats.org/officeDocument/2006/math";
        let text = inner.replace('{', "<m:r><m:t>").replace('}', "</m:t></m:r>");
        formula(Xml::parse(&format!("<m:oMath xmlns:m=\"{namespace}\">{text}</m:oMath>")).root())
    }

    fn mathml(inner: &str) -> String {
        let namespace = "http://www.w3.org/1998/Math/MathML";
        formula(Xml::parse(&format!("<math xmlns=\"{namespace}\">{inner}</math>")).root())
    }

    #[test]
    fn im04_no_part_of_a_formula_of_word_joins_another() {
        for (inner, shown) in [
            ("{2}<m:f><m:num>{1}</m:num><m:den>{2}</m:den></m:f>{3}", "2 1/2 3"),
            ("<m:f><m:num>{a+b}</m:num><m:den>{2}</m:den></m:f>", "(a+b)/2"),
            ("<m:sSup><m:e>{10}</m:e><m:sup>{6}</m:sup></m:sSup>{+x}", "10\u{2076}+x"),
            ("<m:sSup><m:e>{x}</m:e><m:sup>{n+1}</m:sup></m:sSup>", "x^(n+1)"),
            ("<m:sSub><m:e>{x}</m:e><m:sub>{1}</m:sub></m:sSub>", "x\u{2081}"),
            (
                "<m:sSubSup><m:e>{x}</m:e><m:sub>{i}</m:sub><m:sup>{2}</m:sup></m:sSubSup>",
                "x_i\u{b2}",
            ),
            ("<m:rad><m:radPr/><m:deg>{3}</m:deg><m:e>{8}</m:e></m:rad>", "\u{b3}\u{221a}(8)"),
            (
                "<m:nary><m:naryPr><m:chr m:val=\"\u{2211}\"/></m:naryPr><m:sub>{i=1}</m:sub>\
                 <m:sup>{9}</m:sup><m:e>{i}</m:e></m:nary>",
                "\u{2211}_(i=1)\u{2079} i",
            ),
            ("<m:d><m:e>{a}</m:e><m:e>{b}</m:e></m:d>", "(a|b)"),
            (
                "<m:d><m:dPr><m:begChr m:val=\"[\"/><m:endChr m:val=\"]\"/></m:dPr><m:e>{a}</m:e></m:d>",
                "[a]",
            ),
            (
                "<m:m><m:mr><m:e>{1}</m:e><m:e>{2}</m:e></m:mr><m:mr><m:e>{3}</m:e></m:mr></m:m>",
                "1, 2; 3",
            ),
            ("{sin}<m:func><m:fName>{cos}</m:fName><m:e>{x}</m:e></m:func>", "sin cos x"),
        ] {
            assert_eq!(word(inner), shown, "{inner}");
        }
    }

    #[test]
    fn im04_no_part_of_mathml_joins_another() {
        for (inner, shown) in [
            ("<mn>2</mn><mfrac><mn>1</mn><mn>2</mn></mfrac>", "2 1/2"),
            ("<msup><mn>10</mn><mn>6</mn></msup>", "10\u{2076}"),
            ("<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", "\u{221a}(x+1)"),
            ("<mroot><mn>8</mn><mn>3</mn></mroot>", "\u{b3}\u{221a}(8)"),
            (
                "<munderover><mo>\u{2211}</mo><mn>1</mn><mi>n</mi></munderover>",
                "\u{2211}\u{2081}^n",
            ),
            ("<mfenced><mi>a</mi><mi>b</mi></mfenced>", "(a, b)"),
            ("<semantics><mrow> <mi> x </mi> </mrow><annotation>tex</annotation></semantics>", "x"),
            ("<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable>", "1, 2"),
        ] {
            assert_eq!(mathml(inner), shown, "{inner}");
        }
    }
}
