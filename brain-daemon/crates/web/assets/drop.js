// Captures markdown and text files as pages when the user drops them on a screen. Another file, and
// any file on the screen Import, is looked at for an import.
import { tell } from "./html.js";
import { uploadForImport } from "./upload.js";

const MAX_BYTES = 5_000_000;
const form = document.querySelector("#capture form");

function hasFiles(event) {
  return [...(event.dataTransfer?.types ?? [])].includes("Files");
}

function isText(file) {
  return file.type.startsWith("text/") || /\.(md|markdown|txt|text)$/i.test(file.name);
}

async function captureFile(file) {
  if (!isText(file)) throw new Error(`${file.name} is not a text file`);
  if (file.size > MAX_BYTES) throw new Error(`${file.name} is larger than 5 MB`);
  const body = new URLSearchParams({
    csrf: form.elements.csrf.value,
    text: await file.text(),
  });
  const response = await fetch("/web/capture", { method: "POST", body });
  if (!response.ok) throw new Error(`${file.name} was not saved (${response.status})`);
  return response.url;
}

if (form) {
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dropping");
  });
  addEventListener("drop", async (event) => {
    document.body.classList.remove("dropping");
    if (!hasFiles(event)) return;
    event.preventDefault();
    const files = [...event.dataTransfer.files];
    const isImport = document.getElementById("import") || !isText(files[0]);
    if (files.length === 1 && isImport) {
      uploadForImport(files[0], form.elements.csrf.value);
      return;
    }
    const failures = [];
    let lastPage = null;
    for (const [index, file] of files.entries()) {
      tell(`Capturing ${index + 1} of ${files.length} …`);
      try {
        lastPage = await captureFile(file);
      } catch (error) {
        failures.push(error.message);
      }
    }
    const captured = files.length - failures.length;
    tell([`${captured} of ${files.length} saved.`, ...failures].join(" "));
    if (files.length === 1 && lastPage) location.href = lastPage;
  });
}
