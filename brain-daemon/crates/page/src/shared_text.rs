//! The two texts of a page, kept once in memory, with the facts that were read from them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::content_digest;
use super::frontmatter::{Frontmatter, FrontmatterError};
use super::timeline::{TimelineEntry, timeline};
use super::title::derive_title;
use super::top_heading::top_heading;

/// A text with facts `F` about it. Clones share both, so that a page is copied and read once on its
/// way from the client to the disk. Each fact is computed when it is first asked for.
#[derive(Clone)]
pub struct SharedText<F> {
    text: Arc<str>,
    facts: Arc<F>,
}

/// The text of a page below its frontmatter.
pub type Body = SharedText<BodyFacts>;

/// The text of a frontmatter, as [`Frontmatter::raw`] returns it, with its values.
pub type FrontmatterText = SharedText<OnceLock<Result<Frontmatter, FrontmatterError>>>;

/// Facts about a [`Body`].
#[derive(Clone, Default)]
pub struct BodyFacts {
    digest: OnceLock<[u8; 32]>,
    timeline: OnceLock<Vec<TimelineEntry>>,
    top_heading: OnceLock<Option<String>>,
    derived_title: OnceLock<String>,
}

impl Body {
    /// Returns the [`content_digest`].
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        *self.facts.digest.get_or_init(|| content_digest(self))
    }

    /// Returns the [`timeline`].
    #[must_use]
    pub fn timeline(&self) -> &[TimelineEntry] {
        self.facts.timeline.get_or_init(|| timeline(self))
    }

    /// Returns the [`top_heading`].
    #[must_use]
    pub fn top_heading(&self) -> Option<&str> {
        self.facts.top_heading.get_or_init(|| top_heading(self)).as_deref()
    }

    /// Returns the title that [`derive_title`] finds.
    #[must_use]
    pub fn derived_title(&self) -> &str {
        self.facts.derived_title.get_or_init(|| derive_title(self))
    }
}

impl FrontmatterText {
    /// Returns the parsed frontmatter.
    ///
    /// # Errors
    /// As [`Frontmatter::parse`]: when the text is damaged.
    pub fn parsed(&self) -> Result<&Frontmatter, &FrontmatterError> {
        self.facts.get_or_init(|| Frontmatter::parse(self)).as_ref()
    }
}

impl From<Frontmatter> for FrontmatterText {
    fn from(frontmatter: Frontmatter) -> Self {
        let text = frontmatter.raw().into();
        Self { text, facts: Arc::new(Ok(frontmatter).into()) }
    }
}

impl<F> SharedText<F> {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text without its facts; it is not copied.
    #[must_use]
    pub fn to_arc(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }
}

impl<F> Deref for SharedText<F> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl<F: Default> Default for SharedText<F> {
    fn default() -> Self {
        "".into()
    }
}

impl<F: Default> From<&str> for SharedText<F> {
    fn from(text: &str) -> Self {
        Self { text: text.into(), facts: Arc::default() }
    }
}

impl<F: Default> From<String> for SharedText<F> {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl<F> From<SharedText<F>> for String {
    fn from(text: SharedText<F>) -> Self {
        text.as_str().to_owned()
    }
}

impl<F> PartialEq for SharedText<F> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<F> Eq for SharedText<F> {}

impl<F, T: AsRef<str> + ?Sized> PartialEq<T> for SharedText<F> {
    fn eq(&self, other: &T) -> bool {
        self.as_str() == other.as_ref()
    }
}

impl<F> fmt::Debug for SharedText<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// Has the bytes of a `String` in every format.
impl<F> Serialize for SharedText<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de, F: Default> Deserialize<'de> for SharedText<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Copies the text only if the format does not have it in one piece.
        #[derive(Deserialize)]
        struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
        Borrowed::deserialize(deserializer).map(|text| text.0.as_ref().into())
    }
}
