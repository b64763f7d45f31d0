/* The banner follows the page in its frame, which tells it where it is. What it
 * says is text: an archived page may say anything. */
(function () {
  "use strict";
  const frame = document.getElementById("replay");
  const url = document.getElementById("replay-url");
  const date = document.getElementById("replay-date");
  window.addEventListener("message", (event) => {
    const at = event.source === frame.contentWindow && event.data &&
      event.data.quarryReplay;
    if (!at || !/^\d{14}$/.test(at.date) ||
        !/^https?:\/\/[\x21-\x7e]+$/.test(at.url))
      return;
    const path = "/web/" + at.date + "/" + at.url;
    if (location.pathname + location.search === path)
      return;
    url.textContent = at.url;
    document.title = at.url;
    date.textContent = at.date.replace(
      /^(....)(..)(..)(..)(..)(..)$/, "$1-$2-$3T$4:$5:$6Z");
    history.replaceState(null, "", path);
  });
})();
