//! Gives the sheets of a document upright, as a reader sees them.
//!
//! A landscape sheet is often stored as a portrait one that is shown turned. The library sorts
//! turned text and loses the order in which it was drawn, so the contents are turned before.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use unpdf::Result;
use unpdf::parser::backend::{
    BackendFontInfo, ContentOp, DecodedRun, DecodedText, GlyphAdvance, PageBox, PageContent,
    PageId, PaintedXObject, PdfBackend, PdfMetadataRaw, RawBackend, RawOutlineItem, RawXObject,
    ResourceScope,
};
use unpdf::parser::bidi::contains_rtl;

use super::fonts_in_use::FontsInUse;
use super::right_to_left::turn_ligatures;

/// A box that contains each turned sheet. Parts outside of a turned sheet are read, too.
const EVERYWHERE: PageBox = PageBox { llx: -1e5, lly: -1e5, urx: 1e5, ury: 1e5 };

/// The sheets of a document, upright.
pub(super) struct Upright {
    document: RawBackend,
    pages: BTreeMap<u32, PageId>,
    fonts: Mutex<FontsInUse>,
}

impl Upright {
    pub(super) fn new(document: RawBackend) -> Self {
        let pages = document.pages();
        Self { document, pages, fonts: Mutex::default() }
    }

    /// Returns what is known about the fonts of the sheet.
    fn fonts(&self) -> MutexGuard<'_, FontsInUse> {
        // After a panic of the library, what was known before is still right.
        self.fonts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the operator that turns a sheet as its reader sees it; none if it is upright.
    fn turn(&self, page: PageId) -> Option<&'static [u8]> {
        match self.document.page_rotation(page) {
            90 => Some(b"0 -1 1 0 0 0 cm "),
            180 => Some(b"-1 0 0 -1 0 0 cm "),
            270 => Some(b"0 1 -1 0 0 0 cm "),
            _ => None,
        }
    }
}

/// Makes the library see narrow blanks after a Korean syllable: it demands half an em there, and a
/// tenth after other characters. So it gets one of no width, which [`super::characters`] removes.
fn narrow_gaps(mut decoded: DecodedText) -> DecodedText {
    if decoded.text.ends_with(|last| ('\u{ac00}'..='\u{d7a3}').contains(&last)) {
        decoded.text.push('\u{200b}');
    }
    decoded
}

impl PdfBackend for Upright {
    fn pages(&self) -> BTreeMap<u32, PageId> {
        self.pages.clone()
    }

    fn page_content_with_losses(&self, page: PageId) -> Result<PageContent> {
        let mut content = self.document.page_content_with_losses(page)?;
        if let Some(turn) = self.turn(page) {
            content.data.splice(0..0, turn.iter().copied());
        }
        Ok(content)
    }

    fn page_content(&self, page: PageId) -> Result<Vec<u8>> {
        Ok(self.page_content_with_losses(page)?.data)
    }

    fn page_box(&self, page: PageId) -> PageBox {
        if self.turn(page).is_some() { EVERYWHERE } else { self.document.page_box(page) }
    }

    fn crop_box(&self, page: PageId) -> PageBox {
        if self.turn(page).is_some() { EVERYWHERE } else { self.document.crop_box(page) }
    }

    fn page_fonts(&self, scope: ResourceScope) -> Result<Vec<BackendFontInfo>> {
        self.document.page_fonts(scope)
    }

    fn decode_content(&self, data: &[u8]) -> Result<Vec<ContentOp>> {
        self.document.decode_content(data)
    }

    fn decode_text(&self, scope: ResourceScope, font: &[u8], bytes: &[u8]) -> DecodedText {
        self.fonts().text((scope, font), bytes, || {
            let decoded = self.document.decode_text(scope, font, bytes);
            // Only a run tells which characters are of one glyph.
            let decoded = match contains_rtl(&decoded.text) {
                true => turn_ligatures(self.document.decode_run(scope, font, bytes)).decoded,
                false => decoded,
            };
            narrow_gaps(decoded)
        })
    }

    fn decode_run(&self, scope: ResourceScope, font: &[u8], bytes: &[u8]) -> DecodedRun {
        let run = turn_ligatures(self.document.decode_run(scope, font, bytes));
        DecodedRun { decoded: narrow_gaps(run.decoded), ..run }
    }

    fn glyph_advances(
        &self,
        scope: ResourceScope,
        font: &[u8],
        bytes: &[u8],
    ) -> Option<Vec<GlyphAdvance>> {
        let read = || self.document.glyph_advances(scope, font, bytes);
        self.fonts().advances((scope, font), bytes, read)
    }

    fn is_vertical_font(&self, scope: ResourceScope, font: &[u8]) -> bool {
        let read = || self.document.is_vertical_font(scope, font);
        self.fonts().is_vertical((scope, font), read)
    }

    fn xobject(&self, scope: ResourceScope, name: &[u8]) -> Option<PaintedXObject> {
        self.document.xobject(scope, name)
    }

    fn metadata(&self) -> PdfMetadataRaw {
        self.document.metadata()
    }

    fn outline(&self) -> Result<Vec<RawOutlineItem>> {
        self.document.outline()
    }

    fn page_xobjects(&self, page: PageId) -> Result<Vec<RawXObject>> {
        self.document.page_xobjects(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_korean_syllable_is_followed_by_a_blank_without_width() {
        for (text, expected) in [("다음", "다음\u{200b}"), ("다.", "다."), ("weir", "weir")] {
            assert_eq!(narrow_gaps(DecodedText::text(text.to_owned())).text, expected);
        }
    }
}
