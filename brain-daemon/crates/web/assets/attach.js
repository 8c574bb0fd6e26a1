// Files that are dropped on the text or pasted into it are attached to the page, and linked at the
// cursor. Without this module, the form beside a page attaches files.
import { tell } from "./html.js";

const editor = document.getElementById("editor");
const MAX_BYTES = 16_000_000;

/** Returns the frontmatter of a text, with the empty line below it. */
function frontmatterOf(text) {
  return text.match(/^(---|\+\+\+)\n[^]*?\n\1\n\n?/)?.[0] ?? "";
}

/** Returns the name of an attachment. Pasted pictures, all called image.png, get a new name. */
function nameOf(file, isPasted, index) {
  if (!isPasted || !/^image\.\w+$/.test(file.name)) return file.name;
  const time = new Date().toISOString().replace(/[-:]|\..*/g, "").replace("T", "-");
  return `pasted-${time}-${index + 1}.${file.name.split(".").pop()}`;
}

async function attach(file, name) {
  if (file.size > MAX_BYTES) throw new Error(`${name} is larger than 16 MB`);
  const body = new FormData();
  body.append("csrf", editor.elements.csrf.value);
  body.append("file", file, name);
  const page = editor.dataset.name.split("/").map(encodeURIComponent).join("/");
  const headers = { accept: "application/json" };
  const response = await fetch(`/web/attach/${page}`, { method: "POST", body, headers });
  const isJson = response.headers.get("content-type") === "application/json";
  if (!response.ok || !isJson) {
    const [message] = isJson
      ? await response.json()
      : [`the daemon answered with ${response.status}`];
    throw new Error(`${name} was not attached: ${message}`);
  }
  return response.json();
}

/** Inserts the link at the cursor, and the new frontmatter, which names the file. */
function insert(field, original, { version, head: newFrontmatter, link }) {
  const isOwnLine = field.value === "" || field.value.slice(0, field.selectionStart).endsWith("\n");
  const text = isOwnLine ? `${link}\n` : link;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  const before = frontmatterOf(field.value);
  // If the owner changed the frontmatter too, the save merges the changes.
  if (before !== original.frontmatter) return;
  field.setRangeText(newFrontmatter, 0, before.length, "preserve");
  original.frontmatter = frontmatterOf(field.value);
  editor.elements.version.value = version;
}

async function attachAll(field, original, files, isPasted) {
  if (!editor.dataset.name) return tell("Save the page first; then it can have files.");
  const failures = [];
  for (const [index, file] of files.entries()) {
    tell(`Attaching ${index + 1} of ${files.length} …`);
    try {
      insert(field, original, await attach(file, nameOf(file, isPasted, index)));
      field.dispatchEvent(new Event("input"));
    } catch (error) {
      failures.push(error.message);
    }
  }
  const attached = `${files.length - failures.length} of ${files.length} attached.`;
  tell([attached, "Save the text to keep the links.", ...failures].join(" "));
}

if (editor) {
  const field = editor.elements.text;
  const original = { frontmatter: frontmatterOf(field.value) };
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
