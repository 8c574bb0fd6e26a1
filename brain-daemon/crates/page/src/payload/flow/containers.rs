//! Containers of an HTML flow: opens, implies and closes them, so that they are well nested.

use super::super::parts::Container;
use super::Flow;

impl Flow {
    /// Begins a container. Beyond the maximum depth, only separates the text before and after it.
    pub(in crate::payload) fn enter(&mut self, container: Container) {
        self.boundary();
        let is_table_part = matches!(container, Container::Row | Container::Cell);
        if self.in_code() || self.in_cell() && !is_table_part {
            return;
        }
        let is_list = |c: Container| matches!(c, Container::List(_));
        match container {
            Container::Item => {
                self.leave_to(container, is_list);
                if !self.containers.last().is_some_and(|c| is_list(*c)) {
                    self.push(Container::List(None));
                }
                // Items of a list that is too deep are too deep, too.
                if !self.containers.last().is_some_and(|c| is_list(*c)) {
                    return;
                }
            }
            Container::Row => {
                self.leave_to(container, |c| c == Container::Table);
                if self.containers.last() != Some(&Container::Table) {
                    return;
                }
            }
            Container::Cell => {
                self.leave_to(container, |c| c == Container::Row);
                if self.containers.last() == Some(&Container::Table) {
                    self.push(Container::Row);
                }
                if self.containers.last() != Some(&Container::Row) {
                    return;
                }
            }
            Container::List(_) if self.reopen_item() => {}
            Container::Quote | Container::List(_) | Container::Table => self.open_implied(),
        }
        self.push(container);
    }

    /// Ends a container with all that is open in it.
    pub(in crate::payload) fn leave(&mut self, container: Container) {
        if self.in_code() {
            return self.boundary();
        }
        let is_end = |c: Container| match container {
            Container::List(_) => matches!(c, Container::List(_)),
            _ => c == container,
        };
        let barrier =
            |c: Container| container == Container::Item && matches!(c, Container::List(_));
        let open =
            self.containers.iter().rev().take_while(|c| !barrier(**c)).position(|c| is_end(*c));
        if self.in_cell()
            && !matches!(container, Container::Table | Container::Row | Container::Cell)
        {
            return self.boundary();
        }
        self.end_leaf();
        if let Some(back) = open {
            self.close_to(self.containers.len() - 1 - back);
        }
    }

    pub(in crate::payload) fn in_cell(&self) -> bool {
        self.containers.last() == Some(&Container::Cell)
    }

    /// Ends `container` if it is open, but nothing beyond a `barrier`.
    fn leave_to(&mut self, container: Container, barrier: impl Fn(Container) -> bool) {
        let open = self
            .containers
            .iter()
            .rev()
            .take_while(|c| !barrier(**c))
            .position(|c| *c == container);
        if let Some(back) = open {
            self.close_to(self.containers.len() - 1 - back);
        }
    }

    /// Opens the containers that a leaf or container requires in its place.
    pub(super) fn open_implied(&mut self) {
        match self.containers.last() {
            Some(Container::List(_)) => self.push(Container::Item),
            Some(Container::Table) => {
                self.push(Container::Row);
                self.push(Container::Cell);
            }
            Some(Container::Row) => self.push(Container::Cell),
            _ => {}
        }
    }

    /// Opens the last item of a list again, for a list that stands directly in it: Apple Notes and
    /// Google Docs write `<ul><li>a</li><ul>…`. Returns whether there is one.
    fn reopen_item(&mut self) -> bool {
        if !matches!(self.containers.last(), Some(Container::List(_))) {
            return false;
        }
        let Some(len) = self.out.strip_suffix("</li>").map(str::len) else { return false };
        self.out.truncate(len);
        self.containers.push(Container::Item);
        self.has_content = true;
        true
    }

    fn push(&mut self, container: Container) {
        // Items, rows and cells are not counted: each is in a container that is.
        let is_counted =
            matches!(container, Container::Quote | Container::List(_) | Container::Table);
        let within =
            |c: &&Container| matches!(c, Container::Quote | Container::List(_) | Container::Table);
        if is_counted && self.containers.iter().filter(within).count() >= self.max_depth {
            return;
        }
        if container == Container::Item
            && let Some((_, number)) = self.numbers.last_mut()
        {
            *number = number.saturating_add(1);
        }
        self.write_start(container);
        self.task = None;
        self.has_content = false;
        self.containers.push(container);
    }

    /// Writes the start of a container.
    pub(super) fn write_start(&mut self, container: Container) {
        self.elements += 1;
        if let Container::List(start) = container {
            self.numbers.push((self.containers.len(), start.unwrap_or(1)));
        }
        match container {
            Container::Quote => self.out.push_str("<blockquote>"),
            Container::List(None) => self.out.push_str("<ul>"),
            Container::List(Some(1)) => self.out.push_str("<ol>"),
            Container::List(Some(start)) => self.out.push_str(&format!("<ol start=\"{start}\">")),
            Container::Item => self.out.push_str("<li>"),
            Container::Table => self.out.push_str("<table>"),
            Container::Row => self.out.push_str("<tr>"),
            Container::Cell => self.out.push_str("<td>"),
        }
    }

    /// Closes containers until `open` are left.
    pub(super) fn close_to(&mut self, open: usize) {
        while self.containers.len() > open {
            self.end_leaf();
            let Some(container) = self.containers.pop() else { return };
            if let Container::List(_) = container {
                self.numbers.pop();
            }
            self.out.push_str(end_tag(container));
            self.has_content = true;
        }
    }
}

pub(super) fn end_tag(container: Container) -> &'static str {
    match container {
        Container::Quote => "</blockquote>",
        Container::List(None) => "</ul>",
        Container::List(Some(_)) => "</ol>",
        Container::Item => "</li>",
        Container::Table => "</table>",
        Container::Row => "</tr>",
        Container::Cell => "</td>",
    }
}
