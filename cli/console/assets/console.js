"use strict";
for (const t of document.querySelectorAll("time[data-us]"))
    t.textContent = new Date(Number(t.dataset.us) / 1000).toLocaleString();
