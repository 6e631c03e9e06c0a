// Texts that lie over each other or stick out of their panel, and panels that lie over each other.
const SEEN = "svg text, .key, td, th, .stat b, .stat small, .stat-line b, .bar-value, .bar-name, .nothing p, .text";
const faults = [];

function common(a, b) {
  const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return [wide, high];
}

function pairs(items) {
  return items.flatMap((one, at) => items.slice(at + 1).map((other) => [one, other]));
}

function shown(text) {
  const at = text.getBoundingClientRect();
  const legend = text.closest(".legend")?.getBoundingClientRect();
  // A table that is too wide is moved sideways inside its panel.
  const table = text.closest(".cells-room")?.getBoundingClientRect();
  const hidden = (legend && at.top >= legend.bottom - 1) || (table && at.right > table.right + 1);
  return at.width > 0 && text.textContent.trim() !== "" && !hidden;
}

function within(at, room) {
  return at.left >= room.left - 1 && at.right <= room.right + 1 && at.top >= room.top - 1 && at.bottom <= room.bottom + 1;
}

for (const panel of document.querySelectorAll(".panel")) {
  const title = panel.querySelector("h3").textContent;
  const room = panel.getBoundingClientRect();
  const texts = [...panel.querySelectorAll(SEEN)].filter(shown).filter((one) => !one.matches("td:has(.key), tr:has(.key) .key"));
  for (const one of panel.querySelectorAll("td.number")) {
    if (one.scrollWidth > one.clientWidth + 1) faults.push(`${title}: the number '${one.textContent}' is cut`);
  }
  for (const one of texts) {
    if (!within(one.getBoundingClientRect(), room)) faults.push(`${title}: '${one.textContent}' sticks out`);
  }
  for (const [one, other] of pairs(texts)) {
    const [wide, high] = common(one.getBoundingClientRect(), other.getBoundingClientRect());
    if (wide > 2 && high > 3) faults.push(`${title}: '${one.textContent}' lies over '${other.textContent}'`);
  }
}
const rooms = [...document.querySelectorAll(".panel")].map((panel) => panel.getBoundingClientRect());
for (const [one, other] of pairs(rooms)) {
  const [wide, high] = common(one, other);
  if (wide > 1 && high > 1) faults.push("two panels lie over each other");
}
document.getElementById("faults").textContent = JSON.stringify({
  faults,
  panels: rooms.length,
  height: document.documentElement.scrollHeight,
  width: document.documentElement.scrollWidth,
});
