//! The invented people, companies, projects and sentences of the demonstration: `world.json`.

use brain_protocol::{Fault, FaultCode};
use serde::Deserialize;

/// All word lists.
#[derive(Deserialize)]
pub(super) struct World {
    /// The commands of the tour name the first person.
    pub(super) people: Vec<Person>,
    pub(super) companies: Vec<Company>,
    /// The commands of the tour name the first project.
    pub(super) projects: Vec<Project>,
    pub(super) ideas: Vec<Article>,
    pub(super) reading: Vec<Article>,
    /// First sentences of daily notes.
    pub(super) mornings: Vec<String>,
    /// Sentences of daily notes, with the placeholders `{project}` and `{person}`.
    pub(super) work: Vec<String>,
    pub(super) thoughts: Vec<String>,
    pub(super) errands: Vec<String>,
    /// First sentences of meetings.
    pub(super) openings: Vec<String>,
    /// Completes "We met …".
    pub(super) met: Vec<String>,
    pub(super) posts: Vec<String>,
    /// Posts of others. The placeholder `{own}` stands for the handle of the account.
    pub(super) mentions: Vec<String>,
}

/// A person.
#[derive(Deserialize)]
pub(super) struct Person {
    pub(super) name: String,
    pub(super) role: String,
    /// The index of the company.
    pub(super) company: usize,
    /// The handle on the social platform.
    pub(super) handle: String,
    /// A sentence about the person.
    pub(super) fact: String,
}

/// A company.
#[derive(Deserialize)]
pub(super) struct Company {
    pub(super) name: String,
    pub(super) city: String,
    /// Completes "They …".
    pub(super) work: String,
    pub(super) remark: String,
}

/// A project of the writer of the notes.
#[derive(Deserialize)]
pub(super) struct Project {
    pub(super) name: String,
    pub(super) tag: String,
    pub(super) purpose: String,
    /// Topics of meetings, as noun phrases.
    pub(super) topics: Vec<String>,
    pub(super) decisions: Vec<String>,
    pub(super) tasks: Vec<String>,
}

/// An idea, or a book or paper.
#[derive(Deserialize)]
pub(super) struct Article {
    pub(super) title: String,
    pub(super) text: String,
    #[serde(default)]
    pub(super) author: String,
    #[serde(default)]
    pub(super) quote: String,
}

impl World {
    /// Reads the word lists.
    ///
    /// # Errors
    /// `internal` if the embedded file is invalid; the tests read it, so they would fail.
    pub(super) fn load() -> Result<Self, Fault> {
        serde_json::from_str(include_str!("world.json"))
            .map_err(|e| Fault::new(FaultCode::Internal, format!("world.json: {e}")))
    }
}

/// Returns the slug of a name: `Mara Lindqvist` is `mara-lindqvist`.
pub(super) fn slug(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' });
    let words: String = letters.collect::<String>().to_lowercase();
    words.split_whitespace().collect::<Vec<_>>().join("-")
}
