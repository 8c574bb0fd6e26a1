//! Puts the paragraphs of a document into lists, quotes and code.

use crate::model::{Block, FlatItem, Inline, nested_lists, plain_text};

/// What a paragraph is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    #[default]
    Plain,
    Quote,
    Code,
    /// The title of the document.
    Title,
    /// A heading with its level, from 1.
    Heading(u8),
}

/// The blocks of a document, in order. Programs store lists, quotes and code as paragraphs.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    blocks: Vec<Block>,
    items: Vec<FlatItem>,
    quote: Vec<Block>,
    code: Vec<String>,
}

impl Flow {
    /// Adds a block.
    pub(crate) fn block(&mut self, block: Block) {
        self.end_groups();
        self.blocks.push(block);
    }

    /// Adds blocks.
    pub(crate) fn extend(&mut self, blocks: Vec<Block>) {
        if !blocks.is_empty() {
            self.end_groups();
            self.blocks.extend(blocks);
        }
    }

    /// Adds a paragraph. Empty ones are only distance.
    pub(crate) fn paragraph(&mut self, kind: Kind, content: Vec<Inline>) {
        if kind == Kind::Code {
            if self.code.is_empty() {
                self.end_groups();
            }
            self.code.push(code_line(&content));
            // A picture or a note has no place in code.
            let others = |it: &Inline| !matches!(it, Inline::Text(_) | Inline::Break);
            let rest: Vec<Inline> = content.into_iter().filter(others).collect();
            if !rest.is_empty() {
                self.block(Block::Paragraph(rest));
            }
            return;
        }
        if is_blank(&content) {
            return;
        }
        match kind {
            Kind::Title => self.block(Block::Heading(1, without_bold(content))),
            Kind::Heading(level) => self.block(Block::Heading(level, without_bold(content))),
            Kind::Quote => {
                if self.quote.is_empty() {
                    self.end_groups();
                }
                self.quote.push(Block::Paragraph(content));
            }
            Kind::Plain | Kind::Code => self.block(Block::Paragraph(content)),
        }
    }

    /// Adds an item of a list.
    pub(crate) fn item(&mut self, item: FlatItem) {
        if self.items.is_empty() {
            self.end_groups();
        }
        self.items.push(item);
    }

    /// Returns all blocks.
    pub(crate) fn finish(mut self) -> Vec<Block> {
        self.end_groups();
        self.blocks
    }

    fn end_groups(&mut self) {
        self.blocks.extend(nested_lists(std::mem::take(&mut self.items)));
        if !self.quote.is_empty() {
            self.blocks.push(Block::Quote(std::mem::take(&mut self.quote)));
        }
        let code = std::mem::take(&mut self.code).join("\n");
        if !code.trim().is_empty() {
            self.blocks.push(Block::Code(code.trim_matches('\n').to_owned()));
        }
    }
}

/// Returns whether a paragraph shows nothing.
pub(crate) fn is_blank(content: &[Inline]) -> bool {
    content.iter().all(|inline| match inline {
        Inline::Text(text) => text.text.trim().is_empty(),
        Inline::Break => true,
        Inline::Note(_) | Inline::Picture { .. } => false,
    })
}

fn code_line(content: &[Inline]) -> String {
    let mut out = String::new();
    for inline in content {
        match inline {
            Inline::Text(text) => out.push_str(&text.text),
            Inline::Break => out.push('\n'),
            Inline::Note(_) | Inline::Picture { .. } => {}
        }
    }
    out
}

/// Headings are bold anyway.
fn without_bold(mut content: Vec<Inline>) -> Vec<Inline> {
    for inline in &mut content {
        if let Inline::Text(text) = inline {
            text.style.bold = false;
        }
    }
    content
}

/// Returns the first heading, if it is near the beginning.
pub(crate) fn first_heading(blocks: &[Block]) -> Option<String> {
    const NEAR: usize = 5;
    blocks.iter().take(NEAR).find_map(|block| match block {
        Block::Heading(_, content) => Some(plain_text(content)).filter(|text| !text.is_empty()),
        _ => None,
    })
}
