// Handles the keys of every screen, and the capture form. Without scripts, forms and links do the
// same.
import { move } from "./search.js";
import { openPalette } from "./palette.js";
import "./write.js";
import "./drop.js";
import "./read.js";
import "./attach.js";
import "./upload.js";
import "./live.js";

// These are loaded only on their screens.
if (document.getElementById("answer")) import("./ask.js");
if (document.getElementById("calendar")) import("./calendar.js");
if (document.getElementById("graph")) import("./graph.js");

/** A form that changes something is not sent again before this time. */
const RESEND_MS = 5000;

const capture = document.getElementById("capture");
const keys = document.getElementById("keys");

function isTyping(target) {
  return target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

function openCapture() {
  capture.open = true;
  capture.querySelector("textarea").focus();
}

function focusSearch() {
  const field = document.querySelector("input[name=q]");
  field?.focus();
  field?.select();
}

const actions = {
  "/": focusSearch,
  c: openCapture,
  h: () => document.getElementById("history")?.click(),
  e: () => document.getElementById("edit")?.click(),
  a: () => document.querySelector("nav a[href='/web/ask']")?.click(),
  n: () => document.getElementById("new")?.click(),
  "?": () => keys.showModal(),
};

// On a narrow screen, the row of screens is scrolled to the one that is shown.
document.querySelector(".tabs [aria-current]")
  ?.scrollIntoView({ block: "nearest", inline: "center" });

document.addEventListener("keydown", (event) => {
  if (event.key === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    event.preventDefault();
    openPalette({ capture: openCapture, keys: () => keys.showModal() });
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (event.target instanceof HTMLTextAreaElement) return;
    if (move(event.key === "ArrowDown" ? 1 : -1)) event.preventDefault();
    return;
  }
  if (event.key === "Escape") {
    if (capture.open && capture.contains(event.target)) {
      capture.open = false;
      capture.querySelector("summary").focus();
    } else if (isTyping(event.target)) {
      event.target.blur();
    }
    return;
  }
  if (isTyping(event.target) || keys.open) return;
  const action = actions[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});

capture?.addEventListener("toggle", () => {
  if (capture.open) capture.querySelector("textarea").focus();
});

// On a slow network, a second click does not send a form twice.
addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  const now = performance.now();
  if (now - (form.sentAt ?? -Infinity) < RESEND_MS) event.preventDefault();
  else form.sentAt = now;
});
addEventListener("pageshow", (event) => {
  if (event.persisted) for (const form of document.forms) form.sentAt = undefined;
});
