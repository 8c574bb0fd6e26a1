// Loads the data of the graph, draws it, and handles pointer, keys and fields. Without this module,
// the table shows the same pages.
import { AnswerError } from "./html.js";
import { MARKS, View } from "./graph-view.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const root = document.getElementById("graph");
const element = (id) => document.getElementById(id);
const canvas = element("graph-canvas");
const info = element("graph-info");
/** The types in the order of their numbers in the data; the first choice is "All". */
const typeNames = [...document.querySelectorAll(".filters select[name=type] option")]
  .slice(1).map((option) => option.value);
const HELP = matchMedia("(hover: none)").matches
  ? "Tap a page for its title, twice to open it. Drag to move, pinch to zoom."
  : "Point at a page for its title; click to open it. Drag to move, scroll to zoom.";

/** Parses the data; `src/graph/numbers.rs` describes the format. */
function parse(buffer) {
  const header = new Uint32Array(buffer, 0, 4);
  // The bytes "brg1".
  if (header[0] !== 0x31677262) throw new Error("not a graph");
  const [, pages, edges, bytes] = header;
  let offset = 16;
  const next = (type, count) => {
    const array = new type(buffer, offset, count);
    offset += array.byteLength;
    return array;
  };
  const graph = {
    pages,
    edges,
    ends: next(Uint32Array, 2 * edges),
    links: next(Uint32Array, pages),
    days: next(Int32Array, pages),
    nameEnds: next(Uint32Array, pages),
    place: next(Uint16Array, 2 * pages),
    types: next(Uint16Array, pages),
  };
  const names = new Uint8Array(buffer, offset, bytes);
  const decoder = new TextDecoder();
  graph.mark = Uint8Array.from(graph.types, (type) => Math.min(type, MARKS - 1));
  graph.name = (at) => {
    const start = at === 0 ? 0 : graph.nameEnds[at - 1];
    const text = decoder.decode(names.subarray(start, graph.nameEnds[at]));
    const middle = text.indexOf("\n");
    return { name: text.slice(0, middle), title: text.slice(middle + 1) };
  };
  return graph;
}

function formatDay(number) {
  return new Date(number * DAY_MS).toISOString().slice(0, 10);
}

function path(graph, at) {
  return `/page/${graph.name(at).name.split("/").map(encodeURIComponent).join("/")}`;
}

function link(text, address) {
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.textContent = text;
  return anchor;
}

/** Describes the page `at`; -1 shows the help instead. */
function describe(graph, at) {
  if (at < 0) {
    info.textContent = HELP;
    return;
  }
  const { name, title } = graph.name(at);
  const links = graph.links[at] === 1 ? "1 link" : `${graph.links[at]} links`;
  const neighbours = `/web/graph?page=${encodeURIComponent(name)}`;
  const facts = [typeNames[graph.types[at]] ?? "", links, `created ${formatDay(graph.days[at])}`];
  const pageLink = link(title || name, path(graph, at));
  info.replaceChildren(pageLink, ` · ${facts.join(" · ")} · `, link("around it", neighbours));
}

/** Handles the filters: hides pages by type and by day of creation, and counts the rest. */
function connectFilters(graph, view) {
  const hidden = new Set();
  const field = element("graph-day");
  const output = root.querySelector("#graph-time output");
  let [first, last] = [Infinity, -Infinity];
  for (const number of graph.days) {
    first = Math.min(first, number);
    last = Math.max(last, number);
  }
  const apply = () => {
    const until = Number(field.value);
    let count = 0;
    for (let at = 0; at < graph.pages; at++) {
      const isShown = graph.days[at] <= until && !hidden.has(graph.mark[at]);
      view.shown[at] = isShown ? 1 : 0;
      count += view.shown[at];
    }
    output.textContent = `${formatDay(until)} · ${count} ${count === 1 ? "page" : "pages"}`;
    view.queue();
  };
  [field.min, field.max, field.value] = [first, last, last];
  field.addEventListener("input", apply);
  element("graph-time").hidden = first === last;
  for (const button of root.querySelectorAll(".legend button")) {
    const mark = Number(button.dataset.mark);
    const count = graph.mark.reduce((sum, own) => sum + (own === mark ? 1 : 0), 0);
    button.querySelector(".number").textContent = count;
    button.addEventListener("click", () => {
      const isHidden = !hidden.delete(mark) && Boolean(hidden.add(mark));
      button.setAttribute("aria-pressed", String(!isHidden));
      apply();
    });
  }
  connectPlay(field, element("graph-play"), first, last);
  apply();
}

/** Handles the play button: shows how the graph grew, in six seconds. */
function connectPlay(field, button, first, last) {
  let frame = 0;
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
    button.textContent = "Play";
  };
  button.addEventListener("click", () => {
    if (frame) return stop();
    const start = performance.now();
    const step = (now) => {
      const part = Math.min((now - start) / 6000, 1);
      field.value = Math.round(first + (last - first) * Math.max(part, 0));
      field.dispatchEvent(new Event("input"));
      if (part < 1) frame = requestAnimationFrame(step);
      else stop();
    };
    button.textContent = "Stop";
    frame = requestAnimationFrame(step);
  });
  field.addEventListener("pointerdown", stop);
}

