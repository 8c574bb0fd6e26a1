// Shows a list of values under a field, to choose from while typing.

/**
 * Completes words in `field`. `begun` gets the text before the caret and returns the unfinished
 * word at its end, or nothing. `ending` is inserted after a chosen value. `kind` is a kind of
 * /web/complete.
 */
export function completes(field, { id, label, kind, begun, ending }) {
  const list = document.createElement("ul");
  list.id = id;
  list.className = "completions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", label);
  list.hidden = true;
  field.after(list);
  field.setAttribute("aria-controls", id);
  let lastRequest = 0;
  let active = 0;

  const word = () => begun(field.value.slice(0, field.selectionStart));
  const close = () => {
    lastRequest += 1;
    list.hidden = true;
    list.replaceChildren();
    field.removeAttribute("aria-activedescendant");
  };
  const mark = () => {
    [...list.children].forEach((item, n) => item.setAttribute("aria-selected", n === active));
    const item = list.children[active];
    if (item) field.setAttribute("aria-activedescendant", item.id);
  };
  const choose = (item) => {
    const end = field.selectionStart;
    const start = end - (word()?.length ?? 0);
    field.setRangeText(item.dataset.value + ending, start, end, "end");
    close();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  };
  const option = ([value, description], n) => {
    const item = document.createElement("li");
    item.id = `${id}-${n}`;
    item.setAttribute("role", "option");
    item.dataset.value = value;
    const [first, second] = kind === "tag" ? [value, description] : [description, value];
    item.textContent = description ? `${first} (${second})` : value;
    item.addEventListener("mousedown", (event) => {
      event.preventDefault();
      choose(item);
    });
    return item;
  };
  field.addEventListener("input", async () => {
    const text = word();
    if (!text) return close();
    const request = ++lastRequest;
    try {
      const query = new URLSearchParams({ text, ...(kind && { kind }) });
      const response = await fetch(`/web/complete?${query}`);
      if (!response.ok || request !== lastRequest) return;
      const values = await response.json();
      if (request !== lastRequest || word() !== text) return;
      list.replaceChildren(...values.map(option));
      active = 0;
      list.hidden = values.length === 0;
      mark();
    } catch { close(); }
  });
  field.addEventListener("keydown", (event) => {
    if (list.hidden || event.isComposing) return;
    const count = list.children.length;
    if (event.key === "ArrowDown") active = (active + 1) % count;
    else if (event.key === "ArrowUp") active = (active + count - 1) % count;
    else if (event.key === "Enter" || event.key === "Tab") choose(list.children[active]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
    mark();
  });
  field.addEventListener("blur", close);
}
