//! A hash of the declarations of all wire types: a change of them needs a higher `PROTOCOL`.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Returns the tokens as text, without comments and all attributes but serde's.
fn normalize(tokens: TokenStream) -> String {
    let mut text = String::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match (&token, tokens.peek()) {
            (TokenTree::Punct(punct), Some(TokenTree::Group(attribute)))
                if punct.as_char() == '#' && attribute.delimiter() == Delimiter::Bracket =>
            {
                let attribute = normalize(attribute.stream());
                if attribute.starts_with("serde ") {
                    text += &format!("#[ {attribute}] ");
                }
                tokens.next();
            }
            (TokenTree::Group(group), _) => {
                // rustfmt adds a last comma when it breaks a line.
                let content = normalize(group.stream());
                let content = content.strip_suffix(", ").unwrap_or(&content);
                text += &format!("{:?} {content}; ", group.delimiter());
            }
            _ => text += &format!("{token} "),
        }
    }
    text
}

/// Collects the declarations of types with serde's derives, and the tables of macros.
fn collect_declarations(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let mut item = Vec::new();
    for token in tokens {
        let is_end = match &token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            token => token.to_string() == ";",
        };
        item.push(token);
        if !is_end {
            continue;
        }
        let item = std::mem::take(&mut item);
        let has_attribute = |name: &str, word: &str| {
            let mut attributes = item.iter().map(|token| token.to_string().to_lowercase());
            attributes.any(|text| text.starts_with(&format!("[{name}")) && text.contains(word))
        };
        if has_attribute("cfg", "test") {
            continue;
        }
        let is_table = matches!(
            item.as_slice(),
            [.., TokenTree::Ident(_), TokenTree::Punct(bang), TokenTree::Group(_)]
                if bang.as_char() == '!'
        );
        if is_table || has_attribute("derive", "serialize") {
            found.insert(normalize(item.into_iter().collect()));
            continue;
        }
        for token in item {
            if let TokenTree::Group(group) = token {
                collect_declarations(group.stream(), found);
            }
        }
    }
}

fn declarations(sources: &[String]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    sources.iter().for_each(|source| collect_declarations(source.parse().unwrap(), &mut found));
    found
}

/// Hashes with FNV-1a, which is the same in every version of Rust.
fn hash(declarations: &BTreeSet<String>) -> u64 {
    let bytes = declarations.iter().flat_map(|declaration| declaration.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn a_changed_wire_type_has_a_new_protocol_number() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let rust_files = paths.filter(|path| path.extension().is_some_and(|name| name == "rs"));
    let sources: Vec<String> =
        rust_files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let declarations = declarations(&sources);
    assert!(declarations.len() > 200, "only {} declarations are found", declarations.len());
    let current = hash(&declarations);
    assert!(
        current == crate::WIRE_TYPES,
        "the declarations of the wire types changed: raise PROTOCOL in protocol/src/lib.rs, and \
         set WIRE_TYPES to {current:#018x}"
    );
    // The encoding has no names, so a decoder cannot know of a field that is left out sometimes. A
    // plain `skip` leaves it out at both ends.
    for word in ["skip_", "flatten", "untagged", "tag =", "content ="] {
        let found =
            declarations.iter().find(|text| text.contains(&format!("serde Parenthesis {word}")));
        assert_eq!(found, None, "bincode does not support the attribute {word}");
    }
}

#[test]
fn only_a_change_of_the_encoding_changes_the_hash() {
    let hash = |source: &str| hash(&declarations(&[source.to_owned()]));
    let page = hash("/// A page.\n#[derive(Debug, Serialize)] pub struct Page { a: u8, b: Id }");
    let same = [
        "// Other.\n#[derive(Debug, Serialize)]\n/// Words.\npub struct Page { a: u8, /* c */ b: Id }",
        "fn f() {}\n#[derive(Eq, Serialize)]\npub struct Page {\n  #[doc = \"c\"]\n  a: u8,\n b: Id,\n}",
    ];
    let other = ["a: u8, b: Id, c: u8", "b: Id, a: u8", "a: u8, c: Id", "a: u16, b: Id", "a: u8"];
    let other = other.map(|f| format!("#[derive(Debug, Serialize)] pub struct Page {{ {f} }}"));
    same.iter().for_each(|source| assert_eq!(hash(source), page, "{source}"));
    other.iter().for_each(|source| assert_ne!(hash(source), page, "{source}"));
    let macros = ["t! { A(B), C(D), }", "t! { C(D), A(B), }", "t! { A(B), }"].map(hash);
    assert!(macros[0] != macros[1] && macros[0] != macros[2], "a table is compared");
}
