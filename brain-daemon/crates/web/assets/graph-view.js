// Draws a graph on a canvas. Few pages are drawn with smooth lines; many are drawn pixel by pixel,
// which takes a fraction of the time and needs no graphics card.

/** Width and height of the plane on which the pages have their places. */
const WORLD = 65536;
/** More pages or links than this on the screen are drawn pixel by pixel. */
const SMOOTH_PAGES = 2500;
const SMOOTH_LINKS = 6000;
/** Maximum number of names while the whole graph is shown; zooming in raises it to MAX_LABELS. */
const WHOLE_LABELS = 12;
const MAX_LABELS = 40;
/** In CSS pixels. */
const MAX_RADIUS = 16;

/** Half of the width of each mark at the height `t`, from -1 to 1; the legend has the same ones. */
const WIDTHS = [
  (t) => Math.sqrt(1 - t * t),
  (t) => (Math.abs(t) > 0.85 ? 0 : 0.85),
  (t) => 1.15 * (1 - Math.abs(t)),
  (t) => (t > 0.85 ? 0 : (t + 1) / 1.7),
  (t) => (t < -0.85 ? 0 : (1 - t) / 1.7),
  (t) => (Math.abs(t) < 0.35 ? 1 : 0.35),
  (t) => 1 - 0.5 * Math.abs(t),
  (t) => (Math.abs(t) > 0.5 ? 0 : 1),
];
export const MARKS = WIDTHS.length;

/** Returns red, green and blue of a custom property such as `--text`. */
function readColour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16) || 0);
}

/** Mixes two colours: `part` of the first. */
function mix(a, b, part) {
  return a.map((value, at) => Math.round(value * part + b[at] * (1 - part)));
}

function pixel([red, green, blue]) {
  return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
}

function css(colour) {
  return `rgb(${colour.join(" ")})`;
}

export class View {
  /** `base` shows the graph; `over`, above it, the page under the pointer. */
  constructor(base, over, graph) {
    this.base = base;
    this.over = over;
    this.graph = graph;
    this.shown = new Uint8Array(graph.pages).fill(1);
    this.found = null;
    this.hovered = -1;
    this.x = new Float32Array(graph.pages);
    this.y = new Float32Array(graph.pages);
    this.cost = 0;
    this.isQueued = false;
    this.readColours();
    this.measure();
    this.fit();
  }

  readColours() {
    const [surface, text] = [readColour("--surface"), readColour("--text")];
    this.surface = surface;
    this.text = text;
    this.quiet = readColour("--quiet");
    this.accent = readColour("--accent");
    this.marks = Array.from({ length: MARKS }, (_, at) => readColour(`--mark-${at}`));
    this.faded = this.marks.map((colour) => mix(colour, surface, 0.25));
  }

  measure() {
    const box = this.over.getBoundingClientRect();
    this.scale = Math.min(devicePixelRatio || 1, 2);
    this.width = Math.max(1, Math.round(box.width * this.scale));
    this.height = Math.max(1, Math.round(box.height * this.scale));
    for (const canvas of [this.base, this.over]) {
      canvas.width = this.width;
      canvas.height = this.height;
    }
    this.image = null;
  }

  /** Shows all pages that are not hidden. */
  fit() {
    const { place } = this.graph;
    let [left, top, right, bottom] = [WORLD, WORLD, 0, 0];
    for (let at = 0; at < this.graph.pages; at++) {
      if (!this.shown[at]) continue;
      left = Math.min(left, place[2 * at]);
      right = Math.max(right, place[2 * at]);
      top = Math.min(top, place[2 * at + 1]);
      bottom = Math.max(bottom, place[2 * at + 1]);
    }
    if (left > right) [left, top, right, bottom] = [0, 0, WORLD, WORLD];
    const margin = 28 * this.scale;
    const usable = (size) => Math.max(size - 2 * margin, size / 2);
    const whole = Math.min(
      usable(this.width) / Math.max(right - left, WORLD / 8),
      usable(this.height) / Math.max(bottom - top, WORLD / 8),
    );
    this.whole = whole;
    this.zoom = whole;
    this.centre = [(left + right) / 2, (top + bottom) / 2];
    this.queue();
  }

