//! The lists of an ODT.

use super::body::Reader;
use super::list_place::ListPlace;
use crate::flow::Flow;
use crate::model::{Block, List};
use crate::xml::Element;

impl<'x> Reader<'_> {
    /// Reads a list into `flow`.
    pub(super) fn list(&mut self, list: Element<'x>, place: ListPlace<'x>, flow: &mut Flow) {
        let own = list.attribute("text:style-name").unwrap_or(place.style);
        let place = ListPlace { style: own, ..place };
        let first = self.first_number(list, place);
        let mut next = first;
        let mut open = List { first, items: Vec::new() };
        for element in list.children() {
            let is_header = element.name() == "text:list-header";
            if !is_header && element.name() != "text:list-item" {
                continue;
            }
            let number = element.attribute("text:start-value").and_then(|it| it.parse().ok());
            let restarts = next.is_some() && number.is_some() && number != next;
            let is_heading = is_only_heading(element);
            if (restarts || is_header || is_heading) && !open.items.is_empty() {
                let items = std::mem::take(&mut open.items);
                flow.block(Block::List(List { first: open.first, items }));
            }
            if next.is_some() && number.is_some() {
                next = number;
            }
            let blocks = self.item(element, place);
            if blocks.is_empty() {
                continue;
            }
            if is_header || is_heading {
                flow.extend(blocks);
                continue;
            }
            if open.items.is_empty() {
                open.first = next;
            }
            open.items.push(blocks);
            next = next.map(|number: u32| number.saturating_add(1));
        }
        self.end_list(list, place.style, place.level, next);
        if !open.items.is_empty() {
            flow.block(Block::List(open));
        }
    }

    fn item(&mut self, item: Element<'x>, place: ListPlace<'x>) -> Vec<Block> {
        let mut flow = Flow::default();
        let deeper = ListPlace { level: place.level + 1, ..place };
        self.fill(item, deeper, &mut flow);
        flow.finish()
    }

    /// Returns the number of the first item, or `None` for bullets. A list can go on where another
    /// one ended.
    fn first_number(&self, list: Element<'_>, place: ListPlace<'_>) -> Option<u32> {
        let item = list.children().find(|it| it.name() == "text:list-item");
        // Without a style of its own, the style of the paragraphs decides.
        let paragraph = item.and_then(|it| it.children().find(|it| it.name() == "text:p"));
        let paragraph = paragraph.and_then(|it| it.attribute("text:style-name"));
        let by_paragraph = paragraph.and_then(|name| self.styles.list_of(name));
        let style = if place.style.is_empty() { by_paragraph.unwrap_or("") } else { place.style };
        let first = self.styles.first_number(style, place.level)?;
        let continued = list.attribute("text:continue-list").and_then(|id| self.lists.get(id));
        let goes_on = list.attribute("text:continue-numbering") == Some("true");
        let last = self.lists.get(&list_key(place.style, place.level)).filter(|_| goes_on);
        Some(continued.or(last).copied().unwrap_or(first))
    }

    /// Remembers the number after the last item.
    fn end_list(&mut self, list: Element<'_>, style: &str, level: u32, next: Option<u32>) {
        let Some(next) = next else { return };
        if let Some(id) = list.attribute("xml:id") {
            self.lists.insert(id.to_owned(), next);
        }
        self.lists.insert(list_key(style, level), next);
    }
}

/// Returns the key of the last list of a style. Ids have no blank.
fn list_key(style: &str, level: u32) -> String {
    format!("{style} {level}")
}

/// Returns whether an item is only a heading: a numbered chapter, not a list.
fn is_only_heading(item: Element<'_>) -> bool {
    let mut names = item.descendants().map(Element::name);
    let only = |name: &str| matches!(name, "text:list" | "text:list-item" | "text:h");
    names.find(|name| *name == "text:p" || *name == "text:h") == Some("text:h")
        && item.children().filter(|it| !it.is_text()).all(|it| only(it.name()))
}
