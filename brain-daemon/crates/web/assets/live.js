// Shows what happens elsewhere, from the stream /web/events: other changes, progress, the end of
// the session or of the daemon. Without this module, a screen is not updated after it was loaded.
import { AnswerError, SIGNED_OUT, fetchScreen, tell } from "./html.js";
import { prepareReader } from "./read.js";
import { refreshResults } from "./search.js";

/** A hidden screen keeps its stream for this time. */
const HIDDEN_MS = 15_000;
/** Pause after a refused stream. */
const RETRY_MS = 10_000;
/** The message about a changed page disappears after this time. */
const MESSAGE_MS = 8_000;
/** Screens that are reloaded as a whole. */
const LISTS = ["/web/queue", "/web/sources", "/web/deleted", "/web/timeline", "/web/status"];

const main = document.getElementById("main");
const reader = () => document.querySelector(".reader[data-page]");
const editor = document.getElementById("editor");
const isSearch = Boolean(document.getElementById("search"));

let stream = null;
/** The number of changes in the store that the screen shows. */
let changeCount = Number(main?.dataset.changeCount ?? 0);
let wasLost = false;
/** Whether a refresh waits until it would interrupt nobody. */
let isRefreshDue = false;
let closeTimer = 0;

/** Returns whether a refresh would interrupt the reader: focus, a selection, or an open form. */
function isBusy() {
  const active = document.activeElement;
  const inMain = active && active !== main && main.contains(active);
  const selection = getSelection();
  const isSelecting = selection && !selection.isCollapsed && main.contains(selection.anchorNode);
  return inMain || isSelecting || Boolean(main.querySelector(".danger[open]"));
}

/** Shows a sentence at the bottom of the window, with a button or a link. */
function showNotice(text, control) {
  document.getElementById("live-notice")?.remove();
  const box = document.createElement("p");
  box.id = "live-notice";
  box.className = "notice";
  box.setAttribute("role", "status");
  box.append(`${text} `, ...(control ? [control] : []));
  main.append(box);
}

function link(href, text) {
  const link = document.createElement("a");
  link.href = href;
  link.textContent = text;
  return link;
}

async function refreshScreen() {
  const screen = await fetchScreen(location.pathname + location.search);
  const fresh = screen.getElementById("main");
  if (!fresh) return;
  main.replaceChildren(...fresh.childNodes);
  main.dataset.changeCount = fresh.dataset.changeCount;
  document.title = screen.title;
  prepareReader();
}

async function showPage() {
  const before = reader()?.dataset.version;
  await refreshScreen();
  const version = reader()?.dataset.version;
  if (version === before) return;
  const text = `The page changed elsewhere: this is version ${version}.`;
  tell(text);
  setTimeout(() => {
    if (document.getElementById("message")?.textContent === text) tell("");
  }, MESSAGE_MS);
}

function showPageButton(version) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Show it";
  button.addEventListener("click", () => showPage().catch(showError));
  showNotice(`The page changed elsewhere: it is version ${version} now.`, button);
}

/** Compares the page on the screen with its `version` now; 0 if it is deleted. */
async function comparePage(version) {
  if (version === null || version === undefined) return;
  const shown = Number(editor ? editor.elements.version?.value : reader()?.dataset.version);
  if (!shown || version === shown) return;
  if (version === 0) {
    showNotice("The page was deleted elsewhere.", link("/web/deleted", "Deleted pages"));
  } else if (editor) {
    showNotice(`The page changed while you write: it is version ${version} now. Nothing is lost: ` +
      "a save shows you both texts, or your text with both changes.");
  } else if (isBusy()) showPageButton(version);
  else await showPage();
}

async function onChange(change) {
  const isNew = change.seen !== changeCount || wasLost;
  changeCount = change.seen;
  try {
    if (reader() || editor) await comparePage(change.version);
    else if (isSearch && isNew) isRefreshDue = !(await refreshResults());
    else if (isNew && LISTS.includes(location.pathname)) {
      isRefreshDue = isBusy();
      if (!isRefreshDue) await refreshScreen();
    }
    wasLost = false;
  } catch (error) { showError(error); }
}

function showError(error) {
  if (error instanceof AnswerError) tell(error.message);
}

function showWork(work) {
  let box = document.getElementById("work");
  if (!work) {
    box?.remove();
    return;
  }
  if (!box) {
    box = document.createElement("p");
    box.id = "work";
    box.append(document.createElement("progress"), document.createElement("span"));
    main.append(box);
  }
  const [bar, text] = box.children;
  const name = work.total ? `${work.name}: ${work.done} of ${work.total}` : `${work.name} …`;
  bar.setAttribute("aria-label", work.name);
  if (work.total) {
    bar.max = work.total;
    bar.value = work.done;
  }
  text.textContent = name;
}

/** Stores the token of a new session in the forms on the screen, so that they work again. */
function onHello({ csrf }) {
  for (const field of document.querySelectorAll("input[name=csrf]")) field.value = csrf;
  if (wasLost) tell("");
}

function onEnd(reason) {
  if (reason === "signed-out") {
    disconnect();
    wasLost = true;
    tell(SIGNED_OUT);
  } else if (reason === "replaced") disconnect();
  else if (reason === "stop") tell("brain was stopped. This page continues when it runs again.");
}

/** Shows why the stream was refused, or tries again later. */
async function onRefused() {
  disconnect();
  wasLost = true;
  let status = 0;
  try {
    status = (await fetch("/web/events", { method: "HEAD" })).status;
  } catch { /* The daemon stopped meanwhile. */ }
  if (status === 401) tell(SIGNED_OUT);
  else setTimeout(connect, RETRY_MS);
}

function disconnect() {
  stream?.close();
  stream = null;
}

function connect() {
  clearTimeout(closeTimer);
  if (stream || document.hidden) return;
  const page = reader()?.dataset.page ?? editor?.dataset.name;
  const query = page ? `?${new URLSearchParams({ page })}` : "";
  stream = new EventSource(`/web/events${query}`);
  const on = (name, handle) => {
    stream.addEventListener(name, (event) => handle(event.data));
  };
  on("hello", (data) => onHello(JSON.parse(data)));
  on("change", (data) => onChange(JSON.parse(data)));
  on("work", (data) => showWork(JSON.parse(data)));
  on("end", onEnd);
  stream.addEventListener("error", () => {
    if (stream?.readyState === EventSource.CLOSED) return onRefused();
    if (!wasLost) tell("brain does not answer. Trying again.");
    wasLost = true;
  });
}

if (main?.dataset.changeCount) {
  connect();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) closeTimer = setTimeout(disconnect, HIDDEN_MS);
    else connect();
  });
  addEventListener("focus", connect);
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", (event) => event.persisted && connect());
  // A delayed refresh happens when the focus leaves the screen.
  main.addEventListener("focusout", () => setTimeout(() => {
    if (!isRefreshDue || (!isSearch && isBusy())) return;
    isRefreshDue = false;
    wasLost = true;
    onChange({ seen: changeCount });
  }, 200));
}
