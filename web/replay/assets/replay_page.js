/* In archived pages, first of all scripts: stands in for what a page without an
 * origin does not have, starts wombat, if the server has it, and tells the
 * banner which capture the frame shows. */
(function () {
  "use strict";
  const data = document.currentScript.dataset;
  const source = new URL(document.currentScript.src);
  const origin = source.origin;
  // The banner's window, before wombat stands in for it.
  const banner = window.parent;
  // The server's address, with its secret.
  const base = origin + source.pathname.replace(/\/assets\/.*/, "");

  // Cookies and storage that last as long as the page: scripts expect them, and
  // the browser throws errors in their place.
  function put(object, name, descriptor) {
    try {
      void object[name];
    } catch (refused) {
      Object.defineProperty(object, name,
        Object.assign({ configurable: true, enumerable: true }, descriptor));
    }
  }
  function storage() {
    const items = new Map();
    const methods = {
      getItem: (name) => (items.has(String(name)) ? items.get(String(name)) : null),
      setItem: (name, value) => void items.set(String(name), String(value)),
      removeItem: (name) => void items.delete(String(name)),
      clear: () => items.clear(),
      key: (i) => [...items.keys()][i] ?? null,
    };
    return new Proxy(methods, {
      get: (_, name) => (name === "length" ? items.size
        : methods[name] || (items.has(name) ? items.get(name) : undefined)),
      set: (_, name, value) => { items.set(String(name), String(value)); return true; },
      has: (_, name) => name in methods || items.has(name),
      deleteProperty: (_, name) => { items.delete(name); return true; },
    });
  }
  const local = storage();
  const session = storage();
  const cookies = new Map();
  put(window, "localStorage", { get: () => local });
  put(window, "sessionStorage", { get: () => session });
  put(window, "caches", { value: undefined });
  put(navigator, "serviceWorker", { value: undefined });
  put(document, "cookie", {
    get: () => [...cookies].map(([name, value]) => name + "=" + value).join("; "),
    set: (text) => {
      const [pair, ...options] = String(text).split(";");
      const at = pair.indexOf("=");
      const name = pair.slice(0, Math.max(at, 0)).trim();
      if (options.some((o) => /^\s*max-age\s*=\s*(0|-)|^\s*expires=.*19[67]0/i.test(o)))
        cookies.delete(name);
      else
        cookies.set(name, pair.slice(at + 1).trim());
    },
  });

  function startWombat() {
    const page = new URL(data.url);
    const date = data.date;
    const at = Date.UTC(date.slice(0, 4), date.slice(4, 6) - 1,
      date.slice(6, 8), date.slice(8, 10), date.slice(10, 12),
      date.slice(12, 14));
    window._WBWombatInit({
      url: data.url, timestamp: date, request_ts: date,
      top_url: origin + "/web/" + date + "/" + data.url,
      prefix: base + "/web/", static_prefix: base + "/static/",
      mod: "mp_", coll: "", is_framed: true, is_live: false,
      enable_auto_fetch: false, convert_post_to_get: false,
      wombat_ts: date, wombat_sec: String(at / 1000),
      wombat_scheme: page.protocol.slice(0, -1), wombat_host: page.host,
      wombat_opts: {},
    });
  }
  if (typeof window._WBWombatInit === "function" && !window._wb_wombat) {
    try {
      startWombat();
    } catch (error) { // The page works as far as it does without.
      window.__quarry_replay_failed = error.stack || String(error);
    }
  }
  // What rewritten scripts call, where wombat did not start.
  function helper(name, value) {
    if (!(name in window))
      Object.defineProperty(Object.prototype, name,
        { configurable: true, writable: true, value: value });
  }
  helper("_____WB$wombat$check$this$function_____", (value) => value);
  helper("__WB_pmw", function () { return this; });
  helper("WB_wombat_runEval2", (run) => (
    { eval: (_this, _arguments, text) => run(text, false) }));
  if (banner !== window)
    banner.postMessage({ quarryReplay: { url: data.url, date: data.date } }, origin);
})();
