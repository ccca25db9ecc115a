
// Numbers as people read them, and elements with text in them.
//
// Must not know what a number means. Invariant: what comes from the server becomes text, never markup.

function shown(value, digits) {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Three figures: 0.25, 4.1, 312, 12.3 k. */
function short(value) {
  if (value === null) return "–";
  const steps = [[1e9, " G"], [1e6, " M"], [1e4, " k", 1e3]];
  const step = steps.find(([from]) => value >= from);
  if (step) return short(value / (step[2] ?? step[0])) + step[1];
  return shown(value, value === 0 || value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2);
}

const whole = (value) => shown(value, 0);
const perSecond = (value) => shown(value, value < 100 && value > 0 ? 1 : 0);
const percentOf = (part) => `${Math.round(part * 100)} %`;

function duration(ms) {
  if (ms === null) return "–";
  if (ms < 1e3) return `${short(ms)} ms`;
  if (ms < 6e4) return `${short(ms / 1e3)} s`;
  return span(ms / 1e3);
}

function bytes(count) {
  const steps = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
  const [size, unit] = steps.find(([from]) => count >= from) ?? [1, "B"];
  return `${short(count / size)} ${unit}`;
}

function span(seconds) {
  const [days, hours, minutes] = [seconds / 86400, (seconds / 3600) % 24, (seconds / 60) % 60].map(Math.floor);
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min` : `${Math.floor(seconds)} s`;
}

/** A number without the zeros that say nothing, for axes. */
const plain = (text) => text.replace(/\.(\d*?)0+(?!\d)/, (_, digits) => (digits ? `.${digits}` : ""));

/** An element with a class and with what is in it: elements and texts. */
function element(name, className, ...inside) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...inside);
  return made;
}

/** Changes a text only where it differs, so that what somebody has selected stays so. */
function setText(of, text) {
  if (of.textContent !== text) of.textContent = text;
}
