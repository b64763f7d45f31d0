/* In archived pages: starts wombat, if the server has it, and tells the banner
 * which capture the frame shows. */
(function () {
  "use strict";
  const data = document.currentScript.dataset;
  const origin = new URL(document.currentScript.src).origin;
  if (typeof window._WBWombatInit === "function" && !window._wb_wombat) {
    const page = new URL(data.url);
    const date = data.date;
    const at = Date.UTC(date.slice(0, 4), date.slice(4, 6) - 1,
      date.slice(6, 8), date.slice(8, 10), date.slice(10, 12),
      date.slice(12, 14));
    try {
      window._WBWombatInit({
        url: data.url, timestamp: date, request_ts: date,
        top_url: origin + "/web/" + date + "/" + data.url,
        prefix: origin + "/web/", static_prefix: origin + "/static/",
        mod: "mp_", coll: "", is_framed: true, is_live: false,
        is_framed_mp: true, enable_auto_fetch: false, convert_post_to_get: false,
        wombat_ts: date, wombat_sec: String(at / 1000),
        wombat_scheme: page.protocol.slice(0, -1), wombat_host: page.host,
        wombat_opts: {}, isSW: false, injectDocClassForRestart: false,
      });
    } catch (error) {
      window.__quarry_replay_failed = String(error);
    }
  }
  const top = window.__WB_replay_top || window.parent;
  if (top !== window)
    top.postMessage({ quarryReplay: { url: data.url, date: data.date } }, origin);
})();
