//! The files of a crate do not import each other in a cycle.
//!
//! A file imports another one if it names one of its items. A module contains those below it, so it
//! depends on them; they may name its items. Calls of methods and test code do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::architecture::{files, root};

/// The path of a module in its crate.
type Module = Vec<String>;
/// The segments of a path, such as `crate`, `store`, `Reader`.
type Segments = Vec<String>;

/// What a file defines and names.
#[derive(Default)]
struct Names {
    items: BTreeSet<String>,
    /// Imported paths, by the name that they have in the file; `*` for all items of a module.
    imports: Vec<(String, Segments)>,
    paths: Vec<Segments>,
}

/// The modules of a crate that are files.
struct Modules(BTreeMap<Module, Names>);

impl Names {
    fn of(text: &str) -> Self {
        let mut names = Self::default();
        names.add(text.parse().unwrap());
        names
    }

    fn add(&mut self, tokens: TokenStream) {
        const KEYWORDS: [&str; 7] = ["fn", "struct", "enum", "trait", "const", "static", "type"];
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        while let Some(token) = rest.first() {
            let next = rest.get(1);
            let mut read = 1;
            match token {
                TokenTree::Punct(_) if is_punct(token, '#') && is_test_attribute(next) => {
                    read = length_of_item(rest);
                }
                // `impl Trait + use<>` imports nothing.
                TokenTree::Ident(word)
                    if word == "use" && next.is_some_and(|next| !is_punct(next, '<')) =>
                {
                    read = rest.iter().take_while(|token| !is_punct(token, ';')).count();
                    self.add_imports(&rest[1..read], &[]);
                }
                TokenTree::Ident(word) => {
                    if KEYWORDS.iter().any(|keyword| word == keyword)
                        && let Some(TokenTree::Ident(name)) = next
                    {
                        self.items.insert(name.to_string());
                    }
                    let path = path_at(rest);
                    read = 3 * path.len() - 2;
                    if path.len() > 1 {
                        self.paths.push(path);
                    }
                }
                TokenTree::Group(group) => self.add(group.stream()),
                _ => {}
            }
            rest = &rest[read..];
        }
    }

    /// Adds the paths of a `use`, such as `a::{b, c as d}`.
    fn add_imports(&mut self, tokens: &[TokenTree], prefix: &[String]) {
        for tree in tokens.split(|token| is_punct(token, ',')) {
            let (mut path, mut alias) = (prefix.to_vec(), None);
            for (index, token) in tree.iter().enumerate() {
                match token {
                    TokenTree::Group(group) => {
                        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.add_imports(&inner, &path);
                        path.clear();
                    }
                    TokenTree::Ident(word) if word == "as" => {
                        alias = tree.get(index + 1).map(ToString::to_string);
                        break;
                    }
                    TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                    TokenTree::Ident(word) => path.push(word.to_string()),
                    token if is_punct(token, '*') => path.push("*".to_owned()),
                    _ => {}
                }
            }
            if let Some(name) = path.last() {
                self.imports.push((alias.unwrap_or_else(|| name.clone()), path));
            }
        }
    }
}

fn is_punct(token: &TokenTree, expected: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == expected)
}

/// Whether the token behind a `#` makes it `#[cfg(test)]`.
fn is_test_attribute(token: Option<&TokenTree>) -> bool {
    token.is_some_and(|token| token.to_string().replace(' ', "") == "[cfg(test)]")
}

/// Returns the number of tokens up to the end of the first item, field or variant.
fn length_of_item(tokens: &[TokenTree]) -> usize {
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is_punct(token, ';') || is_punct(token, ','),
    };
    tokens.iter().position(is_end).map_or(tokens.len(), |last| last + 1)
}

/// Returns the path at the beginning of the tokens, which is one word or more.
fn path_at(tokens: &[TokenTree]) -> Segments {
    let mut path = Segments::new();
    let mut rest = tokens;
    while let Some(TokenTree::Ident(word)) = rest.first() {
        path.push(word.to_string());
        match rest.get(1..4) {
            Some([a, b, TokenTree::Ident(_)]) if is_punct(a, ':') && is_punct(b, ':') => {
                rest = &rest[3..];
            }
            _ => break,
        }
    }
    path
}

