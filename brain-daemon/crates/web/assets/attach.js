// Files that are dropped on the text or pasted into it are attached to the page, and linked at the
// cursor. Without this module, the form beside a page attaches files.
import { tell } from "./html.js";

const editor = document.getElementById("editor");
const MAX_BYTES = 16_000_000;

/** The frontmatter of a text, with the line below it. */
function head(text) {
  return text.match(/^(---|\+\+\+)\n[^]*?\n\1\n\n?/)?.[0] ?? "";
}

/** The name of a file; pasted pictures are all called image.png. */
function nameOf(file, isPasted, at) {
  if (!isPasted || !/^image\.\w+$/.test(file.name)) return file.name;
  const time = new Date().toISOString().replace(/[-:]|\..*/g, "").replace("T", "-");
  return `pasted-${time}-${at + 1}.${file.name.split(".").pop()}`;
}

async function attach(file, name) {
  if (file.size > MAX_BYTES) throw new Error(`${name} is larger than 16 MB`);
  const body = new FormData();
  body.append("csrf", editor.elements.csrf.value);
  body.append("file", file, name);
  const page = editor.dataset.name.split("/").map(encodeURIComponent).join("/");
  const headers = { accept: "application/json" };
  const answer = await fetch(`/web/attach/${page}`, { method: "POST", body, headers });
  const isJson = answer.headers.get("content-type") === "application/json";
  if (!answer.ok || !isJson) {
    const [message] = isJson ? await answer.json() : [`the daemon answered with ${answer.status}`];
    throw new Error(`${name} was not attached: ${message}`);
  }
  return answer.json();
}

/** Inserts the link at the cursor, and the new frontmatter, which names the file. */
function insert(field, original, { version, head: now, link }) {
  const isOnly = field.value === "" || field.value.slice(0, field.selectionStart).endsWith("\n");
  const text = isOnly ? `${link}\n` : link;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  const before = head(field.value);
  // If both changed the frontmatter, the save merges the changes.
  if (before !== original.head) return;
  field.setRangeText(now, 0, before.length, "preserve");
  original.head = head(field.value);
  editor.elements.version.value = version;
}

async function attachAll(field, original, files, isPasted) {
  if (!editor.dataset.name) return tell("Save the page first; then it can have files.");
  const failures = [];
  for (const [at, file] of files.entries()) {
    tell(`Attaching ${at + 1} of ${files.length} …`);
    try {
      insert(field, original, await attach(file, nameOf(file, isPasted, at)));
      field.dispatchEvent(new Event("input"));
    } catch (error) {
      failures.push(error.message);
    }
  }
  const done = files.length - failures.length;
  tell([`${done} of ${files.length} attached. Save the text to keep the links.`, ...failures].join(" "));
}

if (editor) {
  const field = editor.elements.text;
  const original = { head: head(field.value) };
  field.addEventListener("drop", (event) => {
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    document.body.classList.remove("dropping");
    attachAll(field, original, files, false);
  });
  field.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    attachAll(field, original, files, true);
  });
}
