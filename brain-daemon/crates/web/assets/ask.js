// Shows answers while they arrive, and cited pages beside them. Without this module, forms wait for
// the whole answer, and citations are links.
import { AnswerError, fetchPart, showPart, tell } from "./html.js";

const target = document.getElementById("answer");
const panel = document.getElementById("panel");
const page = document.getElementById("panel-page");
/** The AbortController of the running answer. */
let activeRun = null;
/** The citation that opened the panel; it gets the focus again. */
let openedBy = null;

/** Sends a form and yields the server-sent events of the answer. */
async function* answerEvents(path, body, signal) {
  if (!path.startsWith("/web/")) throw new Error("not a path of this page");
  const response = await fetch(path, {
    method: "POST", body, signal, redirect: "error", credentials: "same-origin",
  });
  if (!response.ok) throw new AnswerError(response.status);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const field = (name) => block.split("\n").find((line) => line.startsWith(`${name}:`))
        ?.slice(name.length + 1).trim();
      if (field("data")) yield { name: field("event"), data: JSON.parse(field("data")) };
    }
  }
}

/** Shows the empty parts of a running answer: estimate, progress, text, and the stop button. */
function showParts() {
  const make = (tag, className) => {
    const element = document.createElement(tag);
    element.className = className;
    return element;
  };
  const parts = {
    status: make("div", "estimate"),
    progress: make("progress", "full"),
    count: make("p", "facts"),
    text: make("div", "prose"),
    stop: make("button", "button"),
  };
  parts.text.dir = "auto";
  parts.progress.setAttribute("aria-label", "Progress");
  parts.stop.type = "button";
  parts.stop.textContent = "Stop";
  parts.stop.addEventListener("click", () => activeRun?.abort());
  target.replaceChildren(...Object.values(parts));
  return parts;
}

async function run(form, submitter) {
  activeRun?.abort();
  const ownRun = activeRun = new AbortController();
  const body = new URLSearchParams(new FormData(form, submitter));
  const parts = showParts();
  tell("");
  panel.hidden = true;
  let isDone = false;
  try {
    for await (const { name, data } of answerEvents(form.dataset.stream, body, ownRun.signal)) {
      if (ownRun !== activeRun) return;
      if (name === "status") showPart(parts.status, data);
      else if (name === "text") parts.text.append(data);
      else if (name === "progress") {
        [parts.progress.value, parts.progress.max] = data;
        parts.count.textContent = `${data[0]} of ${data[1]} steps`;
      } else if (name === "done") {
        isDone = true;
        showPart(target, data);
        document.getElementById("answer-title")?.focus();
      }
    }
    if (!isDone) throw new Error("The answer broke off.");
  } catch (error) {
    if (ownRun !== activeRun) return;
    const isStopped = error.name === "AbortError";
    parts.stop.remove();
    parts.progress.remove();
    tell(isStopped ? "Stopped." : `${error.message} What has arrived stays here.`);
  } finally {
    if (ownRun === activeRun) activeRun = null;
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.stream || event.submitter?.value === "estimate") return;
  event.preventDefault();
  run(form, event.submitter);
});

function close() {
  panel.hidden = true;
  openedBy?.focus();
}

target.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-part]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  try {
    showPart(page, await fetchPart(link.dataset.part));
  } catch (error) {
    return tell(error.message);
  }
  openedBy = link;
  panel.hidden = false;
  panel.focus();
});
document.getElementById("panel-close").addEventListener("click", close);
panel.addEventListener("keydown", (event) => {
  if (event.key === "Escape") close();
});