impl Modules {
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
        while let Some((name, inner)) = rest.split_first()
            && self.0.contains_key(&child(&module, name))
        {
            module.push(name.clone());
            rest = inner;
        }
        let names = self.0.get(&module)?;
        let Some(name) = rest.first().filter(|name| *name != "*" && !names.items.contains(*name))
        else {
            return Some(module);
        };
        // An item that the module imports belongs to the file that defines it.
        if let Some((_, import)) = names.imports.iter().find(|(known, _)| known == name) {
            return self.resolve(&module, import);
        }
        let mut all_of = names.imports.iter().filter(|(known, _)| known == "*");
        let defining = all_of.find_map(|(_, import)| {
            let imported = self.resolve(&module, &import[..import.len() - 1])?;
            self.0[&imported].items.contains(name).then_some(imported)
        });
        Some(defining.unwrap_or(module))
    }

    /// Returns for each module those that it depends on: the modules below it, and those whose
    /// items it names, without those above it.
    fn dependencies(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let dependencies = self.0.iter().map(|(module, names)| {
            let imports = names.imports.iter().map(|(_, path)| path);
            let named = imports.chain(&names.paths).filter_map(|path| self.resolve(module, path));
            let named = named.filter(|named| !module.starts_with(named));
            let named = named.filter_map(|named| Some(self.0.get_key_value(&named)?.0));
            let below = self
                .0
                .keys()
                .filter(|other| other.split_last().is_some_and(|(_, parent)| parent == module));
            (module, named.chain(below.filter(|_| !module.is_empty())).collect())
        });
        dependencies.collect()
    }

    /// Returns the dependencies that are part of a cycle, as `a -> b`.
    fn cycles(&self) -> Vec<String> {
        let dependencies = self.dependencies();
        let mut reachable = BTreeMap::new();
        for from in self.0.keys() {
            let mut found = BTreeSet::new();
            let mut waiting = vec![from];
            while let Some(module) = waiting.pop() {
                waiting.extend(dependencies[module].iter().filter(|other| found.insert(**other)));
            }
            reachable.insert(from, found);
        }
        let pairs = dependencies.iter().flat_map(|(from, all)| all.iter().map(|to| (*from, *to)));
        pairs
            .filter(|(from, to)| reachable[to].contains(from))
            .map(|(from, to)| format!("{} -> {}", from.join("::"), to.join("::")))
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
fn files_of_a_crate_do_not_import_each_other_in_a_cycle() {
    let crates = root().join("brain-daemon/crates");
    let mut dirs: Vec<_> =
        std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()).collect();
    dirs.extend(["protocol", "brain-ctl", "brain-daemon", "lsp"].map(|name| root().join(name)));
    let (mut count, mut cycles) = (0, Vec::new());
    for dir in dirs {
        let modules = Modules::read(&dir.join("src"));
        count += modules.dependencies().values().map(BTreeSet::len).sum::<usize>();
        let name = dir.file_name().unwrap().to_str().unwrap();
        cycles.extend(modules.cycles().into_iter().map(|cycle| format!("{name}: {cycle}")));
    }
    let advice = "move the items that files share to a file of their own";
    assert!(cycles.is_empty(), "{advice}:\n{}", cycles.join("\n"));
    assert!(count > 2000, "only {count} dependencies were found");
}

#[test]
fn a_cycle_of_files_is_found() {
    let module = |path: &str| -> Module {
        path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let modules = |texts: &[(&str, &str)]| {
        Modules(texts.iter().map(|(path, text)| (module(path), Names::of(text))).collect())
    };
    let [root, a, b, c, d] = [
        ("", "mod a; mod b; mod c; pub use c::*; pub use a::*;"),
        ("a", "use super::b::{self, B}; fn a() -> impl X + use<> { 1 } fn x() { b::other(); }"),
        ("b", "use crate::C; struct B { #[cfg(test)] x: crate::a::A, y: u8 } fn other() {}"),
        ("c", "struct C; fn c() -> u8 { crate::a::a(\"\\\"\") }"),
        ("c::d", "use super::C; #[cfg(test)] mod tests { use crate::a::a; }"),
    ];
    assert_eq!(modules(&[root, a, b, c, d]).cycles(), ["a -> b", "b -> c", "c -> a"]);
    let c = ("c", "struct C;");
    assert_eq!(modules(&[root, a, b, c, d]).cycles(), [""; 0]);
    let d = ("c::d", "use crate::a; fn d() { a::a() }");
    let cycles = ["a -> b", "b -> c", "c -> c::d", "c::d -> a"];
    assert_eq!(modules(&[root, a, b, c, d]).cycles(), cycles, "through the module d in c");
}
