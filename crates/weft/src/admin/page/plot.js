
// A plot of the last five minutes: lines or stacked areas, with axes, a legend, and the values at the cursor in the legend.
//
// Must not know where values come from. Invariants: all plots have the same times and one cursor; where nothing was measured,
// nothing is drawn.

const SPAN_MS = 300_000;
/** Between two points that are further apart nothing is drawn. */
const GAP_MS = 4_000;
const EDGE = { left: 64, right: 10, top: 14, bottom: 20 };
const HEIGHT = 174;

function drawing(name, attributes, parent) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent?.append(made);
  return made;
}

/** Round numbers from 0 to at least this one; of bytes, round numbers of KiB, MiB and so on. */
function linearTicks(max, least, base) {
  const unit = base ** Math.max(0, Math.floor(Math.log(Math.max(max, least)) / Math.log(base) + 1e-9));
  const top = Math.max(max, least) / unit;
  const power = 10 ** Math.floor(Math.log10(top / 3));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size * 4 >= top);
  return Array.from({ length: Math.ceil(top / step - 1e-9) + 1 }, (_, at) => at * step * unit);
}

/** Powers of ten around these. */
function decades(min, max) {
  const [from, to] = [Math.floor(Math.log10(min)), Math.max(Math.ceil(Math.log10(max)), Math.floor(Math.log10(min)) + 1)];
  return Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at));
}

class Plot {
  /** `series`: [key, label, colour] each, the lowest first. `format`: a value as text. */
  constructor(parent, cursor, { id, title, note, series, format, stacked = false, log = false, least = 1, base = 10 }) {
    Object.assign(this, { cursor, format, stacked, log, least, base, title, points: [], now: 0, width: 0 });
    this.legend = element("ul", "legend");
    const caption = element("figcaption", "", element("h3", "", title), element("small", "", note));
    this.figure = element("figure", "plot", caption, this.legend);
    this.figure.id = id;
    this.svg = drawing("svg", { height: HEIGHT, role: "img", tabindex: 0 }, this.figure);
    this.svg.setAttribute("aria-label", `${title}: ${note}. The arrow keys move through the last five minutes.`);
    this.axes = drawing("g", { class: "axes" }, this.svg);
    this.shapes = drawing("g", {}, this.svg);
    this.line = drawing("line", { class: "cursor", y1: EDGE.top, y2: HEIGHT - EDGE.bottom }, this.svg);
    this.at = drawing("text", { class: "at", y: EDGE.top - 3 }, this.svg);
    parent.append(this.figure);
    this.setSeries(series);
    this.listen();
    new ResizeObserver(() => {
      this.width = Math.max(0, Math.floor(this.figure.clientWidth - 2));
      this.svg.setAttribute("width", this.width);
      this.draw();
    }).observe(this.figure);
  }

