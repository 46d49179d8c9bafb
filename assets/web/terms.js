// @ts-check
// Words and what they mean, each with a link to the page where one meets it.

import { goTo } from "./bar.js";
import { fill, h, setAttribute, setText } from "./dom.js";

/** A plain click stays in this visit; any other is the browser's. @param {MouseEvent} event @param {string} title */
function follow(event, title) {
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (goTo(title)) event.preventDefault();
}

const make = () =>
  h("div", { class: "term" }, h("dt"), h("dd"), h("dd", { class: "met" }, h("a", { class: "page-link" })));

export const terms = {
  make: () => h("dl", { class: "terms" }),
  /** @param {HTMLElement} element @param {import("./messages.js").Block} block */
  update(element, block) {
    element.classList.toggle("long", block.long);
    fill(element, block.rows, make, (line, [name, meaning, path, title]) => {
      const [word, what, met] = line.children;
      setText(word, name);
      setText(what, meaning);
      const link = /** @type {HTMLAnchorElement} */ (met.firstElementChild);
      setText(link, title);
      setAttribute(link, "href", `./${path}`);
      // a link that says what to show there is followed as it stands
      link.onclick = path.includes("?") ? null : (event) => follow(event, title);
    });
  },
};
