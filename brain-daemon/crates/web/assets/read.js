// Completes the reader: copies the path of the file, and shows mentions in place.
import { fetchPart, showPart } from "./html.js";

/** Prepares the page on the screen. */
export function prepareReader() {
  for (const code of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard || code.dataset.ready) continue;
    code.dataset.ready = "1";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    button.textContent = "Copy the path";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.dataset.copy);
        button.textContent = "Copied";
      } catch {
        button.textContent = "The browser refused to copy";
      }
    });
    code.after(" ", button);
  }
  const mentions = document.getElementById("mentions");
  const link = mentions?.querySelector("a[href^='/web/mentions/']");
  link?.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    try {
      showPart(mentions, await fetchPart(`${link.getAttribute("href")}?part`));
      mentions.tabIndex = -1;
      mentions.focus();
    } catch {
      location.href = link.href;
    }
  }, { once: true });
}

prepareReader();
