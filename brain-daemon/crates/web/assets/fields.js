// Synchronises the form of the frontmatter and the text while the owner writes. Without this
// module, the form is merged into the text when it is saved.
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
  const shown = (name) => editor.elements[`shown-${name}`];
  let number = 0;

  const apply = async () => {
    const mine = ++number;
    const sent = text.value;
    const body = new URLSearchParams({ csrf: editor.elements.csrf.value, text: sent });
    for (const name of NAMES) {
      // A value is applied when the owner has finished typing it.
      const isTyped = document.activeElement === field(name);
      body.set(`field-${name}`, (isTyped ? shown(name) : field(name)).value);
      body.set(`shown-${name}`, shown(name).value);
    }
    try {
      const answer = await fetch("/web/fields", { method: "POST", body });
      if (!answer.ok) return;
      const applied = await answer.json();
      // The text changed meanwhile: the next answer contains both changes.
      if (mine !== number || text.value !== sent) return;
      problem.textContent = applied.problem ?? "";
      if (applied.problem) return;
      if (applied.text !== sent) {
        text.value = applied.text;
        text.dispatchEvent(new Event("input", { bubbles: true }));
      }
      for (const name of applied.fields ? NAMES : []) {
        const value = applied.fields[name];
        if (document.activeElement === field(name)) continue;
        field(name).value = value;
        shown(name).value = value;
      }
      suggestSlug(editor, applied.slug);
    } catch { /* The form is merged when it is saved. */ }
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
