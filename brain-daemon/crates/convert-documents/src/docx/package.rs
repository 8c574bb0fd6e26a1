//! The parts of a DOCX and their relationships (ISO 29500-2).

use std::collections::HashMap;

use crate::container::{Container, folder, resolve};
use crate::xml::Xml;

/// A document whose main part is known.
pub(super) struct Package<'a> {
    pub(super) container: &'a Container,
    /// The path of the main part.
    pub(super) document: String,
}

/// The relationships of a part by their ids.
#[derive(Debug, Default)]
pub(super) struct Relationships(HashMap<String, Relationship>);

/// What an id of a part stands for.
#[derive(Debug)]
pub(super) struct Relationship {
    /// The last name of its type: `image`, `hyperlink`.
    pub(super) kind: String,
    /// The path of a part, or an address.
    pub(super) target: String,
    pub(super) is_external: bool,
}

impl<'a> Package<'a> {
    pub(super) fn of(container: &'a Container) -> Self {
        let package = Self { container, document: String::new() };
        let root = package.relationships("");
        let document = root.first("officeDocument").map(str::to_owned);
        Self { document: document.unwrap_or_else(|| "word/document.xml".to_owned()), container }
    }

    /// Returns the relationships of a part; those of the package for an empty path.
    pub(super) fn relationships(&self, part: &str) -> Relationships {
        let folder = folder(part);
        let name = part.rsplit('/').next().unwrap_or(part);
        let path = resolve(folder, &format!("_rels/{name}.rels"));
        let xml = self.container.optional_xml(&path);
        let mut found = HashMap::new();
        for element in xml.elements().filter(|it| it.local_name() == "Relationship") {
            let value = |name: &str| element.attribute(name).unwrap_or_default();
            let is_external = value("TargetMode") == "External";
            let target = value("Target");
            let target = if is_external { target.to_owned() } else { resolve(folder, target) };
            let kind = value("Type").rsplit('/').next().unwrap_or_default().to_owned();
            found.insert(value("Id").to_owned(), Relationship { kind, target, is_external });
        }
        Relationships(found)
    }

    /// Returns the path of the part of a kind that belongs to the document.
    pub(super) fn part_path(&self, kind: &str) -> String {
        let relationships = self.relationships(&self.document);
        let usual = || resolve(folder(&self.document), &format!("{kind}.xml"));
        relationships.first(kind).map_or_else(usual, str::to_owned)
    }

    /// Returns the part of a kind that belongs to the document. A missing one is empty.
    pub(super) fn part(&self, kind: &str) -> Xml {
        self.container.optional_xml(&self.part_path(kind))
    }
}

impl Relationships {
    /// Returns the relationship with an id.
    pub(super) fn get(&self, id: &str) -> Option<&Relationship> {
        self.0.get(id)
    }

    /// Returns the target of the first relationship of a kind.
    pub(super) fn first(&self, kind: &str) -> Option<&str> {
        self.of_kind(kind).into_iter().next()
    }

    /// Returns the targets of all relationships of a kind, sorted.
    pub(super) fn of_kind(&self, kind: &str) -> Vec<&str> {
        let found = self.0.values().filter(|it| it.kind == kind && !it.is_external);
        let mut targets: Vec<&str> = found.map(|it| it.target.as_str()).collect();
        targets.sort_unstable();
        targets
    }
}
