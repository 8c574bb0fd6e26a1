//! Writes blocks as markdown.

mod line;
mod table;
mod writer;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub(crate) use writer::Writer;
