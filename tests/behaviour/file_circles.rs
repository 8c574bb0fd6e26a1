//! Files of a crate do not use each other in a circle.
//!
//! A file uses another one if it imports or names one of its items. A module and the modules below
//! it may use each other. Test code does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use crate::architecture::{files, root};

/// The path of a module in its crate.
type Module = Vec<String>;
/// The segments of a path, such as `crate`, `store`, `Reader`.
type Segments = Vec<String>;

/// What a file defines and names.
#[derive(Default)]
struct Names {
    items: BTreeSet<String>,
    /// Imported paths, by the name that they have in the file.
    imports: Vec<(String, Segments)>,
    paths: Vec<Segments>,
}

/// The files of a crate.
struct Sources(BTreeMap<Module, Names>);

impl Names {
    fn of(text: &str) -> Self {
        let mut names = Self::default();
        names.add(text.parse().unwrap());
        names
    }

    fn add(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let rest = &tokens[at..];
            at += 1;
            match token {
                TokenTree::Punct(mark) if mark.as_char() == '#' && is_test_attribute(rest) => {
                    at += length_of_item(rest) - 1;
                }
                TokenTree::Ident(word) if word == "use" => {
                    let length = rest.iter().take_while(|token| !is_mark(token, ';')).count();
                    self.add_imports(&rest[1..length], &[]);
                    at += length - 1;
                }
                TokenTree::Ident(word) => {
                    const KEYWORDS: [&str; 7] =
                        ["fn", "struct", "enum", "trait", "const", "static", "type"];
                    if let (true, Some(TokenTree::Ident(name))) =
                        (KEYWORDS.contains(&word.to_string().as_str()), rest.get(1))
                    {
                        self.items.insert(name.to_string());
                    }
                    let path = path_at(rest);
                    at += 3 * (path.len() - 1);
                    if path.len() > 1 {
                        self.paths.push(path);
                    }
                }
                TokenTree::Group(group) => self.add(group.stream()),
                _ => {}
            }
        }
    }

    /// Adds the paths of a `use`, such as `a::{b, c as d}`.
    fn add_imports(&mut self, tokens: &[TokenTree], prefix: &[String]) {
        for tree in tokens.split(|token| is_mark(token, ',')) {
            let (mut path, mut alias) = (prefix.to_vec(), None);
            for (at, token) in tree.iter().enumerate() {
                match token {
                    TokenTree::Group(group) => {
                        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.add_imports(&inner, &path);
                        path.clear();
                    }
                    TokenTree::Ident(word) if word == "as" => {
                        alias = tree.get(at + 1).map(ToString::to_string);
                        break;
                    }
                    TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                    TokenTree::Ident(word) => path.push(word.to_string()),
                    TokenTree::Punct(mark) if mark.as_char() == '*' => path.push("*".to_owned()),
                    _ => {}
                }
            }
            if let Some(name) = path.last() {
                self.imports.push((alias.unwrap_or_else(|| name.clone()), path));
            }
        }
    }
}

fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == mark)
}

/// Whether the tokens begin with `#[cfg(test)]`.
fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    matches!(tokens.get(1), Some(TokenTree::Group(group))
        if group.stream().to_string().replace(' ', "") == "cfg(test)")
}

/// Returns the number of tokens up to the end of the first item: a semicolon or a block.
fn length_of_item(tokens: &[TokenTree]) -> usize {
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == proc_macro2::Delimiter::Brace,
        token => is_mark(token, ';'),
    };
    tokens.iter().position(is_end).map_or(tokens.len(), |at| at + 1)
}

/// Returns the path at the beginning of the tokens, which is one word or more.
fn path_at(tokens: &[TokenTree]) -> Segments {
    let mut path = Segments::new();
    let mut rest = tokens;
    while let Some(TokenTree::Ident(word)) = rest.first() {
        path.push(word.to_string());
        match rest.get(1..4) {
            Some([a, b, TokenTree::Ident(_)]) if is_mark(a, ':') && is_mark(b, ':') => {
                rest = &rest[3..];
            }
            _ => break,
        }
    }
    path
}

impl Sources {
    /// Reads the files of a crate.
    fn read(src: &Path) -> Self {
        let has_library = src.join("lib.rs").exists();
        let modules = files(src).into_iter().filter_map(|path| {
            let relative = path.strip_prefix(src).unwrap().with_extension("");
            let mut module: Module =
                relative.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            let name = module.last().cloned().unwrap();
            if module.iter().any(|part| part == "tests") || name.ends_with("_tests") {
                return None;
            }
            match name.as_str() {
                // The program beside a library is a crate of its own.
                "main" if has_library => {}
                "lib" | "main" | "mod" => _ = module.pop(),
                _ => {}
            }
            Some((module, Names::of(&std::fs::read_to_string(&path).unwrap())))
        });
        Self(modules.collect())
    }

