// Synchronises the form of the frontmatter and the text while the owner writes. Without this
// module, a save merges the form into the text.
import { completes } from "./complete.js";

const NAMES = ["title", "type", "tags", "aliases"];

function suggestSlug(editor, slug) {
  const field = editor.elements.slug;
  const help = document.getElementById("slug-help");
  if (!field || !help || field.value || !slug) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain";
  button.textContent = `Use ${slug}`;
  button.addEventListener("click", () => {
    field.value = slug;
    help.textContent = "";
    field.focus();
  });
  help.replaceChildren("Without a slug, the page goes to the inbox. ", button);
}

/** Connects the form's fields with the text area. */
export function fields(editor) {
  const box = document.getElementById("fields");
  const text = editor.elements.text;
  if (!box) return;
  const problem = document.getElementById("fields-problem");
  const field = (name) => editor.elements[`field-${name}`];
  // The value that form and text last agreed on.
  const agreed = (name) => editor.elements[`shown-${name}`];
  let lastRequest = 0;

  const apply = async () => {
    const request = ++lastRequest;
    const sentText = text.value;
    const body = new URLSearchParams({ csrf: editor.elements.csrf.value, text: sentText });
    for (const name of NAMES) {
      // A value is applied when the owner has finished typing it.
      const isTyped = document.activeElement === field(name);
      body.set(`field-${name}`, (isTyped ? agreed(name) : field(name)).value);
      body.set(`shown-${name}`, agreed(name).value);
    }
    try {
      const response = await fetch("/web/fields", { method: "POST", body });
      if (!response.ok) return;
      const applied = await response.json();
      // If the text changed meanwhile, the next response has both changes.
      if (request !== lastRequest || text.value !== sentText) return;
      problem.textContent = applied.problem ?? "";
      if (applied.problem) return;
      if (applied.text !== sentText) {
        text.value = applied.text;
        text.dispatchEvent(new Event("input", { bubbles: true }));
      }
      for (const name of applied.fields ? NAMES : []) {
        const value = applied.fields[name];
        if (document.activeElement === field(name)) continue;
        field(name).value = value;
        agreed(name).value = value;
      }
      suggestSlug(editor, applied.slug);
    } catch { /* A save merges the form. */ }
  };
  for (const name of NAMES) field(name).addEventListener("change", apply);
  let timer = 0;
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(apply, 600);
  });
  completes(field("tags"), {
    id: "tag-list",
    label: "Tags",
    kind: "tag",
    begun: (before) => before.match(/(?:^|,)\s*#?([^,\s][^,]{0,60})$/)?.[1],
    ending: ", ",
  });
}
