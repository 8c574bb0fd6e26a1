// The only module that writes HTML: responses of this daemon, whose templates escape all text. The
// content security policy contains the name of the Trusted Types policy, which can be created once.
const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("brain", { createHTML: (html) => html })
  : { createHTML: (html) => html };

/** The message that says what to do when the session has ended. */
export const SIGNED_OUT = "You are signed out, or brain was restarted. Run `brain open` in a " +
  "terminal; this page then continues.";

/** The daemon refused a request. */
export class AnswerError extends Error {
  constructor(status) {
    super(status === 401
      ? SIGNED_OUT
      : `The daemon answered with ${status}.`);
    this.status = status;
  }
}

/** Fetches a part of a screen from `path` of this daemon. */
export async function fetchPart(path, options = {}) {
  if (!path.startsWith("/web/")) throw new Error("not a path of this page");
  const answer = await fetch(path, { ...options, redirect: "error", credentials: "same-origin" });
  if (!answer.ok) throw new AnswerError(answer.status);
  return answer.text();
}

/** Fetches the screen at `path` of this daemon, and returns it as a document. */
export async function fetchScreen(path) {
  if (!/^\/(?!\/)/.test(path)) throw new Error("not a path of this page");
  const answer = await fetch(path, { redirect: "error", credentials: "same-origin" });
  if (!answer.ok) throw new AnswerError(answer.status);
  return new DOMParser().parseFromString(policy.createHTML(await answer.text()), "text/html");
}

/** Replaces the content of `element` with a part that `fetchPart` returned. */
export function showPart(element, html) {
  element.innerHTML = policy.createHTML(html);
}

/** Shows a message; an empty text removes it. */
export function tell(text) {
  const box = document.getElementById("message");
  if (box && box.textContent !== text) box.textContent = text;
}
