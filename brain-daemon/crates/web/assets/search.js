// Results as the owner types. Without this module, the search form is submitted.
import { AnswerError, fetchPart, showPart, tell } from "./html.js";

const form = document.getElementById("search");
const field = document.getElementById("q");
const results = document.getElementById("results");

/** The address and the title follow the text when the typing pauses for this time. */
const PAUSE_MS = 200;

let sent = 0;
let shown = 0;
let running = null;
/** The questions that were asked and answered last. */
let wanted = null;
let answered = "";
let pause = 0;

/** Writes the question into the address and the title: browsers refuse to do it for each key. */
function writeAddress() {
  clearTimeout(pause);
  pause = 0;
  history.replaceState(null, "", answered ? `/?${answered}` : "/");
  document.title = `${new URLSearchParams(answered).get("q") || "Search"} · brain`;
}

function address() {
  const query = new URLSearchParams(new FormData(form));
  for (const name of ["q", "since", "until"]) if (!query.get(name)) query.delete(name);
  return query.toString();
}

async function search() {
  const query = address();
  if (query === wanted) return;
  wanted = query;
  const number = ++sent;
  running?.abort();
  running = new AbortController();
  try {
    const part = await fetchPart(`/web/results?${query}&typing=1`, { signal: running.signal });
    // An answer to an older text never replaces a newer one.
    if (number < shown) return;
    shown = number;
    showPart(results, part);
    answered = query;
    clearTimeout(pause);
    pause = setTimeout(writeAddress, PAUSE_MS);
    tell("");
  } catch (error) {
    if (error.name === "AbortError") return;
    wanted = null;
    tell(error instanceof AnswerError ? error.message : "brain does not answer. Trying again.");
    if (!(error instanceof AnswerError) && number === sent) setTimeout(search, 1000);
  }
}

function titles() {
  return [...results.querySelectorAll("ol.hits a.title")];
}

/** Refreshes the results, unless the owner is typing or the focus is in the results. */
export async function refreshResults() {
  const query = address();
  if (query !== wanted || sent !== shown || results.contains(document.activeElement)) return false;
  const part = await fetchPart(`/web/results?${query}`);
  const isFree = query === address() && sent === shown;
  if (!isFree || results.contains(document.activeElement)) return false;
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
  wanted = address();
  field.addEventListener("input", search);
  form.addEventListener("change", search);
  form.addEventListener("submit", (event) => {
    const first = titles()[0];
    // The screen shows the results of exactly this text: Enter opens the best one.
    if (sent > 0 && shown === sent && first && event.submitter === null) {
      event.preventDefault();
      first.click();
    }
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    const first = titles()[0];
    if (sent > 0 && shown === sent && first) {
      event.preventDefault();
      first.click();
    }
  });
  // The way back from a link leads to this question.
  addEventListener("click", () => pause && writeAddress(), true);
  // The text may have been typed before this module was loaded, or restored by the browser.
  search();
}