/** Handles the search field: marks the pages whose title or name contains the text. */
function connectSearch(graph, view) {
  const field = element("graph-find");
  const status = element("graph-found");
  let texts = null;
  let matches = [];
  let next = 0;
  const search = () => {
    const text = field.value.trim().toLowerCase();
    matches = [];
    next = 0;
    view.found = null;
    if (text) {
      texts ??= Array.from({ length: graph.pages }, (_, at) => {
        const { name, title } = graph.name(at);
        return `${title}\n${name}`.toLowerCase();
      });
      view.found = Uint8Array.from(texts, (known) => (known.includes(text) ? 1 : 0));
      for (let at = 0; at < graph.pages; at++) if (view.found[at]) matches.push(at);
    }
    const count = matches.length === 1 ? "1 page found" : `${matches.length} pages found`;
    status.textContent = text ? `${count}. Enter goes to the next one.` : "";
    status.className = text ? "facts" : "hidden";
    view.queue();
  };
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || matches.length === 0) return;
    event.preventDefault();
    const at = matches[next++ % matches.length];
    view.goTo(at);
    describe(graph, at);
  });
}

/** Handles mouse, pen and touch: moves, zooms, names pages and opens them. */
function connectPointer(graph, view) {
  /** The last place of each pressed pointer, by id. */
  const pressed = new Map();
  let distance = 0;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * view.scale, (event.clientY - box.top) * view.scale];
  };
  const hover = (at) => {
    if (at === view.hovered) return;
    view.hovered = at;
    canvas.classList.toggle("on-page", at >= 0);
    describe(graph, at);
    view.drawOver();
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (pressed.size === 0) distance = 0;
    pressed.set(event.pointerId, place(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = pressed.get(event.pointerId);
    if (!before) return hover(view.pageAt(...now, 5));
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
    distance += Math.hypot(dx, dy);
    const other = [...pressed].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const length = (from) => Math.hypot(from[0] - other[0], from[1] - other[1]);
      view.zoomBy(length(now) / Math.max(length(before), 1), ...other);
    } else if (distance > 4 * view.scale) view.moveBy(dx, dy);
    pressed.set(event.pointerId, now);
  });
  canvas.addEventListener("pointerup", (event) => {
    const wasAlone = pressed.size === 1 && pressed.delete(event.pointerId);
    if (!wasAlone || distance > 4 * view.scale || event.button !== 0) return;
    const isTouch = event.pointerType !== "mouse";
    const at = view.pageAt(...place(event), isTouch ? 16 : 5);
    // A finger cannot hover: the first tap names the page, the second one opens it.
    const opens = at >= 0 && (!isTouch || at === view.hovered);
    if (!opens) return hover(at);
    if (event.ctrlKey || event.metaKey) window.open(path(graph, at), "_blank", "noopener");
    else location.href = path(graph, at);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => pressed.delete(event.pointerId));
  }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
    view.zoomBy(Math.exp(-event.deltaY * lines / 500), ...place(event));
  }, { passive: false });
}

/** Handles keys and buttons: moves and zooms. */
function connectKeys(view) {
  const step = () => 60 * view.scale;
  const actions = {
    ArrowLeft: () => view.moveBy(step(), 0),
    ArrowRight: () => view.moveBy(-step(), 0),
    ArrowUp: () => view.moveBy(0, step()),
    ArrowDown: () => view.moveBy(0, -step()),
    "+": () => view.zoomBy(1.4),
    "=": () => view.zoomBy(1.4),
    "-": () => view.zoomBy(1 / 1.4),
    0: () => view.fit(),
  };
  canvas.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? null : actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });
  element("graph-in").addEventListener("click", actions["+"]);
  element("graph-out").addEventListener("click", actions["-"]);
  element("graph-fit").addEventListener("click", actions[0]);
}

/** Draws again when the size or the colours of the screen change. */
function redrawOnChange(view) {
  new ResizeObserver(() => {
    const isWhole = view.zoom === view.whole;
    view.measure();
    if (isWhole) view.fit();
    else view.queue();
  }).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    view.readColours();
    view.queue();
  });
}

async function show() {
  root.hidden = false;
  const options = { redirect: "error", credentials: "same-origin" };
  const response = await fetch(root.dataset.from, options);
  if (!response.ok) throw new AnswerError(response.status);
  const graph = parse(await response.arrayBuffer());
  const view = new View(root.querySelector("canvas"), canvas, graph);
  connectFilters(graph, view);
  connectSearch(graph, view);
  connectPointer(graph, view);
  connectKeys(view);
  redrawOnChange(view);
  describe(graph, -1);
  for (let at = 0; root.dataset.centre && at < graph.pages; at++) {
    if (graph.name(at).name === root.dataset.centre) view.hovered = at;
  }
  requestAnimationFrame(() => root.setAttribute("data-state", "drawn"));
}

show().catch((error) => {
  const isAnswer = error instanceof AnswerError;
  info.textContent = isAnswer ? error.message : "The drawing could not be loaded.";
});
