/* What a browser adds to the console's pages, which are whole without it:
 *
 *   times     in the reader's zone
 *   tables    sorted by a click on a column's head, rows filtered by a word
 *   live      when the server says that the page's document is new, the page is
 *             fetched again and the parts that differ are put in place
 *   plots     of the history of figures (uPlot)
 *
 * What a reader chose is in the address, so that a link to it can be shared.
 * Handlers are the document's, never an element's: elements come and go.
 */
"use strict";
(() => {
  const one = (what, root = document) => root.querySelector(what);
  const all = (what, root = document) => [...root.querySelectorAll(what)];
  const make = (name, attributes = {}, text = "") => {
    const e = document.createElement(name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    e.textContent = text;
    return e;
  };
  const main = one("main");
  const query = () => new URLSearchParams(location.search);
  const setQuery = (name, value) => {
    const q = query();
    if (value) q.set(name, value);
    else q.delete(name);
    const s = q.toString();
    history.replaceState(null, "", location.pathname + (s && "?" + s) + location.hash);
  };

  /* --- times ------------------------------------------------------------- */

  const when = new Intl.DateTimeFormat(undefined, {
    year: "numeric", month: "short", day: "numeric",
    hour: "2-digit", minute: "2-digit", second: "2-digit",
  });
  const localTimes = (root) => {
    for (const t of all("time[datetime]", root)) {
      const at = new Date(t.dateTime);
      if (isNaN(at)) continue;
      if (t.hasAttribute("data-ago")) t.title = when.format(at);
      else {
        t.textContent = when.format(at);
        t.title = t.dateTime;
      }
    }
  };

  /* --- tables ------------------------------------------------------------ */

  const MISSING = "–";
  /* { key, down } as ?sort=-key says it. */
  const sortOf = (table) => {
    const s = query().get(table.dataset.sort);
    return s ? { key: s.replace(/^-/, ""), down: s[0] === "-" } : null;
  };
  const cellValue = (row, column) => {
    const cell = row.cells[column];
    const text = cell.textContent.trim();
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    return text === MISSING ? null : text;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  /* What is missing comes last in both directions. */
  const sortRows = (table, column, down) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, i) => ({ row, i, v: cellValue(row, column) }));
    rows.sort((a, b) => {
      if (a.v === null || b.v === null) return (a.v === null) - (b.v === null) || a.i - b.i;
      return (down ? compare(b.v, a.v) : compare(a.v, b.v)) || a.i - b.i;
    });
    rows.forEach(({ row }, i) => {
      if (body.rows[i] !== row) body.insertBefore(row, body.rows[i]);
    });
  };
  const applySort = (table) => {
    const sort = sortOf(table);
    for (const th of all("thead th[data-key]", table)) {
      if (!one("button", th)) {
        const b = make("button", { type: "button" }, th.textContent);
        th.replaceChildren(b);
      }
      if (!sort || table.hasAttribute("data-cut")) continue;
      if (th.dataset.key !== sort.key) {
        th.removeAttribute("aria-sort");
        continue;
      }
      th.setAttribute("aria-sort", sort.down ? "descending" : "ascending");
      sortRows(table, th.cellIndex, sort.down);
    }
  };
  const applyFilter = (table) => {
    if (table.tBodies[0].rows.length < 12 || !table.caption) return;
    const name = table.dataset.sort.replace("sort", "q");
    if (!one("input", table.caption))
      table.caption.append(make("input", {
        type: "search", placeholder: "Filter rows", "data-keep": "", "data-filter": name,
        "aria-label": "Filter rows of " + table.caption.firstChild.textContent.trim(),
        value: query().get(name) || "",
      }));
    const word = (query().get(name) || "").toLowerCase();
    for (const row of table.tBodies[0].rows)
      row.classList.toggle("off", word !== "" && !row.textContent.toLowerCase().includes(word));
  };
  const enhance = (root) => {
    localTimes(root);
    for (const table of all("table[data-sort]", root)) {
      applySort(table);
      applyFilter(table);
    }
  };

  document.addEventListener("click", (e) => {
    const th = e.target.closest("thead th[data-key]");
    if (!th || !e.target.closest("button")) return;
    const table = th.closest("table");
    const was = th.getAttribute("aria-sort");
    const number = th.classList.contains("num");
    const down = was ? was === "ascending" : number;
    setQuery(table.dataset.sort, (down ? "-" : "") + th.dataset.key);
    if (table.hasAttribute("data-cut")) location.reload();
    else applySort(table);
  });
  document.addEventListener("input", (e) => {
    if (!e.target.dataset.filter) return;
    setQuery(e.target.dataset.filter, e.target.value);
    applyFilter(e.target.closest("table"));
  });

  /* --- live -------------------------------------------------------------- */

  const keyOf = (e) => (e.nodeType === 1 ? e.id || e.dataset.row : "");
  const alike = (a, b) => a.nodeName === b.nodeName && keyOf(a) === keyOf(b);
  /* Make @old what @now is, touching only what differs: focus, selection and
   * scrolling stay. What has data-keep is the script's own. */
  const morph = (old, now) => {
    if (old.nodeType !== 1) {
      if (old.data !== now.data) old.data = now.data;
      return;
    }
    if (old.hasAttribute("data-keep")) return;
    for (const { name, value } of [...now.attributes])
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    for (const { name } of [...old.attributes])
      if (!now.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    if (!/^(INPUT|SELECT|TEXTAREA)$/.test(old.nodeName)) morphChildren(old, now);
  };
  const morphChildren = (old, now) => {
    const known = new Map();
    for (const c of old.childNodes) if (keyOf(c)) known.set(keyOf(c), c);
    const wanted = new Set([...now.childNodes].map(keyOf).filter((key) => key));
    let at = old.firstChild;
    const drop = () => {
      const next = at.nextSibling;
      at.remove();
      at = next;
    };
    for (const want of [...now.childNodes]) {
      const same = keyOf(want) && known.get(keyOf(want));
      /* What is moved loses the focus: rather remove what is before it. */
      while (same && at && at !== same && !wanted.has(keyOf(at))) drop();
      if (same && same !== at) old.insertBefore(same, at);
      if (same) at = same;
      if (at && alike(at, want)) {
        morph(at, want);
        at = at.nextSibling;
      } else {
        old.insertBefore(document.importNode(want, true), at);
      }
    }
    while (at) drop();
  };
  /* As morph(), and the focus stays where it is also if that was moved. */
  const morphPage = (old, now) => {
    const focused = document.activeElement;
    morph(old, now);
    if (focused.isConnected && focused !== document.activeElement)
      focused.focus({ preventScroll: true });
  };

  const live = one("#live");
  const say = (text) => {
    if (live && live.firstChild.data !== text) live.firstChild.data = text;
  };
  let busy = false;
  let paused = false;
  const refresh = async () => {
    if (busy || paused || document.hidden) return;
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(answer.status);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = one("main", page);
      if (!fresh || paused) return;
      enhance(fresh);
      morphPage(main, fresh);
      say("Live");
      drawPlots();
    } catch (e) {
      say("No answer");
    } finally {
      busy = false;
    }
  };
  const listen = () => {
    const source = new EventSource(main.dataset.events);
    source.onmessage = refresh;
    source.addEventListener("document", refresh);
    source.onopen = () => say("Live");
    source.onerror = () => {
      say("No answer");
      /* A browser gives up at an answer that is no stream: ask later again. */
      if (source.readyState === 2) setTimeout(listen, 10000);
    };
    addEventListener("pagehide", () => source.close());
  };
  const beLive = () => {
    if (!main.dataset.events || !live) return;
    const button = make("button", { type: "button", "aria-pressed": "false" }, "Pause");
    live.replaceChildren(document.createTextNode("Connecting"), " ", button);
    button.addEventListener("click", () => {
      paused = !paused;
      button.setAttribute("aria-pressed", paused);
      say(paused ? "Paused" : "Live");
      refresh();
    });
    listen();
    addEventListener("pageshow", (e) => e.persisted && location.reload());
    document.addEventListener("visibilitychange", refresh);
  };

  /* --- plots ------------------------------------------------------------- */

  const SCALES = {
    bytes: [1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]],
    us: [1000, ["µs", "ms", "s"]],
    count: [1000, ["", "k", "M", "G", "T"]],
  };
  const humane = (v, unit) => {
    if (v == null) return MISSING;
    const perSecond = /per_s$/.test(unit);
    const kind = /^bytes/.test(unit) ? "bytes" : /us$/.test(unit) ? "us" : "count";
    const [base, names] = SCALES[kind];
    let i = 0;
    while (Math.abs(v) >= base && i < names.length - 1) {
      v /= base;
      i++;
    }
    const digits = v % 1 === 0 || Math.abs(v) >= 100 ? 0 : Math.abs(v) >= 10 ? 1 : 2;
    const tail = names[i] + (perSecond ? "/s" : "");
    return v.toFixed(digits) + (kind === "count" ? tail : tail && " " + tail);
  };
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const plots = new Map();
  /* Points of several series on one row of times. */
  const joinSeries = (series) => {
    const times = [...new Set(series.flatMap((s) => s.points.map((p) => p[0])))].sort((a, b) => a - b);
    const index = new Map(times.map((t, i) => [t, i]));
    const rows = series.map((s) => {
      const row = new Array(times.length).fill(null);
      for (const [at, v] of s.points) row[index.get(at)] = v;
      return row;
    });
    return [times.map((t) => t / 1e6), ...rows];
  };
  /* The points that no line shows, because what is beside them is missing. */
  const lonely = (u, line) => {
    const row = u.data[line];
    return row.map((v, i) => i).filter((i) =>
      row[i] != null && row[i - 1] == null && row[i + 1] == null);
  };
  /* Steps of an axis of bytes are powers of two. */
  const POWERS = Array.from({ length: 55 }, (_, i) => 2 ** i);
  const plotOptions = (figure, names, unit, width) => ({
    width,
    height: 180,
    legend: { show: false },
    cursor: { y: false, sync: { key: "console" } },
    scales: { y: { range: (u, lo, hi) => [0, hi > 0 ? hi * 1.1 : 1] } },
    axes: [
      {
        stroke: colour("--dim"), grid: { stroke: colour("--line2") }, ticks: { show: false },
        size: 28, values: (u, ts) => ts.map((t) => clock.format(t * 1000)),
      },
      {
        stroke: colour("--dim"), grid: { stroke: colour("--line2") }, ticks: { show: false },
        incrs: /^bytes/.test(unit) ? POWERS : undefined,
        size: 70, values: (u, vs) => vs.map((v) => humane(v, unit)),
      },
    ],
    series: [{}, ...names.map((n, i) => ({
      stroke: colour("--c" + (i + 1)), width: 1.6, points: { size: 4, filter: lonely },
      fill: names.length === 1 ? colour("--c1") + "1f" : undefined,
    }))],
    hooks: { setCursor: [(u) => tellPlot(figure, u, u.cursor.idx)] },
  });
  /* The values under the cursor, or the newest, in the figure's caption. */
  const tellPlot = (figure, u, index) => {
    const unit = figure.dataset.unit;
    all("[data-series]", figure).forEach((span, i) => {
      const row = u.data[i + 1] || [];
      const v = index == null ? row[row.length - 1] : row[index];
      one("b", span).textContent = humane(v, unit);
    });
  };
  const drawPlot = (figure, found) => {
    const names = all("[data-series]", figure).map((s) => s.dataset.series);
    const series = names.map((n) => found.find((s) => s.name === n) || { points: [] });
    const box = one(".canvas", figure);
    const data = joinSeries(series);
    if (data[0].length < 2) return;
    let plot = plots.get(figure);
    if (!plot) {
      box.replaceChildren();
      plot = new uPlot(plotOptions(figure, names, figure.dataset.unit, box.clientWidth), data, box);
      plots.set(figure, plot);
    } else {
      plot.setData(data);
    }
    tellPlot(figure, plot, plot.cursor.idx);
  };
  let drawnAt = 0;
  const drawPlots = async (now) => {
    const figures = all("figure.plot");
    if (!window.uPlot || !figures.length || (!now && Date.now() - drawnAt < 4500)) return;
    drawnAt = Date.now();
    try {
      const answer = await fetch(one("[data-history]").dataset.history);
      if (!answer.ok) return;
      const found = (await answer.json()).series || [];
      for (const f of figures) drawPlot(f, found);
    } catch (e) {
      /* The next document tries again. */
    }
  };
  const redraw = () => {
    for (const plot of plots.values()) plot.destroy();
    plots.clear();
    drawPlots(true);
  };
  const watchSizes = () => {
    addEventListener("resize", () => {
      for (const [f, plot] of plots) plot.setSize({ width: one(".canvas", f).clientWidth, height: 180 });
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  };

  enhance(document);
  beLive();
  watchSizes();
  drawPlots(true);
})();
