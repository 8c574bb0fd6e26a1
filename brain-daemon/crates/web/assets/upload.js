// Sends a file for an import in parts, then shows what it is. Without this module, the form of the
// screen Import sends the file as a whole.
import { tell } from "./html.js";

/** The length of a part, in bytes. */
const PART = 4_000_000;
const MAX_BYTES = 2_000_000_000;

async function send(file, csrf, upload, offset) {
  const body = new FormData();
  body.append("csrf", csrf);
  body.append("upload", upload);
  body.append("offset", offset);
  body.append("file", file.slice(offset, offset + PART), file.name);
  const headers = { accept: "application/json" };
  const response = await fetch("/web/import/upload", { method: "POST", body, headers });
  const isJson = response.headers.get("content-type") === "application/json";
  if (response.ok && isJson) return response.json();
  const message = isJson
    ? (await response.json()).join("; ")
    : `the daemon answered with ${response.status}`;
  throw new Error(message);
}

/** Uploads a file, and goes to its preview. */
export async function uploadForImport(file, csrf) {
  const bar = document.getElementById("import-progress");
  try {
    if (file.size > MAX_BYTES) throw new Error("it is larger than 2 GB");
    if (bar) bar.hidden = false;
    let state = { upload: "", bytes: 0 };
    do {
      const percent = Math.floor(100 * state.bytes / Math.max(file.size, 1));
      tell(`Sending ${file.name}: ${percent} %`);
      if (bar) bar.value = percent / 100;
      state = await send(file, csrf, state.upload, state.bytes);
    } while (state.bytes < file.size);
    tell(`Looking at ${file.name} …`);
    bar?.removeAttribute("value");
    location.href = `/web/import/file/${state.upload}`;
  } catch (error) {
    if (bar) bar.hidden = true;
    tell(`${file.name} was not sent: ${error.message}`);
  }
}

const form = document.getElementById("import");

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  const [file] = form.elements.file.files;
  if (file) uploadForImport(file, form.elements.csrf.value);
});
