// Shows a preview while the owner writes, keeps drafts after a closed tab, and completes [[links.
// Without this module, the form is submitted to save and to show a preview.
import { completes } from "./complete.js";
import { fields } from "./fields.js";
import { fetchPart, showPart } from "./html.js";

const PREFIX = "brain-draft:";
const SAVING = "brain-saving";
const editor = document.getElementById("editor");

function readStored(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

/** Returns whether the value was stored. */
function writeStored(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

// After a save, the browser goes from the editor to the page, and the draft is deleted. After a
// refused save, for example after a sign-out, the browser goes elsewhere, and the draft is kept.
try {
  const saved = sessionStorage.getItem(SAVING);
  const isSaved = location.pathname.startsWith("/page/") &&
    document.referrer.startsWith(`${location.origin}/web/`);
  if (saved && isSaved) localStorage.removeItem(saved);
  sessionStorage.removeItem(SAVING);
} catch { /* Storage is switched off. */ }

function connectPreview(field) {
  const target = document.getElementById("preview");
  if (!target) return;
  let timer = 0;
  let lastRequest = 0;
  let shownRequest = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const request = ++lastRequest;
      const body = new URLSearchParams({
        csrf: editor.elements.csrf.value,
        name: editor.dataset.name,
        text: field.value,
      });
      try {
        const part = await fetchPart("/web/preview", { method: "POST", body });
        if (request < shownRequest) return;
        shownRequest = request;
        showPart(target, part);
      } catch { /* The next keystroke tries again. */ }
    }, 250);
  });
}

function connectDraft(field) {
  const key = PREFIX + (editor.dataset.name || "new");
  const note = document.getElementById("draft");
  const version = editor.elements.version?.value ?? "";
  const original = field.value;
  const draft = readStored(key);
  const isConflict = Boolean(document.getElementById("theirs"));
  if (draft && draft.text !== original && !isConflict) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    button.textContent = "Restore it";
    button.addEventListener("click", () => {
      field.value = draft.text;
      if (editor.elements.slug && draft.slug) editor.elements.slug.value = draft.slug;
      // A save is then checked against the version on which the draft is based.
      if (draft.version && editor.elements.version) editor.elements.version.value = draft.version;
      note.textContent = "";
      field.dispatchEvent(new Event("input"));
      field.focus();
    });
    const time = new Date(draft.at).toLocaleString();
    note.replaceChildren(`A draft of ${time} is stored in this browser. `, button);
  }
  let timer = 0;
  const saveDraft = () => {
    const text = field.value;
    const slug = editor.elements.slug?.value;
    if (text === original) localStorage.removeItem(key);
    else if (writeStored(key, { text, version, slug, at: Date.now() })) {
      note.textContent = "Draft kept in this browser";
    }
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(saveDraft, 400);
  });
  addEventListener("pagehide", () => {
    if (field.value !== original) saveDraft();
  });
  editor.addEventListener("submit", (event) => {
    if (event.submitter?.value !== "save") return;
    saveDraft();
    try {
      sessionStorage.setItem(SAVING, key);
    } catch { /* Then the draft stays. */ }
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "s" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      editor.requestSubmit(editor.querySelector("button[value=save]"));
    }
  });
}

if (editor) {
  const field = editor.elements.text;
  connectPreview(field);
  connectDraft(field);
  fields(editor);
  completes(field, {
    id: "pages",
    label: "Pages",
    begun: (before) => before.match(/\[\[([^\]\n|]{1,60})$/)?.[1],
    ending: "]]",
  });
}