    /// Returns the module that defines what `path` names in the module `from`; `None` for another
    /// crate's items.
    fn resolve(&self, from: &[String], path: &[String]) -> Option<Module> {
        let (first, mut rest) = path.split_first()?;
        let mut module = match first.as_str() {
            "crate" => Module::new(),
            "self" => from.to_vec(),
            "super" => {
                let more = rest.iter().take_while(|part| *part == "super").count();
                rest = &rest[more..];
                from[..from.len().checked_sub(more + 1)?].to_vec()
            }
            name if self.0.contains_key(&child(from, name)) => child(from, name),
            name => {
                let mut imports = self.0.get(from)?.imports.iter();
                let (_, import) = imports.find(|(known, import)| {
                    known == name && !rest.is_empty() && is_local(import)
                })?;
                return self.resolve(from, &[import, rest].concat());
            }
        };
        while let Some((name, behind)) = rest.split_first()
            && self.0.contains_key(&child(&module, name))
        {
            module.push(name.clone());
            rest = behind;
        }
        let names = self.0.get(&module)?;
        let Some(name) = rest.first().filter(|name| !names.items.contains(*name)) else {
            return Some(module);
        };
        // An item that the module imports belongs to the file that defines it.
        match names.imports.iter().find(|(known, _)| known == name) {
            Some((_, import)) => self.resolve(&module, import),
            None => Some(module),
        }
    }

    /// Returns for each module the modules that it uses, without those above and below it.
    fn uses(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let uses = self.0.iter().map(|(module, names)| {
            let imports = names.imports.iter().map(|(_, path)| path);
            let used = imports.chain(&names.paths).filter_map(|path| self.resolve(module, path));
            let used = used.filter(|used| !used.starts_with(module) && !module.starts_with(used));
            (module, used.collect())
        });
        uses.collect()
    }

    /// Returns the uses that are part of a circle, as `a -> b`.
    fn circles(&self) -> Vec<String> {
        let uses = self.uses();
        let reachable = |from: &Module| {
            let mut found = BTreeSet::new();
            let mut waiting = vec![from];
            while let Some(module) = waiting.pop() {
                for used in &uses[module] {
                    if found.insert(used.clone()) {
                        waiting.push(used);
                    }
                }
            }
            found
        };
        let all: BTreeMap<&Module, BTreeSet<Module>> =
            uses.keys().map(|module| (*module, reachable(module))).collect();
        let pairs = uses.iter().flat_map(|(module, used)| used.iter().map(|used| (*module, used)));
        pairs
            .filter(|(module, used)| all[used].contains(*module))
            .map(|(module, used)| format!("{} -> {}", module.join("::"), used.join("::")))
            .collect()
    }
}

fn child(module: &[String], name: &str) -> Module {
    [module, &[name.to_owned()]].concat()
}

fn is_local(path: &[String]) -> bool {
    path.first().is_some_and(|first| ["crate", "self", "super"].contains(&first.as_str()))
}

#[test]
fn files_of_a_crate_do_not_use_each_other_in_a_circle() {
    let crates = root().join("brain-daemon/crates");
    let mut dirs: Vec<_> =
        std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()).collect();
    dirs.extend(["protocol", "brain-ctl", "brain-daemon"].map(|name| root().join(name)));
    for dir in dirs {
        let circles = Sources::read(&dir.join("src")).circles();
        assert!(circles.is_empty(), "{}:\n{}", dir.display(), circles.join("\n"));
    }
}

#[test]
fn a_circle_of_files_is_found() {
    let module = |path: &str| -> Module {
        path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let sources = |texts: &[(&str, &str)]| {
        Sources(texts.iter().map(|(path, text)| (module(path), Names::of(text))).collect())
    };
    let names = [
        ("", "mod a; mod b; mod c; pub use c::C;"),
        ("a", "use super::b::{self, B}; fn a() { b::other(); }"),
        ("b", "use crate::C; struct B; fn other() {}"),
        ("c", "struct C; fn c() -> u8 { crate::a::a(\"\\\"\") }"),
        ("c::d", "use super::C; #[cfg(test)] mod tests { use crate::a::a; }"),
    ];
    assert_eq!(sources(&names).circles(), ["a -> b", "b -> c", "c -> a"]);
    let [root, a, b, _, d] = names;
    assert_eq!(sources(&[root, a, b, ("c", "struct C;"), d]).circles(), [""; 0]);
}
