// Shows results while the owner types. Without this module, the search form is submitted.
import { AnswerError, fetchPart, showPart, tell } from "./html.js";

const form = document.getElementById("search");
const field = document.getElementById("q");
const results = document.getElementById("results");

/** The address and the title follow the text when the typing pauses for this time. */
const PAUSE_MS = 200;

/** Numbers of the last request, and of the request whose results are on the screen. */
let lastRequest = 0;
let shownRequest = 0;
let controller = null;
/** Queries of the last request, and of the results on the screen. */
let lastQuery = null;
let shownQuery = "";
let addressTimer = 0;

/** Writes the query into the address and the title. Browsers refuse to do it for each key. */
function writeAddress() {
  clearTimeout(addressTimer);
  addressTimer = 0;
  history.replaceState(null, "", shownQuery ? `/?${shownQuery}` : "/");
  document.title = `${new URLSearchParams(shownQuery).get("q") || "Search"} · brain`;
}

/** Returns the query of the form's inputs: with "defaultValue", as the screen was loaded. */
function formQuery(property = "value") {
  const fields = [...form.elements].filter((it) => it.name && it[property]);
  return new URLSearchParams(fields.map((it) => [it.name, it[property]])).toString();
}

async function search() {
  const query = formQuery();
  if (query === lastQuery) return;
  lastQuery = query;
  const request = ++lastRequest;
  controller?.abort();
  controller = new AbortController();
  try {
    const options = { signal: controller.signal };
    const part = await fetchPart(`/web/results?${query}&typing=1`, options);
    // Results of an older text never replace those of a newer one.
    if (request < shownRequest) return;
    shownRequest = request;
    showPart(results, part);
    shownQuery = query;
    clearTimeout(addressTimer);
    addressTimer = setTimeout(writeAddress, PAUSE_MS);
    tell("");
  } catch (error) {
    if (error.name === "AbortError") return;
    lastQuery = null;
    tell(error instanceof AnswerError ? error.message : "brain does not answer. Trying again.");
    const isOffline = !(error instanceof AnswerError);
    if (isOffline && request === lastRequest) setTimeout(search, 1000);
  }
}

function titles() {
  return [...results.querySelectorAll("ol.hits a.title")];
}

/**
 * Refreshes the results, unless the owner is typing or the focus is in the results. Returns whether
 * it did.
 */
export async function refreshResults() {
  const query = formQuery();
  const canRefresh = () => query === formQuery() && lastRequest === shownRequest &&
    !results.contains(document.activeElement);
  if (query !== lastQuery || !canRefresh()) return false;
  const part = await fetchPart(`/web/results?${query}`);
  if (!canRefresh()) return false;
  showPart(results, part);
  return true;
}

/** Moves the focus by `step` results; before the first one is the field. */
export function move(step) {
  const all = titles();
  const at = all.indexOf(document.activeElement);
  if (at < 0 && document.activeElement !== field) return false;
  const next = at + step;
  if (next < 0) field.focus();
  else all[Math.min(next, all.length - 1)]?.focus();
  return all.length > 0;
}

if (form) {
  lastQuery = formQuery("defaultValue");
  field.addEventListener("input", search);
  form.addEventListener("change", search);
  form.addEventListener("submit", (event) => {
    const first = titles()[0];
    // The screen shows the results of exactly this text: Enter opens the best one.
    if (lastRequest > 0 && shownRequest === lastRequest && first && event.submitter === null) {
      event.preventDefault();
      first.click();
    }
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    const first = titles()[0];
    if (lastRequest > 0 && shownRequest === lastRequest && first) {
      event.preventDefault();
      first.click();
    }
  });
  // The browser's Back from a result leads to this query.
  addEventListener("click", () => addressTimer && writeAddress(), true);
  // The text may have been typed before this module was loaded, or restored by the browser.
  search();
}
