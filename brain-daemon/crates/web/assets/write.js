// Preview while writing, drafts that survive a closed tab, and completion of [[links. Without this
// module, the form is submitted to save and to show a preview.
import { completes } from "./complete.js";
import { fields } from "./fields.js";
import { fetchPart, showPart } from "./html.js";

const PREFIX = "brain-draft:";
const SAVING = "brain-saving";
const editor = document.getElementById("editor");

function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

function store(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

// After a save, the browser goes from the editor to the page, and the draft is deleted. After a
// refused save, for example after a sign-out, it goes elsewhere, and the draft is kept.
try {
  const saved = sessionStorage.getItem(SAVING);
  const isSaved = location.pathname.startsWith("/page/") &&
    document.referrer.startsWith(`${location.origin}/web/`);
  if (saved && isSaved) localStorage.removeItem(saved);
  sessionStorage.removeItem(SAVING);
} catch { /* Storage is switched off. */ }

function previews(field) {
  const target = document.getElementById("preview");
  if (!target) return;
  let timer = 0;
  let number = 0;
  let shown = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const mine = ++number;
      const body = new URLSearchParams({
        csrf: editor.elements.csrf.value,
        name: editor.dataset.name,
        text: field.value,
      });
      try {
        const part = await fetchPart("/web/preview", { method: "POST", body });
        if (mine < shown) return;
        shown = mine;
        showPart(target, part);
      } catch { /* The next keystroke tries again. */ }
    }, 250);
  });
}

function drafts(field) {
  const key = PREFIX + (editor.dataset.name || "new");
  const note = document.getElementById("draft");
  const version = editor.elements.version?.value ?? "";
  const original = field.value;
  const draft = stored(key);
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
    const at = new Date(draft.at).toLocaleString();
    note.replaceChildren(`A draft of ${at} is stored in this browser. `, button);
  }
  let timer = 0;
  const keep = () => {
    const text = field.value;
    if (text === original) localStorage.removeItem(key);
    else if (store(key, { text, version, slug: editor.elements.slug?.value, at: Date.now() })) {
      note.textContent = "Draft kept in this browser";
    }
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(keep, 400);
  });
  addEventListener("pagehide", () => {
    if (field.value !== original) keep();
  });
  editor.addEventListener("submit", (event) => {
    if (event.submitter?.value !== "save") return;
    keep();
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
  previews(field);
  drafts(field);
  fields(editor);
  completes(field, {
    id: "pages",
    label: "Pages",
    begun: (before) => before.match(/\[\[([^\]\n|]{1,60})$/)?.[1],
    ending: "]]",
  });
}
