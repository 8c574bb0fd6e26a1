//! Makes a page of a canvas (JSON Canvas 1.0): its cards, groups and connections.

use std::collections::HashMap;

use serde::Deserialize;

use crate::outline::label_of;

#[derive(Deserialize)]
struct Canvas {
    #[serde(default)]
    nodes: Vec<Node>,
    #[serde(default)]
    edges: Vec<Edge>,
}

#[derive(Deserialize)]
#[serde(default)]
struct Node {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    text: String,
    file: String,
    subpath: String,
    url: String,
    label: String,
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Default for Node {
    fn default() -> Self {
        let none = String::new;
        Self {
            id: none(),
            kind: none(),
            text: none(),
            file: none(),
            subpath: none(),
            url: none(),
            label: none(),
            x: 0.0,
            y: 0.0,
            width: 0.0,
            height: 0.0,
        }
    }
}

#[derive(Deserialize)]
struct Edge {
    #[serde(rename = "fromNode", default)]
    from: String,
    #[serde(rename = "toNode", default)]
    to: String,
    #[serde(default)]
    label: String,
    /// `arrow` or `none`, which is the default.
    #[serde(rename = "fromEnd", default)]
    from_end: String,
    /// `arrow`, which is the default, or `none`.
    #[serde(rename = "toEnd", default)]
    to_end: String,
}

impl Edge {
    fn sign(&self) -> char {
        match (self.from_end == "arrow", self.to_end != "none") {
            (false, true) => '→',
            (true, false) => '←',
            (true, true) => '↔',
            (false, false) => '—',
        }
    }
}

/// Returns whether a text is a canvas.
pub(super) fn is_canvas(text: &str) -> bool {
    text.trim_start().starts_with('{') && (text.contains("\"nodes\"") || text.contains("\"edges\""))
}

/// Returns a canvas as markdown. `file` returns a link to a file.
///
/// # Errors
/// The reason why it is no canvas.
pub(super) fn markdown(text: &str, file: &mut dyn FnMut(&str) -> String) -> Result<String, String> {
    let text = if text.trim().is_empty() { "{}" } else { text.trim_start_matches('\u{feff}') };
    let canvas: Canvas =
        serde_json::from_str(text).map_err(|error| format!("it is no canvas: {error}"))?;
    let groups: Vec<&Node> = canvas.nodes.iter().filter(|node| node.kind == "group").collect();
    let (mut parts, mut labels) = (vec![String::new(); groups.len() + 1], HashMap::new());
    for node in &canvas.nodes {
        let (shown, label) = card(node, file);
        labels.insert(node.id.as_str(), label);
        let place = groups.iter().position(|group| group.contains(node)).unwrap_or(groups.len());
        if let Some(part) = parts.get_mut(place).filter(|_| node.kind != "group") {
            part.push_str(&format!("{shown}\n\n"));
        }
    }
    let mut out = parts.pop().unwrap_or_default();
    for (group, part) in groups.iter().zip(&parts) {
        let label = brain_page::single_line(&group.label);
        let label = if label.is_empty() { "Group" } else { label.as_str() };
        out.push_str(&format!("## {label}\n\n{part}"));
    }
    if !canvas.edges.is_empty() {
        out.push_str("## Connections\n\n");
    }
    for edge in &canvas.edges {
        let end = |id: &str| labels.get(id).map_or("?", String::as_str);
        let label = brain_page::single_line(&edge.label);
        let label = if label.is_empty() { String::new() } else { format!(": {label}") };
        let (from, to) = (end(&edge.from), end(&edge.to));
        out.push_str(&format!("- {from} {} {to}{label}\n", edge.sign()));
    }
    Ok(out)
}

impl Node {
    /// Returns whether the middle of another node lies in this one.
    fn contains(&self, other: &Self) -> bool {
        let (x, y) = (other.x + other.width / 2.0, other.y + other.height / 2.0);
        let is_in = |at: f64, start: f64, length: f64| at >= start && at <= start + length;
        is_in(x, self.x, self.width) && is_in(y, self.y, self.height)
    }
}

/// Returns how a card is shown, and how connections name it.
fn card(node: &Node, file: &mut dyn FnMut(&str) -> String) -> (String, String) {
    match node.kind.as_str() {
        "file" => {
            let link = file(&node.file);
            // A part of the page: `#Heading`.
            let link = match link.strip_suffix("]]").filter(|_| node.subpath.starts_with('#')) {
                Some(start) => format!("{start}{}]]", node.subpath),
                None => link,
            };
            let label = link.trim_start_matches('!').to_owned();
            (link, label)
        }
        "link" => (format!("<{}>", node.url), format!("<{}>", node.url)),
        "group" => (String::new(), brain_page::single_line(&node.label)),
        _ => {
            let lines: Vec<String> = node.text.lines().map(|line| format!("> {line}")).collect();
            let first = node.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            (lines.join("\n"), label_of(first))
        }
    }
}