  /** Zooms by a factor around the point (x, y), in pixels of the canvas. */
  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const [min, max] = [this.whole / 2, Math.max(this.whole, 1) * 60];
    const next = Math.min(Math.max(this.zoom * factor, min), max);
    const [dx, dy] = [x - this.width / 2, y - this.height / 2];
    this.centre[0] += dx / this.zoom - dx / next;
    this.centre[1] += dy / this.zoom - dy / next;
    this.zoom = next;
    this.queue(true);
  }

  moveBy(dx, dy) {
    this.centre[0] = Math.min(Math.max(this.centre[0] - dx / this.zoom, 0), WORLD);
    this.centre[1] = Math.min(Math.max(this.centre[1] - dy / this.zoom, 0), WORLD);
    this.queue(true);
  }

  /** Moves to a page, and zooms until it is distinguishable from its neighbours. */
  goTo(page) {
    const { place } = this.graph;
    this.centre = [place[2 * page], place[2 * page + 1]];
    this.zoom = Math.max(this.zoom, this.whole * Math.min(8, Math.sqrt(this.graph.pages) / 12));
    this.hovered = page;
    this.queue();
  }

  /**
   * Draws before the next frame. While the view moves, a graph that takes more than 30 ms is drawn
   * without names, and without links if it is drawn pixel by pixel.
   */
  queue(isMoving = false) {
    clearTimeout(this.later);
    this.isMoving = isMoving && this.cost > 30;
    if (this.isMoving) this.later = setTimeout(() => this.queue(), 160);
    if (this.isQueued) return;
    this.isQueued = true;
    requestAnimationFrame(() => {
      this.isQueued = false;
      this.draw();
    });
  }

  radius(page) {
    const { links, pages } = this.graph;
    const gap = WORLD / Math.sqrt(pages) * this.whole;
    const smallest = Math.min(Math.max(gap * 0.1, 0.35 * this.scale), 3 * this.scale);
    const growth = Math.min(Math.max(Math.sqrt(this.zoom / this.whole), 0.7), 5);
    const radius = smallest * growth * (1 + 0.45 * Math.log2(1 + links[page]));
    return Math.min(radius, MAX_RADIUS * this.scale);
  }

  draw() {
    const start = performance.now();
    const { place, pages, ends, edges } = this.graph;
    const [left, top] = [this.centre[0] - this.width / 2 / this.zoom,
      this.centre[1] - this.height / 2 / this.zoom];
    let visible = 0;
    for (let at = 0; at < pages; at++) {
      const x = this.x[at] = (place[2 * at] - left) * this.zoom;
      const y = this.y[at] = (place[2 * at + 1] - top) * this.zoom;
      if (this.shown[at] && x > 0 && y > 0 && x < this.width && y < this.height) visible++;
    }
    const context = this.base.getContext("2d");
    if (visible <= SMOOTH_PAGES && edges <= SMOOTH_LINKS) this.drawSmooth(context, ends, edges);
    else this.drawPixels(context, ends, edges);
    this.drawLabels(context);
    this.drawOver();
    if (!this.isMoving) this.cost = performance.now() - start;
  }

  isOutside(at) {
    const margin = MAX_RADIUS * this.scale;
    return !this.shown[at] || this.x[at] < -margin || this.y[at] < -margin ||
      this.x[at] > this.width + margin || this.y[at] > this.height + margin;
  }

  colour(at) {
    const marks = this.found && !this.found[at] ? this.faded : this.marks;
    return marks[this.graph.mark[at]];
  }

  drawSmooth(context, ends, edges) {
    context.fillStyle = css(this.surface);
    context.fillRect(0, 0, this.width, this.height);
    context.beginPath();
    for (let edge = 0; edge < edges; edge++) {
      const a = ends[2 * edge];
      const b = ends[2 * edge + 1];
      if (!this.shown[a] || !this.shown[b]) continue;
      context.moveTo(this.x[a], this.y[a]);
      context.lineTo(this.x[b], this.y[b]);
    }
    context.strokeStyle = css(mix(this.quiet, this.surface, edges > 1500 ? 0.3 : 0.45));
    context.lineWidth = this.scale;
    context.stroke();
    // Pages with many links are drawn last, above the others.
    context.strokeStyle = css(this.surface);
    for (let at = this.graph.pages - 1; at >= 0; at--) {
      if (this.isOutside(at)) continue;
      context.fillStyle = css(this.colour(at));
      this.tracePage(context, at, this.radius(at));
      context.fill();
      context.stroke();
    }
  }

  /** Traces the outline of a page's mark. */
  tracePage(context, at, radius) {
    const [x, y] = [this.x[at], this.y[at]];
    const mark = this.graph.mark[at];
    context.beginPath();
    if (mark === 0 || radius < 3 * this.scale) {
      context.arc(x, y, radius, 0, 2 * Math.PI);
      return;
    }
    const corners = {
      1: [-0.85, -0.85, 0.85, -0.85, 0.85, 0.85, -0.85, 0.85],
      2: [0, -1.15, 1.15, 0, 0, 1.15, -1.15, 0],
      3: [0, -1, 1.1, 0.85, -1.1, 0.85],
      4: [0, 1, 1.1, -0.85, -1.1, -0.85],
      5: [-0.35, -1, 0.35, -1, 0.35, -0.35, 1, -0.35, 1, 0.35, 0.35, 0.35, 0.35, 1, -0.35, 1,
        -0.35, 0.35, -1, 0.35, -1, -0.35, -0.35, -0.35],
      6: [-0.5, -1, 0.5, -1, 1.05, 0, 0.5, 1, -0.5, 1, -1.05, 0],
      7: [-1, -0.5, 1, -0.5, 1, 0.5, -1, 0.5],
    }[mark];
    for (let corner = 0; corner < corners.length; corner += 2) {
      context.lineTo(x + corners[corner] * radius, y + corners[corner + 1] * radius);
    }
    context.closePath();
  }

  drawPixels(context, ends, edges) {
    const { width, height } = this;
    if (!this.image) {
      this.image = context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.density = new Uint16Array(width * height);
    }
    const { pixels, density } = this;
    if (this.isMoving) pixels.fill(pixel(this.surface));
    else {
      density.fill(0);
      for (let edge = 0; edge < edges; edge++) {
        const a = ends[2 * edge];
        const b = ends[2 * edge + 1];
        if (this.shown[a] && this.shown[b]) {
          this.plotLine(this.x[a], this.y[a], this.x[b], this.y[b]);
        }
      }
      // The more lines cross a pixel, the darker it is.
      const strength = edges > 50000 ? 0.05 : 0.12;
      const shades = Array.from({ length: 64 }, (_, count) =>
        pixel(mix(this.quiet, this.surface, 0.6 * (1 - (1 - strength) ** count))));
      for (let at = 0; at < pixels.length; at++) pixels[at] = shades[Math.min(density[at], 63)];
    }
    const solid = this.marks.map(pixel);
    const faded = this.faded.map(pixel);
    for (let at = this.graph.pages - 1; at >= 0; at--) {
      if (this.isOutside(at)) continue;
      const colours = this.found && !this.found[at] ? faded : solid;
      this.plotPage(at, this.radius(at), colours[this.graph.mark[at]]);
    }
    context.putImageData(this.image, 0, 0);
  }

  /** Adds 1 to the density of each pixel of a line. */
  plotLine(x1, y1, x2, y2) {
    const { width, height, density } = this;
    const dx = x2 - x1;
    const dy = y2 - y1;
    let from = 0;
    let to = 1;
    // The part of the line that is on the screen (Liang and Barsky).
    if (x1 < 0 || y1 < 0 || x2 < 0 || y2 < 0 || x1 >= width || x2 >= width || y1 >= height ||
      y2 >= height) {
      for (let side = 0; side < 4; side++) {
        const step = (side < 2 ? dx : dy) * (side % 2 === 0 ? -1 : 1);
        const distance = [x1, width - 1 - x1, y1, height - 1 - y1][side];
        if (step === 0 && distance < 0) return;
        if (step < 0) from = Math.max(from, distance / step);
        if (step > 0) to = Math.min(to, distance / step);
      }
      if (from >= to) return;
    }
    const steps = Math.ceil(Math.max(Math.abs(dx), Math.abs(dy)) * (to - from));
    if (steps === 0) return;
    let x = x1 + dx * from;
    let y = y1 + dy * from;
    const stepX = dx * (to - from) / steps;
    const stepY = dy * (to - from) / steps;
    for (let step = 0; step < steps; step++) {
      density[(y | 0) * width + (x | 0)]++;
      x += stepX;
      y += stepY;
    }
  }

  plotPage(at, radius, colour) {
    const { width, height, pixels } = this;
    const [x, y] = [Math.round(this.x[at]), Math.round(this.y[at])];
    const rows = Math.max(1, Math.round(radius));
    const half = radius < 2.5 * this.scale ? WIDTHS[0] : WIDTHS[this.graph.mark[at]];
    for (let row = -rows; row <= rows; row++) {
      if (y + row < 0 || y + row >= height) continue;
      const reach = radius < 1 ? 0 : Math.round(half(row / (rows + 0.5)) * radius);
      if (reach === 0 && row !== 0) continue;
      const start = (y + row) * width;
      pixels.fill(colour, start + Math.max(0, x - reach), start + Math.min(width, x + reach + 1));
    }
  }

  /** Draws the names of the pages with most links, unless the names overlap. */
  drawLabels(context) {
    if (this.isMoving) return;
    const size = 12 * this.scale;
    context.font = `${size}px system-ui, sans-serif`;
    context.textAlign = "center";
    const zoom = this.zoom / this.whole;
    const max = Math.min(WHOLE_LABELS * Math.max(zoom, 0.5), MAX_LABELS);
    const boxes = [];
    let tries = 0;
    for (let at = 0; at < this.graph.pages && boxes.length < max && tries < 400; at++) {
      if (this.isOutside(at) || (this.found && !this.found[at])) continue;
      if (this.graph.links[at] === 0 && zoom < 3) break;
      const radius = this.radius(at);
      if (radius < 2.5 * this.scale) break;
      tries++;
      const title = this.shortTitle(at);
      const half = context.measureText(title).width / 2 + size;
      const y = this.y[at] + radius + size;
      const box = [this.x[at] - half, y - 2 * size, this.x[at] + half, y + size];
      const isFree = boxes.every((other) => box[0] > other[2] || box[2] < other[0] ||
        box[1] > other[3] || box[3] < other[1]);
      if (!isFree || box[0] < 0 || box[2] > this.width || y > this.height) continue;
      boxes.push(box);
      this.write(context, title, this.x[at], y);
    }
  }

  shortTitle(at) {
    const title = this.graph.name(at).title;
    return title.length > 28 ? `${title.slice(0, 27)}…` : title;
  }

  write(context, text, x, y) {
    context.lineJoin = "round";
    context.lineWidth = 3 * this.scale;
    context.strokeStyle = css(this.surface);
    context.strokeText(text, x, y);
    context.fillStyle = css(this.text);
    context.fillText(text, x, y);
  }

  /** Draws the page under the pointer with its links, and rings around pages that were found. */
  drawOver() {
    const context = this.over.getContext("2d");
    context.clearRect(0, 0, this.width, this.height);
    context.lineWidth = 1.5 * this.scale;
    context.strokeStyle = css(this.accent);
    if (this.found) {
      let rings = 0;
      for (let at = 0; at < this.graph.pages && rings < 500; at++) {
        if (!this.found[at] || this.isOutside(at)) continue;
        rings++;
        context.beginPath();
        context.arc(this.x[at], this.y[at], this.radius(at) + 4 * this.scale, 0, 2 * Math.PI);
        context.stroke();
      }
    }
    const at = this.hovered;
    if (at < 0 || !this.shown[at]) return;
    const { ends, edges } = this.graph;
    context.beginPath();
    for (let edge = 0; edge < edges; edge++) {
      const a = ends[2 * edge];
      const b = ends[2 * edge + 1];
      if ((a !== at && b !== at) || !this.shown[a] || !this.shown[b]) continue;
      context.moveTo(this.x[a], this.y[a]);
      context.lineTo(this.x[b], this.y[b]);
    }
    context.stroke();
    const radius = this.radius(at);
    context.fillStyle = css(this.marks[this.graph.mark[at]]);
    this.tracePage(context, at, radius + this.scale);
    context.fill();
    context.stroke();
    const size = 13 * this.scale;
    context.font = `600 ${size}px system-ui, sans-serif`;
    context.textAlign = "center";
    const title = this.shortTitle(at);
    const half = context.measureText(title).width / 2 + 4;
    const x = Math.min(Math.max(this.x[at], half), Math.max(this.width - half, half));
    const above = this.y[at] - radius - 6 * this.scale;
    this.write(context, title, x, above < size ? this.y[at] + radius + size : above);
  }

  /** Returns the page at a point in pixels of the canvas, or -1. `slack` is in CSS pixels. */
  pageAt(x, y, slack) {
    let [best, nearest] = [-1, Infinity];
    for (let at = 0; at < this.graph.pages; at++) {
      if (!this.shown[at]) continue;
      const distance = Math.hypot(this.x[at] - x, this.y[at] - y);
      if (distance < nearest && distance <= this.radius(at) + slack * this.scale) {
        [best, nearest] = [at, distance];
      }
    }
    return best;
  }
}