  listen() {
    const move = (event) => {
      const x = event.clientX - this.svg.getBoundingClientRect().left;
      const part = (x - EDGE.left) / (this.width - EDGE.left - EDGE.right);
      this.cursor.move(this.now - SPAN_MS * (1 - Math.min(1, Math.max(0, part))));
    };
    this.svg.addEventListener("pointermove", move);
    this.svg.addEventListener("pointerdown", move);
    this.svg.addEventListener("pointerleave", () => this.cursor.move(null));
    this.svg.addEventListener("blur", () => this.cursor.move(null));
    this.svg.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 }[event.key];
      if (event.key === "Escape") this.cursor.move(null);
      if (!steps) return;
      event.preventDefault();
      const at = Math.max(this.now - SPAN_MS, (this.cursor.time ?? this.now) + steps * 1000);
      this.cursor.move(at >= this.now ? null : at);
    });
  }

  /** Draws these series from now on. */
  setSeries(series) {
    const names = series.map(([key]) => key).join(" ");
    if (names === this.names) return;
    this.names = names;
    this.series = series.map(([key, label, colour]) => {
      const value = element("b", "", "–");
      const swatch = element("i", `swatch ${colour}`);
      const item = element("li", "", swatch, element("span", "", label), value);
      item.dataset.series = key;
      return { key, colour, value, item };
    });
    this.legend.replaceChildren(...this.series.map((one) => one.item));
    this.shapes.replaceChildren();
    for (const one of this.series) {
      if (this.stacked) one.area = drawing("path", { class: `area ${one.colour}` }, this.shapes);
      one.path = drawing("path", { class: `line ${one.colour}` }, this.shapes);
    }
  }

  /** Shows these points: { t, values }. */
  show(points, now) {
    Object.assign(this, { points, now });
    this.draw();
  }

  draw() {
    if (this.width < EDGE.left + EDGE.right + 10) return;
    const seen = this.points.filter((point) => point.t >= this.now - SPAN_MS);
    const rows = seen.map((point) => this.levels(point.values));
    const tops = rows.flat().map(([, upper]) => upper).filter((value) => value !== null);
    const positive = tops.filter((value) => value > 0);
    const max = Math.max(0, ...tops);
    this.ticks = this.log
      ? decades(positive.length ? Math.min(...positive) : 1, positive.length ? max : 100)
      : linearTicks(max, this.least, this.base);
    this.drawAxes();
    const runs = [];
    seen.forEach((point, at) => {
      if (at === 0 || point.t - seen[at - 1].t > GAP_MS) runs.push([]);
      runs.at(-1).push([this.x(point.t), rows[at]]);
    });
    this.series.forEach((one, place) => {
      one.path.setAttribute("d", runs.map((run) => this.lineOf(run, place)).join(""));
      one.area?.setAttribute("d", runs.map((run) => this.areaOf(run, place)).join(""));
    });
    this.drawCursor();
  }

  /** Of each series its lower and its upper end. */
  levels(values) {
    let below = 0;
    return this.series.map(({ key }) => {
      const value = values[key] ?? null;
      if (!this.stacked) return [0, value];
      const level = [below, below + (value ?? 0)];
      below = level[1];
      return level;
    });
  }

  x(time) {
    return EDGE.left + (1 - (this.now - time) / SPAN_MS) * (this.width - EDGE.left - EDGE.right);
  }

  y(value) {
    const scale = this.log ? (of) => Math.log10(Math.max(of, this.ticks[0])) : (of) => of;
    const [from, to] = [scale(this.ticks[0]), scale(this.ticks.at(-1))];
    const part = (scale(value) - from) / (to - from);
    return EDGE.top + (1 - part) * (HEIGHT - EDGE.top - EDGE.bottom);
  }

  lineOf(run, place) {
    let pen = "M";
    return run.map(([x, levels]) => {
      const [below, above] = levels[place];
      // What is nothing has no line on top of the others.
      const value = this.stacked && above === below ? null : above;
      const step = value === null ? "" : `${pen}${x.toFixed(1)} ${this.y(value).toFixed(1)}`;
      pen = value === null ? "M" : "L";
      return step;
    }).join("");
  }

  areaOf(run, place) {
    const end = (side) => run.map(([x, levels]) => `${x.toFixed(1)} ${this.y(levels[place][side]).toFixed(1)}`);
    return `M${[...end(1), ...end(0).reverse()].join("L")}Z`;
  }

  drawAxes() {
    const [right, bottom] = [this.width - EDGE.right, HEIGHT - EDGE.bottom];
    const made = this.ticks.flatMap((tick) => {
      const y = this.y(tick);
      const text = drawing("text", { x: EDGE.left - 8, y: y + 4, "text-anchor": "end" });
      text.textContent = plain(this.format(tick));
      return [drawing("line", { x1: EDGE.left, x2: right, y1: y, y2: y }), text];
    });
    const step = this.width < 330 ? 2 : 1;
    for (let minutes = 0; minutes <= 5; minutes += step) {
      const x = this.x(this.now - minutes * 60_000);
      const text = drawing("text", { x, y: bottom + 15, "text-anchor": { 0: "end", 5: "start" }[minutes] ?? "middle" });
      text.textContent = minutes === 0 ? "now" : `${minutes} min`;
      made.push(text);
    }
    this.axes.replaceChildren(...made);
  }

  /** The values at the cursor, or the last ones. */
  drawCursor() {
    const { time } = this.cursor;
    const distance = (point) => Math.abs(point.t - (time ?? this.now));
    const near = this.points.reduce((best, point) => (best && distance(best) <= distance(point) ? best : point), null);
    const there = near && (time === null || distance(near) < GAP_MS) ? near : null;
    const values = there?.values ?? {};
    for (const { key, value } of this.series) setText(value, values[key] == null ? "–" : this.format(values[key]));
    const x = time === null ? -10 : this.x(there?.t ?? time);
    this.line.setAttribute("x1", x);
    this.line.setAttribute("x2", x);
    this.at.setAttribute("x", Math.min(x, this.width - 24));
    setText(this.at, time === null ? "" : `${Math.round((this.now - (there?.t ?? time)) / 1000)} s ago`);
  }
}
