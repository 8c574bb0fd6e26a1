// The list of pages and actions behind Ctrl-K: a combobox in a dialog.
const MAX_PAGES = 8;
const palette = document.getElementById("palette");
const field = document.getElementById("palette-text");
const list = document.getElementById("palette-list");
const count = document.getElementById("palette-count");
const actions = list ? [...list.children] : [];

let lastRequest = 0;
let active = 0;
/** Actions that are not forms or links, by name. */
let functionActions = {};

/** Opens the list. `functions` has the actions that are not forms or links, by name. */
export function openPalette(functions) {
  if (!palette || palette.open || document.querySelector("dialog[open]")) return;
  functionActions = functions;
  field.value = "";
  palette.showModal();
  show([]);
  field.focus();
}

function matches(item) {
  const text = item.textContent.toLowerCase();
  const target = item.dataset.action;
  if (["edit", "history"].includes(target) && !document.getElementById(target)) return false;
  return field.value.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function show(pages) {
  const found = [...pages, ...actions.filter(matches)];
  found.forEach((item, n) => { item.id = `palette-${n}`; });
  list.replaceChildren(...found);
  active = 0;
  mark();
  count.textContent = `${found.length} found`;
}

function mark() {
  [...list.children].forEach((item, n) => item.setAttribute("aria-selected", n === active));
  const item = list.children[active];
  if (item) {
    field.setAttribute("aria-activedescendant", item.id);
    item.scrollIntoView({ block: "nearest" });
  } else field.removeAttribute("aria-activedescendant");
}

function pageItem([name, title]) {
  const item = document.createElement("li");
  item.setAttribute("role", "option");
  const path = encodeURIComponent(name).replaceAll("%2F", "/").replaceAll("%3A", ":");
  item.dataset.href = `/page/${path}`;
  const facts = document.createElement("span");
  facts.className = "facts";
  facts.textContent = ` ${name}`;
  item.append(title || name, facts);
  return item;
}

async function findPages() {
  const text = field.value.trim();
  const request = ++lastRequest;
  if (!text) return show([]);
  // Actions, and pages of the last response, are shown before the daemon responds.
  const shownPages = [...list.children].filter((item) => item.dataset.href?.startsWith("/page/"));
  show(shownPages.filter(matches));
  try {
    const response = await fetch(`/web/complete?text=${encodeURIComponent(text)}`);
    if (!response.ok || request !== lastRequest) return;
    const values = await response.json();
    if (request !== lastRequest) return;
    const pages = values.filter(([name]) => !name.endsWith(":")).slice(0, MAX_PAGES);
    show(pages.map(pageItem));
  } catch { /* The actions are shown. */ }
}

function choose(item) {
  if (!item) return;
  palette.close();
  const { href, action } = item.dataset;
  if (href) location.href = href;
  else if (functionActions[action]) functionActions[action]();
  else if (action === "sign-out") document.getElementById("sign-out").requestSubmit();
  else if (action === "today") document.getElementById("today").requestSubmit();
  else document.getElementById(action)?.click();
}

if (palette) {
  field.addEventListener("input", findPages);
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const length = list.children.length;
    if (event.key === "ArrowDown") active = length ? (active + 1) % length : 0;
    else if (event.key === "ArrowUp") active = length ? (active + length - 1) % length : 0;
    else if (event.key === "Home" && event.ctrlKey) active = 0;
    else if (event.key === "Enter") choose(list.children[active]);
    else return;
    event.preventDefault();
    event.stopPropagation();
    mark();
  });
  list.addEventListener("click", (event) => choose(event.target.closest("[role=option]")));
  palette.addEventListener("click", (event) => {
    if (event.target === palette) palette.close();
  });
}
