// Offers words while one types the last word of a query.
"use strict";
(() => {
  const input = document.getElementById("q");
  const list = document.getElementById("words");
  let timer = 0;
  let asked = "";

  const offer = async () => {
    const text = input.value;
    const at = text.lastIndexOf(" ") + 1;
    const word = text.slice(at);
    if (word.length < 2 || word === asked || /[":+-]/.test(word)) return;
    asked = word;
    const answer = await fetch("/suggest.json?q=" + encodeURIComponent(word));
    if (!answer.ok || word !== asked) return;
    const words = await answer.json();
    list.replaceChildren(
      ...words.map((w) => {
        const option = document.createElement("option");
        option.value = text.slice(0, at) + w;
        return option;
      })
    );
  };
  if (input && list)
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => offer().catch(() => {}), 120);
    });
})();
