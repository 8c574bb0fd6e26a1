// Arrow keys move between the days of the calendar, so the Tab key stops at the calendar only once.
// Without this module, the Tab key stops at each day with entries.
const table = document.getElementById("calendar");
const days = [...table.querySelectorAll("tbody a")];
const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Makes `day` the only day at which the Tab key stops. */
function choose(day) {
  for (const other of days) other.tabIndex = other === day ? 0 : -1;
}

/** Returns the nearest day with entries in a direction from `day`, or null. */
function next(day, [down, right]) {
  let cell = day.closest("td");
  let row = cell.parentElement;
  for (;;) {
    const at = cell.cellIndex + right;
    row = down ? table.tBodies[0].rows[row.sectionRowIndex + down] : row;
    cell = row?.cells[at];
    if (!cell || cell.tagName !== "TD") return null;
    const found = cell.querySelector("a");
    if (found) return found;
  }
}

const selected = table.querySelector("a[aria-current]") ?? days.at(-1);
if (selected) {
  choose(selected);
  // On a narrow screen, the calendar scrolls to the selected day, or to the last one.
  const region = table.parentElement;
  region.scrollLeft = selected.closest("td").offsetLeft - region.clientWidth / 2;
}
table.addEventListener("keydown", (event) => {
  const step = steps[event.key];
  const day = event.target.closest("tbody a");
  if (!step || !day) return;
  event.preventDefault();
  event.stopPropagation();
  const found = next(day, step);
  if (!found) return;
  choose(found);
  found.focus();
});
