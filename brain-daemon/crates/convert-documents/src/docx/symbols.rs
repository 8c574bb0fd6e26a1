//! Characters of symbol fonts, whose code points are in the private use area or those of ASCII.

/// The letters of the font Symbol from `A` to `Z`.
const GREEK_UPPER: &str = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ";
/// The letters of the font Symbol from `a` to `z`.
const GREEK_LOWER: &str = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ";
/// Other characters of Symbol.
const SYMBOL: [(u32, char); 36] = [
    (0x22, '∀'),
    (0x24, '∃'),
    (0x27, '∋'),
    (0x2d, '−'),
    (0x40, '≅'),
    (0x5e, '⊥'),
    (0xa2, '′'),
    (0xa3, '≤'),
    (0xa5, '∞'),
    (0xa7, '♣'),
    (0xa8, '♦'),
    (0xa9, '♥'),
    (0xaa, '♠'),
    (0xab, '↔'),
    (0xac, '←'),
    (0xad, '↑'),
    (0xae, '→'),
    (0xaf, '↓'),
    (0xb0, '°'),
    (0xb1, '±'),
    (0xb2, '″'),
    (0xb3, '≥'),
    (0xb4, '×'),
    (0xb5, '∝'),
    (0xb6, '∂'),
    (0xb7, '•'),
    (0xb8, '÷'),
    (0xb9, '≠'),
    (0xba, '≡'),
    (0xbb, '≈'),
    (0xc6, '∅'),
    (0xce, '∈'),
    (0xd6, '√'),
    (0xde, '⇒'),
    (0xe5, '∑'),
    (0xf2, '∫'),
];
/// Characters of the fonts Wingdings.
const WINGDINGS: [(u32, char); 24] = [
    (0x28, '☎'),
    (0x2a, '✉'),
    (0x4a, '☺'),
    (0x4c, '☹'),
    (0x6c, '●'),
    (0x6e, '■'),
    (0x6f, '☐'),
    (0x71, '❑'),
    (0x72, '❒'),
    (0x75, '◆'),
    (0x76, '❖'),
    (0x9f, '•'),
    (0xa7, '▪'),
    (0xa8, '☐'),
    (0xd8, '➢'),
    (0xdf, '←'),
    (0xe0, '→'),
    (0xe8, '➔'),
    (0xf0, '⇨'),
    (0xfb, '✗'),
    (0xfc, '✓'),
    (0xfd, '☒'),
    (0xfe, '☑'),
    (0x22, '✂'),
];
/// Characters of the font Wingdings 2.
const WINGDINGS_2: [(u32, char); 6] =
    [(0x4f, '✗'), (0x50, '✓'), (0x51, '☒'), (0x52, '☑'), (0x53, '☒'), (0xa3, '☐')];

/// Returns the character that a code point of a font shows, or `None` if it is not known.
pub(super) fn symbol(font: &str, number: u32) -> Option<char> {
    let code = if (0xf000..=0xf0ff).contains(&number) { number - 0xf000 } else { number };
    let in_table = |table: &[(u32, char)]| {
        table.iter().find(|(known, _)| *known == code).map(|(_, shown)| *shown)
    };
    let letter = |first: char, letters: &str| {
        let at = usize::try_from(code.checked_sub(u32::from(first))?).ok()?;
        letters.chars().nth(at)
    };
    match font.to_lowercase().as_str() {
        "wingdings" => in_table(&WINGDINGS),
        "wingdings 2" => in_table(&WINGDINGS_2),
        "symbol" => in_table(&SYMBOL)
            .or_else(|| letter('A', GREEK_UPPER))
            .or_else(|| letter('a', GREEK_LOWER))
            .or_else(|| plain(code)),
        "webdings" | "wingdings 3" | "marlett" => None,
        _ if code == number => char::from_u32(number).filter(|c| !c.is_control()),
        _ => plain(code),
    }
}

fn plain(code: u32) -> Option<char> {
    char::from_u32(code).filter(char::is_ascii_graphic)
}
