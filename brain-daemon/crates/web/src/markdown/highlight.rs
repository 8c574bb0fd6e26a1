//! Marks comments, strings, numbers and keywords in code. It distinguishes families of languages
//! and has no grammars, because a wrong mark is harmless. No I/O.

use maud::{Markup, html};

use crate::text::Text;

/// Longer code is not marked.
const MAX_BYTES: usize = 50_000;
/// Maximum number of marks. The code after the last one is not marked.
const MAX_MARKS: usize = 5_000;

/// The syntax that the languages of a family share.
struct Family {
    /// The names of the languages.
    names: &'static [&'static str],
    line_comment: &'static str,
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static str,
    keywords: &'static str,
}

const FAMILIES: [Family; 4] = [
    Family {
        names: &[
            "rust",
            "rs",
            "js",
            "javascript",
            "ts",
            "typescript",
            "jsx",
            "tsx",
            "java",
            "c",
            "h",
            "cpp",
            "c++",
            "cs",
            "csharp",
            "go",
            "swift",
            "kotlin",
            "scala",
            "php",
            "css",
            "scss",
            "json",
            "jsonc",
            "zig",
            "dart",
        ],
        line_comment: "//",
        block_comment: Some(("/*", "*/")),
        quotes: "\"`",
        keywords: "as async await break case catch class const continue crate default defer do dyn \
            else enum export extends extern false final finally fn for from func function go if \
            impl implements import in interface let loop match mod move mut namespace new nil null \
            of override package private protected pub public ref return self Self static struct \
            super switch this throw trait true try type typeof undefined union unsafe use var void \
            where while yield",
    },
    Family {
        names: &[
            "python",
            "py",
            "sh",
            "bash",
            "zsh",
            "fish",
            "shell",
            "console",
            "ruby",
            "rb",
            "perl",
            "yaml",
            "yml",
            "toml",
            "ini",
            "make",
            "makefile",
            "dockerfile",
            "r",
            "nix",
            "elixir",
        ],
        line_comment: "#",
        block_comment: None,
        quotes: "\"'",
        keywords: "and as assert async await begin break case class continue def del do done elif \
            else elsif end esac except export false False fi finally for from function global if \
            import in is lambda let local module nil None nonlocal not null or pass raise rescue \
            return self set then true True try unless until while with yield",
    },
    Family {
        names: &["sql", "sqlite", "postgres", "postgresql", "mysql"],
        line_comment: "--",
        block_comment: Some(("/*", "*/")),
        quotes: "'\"",
        keywords: "add all alter and as asc begin by case commit create delete desc distinct \
            drop else end exists from full group having in index inner insert into is \
            join key left like limit not null offset on or order outer primary \
            references rollback select set table then union unique update using values \
            view when where with",
    },
    Family {
        names: &["lua", "haskell", "hs", "elm"],
        line_comment: "--",
        block_comment: None,
        quotes: "\"",
        keywords: "and break case class data deriving do else elseif end false for function if \
            import in instance let local module newtype nil not of or repeat return then true type \
            until where while",
    },
];

/// Returns `code` in the language `name` with marks, or without them if the language is unknown.
pub(crate) fn highlight(name: &str, code: &str) -> Markup {
    let name = name.split([' ', ',', '{']).next().unwrap_or_default().to_ascii_lowercase();
    let family = FAMILIES.iter().find(|family| family.names.contains(&name.as_str()));
    let marks = match family {
        Some(family) if code.len() <= MAX_BYTES => tokens(family, code),
        _ => return html! { (Text(code)) },
    };
    html! {
        @for (class, part) in marks {
            @if class.is_empty() { (Text(part)) } @else { span class=(class) { (Text(part)) } }
        }
    }
}

/// Splits code into pairs of a class and a text. Text without a mark has an empty class.
fn tokens<'a>(family: &Family, code: &'a str) -> Vec<(&'static str, &'a str)> {
    let mut out: Vec<(&'static str, &'a str)> = Vec::new();
    let (mut at, mut plain_start) = (0, 0);
    while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        let (class, length) = token(family, rest, before);
        if !class.is_empty() && out.len() < MAX_MARKS {
            out.push(("", code.get(plain_start..at).unwrap_or_default()));
            out.push((class, rest.get(..length).unwrap_or_default()));
            plain_start = at + length;
        }
        at += length;
    }
    out.push(("", code.get(plain_start..).unwrap_or_default()));
    out
}

/// Returns the class of the token at the beginning of `rest`, and its length in bytes. `before` is
/// the character before it.
fn token(family: &Family, rest: &str, before: Option<char>) -> (&'static str, usize) {
    let first = rest.chars().next().unwrap_or_default();
    let can_begin_comment =
        before.is_none_or(|char| char.is_whitespace() || "(;,{}".contains(char));
    if rest.starts_with(family.line_comment) && can_begin_comment {
        return ("comment", rest.find('\n').unwrap_or(rest.len()));
    }
    if let Some((open, close)) = family.block_comment
        && let Some(inner) = rest.strip_prefix(open)
    {
        return ("comment", inner.find(close).map_or(rest.len(), |n| open.len() + n + close.len()));
    }
    if family.quotes.contains(first) {
        return ("string", string_length(rest, first));
    }
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    if !is_word(first) {
        return ("", first.len_utf8());
    }
    let length = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
    let word = rest.get(..length).unwrap_or_default();
    let lower = word.to_ascii_lowercase();
    let is_keyword = |word: &str| family.keywords.split_whitespace().any(|it| it == word);
    let is_sql = family.names.contains(&"sql");
    match () {
        () if first.is_ascii_digit() => ("number", length),
        () if is_keyword(word) || is_sql && is_keyword(&lower) => ("keyword", length),
        () => ("", length),
    }
}

/// Returns the length of a string with its quotes, in bytes. Without a closing quote, the string
/// ends with its line, or in backticks with the code.
fn string_length(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, char) in rest.char_indices().skip(1) {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' if quote != '`' => return at,
            char if char == quote => return at + char.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_and_everything_is_escaped() {
        let shown = highlight("rust", "let a = \"<b>\\\"\"; // <i>\nfn1 12").0;
        let expected = "<span class=\"keyword\">let</span> a = \
            <span class=\"string\">&quot;&lt;b&gt;\\&quot;&quot;</span>; \
            <span class=\"comment\">// &lt;i&gt;</span>\nfn1 <span class=\"number\">12</span>";
        assert_eq!(shown, expected);
        assert_eq!(highlight("unknown", "let <b>").0, "let &lt;b&gt;");
        let shown = highlight("sql", "SELECT 'x' -- all").0;
        assert!(shown.contains("\"keyword\">SELECT") && shown.contains("\"comment\">-- all"));
        assert!(highlight("sh", "a#b # c").0.contains("a#b <span class=\"comment\"># c</span>"));
    }

    #[test]
    fn text_is_never_lost() {
        for (name, code) in
            [("rs", "/* open"), ("js", "`a\nb"), ("py", "'open\nx"), ("c", "\"\\"), ("go", "ä\"ö")]
        {
            let tokens = tokens(
                FAMILIES.iter().find(|it| it.names.contains(&name)).unwrap_or(&FAMILIES[0]),
                code,
            );
            let text: String = tokens.into_iter().map(|(_, part)| part).collect();
            assert_eq!(text, code);
        }
        assert!(highlight("rs", &"1 ".repeat(20_000)).0.len() < 500_000);
    }
}
