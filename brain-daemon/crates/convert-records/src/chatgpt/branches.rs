//! The order of the messages of a conversation, which is a tree.
//!
//! ChatGPT shows one branch: the messages from the current one up to the root. An edited question
//! or a regenerated answer starts another branch.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::json::{list, text};

/// Nodes of a conversation by their id.
type Nodes = Map<String, Value>;

/// The messages of a conversation.
#[derive(Default)]
pub(super) struct Branches<'a> {
    /// Those that ChatGPT shows, in order.
    pub(super) main: Vec<&'a Value>,
    /// The others: runs of messages, each an answer to the one before.
    pub(super) others: Vec<Branch<'a>>,
}

/// Messages that ChatGPT does not show.
pub(super) struct Branch<'a> {
    /// The message that they follow.
    pub(super) after: Option<&'a Value>,
    pub(super) messages: Vec<&'a Value>,
}

/// Returns all messages of a conversation. Each node is visited once, so that a circle ends.
pub(super) fn branches(conversation: &Value) -> Branches<'_> {
    let Some(nodes) = conversation.get("mapping").and_then(Value::as_object) else {
        return Branches::default();
    };
    let mut walk = Walk { nodes, seen: HashSet::new(), others: Vec::new(), last: None };
    let main = walk.main(text(conversation, "current_node"));
    for id in &main {
        walk.children(id);
    }
    // What hangs on no node of the main branch: first the roots, then circles.
    for (id, node) in nodes {
        if !nodes.contains_key(text(node, "parent")) {
            walk.below(id);
        }
    }
    for id in nodes.keys() {
        walk.below(id);
    }
    let main = main.iter().filter_map(|id| message(nodes, id)).collect();
    Branches { main, others: walk.others }
}

fn message<'a>(nodes: &'a Nodes, id: &str) -> Option<&'a Value> {
    nodes.get(id)?.get("message").filter(|it| it.is_object())
}

struct Walk<'a> {
    nodes: &'a Nodes,
    seen: HashSet<&'a str>,
    others: Vec<Branch<'a>>,
    /// The node that was added last.
    last: Option<&'a str>,
}

impl<'a> Walk<'a> {
    /// Returns the nodes from the root to the current one.
    fn main(&mut self, current: &str) -> Vec<&'a str> {
        let mut path = Vec::new();
        let mut at = self.nodes.get_key_value(current).map(|(id, _)| id.as_str());
        if at.is_none() {
            at = self.newest_leaf();
        }
        while let Some(id) = at.filter(|id| self.seen.insert(id)) {
            path.push(id);
            let parent = self.nodes.get(id).map_or("", |node| text(node, "parent"));
            at = self.nodes.get_key_value(parent).map(|(id, _)| id.as_str());
        }
        path.reverse();
        path
    }

    /// Returns the end of the newest branch, for a conversation that does not name it.
    fn newest_leaf(&self) -> Option<&'a str> {
        let is_root = |node: &Value| !self.nodes.contains_key(text(node, "parent"));
        let mut at =
            self.nodes.iter().find(|(_, node)| is_root(node)).map(|(id, _)| id.as_str())?;
        let mut seen = HashSet::new();
        while seen.insert(at) {
            let child = self.child_ids(at).next_back();
            let Some(child) = child else { break };
            at = child;
        }
        Some(at)
    }

    fn child_ids(&self, id: &str) -> impl DoubleEndedIterator<Item = &'a str> + use<'a> {
        let children = self.nodes.get(id).map_or(&[][..], |node| list(node, "children"));
        let nodes = self.nodes;
        children
            .iter()
            .filter_map(move |id| nodes.get_key_value(id.as_str()?).map(|(id, _)| id.as_str()))
    }

    /// Adds the nodes below the children of a node.
    fn children(&mut self, id: &'a str) {
        for child in self.child_ids(id) {
            self.below(child);
        }
    }

    /// Adds a node and those below it, unless they were added.
    fn below(&mut self, id: &'a str) {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            if !self.seen.insert(id) {
                continue;
            }
            stack.extend(self.child_ids(id).rev());
            let parent = self.nodes.get(id).map_or("", |node| text(node, "parent"));
            let follows = self.last.is_some_and(|last| last == parent);
            self.last = Some(id);
            let message = message(self.nodes, id);
            match self.others.last_mut().filter(|_| follows) {
                Some(branch) => branch.messages.extend(message),
                None => self.others.push(Branch {
                    after: self.visible(parent),
                    messages: message.into_iter().collect(),
                }),
            }
        }
    }

    /// Returns the message of a node, or of the nearest one above that has one.
    fn visible(&self, id: &str) -> Option<&'a Value> {
        const MAX_CLIMB: usize = 20;
        let mut id = id;
        for _ in 0..MAX_CLIMB {
            let node = self.nodes.get(id)?;
            let message = message(self.nodes, id);
            if message.is_some_and(|it| super::message::role(it) != super::message::Role::Hidden) {
                return message;
            }
            id = text(node, "parent");
        }
        None
    }
}
