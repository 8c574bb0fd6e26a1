//! What is known about the fonts of a sheet. The library asks several times for each string, and
//! each time it looks for the font in the sheet and in all its parents.

use std::collections::HashMap;

use unpdf::parser::backend::{DecodedText, GlyphAdvance, ResourceScope};

/// Maximum length of a string that is kept, in bytes.
const MAX_LENGTH: usize = 64;
/// After so many questions about strings, all are forgotten.
const MAX_ASKED: usize = 16_384;

/// The fonts of a sheet, or of a form on it, by their names there.
#[derive(Default)]
pub(super) struct FontsInUse {
    scope: Option<ResourceScope>,
    fonts: HashMap<Vec<u8>, Font>,
    /// How often a string was asked for: at most so many are kept.
    asked: usize,
}

/// A font, and strings that were drawn with it.
#[derive(Default)]
struct Font {
    is_vertical: Option<bool>,
    strings: HashMap<Vec<u8>, Drawn>,
}

/// What is known about a string.
#[derive(Default)]
struct Drawn {
    text: Option<DecodedText>,
    /// The widths of its glyphs, if the library knows them.
    advances: Option<Option<Vec<GlyphAdvance>>>,
}

impl FontsInUse {
    /// Returns whether a font writes downwards.
    pub(super) fn is_vertical(
        &mut self,
        (scope, font): (ResourceScope, &[u8]),
        read: impl FnOnce() -> bool,
    ) -> bool {
        *self.font(scope, font).is_vertical.get_or_insert_with(read)
    }

    /// Returns the text of a string.
    pub(super) fn text(
        &mut self,
        font: (ResourceScope, &[u8]),
        bytes: &[u8],
        read: impl FnOnce() -> DecodedText,
    ) -> DecodedText {
        match self.string(font, bytes) {
            Some(drawn) => drawn.text.get_or_insert_with(read).clone(),
            None => read(),
        }
    }

    /// Returns the widths of a string's glyphs, if they are known.
    pub(super) fn advances(
        &mut self,
        font: (ResourceScope, &[u8]),
        bytes: &[u8],
        read: impl FnOnce() -> Option<Vec<GlyphAdvance>>,
    ) -> Option<Vec<GlyphAdvance>> {
        match self.string(font, bytes) {
            Some(drawn) => drawn.advances.get_or_insert_with(read).clone(),
            None => read(),
        }
    }

    fn font(&mut self, scope: ResourceScope, name: &[u8]) -> &mut Font {
        if self.scope != Some(scope) || self.asked >= MAX_ASKED {
            *self = Self { scope: Some(scope), ..Self::default() };
        }
        self.fonts.entry(name.to_vec()).or_default()
    }

    /// Returns what is known about a string; `None` if it is too long to be kept.
    fn string(
        &mut self,
        (scope, font): (ResourceScope, &[u8]),
        bytes: &[u8],
    ) -> Option<&mut Drawn> {
        if bytes.len() > MAX_LENGTH {
            return None;
        }
        self.asked += 1;
        Some(self.font(scope, font).strings.entry(bytes.to_vec()).or_default())
    }
}
