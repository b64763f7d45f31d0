/* The key visualizer: a picture of the document `heat`, time on x, ranges of
 * rows on y, colour by the rate. Without it the page has the same as a table.
 *
 *   pointer   the range, the time and the rate below it are told; a dragged
 *             rectangle becomes the picture
 *   keyboard  arrows move a cell, with Shift they select a rectangle; Enter
 *             zooms in, Escape drops the selection, then zooms out
 *
 * Which rows and times are seen is in the address, so that a link to it can be
 * shared, and Back zooms out.
 */
"use strict";
(() => {
  const section = document.getElementById("heat");
  if (!section) return;
  const REFRESH_MS = 10000;
  /* Of viridis: even steps of lightness, which also eyes see that see no red. */
  const STOPS = [
    [68, 1, 84], [71, 39, 119], [62, 74, 137], [49, 104, 142], [38, 130, 142],
    [31, 158, 137], [53, 183, 121], [109, 205, 89], [180, 222, 44], [253, 231, 37],
  ];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const make = (name, attributes = {}, text = "") => {
    const e = document.createElement(name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    e.textContent = text;
    return e;
  };
  const variable = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const canvas = make("canvas", {
    tabindex: "0", role: "application", "aria-roledescription": "heat map",
    "aria-label": "Heat by range of rows and time; arrows move, Enter zooms in, Escape out",
    "aria-describedby": "heat-told",
  });
  const told = make("output", { id: "heat-told", class: "heat-told" }, "Loading");
  const scale = make("canvas", { class: "heat-scale", width: "160", height: "10", "aria-hidden": "true" });
  const least = make("span", {}, "0");
  const most = make("span");
  const legend = make("div", { class: "heat-legend" });
  const out = make("button", { type: "button", class: "btn" }, "Zoom out");
  const whole = make("button", { type: "button", class: "btn" }, "Show all");
  legend.append(least, scale, most, out, whole);
  section.replaceChildren(legend, canvas, told);

  let doc = null;
  let image = null; /* A pixel for each cell. */
  let top = 1; /* The greatest value. */
  let cell = null; /* { t, k }: the one that is told. */
  let from = null; /* Where the selection began. */
  let dragging = false;
  let wanted = 0;

  /* --- figures ----------------------------------------------------------- */

  const query = () => new URLSearchParams(location.search);
  const humane = (v) => {
    const bytes = doc && doc.unit === "bytes_per_s";
    const names = bytes ? ["B", "KiB", "MiB", "GiB", "TiB"] : ["", "k", "M", "G"];
    let i = 0;
    while (v >= (bytes ? 1024 : 1000) && i < names.length - 1) {
      v /= bytes ? 1024 : 1000;
      i++;
    }
    const digits = v % 1 === 0 || v >= 100 ? 0 : v >= 10 ? 1 : 2;
    return v.toFixed(digits) + (bytes ? " " : "") + names[i] + "/s";
  };
  const day = new Intl.DateTimeFormat(undefined, {
    month: "short", day: "numeric", hour: "2-digit", minute: "2-digit",
  });
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const rangeText = (a, b) =>
    (a === "" ? "the first row" : a) + " to before " + (b === "" ? "the end" : b);

  /* --- colours ----------------------------------------------------------- */

  /* Of a share of the greatest value. The hottest is what stands out most from
   * the page: light on dark, dark on light. */
  const colourOf = (share) => {
    const at = (dark.matches ? share : 1 - share) * (STOPS.length - 1);
    const i = Math.min(Math.floor(at), STOPS.length - 2);
    return STOPS[i].map((c, n) => Math.round(c + (STOPS[i + 1][n] - c) * (at - i)));
  };
  /* Rates differ by orders of magnitude: colours go by their logarithm. */
  const shareOf = (v) => (v > 0 ? Math.log1p(v * 10) / Math.log1p(top * 10) : 0);

  const drawScale = () => {
    const g = scale.getContext("2d");
    for (let x = 0; x < scale.width; x++) {
      g.fillStyle = "rgb(" + colourOf(x / (scale.width - 1)).join(",") + ")";
      g.fillRect(x, 0, 1, scale.height);
    }
    most.textContent = humane(top);
  };

  const paint = () => {
    const width = doc.times.length, height = doc.keys.length - 1;
    const g = image.getContext("2d");
    image.width = width;
    image.height = height;
    const pixels = g.createImageData(width, height);
    doc.values.forEach((row, t) => row.forEach((v, k) => {
      if (!(v > 0)) return; /* The page shows through. */
      const at = 4 * (k * width + t);
      const [r, b, c] = colourOf(shareOf(v));
      pixels.data.set([r, b, c, 255], at);
    }));
    g.putImageData(pixels, 0, 0);
  };

  /* --- the picture ------------------------------------------------------- */

  const box = () => {
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const left = Math.min(160, Math.round(width * 0.26));
    return { left, top: 4, width: Math.max(width - left - 8, 1), height: Math.max(height - 28, 1) };
  };
  const selection = () => {
    if (!from || !cell) return null;
    return {
      t0: Math.min(from.t, cell.t), t1: Math.max(from.t, cell.t) + 1,
      k0: Math.min(from.k, cell.k), k1: Math.max(from.k, cell.k) + 1,
    };
  };
  const frame = (g, b, s) => {
    const width = doc.times.length, height = doc.keys.length - 1;
    const x = b.left + (s.t0 / width) * b.width, y = b.top + (s.k0 / height) * b.height;
    const w = ((s.t1 - s.t0) / width) * b.width, h = ((s.k1 - s.k0) / height) * b.height;
    g.lineWidth = 3;
    g.strokeStyle = variable("--panel");
    g.strokeRect(x, y, w, h);
    g.lineWidth = 1.5;
    g.strokeStyle = variable("--text");
    g.strokeRect(x, y, w, h);
  };
  const cut = (g, text, width) => {
    if (g.measureText(text).width <= width) return text;
    while (text && g.measureText(text + "…").width > width) text = text.slice(0, -1);
    return text + "…";
  };
  const drawAxes = (g, b) => {
    const ranges = doc.keys.length - 1, times = doc.times.length;
    const every = Math.ceil((18 * ranges) / b.height);
    g.font = "11px ui-monospace, Menlo, Consolas, monospace";
    g.fillStyle = variable("--dim");
    g.textBaseline = "top";
    for (let k = 0; k < ranges; k += every)
      g.fillText(cut(g, doc.keys[k] || "(start)", b.left - 8), 0, b.top + (k / ranges) * b.height);
    const step = Math.ceil((90 * times) / b.width);
    for (let t = 0; t < times; t += step)
      if (b.left + (t / times) * b.width + 60 < b.left + b.width)
        g.fillText(clock.format(doc.times[t] / 1000), b.left + (t / times) * b.width, b.top + b.height + 8);
  };
  const draw = () => {
    if (!doc) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const g = canvas.getContext("2d");
    const b = box();
    g.scale(ratio, ratio);
    g.fillStyle = variable("--panel2");
    g.fillRect(b.left, b.top, b.width, b.height);
    g.imageSmoothingEnabled = false;
    g.drawImage(image, b.left, b.top, b.width, b.height);
    drawAxes(g, b);
    const s = selection();
    if (s) frame(g, b, s);
    else if (cell) frame(g, b, { t0: cell.t, t1: cell.t + 1, k0: cell.k, k1: cell.k + 1 });
  };
  const tell = () => {
    if (!doc) return;
    const s = selection();
    if (s && (s.t1 - s.t0 > 1 || s.k1 - s.k0 > 1))
      told.textContent = "Selected: " + rangeText(doc.keys[s.k0], doc.keys[s.k1]) + ", " +
        day.format(doc.times[s.t0] / 1000) + " to " +
        day.format((doc.times[s.t1 - 1] + doc.step_us) / 1000);
    else if (cell)
      told.textContent = rangeText(doc.keys[cell.k], doc.keys[cell.k + 1]) + ", " +
        day.format(doc.times[cell.t] / 1000) + ": " + humane(doc.values[cell.t][cell.k]) + " " + doc.what;
    else
      told.textContent = doc.hottest.length
        ? "Point at the picture, or move in it with the arrows; drag to zoom in"
        : "Nothing was counted for these rows in this time";
  };

  /* --- loading ----------------------------------------------------------- */

  const load = async () => {
    const mine = ++wanted;
    try {
      const answer = await fetch(location.pathname + ".json" + location.search);
      const body = await answer.json();
      if (mine !== wanted) return;
      if (!answer.ok) throw new Error(body.error || answer.status);
      doc = body;
      const { times, keys } = doc;
      if (cell) cell = { t: Math.min(cell.t, times.length - 1), k: Math.min(cell.k, keys.length - 2) };
      top = 0.1;
      for (const row of doc.values) for (const v of row) if (v > top) top = v;
      image = image || document.createElement("canvas");
      paint();
      drawScale();
      draw();
      tell();
      section.dataset.drawn = doc.at_us;
    } catch (e) {
      if (mine === wanted) told.textContent = "The picture could not be loaded: " + e.message;
    }
    const q = query();
    out.disabled = whole.disabled = !["from", "to", "start", "end"].some((n) => q.has(n));
  };
  const go = (change) => {
    const q = query();
    for (const name in change)
      if (change[name] === null || change[name] === "") q.delete(name);
      else q.set(name, change[name]);
    const s = q.toString();
    history.pushState({ heat: true }, "", location.pathname + (s && "?" + s));
    from = cell = null;
    load();
  };
  const zoomIn = (s) => {
    const change = {};
    if (s.k0 > 0 || s.k1 < doc.keys.length - 1) {
      change.start = doc.keys[s.k0];
      change.end = doc.keys[s.k1];
    }
    if (s.t0 > 0 || s.t1 < doc.times.length) {
      change.from = doc.times[s.t0];
      change.to = doc.times[s.t1 - 1] + doc.step_us - 1;
    }
    if (Object.keys(change).length) go(change);
  };
  const showAll = () => go({ from: null, to: null, start: null, end: null });
  const zoomOut = () => (history.state && history.state.heat ? history.back() : showAll());

  /* --- pointer ----------------------------------------------------------- */

  const cellAt = (e) => {
    const r = canvas.getBoundingClientRect(), b = box();
    const width = doc.times.length, height = doc.keys.length - 1;
    const t = Math.floor(((e.clientX - r.left - b.left) / b.width) * width);
    const k = Math.floor(((e.clientY - r.top - b.top) / b.height) * height);
    const inside = t >= 0 && t < width && k >= 0 && k < height;
    if (!inside && !dragging) return null;
    return { t: Math.max(0, Math.min(t, width - 1)), k: Math.max(0, Math.min(k, height - 1)) };
  };
  canvas.addEventListener("pointermove", (e) => {
    if (!doc) return;
    cell = cellAt(e);
    tell();
    draw();
  });
  canvas.addEventListener("pointerdown", (e) => {
    if (!doc || e.button !== 0) return;
    from = cell = cellAt(e);
    dragging = from !== null;
    if (dragging) canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointerup", (e) => {
    if (!dragging) return;
    cell = cellAt(e);
    dragging = false;
    const s = selection();
    from = null;
    if (s.t1 - s.t0 > 1 || s.k1 - s.k0 > 1) zoomIn(s);
  });
  canvas.addEventListener("pointerleave", () => {
    if (dragging || document.activeElement === canvas) return;
    cell = null;
    tell();
    draw();
  });

  /* --- keyboard ---------------------------------------------------------- */

  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const move = (e) => {
    const [t, k] = STEPS[e.key];
    const width = doc.times.length, height = doc.keys.length - 1;
    if (!cell) cell = { t: width - 1, k: 0 };
    else {
      if (e.shiftKey && !from) from = { ...cell };
      if (!e.shiftKey) from = null;
      cell = {
        t: Math.max(0, Math.min(cell.t + t, width - 1)),
        k: Math.max(0, Math.min(cell.k + k, height - 1)),
      };
    }
  };
  canvas.addEventListener("keydown", (e) => {
    if (!doc || e.ctrlKey || e.metaKey || e.altKey) return;
    if (STEPS[e.key]) move(e);
    else if (e.key === "Home") cell = { t: 0, k: cell ? cell.k : 0 };
    else if (e.key === "End") cell = { t: doc.times.length - 1, k: cell ? cell.k : 0 };
    else if (e.key === "Enter" && cell) zoomIn(selection() || {
      t0: 0, t1: doc.times.length, k0: Math.max(cell.k - 1, 0),
      k1: Math.min(cell.k + 2, doc.keys.length - 1),
    });
    else if (e.key === "Escape" && from) from = null;
    else if (e.key === "Escape" && !out.disabled) zoomOut();
    else return;
    e.preventDefault();
    tell();
    draw();
  });

  /* --- the rest ---------------------------------------------------------- */

  out.addEventListener("click", zoomOut);
  whole.addEventListener("click", showAll);
  addEventListener("popstate", load);
  addEventListener("resize", draw);
  dark.addEventListener("change", () => {
    if (!doc) return;
    paint();
    drawScale();
    draw();
  });
  /* The choice of the figure keeps what is seen. */
  document.addEventListener("click", (e) => {
    const a = e.target.closest("a[data-what]");
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    for (const other of document.querySelectorAll("a[data-what]"))
      if (other === a) other.setAttribute("aria-current", "true");
      else other.removeAttribute("aria-current");
    go({ what: a.dataset.what });
  });
  setInterval(() => {
    if (!document.hidden && !dragging && !from) load();
  }, REFRESH_MS);
  load();
})();
