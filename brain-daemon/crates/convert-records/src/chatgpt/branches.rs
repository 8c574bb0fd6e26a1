//! The order of the messages of a conversation, which is a tree.
//!
//! ChatGPT shows one branch: the messages from the current one up to the root. An edited question
//! or a regenerated answer starts another branch.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;
use serde_json::value::RawValue;

use super::message::{Role, role};
use crate::json::{fields, value};

/// Nodes of a conversation by their id.
pub(super) type Nodes<'a> = BTreeMap<String, Node<'a>>;

/// A node of a conversation.
pub(super) struct Node<'a> {
    parent: String,
    children: Vec<String>,
    message: Option<&'a RawValue>,
}

/// Returns the nodes of a conversation, from its field `mapping`.
pub(super) fn nodes(mapping: Option<&RawValue>) -> Nodes<'_> {
    let mapping = mapping.and_then(|it| fields(it.get().as_bytes()).ok()).unwrap_or_default();
    mapping.into_iter().filter_map(|(id, raw)| Some((id, node(raw)?))).collect()
}

/// Parses a node, but not its message.
fn node(raw: &RawValue) -> Option<Node<'_>> {
    let mut fields = fields(raw.get().as_bytes()).ok()?;
    let parent = fields.get("parent").map(|it| value(it)).unwrap_or_default();
    let children = fields.get("children").map(|it| value(it)).unwrap_or_default();
    let children = children.as_array().into_iter().flatten();
    Some(Node {
        parent: parent.as_str().unwrap_or_default().to_owned(),
        children: children.filter_map(|it| it.as_str().map(str::to_owned)).collect(),
        message: fields.remove("message").filter(|it| it.get().starts_with('{')),
    })
}

/// The messages of a conversation.
#[derive(Default)]
pub(super) struct Branches<'a> {
    /// Those that ChatGPT shows, in order.
    pub(super) main: Vec<&'a RawValue>,
    /// The others: runs of messages, each an answer to the one before.
    pub(super) others: Vec<Branch<'a>>,
}

/// Messages that ChatGPT does not show.
pub(super) struct Branch<'a> {
    /// The message that they follow.
    pub(super) after: Option<Value>,
    pub(super) messages: Vec<&'a RawValue>,
}

/// Returns all messages of a conversation. Each node is visited once, so that a circle ends.
/// `current` is the id of the last message that is shown.
pub(super) fn branches<'a>(nodes: &'a Nodes<'a>, current: &str) -> Branches<'a> {
    let mut walk = Walk { nodes, seen: HashSet::new(), others: Vec::new(), last: None };
    let main = walk.main(current);
    for id in &main {
        walk.children(id);
    }
    // What hangs on no node of the main branch: first the roots, then circles.
    for (id, node) in nodes {
        if !nodes.contains_key(node.parent.as_str()) {
            walk.below(id);
        }
    }
    for id in nodes.keys() {
        walk.below(id);
    }
    let main = main.iter().filter_map(|id| message(nodes, id)).collect();
    Branches { main, others: walk.others }
}

fn message<'a>(nodes: &Nodes<'a>, id: &str) -> Option<&'a RawValue> {
    nodes.get(id)?.message
}

struct Walk<'a> {
    nodes: &'a Nodes<'a>,
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
            let parent = self.nodes.get(id).map_or("", |node| node.parent.as_str());
            at = self.nodes.get_key_value(parent).map(|(id, _)| id.as_str());
        }
        path.reverse();
        path
    }

    /// Returns the end of the newest branch, for a conversation that does not name it.
    fn newest_leaf(&self) -> Option<&'a str> {
        let is_root = |node: &Node<'_>| !self.nodes.contains_key(node.parent.as_str());
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
        let children = self.nodes.get(id).map_or(&[][..], |node| node.children.as_slice());
        let nodes = self.nodes;
        children
            .iter()
            .filter_map(move |id| nodes.get_key_value(id.as_str()).map(|(id, _)| id.as_str()))
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
            let parent = self.nodes.get(id).map_or("", |node| node.parent.as_str());
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
    fn visible(&self, id: &str) -> Option<Value> {
        const MAX_CLIMB: usize = 20;
        let mut id = id;
        for _ in 0..MAX_CLIMB {
            let node = self.nodes.get(id)?;
            let message = node.message.map(value).filter(|it| role(it) != Role::Hidden);
            if message.is_some() {
                return message;
            }
            id = node.parent.as_str();
        }
        None
    }
}
