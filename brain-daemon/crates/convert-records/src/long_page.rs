//! A page that becomes several if its text is long.

use std::io;

use brain_convert_base::{Entry, Output, Page, Paths, Tree};
use brain_protocol::MAX_ATTACHMENT;

/// Maximum length of the text of one page, in bytes. With its frontmatter it is below the limit.
const MAX_BODY: usize = 4_500_000;

/// Where pages go.
pub(crate) struct Target<'a, 'o> {
    /// The paths of all pages.
    pub(crate) paths: &'a mut Paths,
    /// Where the files of pages are.
    pub(crate) tree: Option<&'a Tree>,
    /// The lines that are written.
    pub(crate) out: &'a mut Output<'o>,
}

/// A page to which text is added.
pub(crate) struct LongPage {
    page: Page,
    /// The title and the path without the number of the part.
    title: String,
    path: String,
    /// The number of the part, from 1.
    part: usize,
    /// The files of this part: name in the page, and where they are.
    files: Vec<(String, Entry)>,
    is_empty: bool,
}

impl LongPage {
    /// Begins with a page. Its body is the introduction.
    pub(crate) fn new(page: Page) -> Self {
        let (title, path) = (page.title.clone(), page.path.clone());
        Self { page, title, path, part: 1, files: Vec::new(), is_empty: true }
    }

    /// Whether nothing was added to the current part.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Makes sure that a text of this length fits: writes the current part and begins another one
    /// if it does not.
    pub(crate) fn make_room(
        &mut self,
        length: usize,
        target: &mut Target<'_, '_>,
    ) -> io::Result<()> {
        if self.is_empty || self.page.body.len() + length <= MAX_BODY {
            return Ok(());
        }
        self.write(target)?;
        self.part += 1;
        let folders: Vec<&str> = self.path.split('/').collect();
        let (name, folders) = folders.split_last().unwrap_or((&"", &[]));
        let name = format!("{name} (part {})", self.part);
        let former = std::mem::take(&mut self.page);
        let mut page = Page::default();
        page.from = former.from;
        page.path = target.paths.add(folders.iter().copied(), &name);
        page.title = format!("{} (part {})", self.title, self.part);
        page.created = former.created;
        page.updated = former.updated;
        page.tags = former.tags;
        page.fields = former.fields;
        self.page = page;
        self.is_empty = true;
        Ok(())
    }

    /// Adds a paragraph or block.
    pub(crate) fn add(&mut self, text: &str) {
        if !self.page.body.is_empty() {
            self.page.body.push_str("\n\n");
        }
        self.page.body.push_str(text);
        self.is_empty = false;
    }

    /// Adds a file, shown if it is a picture. `wish` is its name.
    pub(crate) fn attach(&mut self, wish: &str, entry: &Entry) {
        let name = self.page.attach(wish);
        let mark = if brain_page::is_picture(&name) { "!" } else { "" };
        self.add(&format!("{mark}[[{name}]]"));
        self.files.push((name, entry.clone()));
    }

    /// Writes the last part.
    pub(crate) fn end(mut self, target: &mut Target<'_, '_>) -> io::Result<()> {
        self.write(target)
    }

    fn write(&mut self, target: &mut Target<'_, '_>) -> io::Result<()> {
        target.out.page(&self.page)?;
        for (name, entry) in std::mem::take(&mut self.files) {
            let read = target.tree.map(|tree| tree.read(&entry, MAX_ATTACHMENT));
            let reason = match read {
                Some(Ok(Some(bytes))) => {
                    target.out.file(&self.page, &name, &bytes)?;
                    continue;
                }
                Some(Ok(None)) => format!(
                    "it has more than {MAX_ATTACHMENT} bytes, the limit for a file of a page"
                ),
                Some(Err(error)) => format!("it cannot be read: {error}"),
                None => "the file is not in the export".to_owned(),
            };
            target.out.lost(&format!("{}, {}", self.page.from, entry.path), &reason)?;
        }
        Ok(())
    }
}
